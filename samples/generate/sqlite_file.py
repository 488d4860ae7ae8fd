"""How does a database that an SDK holds open become a sample? Copied whole, without a journal beside it, and packed."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def compact(source: Path, destination: Path) -> None:
    """Copy a database that is still open: write-ahead log merged, no journal beside it, pages packed."""
    with closing(sqlite3.connect(source)) as live, closing(sqlite3.connect(destination)) as copy:
        live.backup(copy)
        copy.execute("PRAGMA journal_mode=delete")
        copy.execute("PRAGMA page_size=1024")  # most of the tables are empty or small, and each takes a page
        copy.execute("VACUUM")
