"""What are the fields of this JSON object, each still as JSON, and do they look like a call?

Payloads stay views into the bytes that they came from.
"""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING

import msgspec

from forensics.core.jsonvalue import canonical, decode, decode_slowly, text_of
from forensics.core.late import late
from forensics.core.trace import Payload

if TYPE_CHECKING:
    from collections.abc import Iterable

Fields = dict[str, Payload]

_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_items = msgspec.json.Decoder(list[msgspec.Raw]).decode
_encode = msgspec.json.Encoder().encode
_NULL = b"null"
_DIGITS = 19  # of a number that 64 bits may not hold
_TRUE = msgspec.Raw(b"true")
_BLANK = late(rb"\s*")


def fields_of(raw: Payload | bytes | memoryview) -> Fields:
    """The fields of a JSON object, each still as JSON; empty where it is no object."""
    try:
        return _fields(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        value = decode_slowly(bytes(raw)).value
        if isinstance(value, dict):
            return {k: msgspec.Raw(canonical(v)) for k, v in value.items()}
        return {}


def as_object(fields: Fields) -> Payload:
    """The fields as one JSON object again, each value as it stood."""
    try:
        return msgspec.Raw(_encode(fields))
    except UnicodeEncodeError:  # a key with a lone surrogate
        return msgspec.Raw(b"{" + b",".join(canonical(k) + b":" + bytes(v) for k, v in fields.items()) + b"}")


def says_each_key_once(fields: Fields, data: bytes | memoryview) -> bool:
    """Whether no key stands twice at the top of the object that `data` spells. Exact: the kept values are written back
    byte for byte, so a field that the decoder dropped leaves quotes that the kept ones don't account for (a key with a
    quote of its own may be spelled with fewer: it is not vouched for).
    """
    try:
        written = _encode(fields)
    except UnicodeEncodeError:  # a key with a lone surrogate
        return False
    if written == data:
        return True
    quotes = written.count(b'"')
    del written  # of a long line there is no second copy then
    return quotes == bytes(data).count(b'"') and not any('"' in key for key in fields)


def items_of(raw: Payload | bytes | memoryview) -> list[Payload]:
    """The items of a JSON array, each still as JSON; empty where it is no array."""
    try:
        return _items(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        value = decode_slowly(bytes(raw)).value
        return [msgspec.Raw(canonical(v)) for v in value] if isinstance(value, list) else []


def object_in(fields: Fields, name: str) -> Fields:
    """The fields of the object in that member; empty where there is none."""
    raw = fields.get(name)
    return {} if raw is None else fields_of(raw)


def items_in(fields: Fields, name: str) -> list[Payload]:
    """The items of the array in that member; none where there is none."""
    raw = fields.get(name)
    return [] if raw is None else items_of(raw)


def present(fields: Fields, *names: str) -> Payload | None:
    """The first of these fields that is there and not null."""
    for name in names:
        raw = fields.get(name)
        if raw is not None and bytes(raw) != _NULL:
            return raw
    return None


def text(fields: Fields, *names: str) -> str:
    """The text of the first of these fields that holds one, else ""."""
    for name in names:
        raw = fields.get(name)
        data = _NULL if raw is None else bytes(raw)
        if raw is not None and data[:1] == b'"':
            return text_of(raw)
        if data != _NULL:
            return data.decode("utf-8", "replace") if data[:1] not in (b"{", b"[") else ""
    return ""


def whole_number(fields: Fields, *names: str) -> int:
    """The number in the first of these fields that is there; 0 where it is none, or longer than any count."""
    raw = present(fields, *names)
    digits = b"" if raw is None else bytes(raw).strip(b'"')
    return int(digits) if digits.isdigit() and len(digits) < _DIGITS else 0


def json_inside(payload: Payload) -> Payload:
    """The JSON itself where a value is a text that holds some (an object or an array), else the value."""
    if not is_text(payload):
        return payload
    body = text_of(payload).strip().encode("utf-8", "surrogatepass")
    return msgspec.Raw(body) if body[:1] in (b"{", b"[") and decode(body).error is None else payload


def is_text(raw: Payload) -> bool:
    """Whether a value is a JSON string."""
    return bytes(memoryview(raw)[:1]) == b'"'


def opens_with(raw: Payload | memoryview, mark: bytes) -> bool:
    """Whether the first byte that is no blank is that one."""
    view = memoryview(raw)
    blank = _BLANK.match(view)
    start = blank.end() if blank else 0
    return bytes(view[start : start + 1]) == mark


def is_true(fields: Fields, *names: str) -> bool:
    """Whether one of these fields is true."""
    for name in names:
        raw = fields.get(name)
        if raw is not None and raw == _TRUE:
            return True
    return False


# what looks like a call ----------------------------------------------------------------------------------------------

_USUAL = 64  # characters of a key that is remembered
_HUMPS = late(r"(?<=[a-z0-9])(?=[A-Z])")
_BETWEEN = late(r"[^a-z0-9]+")
_CALL_IDS = frozenset(
    {"call_id", "tool_call_id", "tool_use_id", "tool_calls", "tool_call", "function_call", "tool_use"}
)
_TOOL_NAMES = frozenset({"name", "tool", "tool_name", "function", "function_name"})
_ARGUMENTS = frozenset(
    {"args", "arguments", "function_args", "input", "kwargs", "params", "parameters", "tool_args", "tool_input"}
)


_HOLDS_A_TOOL = late(rb'"tool(?:_use|_calls|Calls?|Use|_result|Result)"')
_FUNCTION = b'"functionCall"'
_NAMED, _ASKED_FOR = (
    b'"function"',
    late(rb'"function"\s*:\s*\{\s*(?:"name"\s*:\s*"[^"\\]{0,200}"\s*,\s*)?"arguments"\s*:'),
)
"""A function with arguments is a call; one with parameters is offered."""
_ENDS_SO, _ANY_CALL = late(rb'_call"'), late(rb'"\w+_call"')


def holds_a_call(raw: Payload | bytes, begin: int = 0, end: int = sys.maxsize) -> bool:
    """Whether a JSON text, or that part of one, holds what the APIs write for a call or a result."""
    data = bytes(raw)  # each pattern begins with a text to look for, which is several times as fast as one for all
    if _HOLDS_A_TOOL.search(data, begin, end) is not None or data.find(_FUNCTION, begin, end) >= 0:
        return True
    if data.find(_NAMED, begin, end) >= 0 and _ASKED_FOR.search(data, begin, end) is not None:
        return True
    return _ENDS_SO.search(data, begin, end) is not None and _ANY_CALL.search(data, begin, end) is not None


_OPENING = (b"{", b"[", b" ", b"\t", b"\r", b"\n")


def is_like_calls(raw: Payload) -> bool:
    """Whether a value holds what the APIs write for a call, or is or lists what looks like one."""
    if bytes(memoryview(raw)[:1]) not in _OPENING:  # a text, a number: asked of nearly every member
        return False
    listed = items_of(raw) if opens_with(raw, b"[") else [raw]
    return holds_a_call(raw) or any(looks_like_a_call(fields_of(one)) for one in listed)


def looks_like_a_call(fields: Fields) -> bool:
    """Whether the keys of an object do, or it is a function with its arguments (one on offer has `parameters`)."""
    return call_marks(fields) or ("function" in fields and "arguments" in object_in(fields, "function"))


def unread_calls(fields: Fields, read: frozenset[str]) -> list[str]:
    """The members beside those that are read that look like calls."""
    return [name for name, held in fields.items() if name not in read and is_like_calls(held)]


def spelled(word: str) -> str:
    """A name in one spelling: `toolCall`, `tool-call` and `Tool Call` are `tool_call`."""
    return _spelled(word) if len(word) <= _USUAL else _spelled.__wrapped__(word)


@functools.lru_cache(1024)
def _spelled(word: str) -> str:
    return _BETWEEN.sub("_", _HUMPS.sub("_", word).lower()).strip("_")


def call_marks(keys: Iterable[str]) -> bool:
    """Whether an object with these keys looks like a call: it names one by its id, or a tool with its arguments."""
    names = {spelled(key) for key in keys}
    return bool(names & _CALL_IDS) or _names_a_tool(names)


def hides_arguments(fields: Fields) -> bool:
    """Whether a call of which no arguments were read has a member that may hold them, under another spelling."""
    return any(spelled(name).rstrip("s") in _GIVEN and bytes(held) not in _EMPTY for name, held in fields.items())


_GIVEN = frozenset(name.rstrip("s") for name in _ARGUMENTS) | {"code", "command", "action", "querie", "query"}
_EMPTY = (b"null", b"{}", b"[]", b'""', b"false")


def names_a_tool(keys: Iterable[str]) -> bool:
    """Whether an object with these keys names a tool with its arguments."""
    return _names_a_tool({spelled(key) for key in keys})


def _names_a_tool(names: set[str]) -> bool:
    return bool(names & _TOOL_NAMES and names & _ARGUMENTS)
