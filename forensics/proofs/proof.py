"""What does a proof say?"""

from __future__ import annotations

import msgspec


class Proof(msgspec.Struct, frozen=True):
    """A text was parsed and every part of it is known to read only.

    `reads` says what was parsed and shown, in words that many texts share ("1 SQL statement (select)"); it never quotes
    the text. `parser` is the name of the program that parsed it.
    """

    reads: str
    parser: str


def counted(kinds: list[str], one: str, many: str) -> str:
    """`3 SQL statements (select, show)`: how many there are, and which kinds, each once, in order of the alphabet."""
    return f"{len(kinds)} {one if len(kinds) == 1 else many} ({', '.join(sorted(set(kinds)))})"
