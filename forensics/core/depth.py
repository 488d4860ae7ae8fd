"""What stands too deep in this JSON text? Values nested beyond a limit, each put in as the text that spells it.

One linear pass over the brackets, without recursion, so that a text of any depth becomes one that a decoder takes.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING

import msgspec

from forensics.core.late import late

if TYPE_CHECKING:
    from collections.abc import Iterable

_KEPT = 32  # levels that stay; natural records are less deep, and what follows is one value

# Possessive, and with the closing quote optional: a text that is never closed is passed once, not once a quote.
_BRACKETS = late(rb'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.DOTALL)


def nesting(raw: bytes) -> int:
    """The deepest nesting of brackets outside strings: one linear pass."""
    depth = deepest = 0
    for token in _BRACKETS.finditer(raw):
        mark = token.group()
        if mark in b"[{":
            depth += 1
            deepest = max(deepest, depth)
        elif mark in b"]}":
            depth -= 1
    return deepest


def is_deeper_than(most: int, raw: bytes, value: object) -> bool:
    """Whether a decoded value is nested more than `most` deep. Only a text with so many brackets is looked through."""
    if raw.count(b"[") + raw.count(b"{") <= most:
        return False
    level = [value]
    for _ in range(most):
        level = [inner for inner in chain.from_iterable(map(_inside, level)) if type(inner) in _CONTAINERS]
        if not level:
            return False
    return True


_CONTAINERS = (dict, list)


def _inside(container: object) -> Iterable[object]:
    return container.values() if type(container) is dict else container if type(container) is list else ()


def flattened(raw: bytes, most: int) -> bytes | None:
    """The JSON text with every value that is nested more than `most` deep as a JSON string of its own text; None where
    that can't be done: a bracket that is never closed, or bytes that are not UTF-8.
    """
    kept = min(_KEPT, most)
    out: list[bytes] = []
    end = depth = start = deepest = 0
    for token in _BRACKETS.finditer(raw):
        mark = token.group()
        if mark in b"[{":
            depth += 1
            if depth == kept:
                start, deepest = token.start(), 0
            deepest = max(deepest, depth)
        elif mark in b"]}":
            depth -= 1
            if depth == kept - 1 and deepest > most:
                text = _as_text(raw[start : token.end()])
                if text is None:
                    return None
                out += [raw[end:start], text]
                end = token.end()
    if depth:
        return None
    out.append(raw[end:])
    return b"".join(out)


def _as_text(value: bytes) -> bytes | None:
    try:
        return msgspec.json.encode(value.decode("utf-8"))
    except UnicodeDecodeError:
        return None
