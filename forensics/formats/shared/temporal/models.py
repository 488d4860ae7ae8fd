"""Is this activity a model request, and what was asked and answered? Told from its payload alone: the plugins of the
OpenAI Agents SDK and of Google ADK put a request with its prompt in, and the model's items or contents come out.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from forensics.core.jsonvalue import raw
from forensics.formats.shared.fields import (
    Fields,
    as_object,
    fields_of,
    is_true,
    items_in,
    items_of,
    object_in,
    opens_with,
    present,
    text,
)
from forensics.formats.shared.messages.answers import Answer, read_answer
from forensics.formats.shared.messages.conversation import Conversation, parse_conversation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.core.trace import Payload

_LISTS = ("input", "contents", "messages")
_NAMES_A_MODEL = ("model", "model_name", "modelName")
_LOOKS_LIKE_ONE = re.compile(r"(?:^|_)(?:model|llm|chat|completions?|generate_content)(?:_|$)")


def looks_like_a_request(name: str) -> bool:
    """Whether an activity is called as model requests are."""
    return _LOOKS_LIKE_ONE.search(name.lower().replace(".", "_").replace("-", "_")) is not None


def request_of(values: tuple[Payload, ...]) -> Conversation | None:
    """The prompt that an activity's input holds; None where it is no model request."""
    fields = fields_of(values[0]) if values and opens_with(values[0], b"{") else {}
    name = next((one for one in _LISTS if one in fields and opens_with(fields[one], b"[")), None)
    if name is None and "input" in fields and "model_settings" in fields:
        name = "input"
    if name is None or not any(one in fields for one in _NAMES_A_MODEL):
        return None
    config = object_in(fields, "config")
    request = {name: fields[name]}
    instructions = present(fields, "system_instructions") or present(config, "systemInstruction", "system_instruction")
    if instructions is not None:
        request["instructions"] = instructions
    tools = [*_offered(fields), *_offered(config), *_handoffs(fields)]
    if tools:
        request["tools"] = msgspec.Raw(b"[" + b",".join(bytes(tool) for tool in tools) + b"]")
    request["model"] = raw(text(fields, *_NAMES_A_MODEL))
    return parse_conversation(as_object(request))


def _offered(fields: Fields) -> list[Payload]:
    return items_in(fields, "tools")


def _handoffs(fields: Fields) -> Iterator[Payload]:
    """A hand-off is offered to the model as a tool."""
    for item in items_in(fields, "handoffs"):
        told = fields_of(item)
        named = {"name": "tool_name", "description": "tool_description", "parameters": "input_json_schema"}
        yield as_object({name: told[key] for name, key in named.items() if key in told})


def answer_of(result: Payload) -> Answer:
    """What the model answered."""
    if opens_with(result, b"["):
        pieces = [fields_of(item) for item in items_of(result)]
        if pieces and all("content" in piece or "errorCode" in piece for piece in pieces):
            return _from_adk(pieces)
    return read_answer(result, "")


def _from_adk(pieces: list[Fields]) -> Answer:
    """The responses of ADK; of a stream the last ones are whole, and repeat what came in part."""
    whole = [piece for piece in pieces if not is_true(piece, "partial")] or pieces
    parts = [part for piece in whole for part in items_in(object_in(piece, "content"), "parts")]
    content = as_object({"role": raw("model"), "parts": msgspec.Raw(b"[" + b",".join(map(bytes, parts)) + b"]")})
    candidate = {**whole[-1], "content": content}
    error = next((piece for piece in whole if present(piece, "errorCode", "error_code") is not None), None)
    told = read_answer(as_object({"candidates": msgspec.Raw(b"[" + bytes(as_object(candidate)) + b"]")}), "")
    usage = present(whole[-1], "usageMetadata", "usage_metadata")
    return msgspec.structs.replace(told, usage=usage, error=None if error is None else as_object(error))
