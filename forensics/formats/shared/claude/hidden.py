"""Does a record hold a call, a result or a turn in a place that the walk does not read? Harnesses add kinds of records
and of blocks, and repeat in them what other records say; what is said nowhere else is hidden.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import msgspec

from forensics.core.jsonvalue import value_of
from forensics.core.sanitise import one_line
from forensics.formats.shared.call_words import tells_of_a_tool
from forensics.formats.shared.claude.kinds import AGENT_NEWS, CALLS_BESIDE, is_read, is_result
from forensics.formats.shared.fields import (
    Fields,
    as_object,
    call_marks,
    holds_a_call,
    is_text,
    names_a_tool,
    object_in,
    opens_with,
    present,
    text,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from forensics.core.trace import Payload
    from forensics.formats.shared.claude.lines import Record

_IDS = ("tool_use_id", "toolUseID", "toolUseId", "tool_call_id", "toolCallId", "call_id", "id")
_NAMES = ("name", "tool_name", "toolName", "tool")
_NAMES_A_CALL = b'"tool_use_id"'


class Named(msgspec.Struct, frozen=True):
    """An object that looks like a call or a result, by its id and its tool ("": not named)."""

    id: str
    tool: str


def suspect(record: Record, *, again: bool = False) -> Payload | None:
    """The part of a record that may hold calls and is not read as what it is; None for most records. Nothing is read of
    one that stands `again`.
    """
    if record.kind not in ("assistant", "user"):
        unread = _unread_of_news(record.fields, again=again) if record.kind == "progress" else None
        if unread is None or names_a_tool(record.fields):
            return as_object(record.fields) if _may_hold(record) else None
        return _listed(unread) if any(map(may_hold, unread)) else None
    content = record.content
    if content is None or (not is_text(content) and not opens_with(content, b"[")):
        return as_object(record.fields)
    beside = [held for name, held in record.message.items() if name in CALLS_BESIDE and bytes(held) not in _NOTHING]
    unread = [
        raw
        for kind, (raw, fields) in zip(record.kinds, record.blocks, strict=True)
        if not is_read(record.kind, kind) and fields and (holds_a_call(raw) or call_marks(fields))
    ]
    return _listed([*beside, *unread]) if beside or unread else None


_NOTHING = (b"null", b"[]", b"{}")


def _unread_of_news(fields: Fields, *, again: bool) -> list[Payload] | None:
    """What stands in a record beside the one of a sub-agent that it has news of, which is read as such; None where it
    has none. (That the record itself names a call says of which call it is the news.)
    """
    data = object_in(fields, "data")
    said = present(data, "message")
    if text(data, "type") != AGENT_NEWS or said is None or is_text(said):
        return None
    if again:
        return list(fields.values())
    held = [value for name, value in fields.items() if name != "data"]
    return held + [value for name, value in data.items() if name != "message"]


def _listed(parts: Iterable[Payload]) -> Payload:
    return msgspec.Raw(b"[" + b",".join(map(bytes, parts)) + b"]")


def _may_hold(record: Record) -> bool:
    return is_named_so(record.kind, record.fields) or any(map(may_hold, record.fields.values()))


def is_named_so(kind: str, keys: Iterable[str]) -> bool:
    """Whether a record of that type with these keys is named like a call: a tool with its arguments, or one at work."""
    keys = tuple(keys)
    return names_a_tool(keys) or tells_of_a_tool(kind, keys)


def may_hold(raw: Payload | bytes, begin: int = 0, end: int = sys.maxsize) -> bool:
    """Whether a JSON text, or that part of several, may hold a call or a result."""
    return bytes(raw).find(_NAMES_A_CALL, begin, end) >= 0 or holds_a_call(raw, begin, end)


def unread_message(record: Record) -> str:
    """Why the message of a record is not read; "" where it is, or where there is none."""
    says = "content" in record.message
    if record.kind in ("assistant", "user"):
        lacks = bool(record.message) and not says
        return "a message without content: what it says stands in members that are not read" if lacks else ""
    if not says and "role" not in record.message:
        return ""
    return f"a message in a record of a kind that is not known ({one_line(record.kind or '(none)', 40)})"


def hidden_in(part: Payload, told: Collection[str], tools: Collection[str]) -> bool:
    """Whether it holds a call or a result that is told nowhere else: neither its id nor, where it has none, its tool
    is among those that were told.
    """
    return any(one.id not in told if one.id else one.tool not in tools for one in _named(value_of(part)))


def _named(value: Any) -> Iterator[Named]:
    """Every object in a value that looks like a call or a result."""
    todo = [value]
    while todo:
        held = todo.pop()
        if isinstance(held, dict):
            if _looks_like_one(held):
                yield Named(_first(held, _IDS), _first(held, _NAMES))
            todo.extend(held.values())
        elif isinstance(held, list):
            todo.extend(held)


def _looks_like_one(held: dict[str, Any]) -> bool:
    kind = held.get("type")
    if not isinstance(kind, str):
        return call_marks(held)
    return kind.endswith("tool_use") or is_result(kind) or call_marks(held) or tells_of_a_tool(kind, held)


def _first(held: dict[str, Any], names: tuple[str, ...]) -> str:
    return next((held[name] for name in names if isinstance(held.get(name), str) and held[name]), "")
