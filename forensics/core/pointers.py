"""How is a place inside a JSON value written and read? JSON Pointers (RFC 6901), token by token."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any


def escape(name: str) -> str:
    """A name as one token of a JSON Pointer."""
    return name.replace("~", "~0").replace("/", "~1")


@lru_cache(maxsize=4096)
def pointer_tokens(pointer: str) -> tuple[str, ...]:
    """The unescaped tokens of a JSON Pointer; raises ValueError when it doesn't start with a slash."""
    if pointer == "":
        return ()
    if not pointer.startswith("/"):
        raise ValueError(f"not a JSON Pointer: {pointer!r}")
    return tuple(token.replace("~1", "/").replace("~0", "~") for token in pointer[1:].split("/"))


def resolve_pointer(value: object, pointer: str, default: object = None) -> Any:
    """The value at a JSON Pointer, or `default` when nothing stands there."""
    return resolve(value, pointer_tokens(pointer), default)


def resolve(value: object, tokens: tuple[str, ...], default: object) -> Any:
    """The value that these tokens of a pointer lead to, or `default`."""
    for token in tokens:
        if isinstance(value, dict):  # first, because asking about Mapping is slow
            if token not in value:
                return default
            value = value[token]
        elif isinstance(value, Mapping) and token in value:
            value = value[token]
        elif isinstance(value, (list, tuple)) and (place := place_in(len(value), token)) is not None:
            value = value[place]
        else:
            return default
    return value


def place_in(size: int, token: str) -> int | None:
    """The place that a token names in a list of that size; None where it names none (section 4: digits, and no zero
    before others).
    """
    if not (token.isascii() and token.isdecimal()) or len(token) > len(str(size)) or token[:1] == "0" != token:
        return None
    place = int(token)
    return place if place < size else None
