"""What did a SQLite database say when it was copied? The file, and the log beside it that it had not taken in yet; and
how it is opened, and its cells are read.

A write-ahead log is applied to a private copy by SQLite itself; a rollback journal tells of a transaction that was not
finished, and what the database said before it is not restored (SQLite: "WAL-mode file format", "The rollback journal").
"""

from __future__ import annotations

import contextlib
import sqlite3
import struct
from typing import TYPE_CHECKING

from forensics.core.build import Spot
from forensics.core.findings import finding

if TYPE_CHECKING:
    from pathlib import Path

    from forensics.core.reading import EvidenceBuilder
    from forensics.formats.shared.source import Source

_HEADER = struct.Struct(">8I")  # magic, version, page size, checkpoint, salt 1, salt 2, checksum 1, checksum 2
_FRAME = struct.Struct(">6I")  # page, size of the database after a commit, salt 1, salt 2, checksum 1, checksum 2
_MAGIC = (0x377F0682, 0x377F0683)
_JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")
_LEAST_PAGE = 512
_ROW_NUMBERS = ("rowid", "_rowid_", "oid")


def copy_with_log(source: Source, build: EvidenceBuilder) -> Path:
    """A private copy of a database with its write-ahead log taken in. What of a log could not be read is a gap. Raises
    sqlite3.DatabaseError where SQLite refuses the database, and EvidenceError where a log can't be opened.
    """
    path = source.copy_to_disk()
    journal = source.beside("-journal")
    if journal is not None and bytes(journal.data[:8]) == _JOURNAL_MAGIC:
        message = f"a transaction was not finished: the rollback journal {_named(journal)} was not applied"
        build.gap("evidence_gap", message, Spot(build.places.add(offset=0)))
    log = source.beside("-wal")
    if log is not None and log.size:
        _take_in(log, path, build)
    return path


def opened(path: Path) -> sqlite3.Connection:
    """A database opened so that nothing is written and nothing in its schema is trusted; texts come as bytes."""
    database = sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)
    database.text_factory = bytes
    database.execute("PRAGMA trusted_schema=OFF")
    database.execute("PRAGMA query_only=ON")
    return database


def columns_of(database: sqlite3.Connection, table: str) -> set[str]:
    """The columns of a table, in lower case; none where there is no such table. `table` is one of the reader's own."""
    return {row[1].decode("utf-8", "replace").lower() for row in database.execute(f"PRAGMA table_info('{table}')")}


def row_number(database: sqlite3.Connection, table: str) -> str | None:
    """The first name of the number of a row that no column of the table's own has taken; None for a table without
    numbers.
    """
    for number in _ROW_NUMBERS:
        if number not in columns_of(database, table):
            with contextlib.suppress(sqlite3.OperationalError):
                database.execute(f"SELECT {number} FROM main.{table} LIMIT 0")  # noqa: S608 - the reader's own names
                return number
    return None


def _named(log: Source) -> str:
    return f"{log.name} ({log.size} bytes, sha256 {log.sha256})"


def _take_in(log: Source, path: Path, build: EvidenceBuilder) -> None:
    with path.with_name(f"{path.name}-wal").open("wb") as out:
        out.write(log.data)
    with contextlib.closing(sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True)) as database:
        database.execute("PRAGMA trusted_schema=OFF")
        database.execute("PRAGMA schema_version")
        taken = max(0, int(database.execute("PRAGMA wal_checkpoint").fetchone()[1]))
    place = build.places.add(offset=0)
    frames = _frames(log.data)
    if taken:
        message = f"the write-ahead log {_named(log)} beside the database was read with it"
        build.found(finding("dialect", message, locators=(build.places.locator(place),)))
    if frames is None or taken < frames:
        why = "it is none" if frames is None else f"only {taken} of {frames} frames are whole and committed"
        build.gap("evidence_gap", f"rows in the write-ahead log {_named(log)} were not read: {why}", Spot(place))


def _frames(log: memoryview) -> int | None:
    """How many frames a log holds since it was last begun anew (older ones carry another salt); None for no log."""
    if len(log) < _HEADER.size:
        return None
    magic, _, page, _, *salt, _, _ = _HEADER.unpack_from(log)
    if magic not in _MAGIC or page < _LEAST_PAGE:
        return None
    count = 0
    for offset in range(_HEADER.size, len(log) - _FRAME.size - page + 1, _FRAME.size + page):
        if list(_FRAME.unpack_from(log, offset)[2:4]) != salt:
            break
        count += 1
    return count


def cell_bytes(value: object) -> bytes:
    """A value of a row as bytes: SQLite keeps any type in any column."""
    if isinstance(value, bytes):
        return value
    return b"" if value is None else str(value).encode("utf-8", "replace")
