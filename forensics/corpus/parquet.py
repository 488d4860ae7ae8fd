"""How do the rows of a corpus become Parquet? One file a table, each written whole, straight from the JSON lines.

The same rows give the same bytes with the same DuckDB: one thread, rows in the order of the corpus, nothing in the file
that depends on the day or the place. Another version of DuckDB writes its own name into it, and may pack otherwise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.corpus.database import rows_of, write_table
from forensics.corpus.tables import TABLES
from forensics.report.corpus_documents import CORPUS
from forensics.report.outputs import write_filled

if TYPE_CHECKING:
    from pathlib import Path

    from forensics.corpus.folder import Results

NAMES = tuple(f"{table.name}.parquet" for table in TABLES)


def write_parquet(results: Results, folder: Path) -> list[str]:
    """Write every table of the results into a folder, and name the files.

    Raises CorruptEvidenceError for rows that are none, ReportError where a file can't be written, and
    ConfigurationError where DuckDB is missing.
    """
    with rows_of(results) as connection:
        for table, name in zip(TABLES, NAMES, strict=True):
            with write_filled(folder / name) as part:
                write_table(connection, table, part, {"schema": CORPUS, "table": table.name})
    return list(NAMES)


def remove_parquet(folder: Path) -> None:
    """Take away what an earlier run wrote: its rows are not those that stand there now."""
    for name in NAMES:
        (folder / name).unlink(missing_ok=True)


def is_parquet(folder: Path) -> bool:
    """Whether every table stands there, which it does only while the rows are those that it was made of."""
    return all((folder / name).is_file() for name in NAMES)
