"""Which dialects does a name stand for?"""

from __future__ import annotations

from functools import lru_cache

from forensics.proofs.tables import Dialect, sql_tables


def dialects_named(name: str | None) -> tuple[Dialect, ...]:
    """The dialect of that name; without a name all of them, and for a name that nobody knows none."""
    known = sql_tables().dialects
    if name is None:
        return known
    return tuple(d for d in known if name == d.name or name in d.aliases)


@lru_cache(maxsize=16)
def function_names(dialect: Dialect) -> frozenset[str]:
    """The functions that may stand in a text of this dialect, in lower case."""
    return sql_tables().functions | dialect.functions
