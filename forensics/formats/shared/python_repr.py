"""Which value does this text spell, if it is Python's notation of plain values? `{'city': 'Paris', 'days': None}`.

Instrumentations write `str(arguments)` where JSON was meant (FORMATS section 0.6). The text is read token by token and
written again as JSON; nothing is evaluated, and what is no literal (a class, a call) is no value.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from forensics.core.jsonvalue import canonical, decode, raw, text_of
from forensics.core.late import late
from forensics.formats.shared.fields import is_text

if TYPE_CHECKING:
    from forensics.core.trace import Payload

_TOKEN = late(
    r"""\s+|(?P<text>'[^'\\]*(?:\\.[^'\\]*)*'|"[^"\\]*(?:\\.[^"\\]*)*")|(?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)"""
    r"""|(?P<word>True|False|None)\b|(?P<mark>[\[\](){},:])""",
    re.DOTALL,
)
_WORDS = {"True": "true", "False": "false", "None": "null"}
_ESCAPE = late(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)
_SIMPLE = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "\n": ""}
_LAST_CHARACTER = 0x10FFFF
_OPENS = ("{", "[", "(")


def as_json(text: str) -> bytes | None:
    """The JSON of a dict, list or tuple that Python's `repr` wrote; None where the text is anything else."""
    text = text.strip()
    if text[:1] not in _OPENS:
        return None
    written: list[str] = []
    position = 0
    while position < len(text):
        token = _TOKEN.match(text, position)
        if token is None:
            return None
        position = token.end()
        _write(token, written)
    body = "".join(written).encode("utf-8", "surrogatepass")
    return body if decode(body).error is None else None


def from_repr(payload: Payload) -> Payload:
    """A text in Python's notation, perhaps behind a word and a colon (`input: {'city': 'Paris'}`), as the text of its
    JSON; any other payload as it is. What opens as JSON's objects do is taken for JSON.
    """
    if not is_text(payload):
        return payload
    text = text_of(payload)
    head, _, rest = text.partition(":")
    spelled = rest if head.isidentifier() else text
    opening = spelled.lstrip()[:2]
    if opening[:1] not in _OPENS or opening == '{"' or decode(spelled.encode("utf-8", "surrogatepass")).error is None:
        return payload
    body = as_json(spelled)
    return payload if body is None else raw(body.decode("utf-8", "surrogatepass"))


def _write(token: re.Match[str], written: list[str]) -> None:
    kind, said = token.lastgroup, token.group()
    if kind == "text":
        written.append(canonical(_ESCAPE.sub(_escaped, said[1:-1])).decode("utf-8", "surrogatepass"))
    elif kind == "word":
        written.append(_WORDS[said])
    elif kind == "number":
        written.append(said)
    elif kind == "mark":
        _write_mark(said, written)


def _write_mark(mark: str, written: list[str]) -> None:
    """A tuple is a list, and its last comma is none of JSON's."""
    if mark in ")]}" and written and written[-1] == ",":
        written.pop()
    written.append({"(": "[", ")": "]"}.get(mark, mark))


def _escaped(found: re.Match[str]) -> str:
    spelled = found.group(1) or found.group(2) or found.group(3)
    if spelled is None:
        return _SIMPLE.get(found.group(4), found.group(4))
    number = int(spelled, 16)
    return chr(number) if number <= _LAST_CHARACTER else found.group()
