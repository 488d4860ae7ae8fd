"""What does a value say that a LangGraph checkpointer stored? MessagePack or JSON, decoded by structure alone.

The serialiser writes objects as "this class, these arguments" (MessagePack extensions 0 to 7, `lc` constructors in
JSON). Here a class is a name and its arguments are values: nothing is imported, called or unpickled. (The codes are
those of LangGraph's `JsonPlusSerializer`.)
"""

from __future__ import annotations

import base64
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from forensics.core.jsonvalue import Fault, decode
from forensics.core.sanitise import one_line

if TYPE_CHECKING:
    from collections.abc import Callable

_unpack = msgspec.msgpack.Decoder().decode
_pack = msgspec.msgpack.Encoder().encode
_JSON_STARTS = (b"{", b"[", b'"')
_PICKLE = b"\x80"
_PICKLE_PROTOCOLS = frozenset({2, 3, 4, 5})
_DEEPEST = 200
_NOTHING = frozenset({"null", "empty"})
_CLASS = "__class__"


class Stored(msgspec.Struct, frozen=True):
    """One stored value, as plain JSON values; `error` says why it can't be read, `lost` what in it could not be."""

    value: Any = None
    faults: tuple[Fault, ...] = ()
    error: str | None = None
    lost: tuple[str, ...] = ()


def stored(kind: str | None, body: bytes) -> Stored:
    """The value in a column, by the kind that its row names (None: by its first bytes). Never raises."""
    if kind in _NOTHING or (kind is None and not body):
        return Stored()
    reader = _READERS.get(kind or _guessed(body))
    if reader is None:
        return Stored(error=f"a value of the kind {one_line(kind or '', 40)}, which is not opened")
    return reader(body)


def _guessed(body: bytes) -> str:
    if body.lstrip()[:1] in _JSON_STARTS:
        return "json"
    if body[:1] == _PICKLE and body[1:2] and body[1] in _PICKLE_PROTOCOLS and body.endswith(b"."):
        return "pickle"
    return "msgpack"


def _json(body: bytes) -> Stored:
    decoded = decode(body)
    return Stored(decoded.value, decoded.faults, decoded.error)


def _msgpack(body: bytes) -> Stored:
    lost: list[str] = []
    try:
        value = _plain(_unpacked(body, lost), lost, 0)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, TypeError, ValueError) as error:
        return Stored(error=f"it is no MessagePack: {one_line(str(error), 80)}")
    return Stored(value, lost=tuple(dict.fromkeys(lost)))


def _bytes(body: bytes) -> Stored:
    return Stored(_text_of_bytes(body))


_READERS: dict[str, Callable[[bytes], Stored]] = {
    "json": _json,
    "msgpack": _msgpack,
    "bytes": _bytes,
    "bytearray": _bytes,
}


def _unpacked(body: bytes, lost: list[str]) -> Any:
    """One MessagePack text. What the decoder dropped (a key that stands twice) makes the written-back text shorter."""
    value = _unpack(body)
    if len(_pack(value)) < len(body):
        lost.append("a key stands twice in it, or it is written in an unusual way")
    return value


def _plain(value: Any, lost: list[str], depth: int) -> Any:
    if depth > _DEEPEST:
        raise ValueError(f"it is nested deeper than {_DEEPEST}")
    if isinstance(value, dict):
        return {_key(k): _plain(v, lost, depth + 1) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item, lost, depth + 1) for item in value]
    if isinstance(value, msgspec.msgpack.Ext):
        return _extension(value.code, bytes(value.data), lost, depth + 1)
    if isinstance(value, (bytes, bytearray)):
        return _text_of_bytes(bytes(value))
    return value.isoformat() if isinstance(value, datetime) else value


def _key(key: object) -> str:
    return key if isinstance(key, str) else str(key)


def _text_of_bytes(body: bytes) -> dict[str, str]:
    return {_CLASS: "bytes", "base64": base64.b64encode(body).decode()}


# extensions ----------------------------------------------------------------------------------------------------------

_SINGLE, _POSITIONAL, _KEYWORDS, _METHOD, _PYDANTIC_1, _PYDANTIC_2, _ARRAY, _DELTA = range(8)
_NAMED = 3  # module, class, arguments
_TRANSPARENT = frozenset({"builtins.tuple", "builtins.set", "builtins.frozenset", "collections.deque"})


def _extension(code: int, data: bytes, lost: list[str], depth: int) -> Any:
    """An object as the name of its class and its arguments; a delta snapshot as the state that it holds."""
    if code == _ARRAY or code not in range(8):
        lost.append("an array of numbers" if code == _ARRAY else f"an extension of the kind {code}")
        return _text_of_bytes(data) | {_CLASS: f"extension {code}"}
    value = _plain(_unpacked(data, lost), lost, depth)
    if code == _DELTA:
        return value[0] if isinstance(value, list) and len(value) == 1 else value
    if not isinstance(value, list) or len(value) < _NAMED:
        return value
    return _object(f"{value[0]}.{value[1]}", value[2])


def _object(name: str, arguments: Any) -> Any:
    """Arguments by keyword keep their names; a collection is its items; anything else is told by its class."""
    if isinstance(arguments, dict):
        return arguments if "type" in arguments and "content" in arguments else {_CLASS: name, **arguments}
    if name in _TRANSPARENT:
        inner = arguments[0] if isinstance(arguments, list) and len(arguments) == 1 else arguments
        return inner if isinstance(inner, list) else arguments
    return {_CLASS: name, "arguments": arguments}
