"""What did a value of CrewAI's hold before it was written down? What stands deeper than its serialiser goes is text in
Python's notation, and of a prompt that is where the calls are.

An event is written to a depth of five, which is the third level below each of its members: everything there is a text.
A member that was written down before it came into the event has a fifth level of its own. Nothing is evaluated.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from forensics.core.jsonvalue import canonical, decode, raw, text_of
from forensics.core.late import late
from forensics.formats.shared.fields import is_text
from forensics.formats.shared.python_repr import as_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.core.trace import Payload

_LEVEL, _DEEPEST = 3, 5
_EXCEPTION = late(r"((?:[A-Za-z_]\w*\.)*[A-Z]\w*)\((.*)\)", re.DOTALL)


def opened(payload: Payload) -> Payload:
    """A member of an event as it was, as far as its text says; itself where nothing in it is spelled so."""
    if bytes(memoryview(payload)[:1]) not in (b"{", b"["):
        return payload
    value = decode(payload).value
    spelled = list(_at(value, _LEVEL))
    if not spelled or not all(isinstance(one, str) for one in spelled):
        return payload
    told = _opened(value, 0)
    return payload if told == value else msgspec.Raw(canonical(told))


def _at(value: object, levels: int) -> Iterator[object]:
    """What stands so many levels below a value."""
    if not levels:
        yield value
        return
    held = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for one in held:
        yield from _at(one, levels - 1)


def _opened(value: object, depth: int) -> object:
    if isinstance(value, str) and depth in (_LEVEL, _DEEPEST):
        value = _literal(value)
    if depth < _DEEPEST and isinstance(value, list):
        return [_opened(one, depth + 1) for one in value]
    if depth < _DEEPEST and isinstance(value, dict):
        return {name: _opened(one, depth + 1) for name, one in value.items()}
    return value


def exception_in(payload: Payload) -> tuple[str, Payload]:
    """The type of the exception that a text spells in Python's notation (else ""), and what it says: its only argument
    where that is a text, else the whole of it.
    """
    told = text_of(payload) if is_text(payload) else ""
    found = _EXCEPTION.fullmatch(told)
    if found is None:
        return "", payload
    said = _literal(found.group(2))
    return found.group(1), raw(said) if isinstance(said, str) and said != found.group(2) else payload


def _literal(text: str) -> object:
    """What a text in Python's notation spells; the text where it spells no one plain value."""
    body = as_json(f"[{text}]")
    items = decode(body).value if body is not None else None
    return items[0] if isinstance(items, list) and len(items) == 1 else text
