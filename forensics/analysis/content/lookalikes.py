"""Which keys of one object look alike and are not the same characters? A person and a program read different values."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from forensics.core.late import late
from forensics.core.pointers import escape
from forensics.rules.content_rules import lookalike_letters

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_INVISIBLE = late(
    "[\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2060-\u206f\ufe00-\ufe0f\ufeff]"
)

Pair = tuple[str, str, str]
"""The JSON Pointer of an object, and two of its keys."""


def look(key: str) -> str:
    """What a key looks like: without what is invisible, in plain Latin letters where others look the same."""
    if key.isascii():
        return key
    return unicodedata.normalize("NFKC", _INVISIBLE.sub("", key)).translate(lookalike_letters())


def lookalikes(value: object, pointer: str = "") -> Iterator[Pair]:
    """Every two such keys in the objects of a value; iterative, so depth can't exhaust the stack."""
    todo: list[tuple[str, object]] = [(pointer, value)]
    while todo:
        at, item = todo.pop()
        if isinstance(item, dict):
            yield from ((at, one, other) for one, other in alike(item))
            todo.extend((f"{at}/{escape(str(key))}", member) for key, member in item.items() if _holds(member))
        elif isinstance(item, list):
            todo.extend((f"{at}/{number}", member) for number, member in enumerate(item) if _holds(member))


def alike(keys: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Each key that looks like an earlier one, with that."""
    names = list(keys)
    if all(name.isascii() for name in names):
        return
    seen: dict[str, str] = {}
    for name in names:
        first = seen.setdefault(look(name), name)
        if first != name:
            yield first, name


def _holds(member: object) -> bool:
    return isinstance(member, (dict, list))
