"""What was audited already, and by what? A SQLite file of results by place, so that a run that was ended goes on.

A result counts only where the bytes of the evidence and everything it was judged by are the same: evidence, rules,
policy and version by their digests. Each batch is one transaction, so that nothing is half there or there twice. What
is kept is sealed by a digest: SQLite notes that a page is damaged only where its own structure is.
"""

from __future__ import annotations

import sqlite3
from contextlib import ExitStack, closing, contextmanager
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple, Self, TypeVar

import msgspec

from forensics.corpus.result import Result
from forensics.errors import ConfigurationError, ReportError
from forensics.report.outputs import as_given

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path
    from types import TracebackType

_APPLICATION = 0x666F7265  # "fore", so that no other file is taken for a ledger
_VERSION = 4
# Stamps stand apart from results: they are read and written for every file in every run, and results are long.
_SCHEMA = (
    """CREATE TABLE IF NOT EXISTS stamps (
    place BLOB NOT NULL, stage TEXT NOT NULL, terms TEXT NOT NULL, evidence TEXT NOT NULL, size INTEGER NOT NULL,
    mark TEXT NOT NULL, trusted INTEGER NOT NULL, PRIMARY KEY (place, stage)
) WITHOUT ROWID, STRICT""",
    """CREATE TABLE IF NOT EXISTS results (
    place BLOB NOT NULL, stage TEXT NOT NULL, result BLOB NOT NULL, PRIMARY KEY (place, stage)
) WITHOUT ROWID, STRICT""",
    """CREATE TABLE IF NOT EXISTS outputs (
    one INTEGER PRIMARY KEY CHECK (one = 1), changes INTEGER NOT NULL, written TEXT NOT NULL, told BLOB NOT NULL
) STRICT""",
    "INSERT OR IGNORE INTO outputs VALUES (1, 0, '', x'')",
)
_TABLES = ("stamps", "results", "outputs")
_FULL = {
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PERM,
}
_TAKEN = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_RUN = "-run"  # the file beside it that is locked by the run that has it
ALONE, TOGETHER = "alone", "together"


class Stamp(NamedTuple):
    """What a place was when it was audited: the digest of its bytes ("": they don't count as known), their size, and a
    mark that changes with them (a time, what a store calls a version; "": there is none). `trusted` says that the last
    run took size and mark for it and read nothing.
    """

    evidence: str
    size: int
    mark: str
    trusted: bool = False


class Entry(NamedTuple):
    """One result with the stamp of its place. `stage` says whether it was audited alone or together with others."""

    place: str
    stage: str
    stamp: Stamp
    result: Result


class _TraceId(msgspec.Struct):
    id: str


class _Traces(msgspec.Struct):
    """Of a result, which traces it tells of; the rest is passed over."""

    traces: list[_TraceId]


_At = tuple[bytes, str]
"""Where a result stands: its place, as bytes, and its stage."""

_OUTPUTS: _At = (b"", "outputs")
_SEAL = 16  # bytes of the digest
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Result).decode
_traces_in = msgspec.json.Decoder(_Traces).decode
_Decoded = TypeVar("_Decoded")


class Ledger:
    """An open ledger for results under one set of terms. It knows a place by its name in `known_as`, if it has one
    there: what may not be written down (a signature in a URL) is not.

    One run at a time has it, from opening to closing: rows and sums stand beside it, and two runs would mix theirs. A
    lock on an empty file tells; the system takes it back from a run that was killed.

    Each method raises ReportError where the file can't be read or written (a full disk, another run that has it), and
    ConfigurationError where it is damaged.
    """

    def __init__(self, path: Path, terms: str, known_as: Mapping[str, str] | None = None) -> None:
        self._path, self._terms = path, terms
        self._known_as = known_as or {}
        self._place_of = {key: place for place, key in self._known_as.items()}
        with ExitStack() as opened:
            self._lock = opened.enter_context(closing(self._connected(f"{path}{_RUN}", "BEGIN EXCLUSIVE")))
            self._base = opened.enter_context(closing(self._connected(path)))
            with self._told():
                self._open()
            opened.pop_all()

    def _connected(self, path: str | Path, *statements: str) -> sqlite3.Connection:
        with self._told(), ExitStack() as opened:
            base = opened.enter_context(closing(sqlite3.connect(path, isolation_level=None)))
            for statement in statements:
                base.execute(statement)
            opened.pop_all()
            return base

    def _open(self) -> None:
        (application,) = self._base.execute("PRAGMA application_id").fetchone()
        (version,) = self._base.execute("PRAGMA user_version").fetchone()
        (tables,) = self._base.execute("SELECT count(*) FROM sqlite_master").fetchone()
        new = (application, version, tables) == (0, 0, 0)  # or ended before anything was in it
        if not new and application != _APPLICATION:
            raise _no_ledger(self._path, f"application id {application}")
        if version > _VERSION:
            message = f"{as_given(self._path)} was written by a newer version of this program"
            raise ConfigurationError(message, hint="use that version, or name another folder for the results")
        self._base.execute("PRAGMA journal_mode = WAL")
        self._base.execute("PRAGMA synchronous = NORMAL")
        with self._at_once():
            if version < _VERSION:  # what another version judged is judged anew in any case
                for table in _TABLES:
                    self._base.execute(f"DROP TABLE IF EXISTS {table}")
            self._base.execute(f"PRAGMA application_id = {_APPLICATION}")
            self._base.execute(f"PRAGMA user_version = {_VERSION}")
            for statement in _SCHEMA:
                self._base.execute(statement)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._base.close()
        self._lock.close()

    def stamps(self, stage: str = ALONE) -> dict[str, Stamp]:
        """The stamp of each place whose result was judged by these terms."""
        told = "SELECT place, evidence, size, mark, trusted FROM stamps WHERE stage = ? AND terms = ?"
        with self._told():
            rows = self._base.execute(told, (stage, self._terms)).fetchall()
        return {self._place(key): Stamp(evidence, size, mark, bool(by)) for key, evidence, size, mark, by in rows}

    def keep(self, entries: Iterable[Entry]) -> None:
        """Write results down, each in the place of an earlier one; all of them or none."""
        with self._told(), self._at_once():
            changed = sum(self._keep(entry) for entry in entries)
            self._base.execute("UPDATE outputs SET changes = changes + ?", (changed,))

    def _keep(self, entry: Entry) -> bool:
        """Write one result down, and say whether it is another than before."""
        at = (self._key(entry.place), entry.stage)
        was = self._base.execute("SELECT result FROM results WHERE place = ? AND stage = ?", at).fetchone()
        result = _sealed(_encode(entry.result), at)
        self._base.execute(
            "INSERT OR REPLACE INTO stamps VALUES (?, ?, ?, ?, ?, ?, ?)", (*at, self._terms, *entry.stamp)
        )
        self._base.execute("INSERT OR REPLACE INTO results VALUES (?, ?, ?)", (*at, result))
        return was is None or was[0] != result

    def restamp(self, stamps: Mapping[str, Stamp]) -> None:
        """Note of places whose bytes are the same what their stamps are now."""
        rows = [(one.size, one.mark, one.trusted, self._key(place)) for place, one in stamps.items()]
        with self._told(), self._at_once():
            self._base.executemany(
                "UPDATE stamps SET size = ?, mark = ?, trusted = ? WHERE place = ? AND stage = 'alone'", rows
            )

    def traces(self, place: str) -> list[str]:
        """The ids of the traces that a place tells of. Raises KeyError where it has no result by these terms."""
        return [trace.id for trace in self._decoded(_traces_in, place, ALONE).traces]

    def result(self, place: str, stage: str = ALONE) -> Result:
        """The result of a place. Raises KeyError where there is none by these terms."""
        return self._decoded(_decode, place, stage)

    def _decoded(self, decode: Callable[[bytes], _Decoded], place: str, stage: str) -> _Decoded:
        told = """SELECT result FROM results JOIN stamps USING (place, stage)
        WHERE place = ? AND stage = ? AND terms = ?"""
        at = (self._key(place), stage)
        with self._told():
            row = self._base.execute(told, (*at, self._terms)).fetchone()
        if row is None:
            raise KeyError(place)
        kept = self._unsealed(row[0], at)
        try:
            return decode(kept)
        except msgspec.MsgspecError as error:
            raise _damaged(self._path, str(error)) from None

    def outputs(self, of: str) -> bytes | None:
        """What `wrote` kept of outputs of that; None where they were of something else, or results changed since."""
        with self._told():
            changes, written, told = self._base.execute("SELECT changes, written, told FROM outputs").fetchone()
        return self._unsealed(told, _OUTPUTS) if written == f"{changes} {self._terms} {of}" else None

    def wrote(self, of: str, told: bytes) -> None:
        """Keep what is to be told of outputs that were written from the results as they are now."""
        with self._told():
            self._base.execute(
                "UPDATE outputs SET written = changes || ' ' || ? || ' ' || ?, told = ?",
                (self._terms, of, _sealed(told, _OUTPUTS)),
            )

    def _unsealed(self, kept: object, at: _At) -> bytes:
        if not isinstance(kept, bytes) or kept != _sealed(kept[_SEAL:], at):
            raise _damaged(self._path, "a row is not what was written there")
        return kept[_SEAL:]

    def _key(self, place: str) -> bytes:
        """A place as it stands in the ledger: as bytes, for a name of a file need not be valid text."""
        return self._known_as.get(place, place).encode("utf-8", "surrogatepass")

    def _place(self, key: bytes) -> str:
        known = key.decode("utf-8", "surrogatepass")
        return self._place_of.get(known, known)

    @contextmanager
    def _at_once(self) -> Iterator[None]:
        """All that is written in the body, or nothing."""
        self._base.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            if self._base.in_transaction:  # where the disk is full, SQLite has undone it itself
                self._base.execute("ROLLBACK")
            raise
        self._base.execute("COMMIT")

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Whatever SQLite raises as an error of ours."""
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF  # without what extends it
            if code in _TAKEN:
                message = f"{as_given(self._path)} is in use: {error}"
                raise ReportError(message, hint="wait for the other run, or name another folder") from None
            if code in _FULL:
                message = f"{as_given(self._path)} can't be written: {error}"
                hint = "make room and run it again: it goes on where it ended, or name another folder"
                raise ReportError(message, hint=hint) from None
            if code == sqlite3.SQLITE_NOTADB:
                raise _no_ledger(self._path, str(error)) from None
            raise _damaged(self._path, str(error)) from None


def _sealed(told: bytes, at: _At) -> bytes:
    """What is kept at a place: what is told there, behind a digest of both."""
    key, stage = at
    return blake2b(b"\0".join((key, stage.encode(), told)), digest_size=_SEAL).digest() + told


def _no_ledger(path: Path, why: str) -> ConfigurationError:
    message = f"{as_given(path)} is no ledger of this program: {why}"
    return ConfigurationError(message, hint="name another folder for the results")


def _damaged(path: Path, why: str) -> ConfigurationError:
    message = f"{as_given(path)} is damaged: {why}"
    return ConfigurationError(message, hint=f"remove {as_given(path)}, and everything is audited anew")
