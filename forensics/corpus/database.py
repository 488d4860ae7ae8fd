"""How do the rows of a corpus become tables that can only be asked? DuckDB in memory, locked before anybody asks.

The one module that knows DuckDB (docs/adr). The rows are read into memory first; then every door out is shut and the
locks are locked: no file, no network, no extension, no variable of this process, no spilling to a disk, nothing that
writes. What may be said to it is looked at besides (`asking`): two walls, for DuckDB grows a new function every month.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from forensics.corpus.tables import FOUND, LINES, TABLES, selected
from forensics.errors import ConfigurationError, CorruptEvidenceError, ReportError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from duckdb import DuckDBPyConnection

    from forensics.corpus.folder import Results
    from forensics.corpus.tables import Table

MEMORY = "2GB"
_INSTALL = "pip install 'trace-forensics[parquet]'"
_ALONE = {
    "threads": "1",  # rows come in one order, run for run
    "temp_directory": "",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "allow_unsigned_extensions": "false",
    "allow_persistent_secrets": "false",
    "python_enable_replacements": "false",
}
_LOCKS = (
    "SET TimeZone = 'UTC'",
    "SET enable_external_access = false",
    "SET disabled_filesystems = 'LocalFileSystem'",
    "SET lock_configuration = true",
    "BEGIN TRANSACTION READ ONLY",
)
_GLOB = "*?["
_GROUP = 100_000  # rows of one group of a Parquet file


def duckdb() -> Any:
    """The module, where it is installed. Raises ConfigurationError that names the extra."""
    try:
        import duckdb
    except ImportError:
        message = "questions to a corpus and Parquet need the extra parquet (DuckDB)"
        raise ConfigurationError(message, hint=_INSTALL, code="extra_missing") from None
    return duckdb


@contextlib.contextmanager
def rows_of(results: Results, memory: str = MEMORY) -> Iterator[DuckDBPyConnection]:
    """A connection with the views `lines` and `found` over the files of rows, not locked: for our own SQL alone.

    Raises CorruptEvidenceError for rows that are none, and ConfigurationError where DuckDB is missing or has too little
    memory.
    """
    duck = duckdb()
    with contextlib.closing(_connected(duck, memory)) as connection:
        try:
            connection.execute(f"CREATE VIEW lines AS {_reading(results.files, LINES)}")
            connection.execute(f"CREATE VIEW found AS {_reading(results.findings, FOUND)}")
            yield connection
        except duck.OutOfMemoryException as error:
            raise too_much(memory) from error
        except duck.Error as error:
            message = f"the rows can't be read: {_named(said(error), results)}"
            raise CorruptEvidenceError(message, hint="audit the corpus again") from None


@contextlib.contextmanager
def locked(results: Results, memory: str = MEMORY) -> Iterator[DuckDBPyConnection]:
    """A connection with every table in memory and every door shut: for SQL that somebody else wrote. Raises as
    `rows_of` does.
    """
    with contextlib.ExitStack() as stack:
        connection = stack.enter_context(rows_of(results, memory))
        for table in TABLES:
            connection.execute(f"CREATE TABLE {table.name} AS {selected(table)}")
        connection.execute("DROP VIEW lines")
        connection.execute("DROP VIEW found")
        for lock in _LOCKS:
            connection.execute(lock)
        kept = stack.pop_all()
    with contextlib.closing(kept):
        yield connection


def write_table(connection: DuckDBPyConnection, table: Table, path: Path, about: dict[str, str]) -> None:
    """Write one table as Parquet over the file at that path, with a few words about it. Raises ReportError where it
    can't be written.
    """
    words = ", ".join(f"{_text(name)}: {_text(value)}" for name, value in about.items())
    options = f"FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {_GROUP}, USE_TMP_FILE false, KV_METADATA {{{words}}}"
    try:
        connection.execute(f"COPY ({selected(table)}) TO {_text(str(path.absolute()))} ({options})")
    except duckdb().IOException:
        raise ReportError(f"{table.name}.parquet can't be written", hint="is there room on the disk?") from None


def said(error: Exception) -> str:
    """What DuckDB says in its first line; the others quote the whole query."""
    return str(error).strip().partition("\n")[0]


def _named(text: str, results: Results) -> str:
    """The text with files of rows by their names alone."""
    for path in (*results.files, *results.findings):
        text = text.replace(str(path.absolute()), path.name)
    return text


def too_much(memory: str) -> ConfigurationError:
    """The error for a question or a corpus that needs more memory than it may have."""
    message = f"this needs more than {memory} of memory"
    return ConfigurationError(message, hint="ask for less, or allow more with --memory", code="limit_exceeded")


def _connected(duck: Any, memory: str) -> DuckDBPyConnection:
    try:
        connection: DuckDBPyConnection = duck.connect(":memory:", config={**_ALONE, "memory_limit": memory})
    except duck.Error as error:
        raise ConfigurationError(f"DuckDB can't start: {said(error)}", hint="a size is written like 2GB") from None
    return connection


def _reading(paths: Sequence[Path], members: dict[str, str]) -> str:
    """The query that reads these files of JSON lines, each member in its type, however long a line is."""
    types = ", ".join(f"{_text(name)}: {_text(type_)}" for name, type_ in members.items())
    if not paths:
        columns = ", ".join(f'CAST(NULL AS {type_}) AS "{name}"' for name, type_ in members.items())
        return f"SELECT {columns} WHERE false"
    names = ", ".join(_text(_exactly(path)) for path in paths)
    most = max(path.stat().st_size for path in paths) + 1
    return (
        f"SELECT * FROM read_json([{names}], format = 'newline_delimited', columns = {{{types}}}, "  # noqa: S608 - quoted here
        f"maximum_object_size = {max(most, 1 << 20)})"
    )


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _exactly(path: Path) -> str:
    """The path as a pattern that fits itself alone."""
    return "".join(f"[{character}]" if character in _GLOB else character for character in str(path.absolute()))
