"""What was a model shown, and what did it answer, where a span keeps the whole request and the whole response?

As `input.value` and `output.value` do where no messages are told apart, and as Google ADK does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from forensics.core.jsonvalue import canonical, decode, text_of
from forensics.formats.shared.fields import (
    Fields,
    as_object,
    fields_of,
    is_text,
    items_of,
    json_inside,
    opens_with,
    present,
)
from forensics.formats.shared.messages.answers import Answer, read_answer
from forensics.formats.shared.messages.vocabulary import parse_message

if TYPE_CHECKING:
    from forensics.core.trace import Payload

_LISTS = ("messages", "contents", "input", "prompts", "prompt")
_SYSTEM = ("system", "system_instruction", "systemInstruction", "instructions")
_DEEPEST = 3


class Request(NamedTuple):
    """The messages that a request shows, each as JSON; `cut` says that it began as JSON and is none."""

    items: list[bytes]
    cut: bool = False


def read_request(payload: Payload) -> Request:
    """The messages of a request: a list of them, an object that holds such a list, or the text of one."""
    opened = json_inside(payload)
    if is_text(opened):
        text = text_of(opened)
        is_cut = text.lstrip()[:1] in ("{", "[") and decode(text.encode("utf-8", "surrogatepass")).error is not None
        return Request([_as(b'"user"', opened)] if text.strip() else [], is_cut)
    if opens_with(opened, b"["):
        return Request(_messages(opened))
    fields = fields_of(opened)
    listed = present(fields, *_LISTS)
    if listed is None:
        return Request([_as(b'"user"', msgspec.Raw(canonical(bytes(opened).decode("utf-8", "replace"))))])
    return Request([*_system(fields), *_messages(json_inside(listed))])


def _messages(listed: Payload, depth: int = 0) -> list[bytes]:
    """The messages of a list, which LangChain puts into a list of its own."""
    if is_text(listed):
        return [_as(b'"user"', listed)]
    told: list[bytes] = []
    for item in items_of(listed):
        if opens_with(item, b"[") and depth < _DEEPEST:
            told.extend(_messages(item, depth + 1))
        else:
            told.append(_as(b'"user"', item) if is_text(item) else bytes(item))
    return told


def _system(fields: Fields) -> list[bytes]:
    config = present(fields, "config")
    said = present(fields, *_SYSTEM) or (None if config is None else present(fields_of(config), *_SYSTEM))
    return [] if said is None else [_as(b'"system"', said)]


def _as(role: bytes, content: Payload) -> bytes:
    member = b"content" if not opens_with(content, b"{") or "parts" not in fields_of(content) else b"parts"
    told = content if member == b"content" else fields_of(content)["parts"]
    return b'{"role":' + role + b',"' + member + b'":' + bytes(told) + b"}"


# the response --------------------------------------------------------------------------------------------------------


def read_response(payload: Payload) -> Answer:
    """The answer in a response body of any API, in what LangChain keeps of one, or in a content of Gemini's."""
    opened = json_inside(payload)
    if opens_with(opened, b"{"):
        fields = fields_of(opened)
        inner = _gemini_content(fields) or _generation(fields)
        if inner is not None:
            return Answer((parse_message(inner, ""),))
    return read_answer(opened, "")


def _gemini_content(fields: Fields) -> Payload | None:
    content = present(fields, "content")
    if content is None or not opens_with(content, b"{"):
        return None
    inner = fields_of(content)
    return as_object({"role": msgspec.Raw(b'"model"'), **inner}) if "parts" in inner else None


def _generation(fields: Fields) -> Payload | None:
    """LangChain's LLMResult: lists of generations, each with its message."""
    listed = present(fields, "generations")
    for _ in range(_DEEPEST):
        if listed is None or not opens_with(listed, b"["):
            break
        listed = next(iter(items_of(listed)), None)
    if listed is None:
        return None
    fields = fields_of(listed)
    message = present(fields, "message")
    return message if message is not None else as_object({"role": msgspec.Raw(b'"assistant"'), **fields})
