"""What does a message of AutoGen's models say, in the words that are read everywhere? What it holds keeps its place: a
call or a result that stands at `/content/0` still does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.core.jsonvalue import raw
from forensics.formats.shared.fields import Fields, as_object, fields_of, is_text, items_of, opens_with, present, text
from forensics.formats.shared.messages.vocabulary import parse_message

if TYPE_CHECKING:
    from forensics.core.messages import Message
    from forensics.core.trace import Payload

_ROLES = {
    "SystemMessage": "system",
    "UserMessage": "user",
    "AssistantMessage": "assistant",
    "FunctionExecutionResultMessage": "tool",
}
TYPES = frozenset(_ROLES)
_CALL, _RESULT, _IMAGE = raw("tool_call"), raw("tool_result"), raw("image")
_ENDED = {"function_calls": "tool_calls"}
_IS_IMAGE = frozenset({"data"})


def read_words(told: Payload, pointer: str) -> Message:
    """A message of a prompt. Never raises: one of a type that is not known is one with a doubt."""
    fields = fields_of(told)
    kind = text(fields, "type")
    return parse_message(_spoken(fields, _ROLES.get(kind, kind or "other")), pointer)


def read_created(told: Payload, pointer: str) -> Message:
    """What a model answered (`CreateResult`)."""
    fields = fields_of(told)
    ends = text(fields, "finish_reason")
    spoken = fields_of(_spoken(fields, "assistant"))
    return parse_message(as_object({**spoken, "finish_reason": raw(_ENDED.get(ends, ends))}), pointer)


def _spoken(fields: Fields, role: str) -> Payload:
    content = present(fields, "content")
    thought = present(fields, "thought")
    parts = [] if content is None else [_part(one) for one in _listed(content)]
    if thought is not None:
        parts.append(as_object({"type": raw("text"), "text": thought}))
    told = {"role": raw(role), "content": msgspec.Raw(b"[" + b",".join(parts) + b"]")}
    return as_object({**{name: held for name, held in fields.items() if name not in _TOLD}, **told})


_TOLD = frozenset({"content", "finish_reason", "logprobs", "source", "thought", "type", "usage"})


def _listed(content: Payload) -> list[Payload]:
    return items_of(content) if opens_with(content, b"[") else [content]


def _part(one: Payload) -> Payload:
    """One part: a text, a call, a result of one, a picture."""
    fields = fields_of(one) if not is_text(one) else {}
    if "call_id" in fields:
        return as_object({**fields, "type": _RESULT, "tool_use_id": fields["call_id"]})
    if "name" in fields and "arguments" in fields:
        return as_object({**fields, "type": _CALL})
    if fields.keys() == _IS_IMAGE:
        return as_object({**fields, "type": _IMAGE})
    return one
