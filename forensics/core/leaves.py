"""Which scalars does a JSON value hold, and where? Its strings and integers in document order."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeGuard

from forensics.core.pointers import escape

Token = str | int
Leaf = tuple[str | None, Token, str | None, str | int]
"""The JSON Pointer of the object or array that holds a scalar (None: the scalar is the whole value), its key or index
there, the nearest object key above it, and the scalar. `pointer_of` joins the first two, when somebody asks."""

_Open = tuple[str, str | None, bool, Iterable[tuple[Token, object]]]
_SCALARS = frozenset({str, int, float, bool, type(None)})


def is_flat(value: object) -> TypeGuard[dict[str, object]]:
    """Whether a value is an object that holds no other, as most are."""
    return isinstance(value, dict) and _SCALARS.issuperset(map(type, value.values()))


def leaves_of(value: object) -> list[Leaf]:
    """The strings and integers of a value; iterative, so depth can't exhaust the stack."""
    if isinstance(value, str) or type(value) is int:
        return [(None, "", None, value)]
    if is_flat(value):
        return _members("", value)
    found: list[Leaf] = []
    todo: list[_Open] = []
    _open(todo, "", None, value)
    while todo:
        above, key, named, entries = todo[-1]
        for token, item in entries:
            if isinstance(item, str) or type(item) is int:
                found.append((above, token, str(token) if named else key, item))
            elif is_flat(item):
                found += _members(pointer_of(above, token), item)
            elif isinstance(item, (dict, list)):
                _open(todo, pointer_of(above, token), str(token) if named else key, item)
                break
        else:
            todo.pop()
    return found


def _members(pointer: str, flat: dict[str, object]) -> list[Leaf]:
    """The leaves of an object that holds no other, as most objects do."""
    return [(pointer, key, str(key), item) for key, item in flat.items() if type(item) is str or type(item) is int]


def _open(todo: list[_Open], pointer: str, key: str | None, value: object) -> None:
    if isinstance(value, dict):
        todo.append((pointer, key, True, iter(value.items())))
    elif isinstance(value, list):
        todo.append((pointer, key, False, iter(enumerate(value))))


def pointer_of(above: str | None, token: Token) -> str:
    """The JSON Pointer (RFC 6901) of a leaf."""
    if above is None:
        return ""
    if isinstance(token, str) and ("~" in token or "/" in token):
        token = escape(token)
    return f"{above}/{token}"
