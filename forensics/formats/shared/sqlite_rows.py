"""Which rows of a table does a SQLite database still give, where pages of it are damaged?

A scan ends at the first damaged page. What stands behind it is asked for by the number of the row, one number after
another and then in growing steps, until SQLite gives a row again; so each page costs its own rows and no others. What
lies between is told as lost, and so is a single row whose text stands on a damaged page. Rows under a damaged page of
the tree itself can't be asked for: `.recover` of the program sqlite3 may find some of them.
"""

from __future__ import annotations

import contextlib
import sqlite3
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from forensics.core.build import Spot
from forensics.errors import CorruptEvidenceError
from forensics.formats.shared.sqlite_log import copy_with_log, opened, row_number

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from forensics.core.reading import EvidenceBuilder
    from forensics.formats.shared.source import Source

Row: TypeAlias = "tuple[object, ...]"

LEAST, MOST = -(2**63), 2**63 - 1  # row numbers (SQLite: "Rowid Tables")
_SINGLE_STEPS = 4096  # more rows than stand under one page of a tree of long rows
_PROBES = 65_536  # of one table; a hostile database could ask for no end of them
_DISORDER = "the numbers of its rows do not rise"
_DAMAGE = (sqlite3.DatabaseError, UnicodeDecodeError)
"""The module itself fails with the second where SQLite's message holds bytes that are no text."""


class _Broken(msgspec.Struct, frozen=True):
    """What SQLite says instead of an answer."""

    why: str


class _Stop(msgspec.Struct, frozen=True):
    """A scan that stopped behind this number, and what SQLite said."""

    behind: int
    why: str


class _Disorder(sqlite3.DatabaseError):
    """The numbers of the rows do not rise; those up to `behind` do."""

    def __init__(self, behind: int) -> None:
        super().__init__(_DISORDER)
        self.behind = behind


@contextlib.contextmanager
def database_of(source: Source, build: EvidenceBuilder) -> Iterator[sqlite3.Connection]:
    """A private copy of the database with its write-ahead log taken in, opened immutable and with the schema untrusted.
    One whose schema is damaged, or that is cut, is opened as far as SQLite goes, which is a gap. Raises
    CorruptEvidenceError, here or where it is read, for one that gives nothing.
    """
    try:
        with contextlib.closing(_opened(copy_with_log(source, build), build)) as database:
            yield database
    except _DAMAGE as error:
        raise damaged(source, _why(error)) from None


def damaged(source: Source, why: str) -> CorruptEvidenceError:
    """The error for a database of which nothing can be read."""
    message = f"{source.name} is a damaged database: {why}"
    return CorruptEvidenceError(message, hint="recover it into a new file with `sqlite3 FILE .recover`, and say so")


def _why(error: Exception) -> str:
    return str(error) if isinstance(error, sqlite3.Error) else "its schema is no text"


def _opened(path: Path, build: EvidenceBuilder) -> sqlite3.Connection:
    database = opened(path)
    try:
        database.execute("SELECT count(*) FROM main.sqlite_master").fetchone()
    except _DAMAGE as error:
        # The copy stays immutable; this tells SQLite to pass over what it can't parse of the schema, and over a file
        # that is shorter than its header says.
        database.execute("PRAGMA writable_schema=ON")
        message = f"the schema of the database is damaged, or the file is cut ({_why(error)}): read as far as it goes"
        build.unread("container_truncated", message, Spot(build.places.add(offset=0)))
    return database


class TableRows:
    """The rows of a table that can be read, in the order of their numbers: each its number (of a table without numbers
    its first column), then the columns. What can't be read is told to the builder; `lost` says why the last of it
    can't. Table and columns are the reader's own names.
    """

    def __init__(
        self, database: sqlite3.Connection, table: str, columns: Sequence[str], build: EvidenceBuilder
    ) -> None:
        self.lost: str | None = None
        self._database = database
        self._table = table
        self._build = build
        self._number = row_number(database, table)
        self._columns = ", ".join((self._number or columns[0], *columns))
        self._probes = _PROBES

    def __iter__(self) -> Iterator[Row]:
        return self._by_key() if self._number is None else self._by_number()

    def _by_key(self) -> Iterator[Row]:
        """A table without numbers can't be asked for what stands behind a damaged page."""
        key, _, _ = self._columns.partition(",")
        query = f"SELECT {self._columns} FROM main.{self._table} ORDER BY {key}"  # noqa: S608 - constants only
        seen = 0
        try:
            for row in self._database.execute(query):
                yield row
                seen += 1
        except _DAMAGE as error:
            self._tell(f"the rows of the table {self._table} behind the first {seen} can't be read", _why(error), seen)

    def _by_number(self) -> Iterator[Row]:
        at: int | None = LEAST
        unexplained: _Stop | None = None
        while at is not None:
            sure = last = at - 1
            try:
                for row in self._database.execute(self._query(">="), (at,)):
                    sure, last = last, _risen(row, sure, last)
                    if unexplained is not None:
                        self._tell_between(unexplained, last)
                        unexplained = None
                    if self._is_there(row):
                        yield row
                at = None
            except _Disorder as error:
                at = self._skip(error.behind, _DISORDER)
            except _DAMAGE as error:
                one, at, unexplained = self._behind(last, _why(error))
                if one is not None:
                    yield one
        if unexplained is not None:
            self._tell_between(unexplained, None)

    def _query(self, relation: str, columns: str | None = None) -> str:
        """Always by the tree of the table: the pages of an index are others."""
        which = f"WHERE {self._number} {relation} ? ORDER BY {self._number}"
        return f"SELECT {columns or self._columns} FROM main.{self._table} NOT INDEXED {which}"  # noqa: S608 - constants only

    def _behind(self, last: int, why: str) -> tuple[Row | None, int | None, _Stop | None]:
        """The row behind which the scan stopped, where it can be read by itself (the module asks for a row ahead of the
        one that it gives); where to go on; and what is still to be explained: a scan that goes on from there as if
        nothing were broken has passed over something.
        """
        found = self._lowest(last + 1) if last < MOST else None
        if not isinstance(found, int):
            return None, self._skip(last, why), None
        row = self._one(found)
        following = found + 1 if found < MOST else None
        if isinstance(row, _Broken):
            self._tell_row(found, row.why)
            return None, following, None
        unexplained = _Stop(found if found == last + 1 else last, why)
        return row if self._is_there(row) else None, following, unexplained

    def _skip(self, last: int, why: str) -> int | None:
        """The number of the first row that can be read behind the last one; what lies between is told as lost."""
        found = self._next(last + 1) if last < MOST else None
        self._tell_between(_Stop(last, why), found)
        return found

    def _first(self, at: int) -> int | _Broken | None:
        """The number of the first row from this number on, without its texts; None where there is none."""
        self._probes -= 1
        try:
            row = self._database.execute(self._query(">=", self._number) + " LIMIT 1", (at,)).fetchone()
            return None if row is None else _risen(row, at - 1, at - 1)
        except _DAMAGE as error:
            return _Broken(_why(error))

    def _one(self, number: int) -> Row | _Broken:
        try:
            row: Row = self._database.execute(self._query("="), (number,)).fetchone()
        except _DAMAGE as error:
            return _Broken(_why(error))
        return row or _Broken(_DISORDER)

    def _lowest(self, at: int) -> int | _Broken | None:
        """The same, and sure: a row with a number out of its place is found from some numbers before it, and not from
        those before a row that stands between.
        """
        found, number = self._first(at), max(at + 1, 1)
        while isinstance(found, int) and number < min(found, max(at, 1) + _SINGLE_STEPS) and self._probes > 0:
            other = self._first(number)
            found, number = min(found, other) if isinstance(other, int) else found, number + 1
        return found

    def _next(self, at: int) -> int | None:
        """The number of the first row that can be asked for. SQLite gives rows numbers from 1 on."""
        found = self._lowest(at)
        at, step, bad = max(at, 1), 1, at
        while isinstance(found, _Broken) and self._probes > 0 and bad < MOST:
            found = self._lowest(at)
            if step > 1 and not isinstance(found, _Broken):
                return self._least(bad, at)
            bad, at = at, min(at + step, MOST)
            step = step * 2 if self._probes < _PROBES - _SINGLE_STEPS else 1
        return None if isinstance(found, _Broken) else found

    def _least(self, bad: int, good: int) -> int | None:
        """Between a number that can't be asked for and one that can, where the first turns into the second."""
        while good - bad > 1:
            middle = (bad + good) // 2
            bad, good = (middle, good) if isinstance(self._first(middle), _Broken) else (bad, middle)
        found = self._lowest(good)
        return None if isinstance(found, _Broken) else found

    def _tell_between(self, stop: _Stop, found: int | None) -> None:
        ends = (
            f"behind number {stop.behind}" if stop.behind >= LEAST else "",
            f"before number {found}" if found is not None else "",
        )
        which = " and ".join(end for end in ends if end) or "from the first to the last"
        self._tell(f"the rows of the table {self._table} {which} can't be read", stop.why, max(stop.behind + 1, 1))

    def _is_there(self, row: Row) -> bool:
        """Whether a row has anything in it; a cell that is zeroed is a row without any value."""
        if any(value is not None for value in row[1:]):
            return True
        self._tell_row(row[0], "it holds nothing")
        return False

    def _tell_row(self, number: object, why: str) -> None:
        self.lost = why
        message = f"row {number} of the table {self._table} can't be read: {why}"
        self._build.unread("malformed_line", message, self._spot(number if isinstance(number, int) else 0))

    def _tell(self, message: str, why: str, number: int) -> None:
        self.lost = why
        self._build.unread("container_truncated", f"{message}: {why}", self._spot(number))

    def _spot(self, number: int) -> Spot:
        return Spot(self._build.places.add_row(self._table, number, 0))


def _risen(row: Row, sure: int, last: int) -> int:
    """The number of a row, which must be greater than the last one. A page whose second half is zeroed gives rows
    numbered 0, one with garbage a row far out of its place, and in a ring of pages the numbers begin again. The last
    one, and not this, was out of its place where this one fits behind the one before.
    """
    number = row[0]
    if not isinstance(number, int):
        raise _Disorder(last)
    if number <= last:
        raise _Disorder(sure if number > sure else last)
    return number
