"""How is a place inside a JSON value written and read? JSON Pointers (RFC 6901), token by token."""

from __future__ import annotations

from functools import lru_cache


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
