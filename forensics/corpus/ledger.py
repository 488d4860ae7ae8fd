"""What was audited already, and by what? A SQLite file of results by place, so that a run that was ended goes on.

A result counts only where the bytes of the evidence and everything it was judged by are the same: evidence, rules,
policy and version by their digests. Each batch is one transaction, so that nothing is half there or there twice.
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, NamedTuple, Self

import msgspec

from forensics.corpus.result import Result
from forensics.errors import ConfigurationError, ReportError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path
    from types import TracebackType

_APPLICATION = 0x666F7265  # "fore", so that no other file is taken for a ledger
_VERSION = 2
_SCHEMA = """
CREATE TABLE IF NOT EXISTS results (
    place BLOB NOT NULL, stage TEXT NOT NULL, evidence TEXT NOT NULL, size INTEGER NOT NULL, modified INTEGER NOT NULL,
    terms TEXT NOT NULL, result BLOB NOT NULL, PRIMARY KEY (place, stage)
) WITHOUT ROWID, STRICT;
"""
ALONE, TOGETHER = "alone", "together"


class Stamp(NamedTuple):
    """What a place was when it was audited: digest and size of its bytes, and when it was modified (nanoseconds)."""

    evidence: str
    size: int
    modified: int


class Entry(NamedTuple):
    """One result with the stamp of its place. `stage` says whether it was audited alone or together with others."""

    place: str
    stage: str
    stamp: Stamp
    result: Result


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Result).decode


class Ledger:
    """An open ledger for results under one set of terms."""

    def __init__(self, path: Path, terms: str) -> None:
        self._terms = terms
        try:
            self._base = sqlite3.connect(path, isolation_level=None)
        except sqlite3.OperationalError as error:
            raise ReportError(f"{path.name} can't be written: {error}", hint="name another folder") from error
        try:
            self._open()
        except sqlite3.DatabaseError as error:
            self._base.close()
            message = f"{path.name} is no ledger of this program: {error}"
            raise ConfigurationError(message, hint="name another folder for the results") from error

    def _open(self) -> None:
        (application,) = self._base.execute("PRAGMA application_id").fetchone()
        (version,) = self._base.execute("PRAGMA user_version").fetchone()
        (tables,) = self._base.execute("SELECT count(*) FROM sqlite_master").fetchone()
        new = (application, version, tables) == (0, 0, 0)  # or ended before anything was in it
        if not new and (application, version) != (_APPLICATION, _VERSION):
            message = f"application id {application}, version {version}"
            raise sqlite3.DatabaseError(message)
        self._base.execute("PRAGMA journal_mode = WAL")
        self._base.execute("PRAGMA synchronous = NORMAL")
        self._base.execute("BEGIN IMMEDIATE")
        self._base.execute(f"PRAGMA application_id = {_APPLICATION}")
        self._base.execute(f"PRAGMA user_version = {_VERSION}")
        self._base.execute(_SCHEMA)
        self._base.execute("COMMIT")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._base.close()

    def stamps(self, stage: str = ALONE) -> dict[str, Stamp]:
        """The stamp of each place whose result was judged by these terms."""
        rows = self._base.execute(
            "SELECT place, evidence, size, modified FROM results WHERE stage = ? AND terms = ?", (stage, self._terms)
        )
        return {_place(key): Stamp(*stamp) for key, *stamp in rows}

    def keep(self, entries: Iterable[Entry]) -> None:
        """Write results down, each in the place of an earlier one; all of them or none."""
        rows = [(_key(one.place), one.stage, *one.stamp, self._terms, _encode(one.result)) for one in entries]
        self._base.execute("BEGIN IMMEDIATE")
        self._base.executemany("INSERT OR REPLACE INTO results VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        self._base.execute("COMMIT")

    def restamp(self, stamps: dict[str, Stamp]) -> None:
        """Note when places were modified whose bytes are the same."""
        self._base.execute("BEGIN IMMEDIATE")
        self._base.executemany(
            "UPDATE results SET modified = ? WHERE place = ? AND stage = 'alone'",
            [(stamp.modified, _key(place)) for place, stamp in stamps.items()],
        )
        self._base.execute("COMMIT")

    def result(self, place: str, stage: str = ALONE) -> Result:
        """The result of a place. Raises KeyError where there is none by these terms."""
        row = self._base.execute(
            "SELECT result FROM results WHERE place = ? AND stage = ? AND terms = ?", (_key(place), stage, self._terms)
        ).fetchone()
        if row is None:
            raise KeyError(place)
        return _decode(row[0])


def _key(place: str) -> bytes:
    """A place as it stands in the ledger: as bytes, for a name of a file need not be valid text."""
    return place.encode("utf-8", "surrogatepass")


def _place(key: bytes) -> str:
    return key.decode("utf-8", "surrogatepass")
