"""Which texts does a JSON value hold, where, and under which name? Keys are texts as well."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.core.pointers import escape

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_NAMING = ("key", "name", "header")
_HOLDERS = frozenset(
    {"value", "values", "stringValue", "string_value", "arrayValue", "string", "text", "content", "data"}
)


class Field(msgspec.Struct, frozen=True, gc=False):
    """One text (a number as its digits): its JSON Pointer, and the name that says what it is. `is_key` marks a key."""

    pointer: str
    key: str | None
    text: str
    is_key: bool = False


def fields_of(value: object, pointer: str = "", key: str | None = None) -> Iterator[Field]:
    """Every text of a value, in document order; iterative, so depth can't exhaust the stack.

    A list lends its name to its items. In `{"key": "password", "value": {"stringValue": "…"}}`, as span attributes and
    headers are written, and in `["Authorization", "…"]`, the name stands beside the value.
    """
    todo: list[tuple[str, str | None, object]] = [(pointer, key, value)]
    while todo:
        at, name, item = todo.pop()
        if isinstance(item, str):
            yield Field(at, name, item)
        elif isinstance(item, dict):
            yield from (
                Field(f"{at}/{escape(str(k))}", None, str(k), is_key=True) for k in item if not str(k).isalpha()
            )
            todo.extend(reversed(list(members_of(at, name, item))))
        elif isinstance(item, list):
            todo.extend((f"{at}/{n}", name_of_item(item, n, name), item[n]) for n in range(len(item) - 1, -1, -1))
        elif isinstance(item, (int, float)) and not isinstance(item, bool):
            yield Field(at, name, str(item))


def name_of_item(items: Sequence[object], at: int, name: str | None) -> str | None:
    """What says of an item what it is: in a pair, the text before it; else the name of the list."""
    return str(items[0]) if at and len(items) == _PAIR and isinstance(items[0], str) else name


_PAIR = 2


def members_of(at: str, name: str | None, item: dict[str, object]) -> Iterator[tuple[str, str | None, object]]:
    """(pointer, the name that says what it is, value) of each member."""
    beside = next((item[n] for n in _NAMING if isinstance(item.get(n), str)), None)
    for key, member in item.items():
        lent = (beside or name) if key in _HOLDERS else key
        yield f"{at}/{escape(str(key))}", str(lent) if lent is not None else None, member
