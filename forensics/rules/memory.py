"""How is an answer remembered so that a hostile trace can't make memory grow without end?"""

from __future__ import annotations

from typing import TypeVar

_K = TypeVar("_K")
_V = TypeVar("_V")


def keep(memory: dict[_K, _V], key: _K, value: _V, most: int) -> None:
    """Remember, and start again when there are `most`."""
    if len(memory) >= most:
        memory.clear()
    memory[key] = value
