"""What was the model of a CrewAI agent shown, and what did it answer, as messages that are read everywhere?

An agent whose model has no function calls writes `Action:` and `Action Input:` into its words; what came of it is put
behind them, as `Observation:`, in the same message. The two are parted again: the words are the model's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.core.jsonvalue import raw, text_of
from forensics.core.late import late
from forensics.formats.shared.crewai.values import opened
from forensics.formats.shared.fields import Fields, as_object, fields_of, is_text, items_of, opens_with, present, text
from forensics.formats.shared.messages.vocabulary import parse_message

if TYPE_CHECKING:
    from forensics.core.trace import Payload

_ACTION = late(r"(?m)^[ \t*]*Action[ \t]*\d*[ \t]*:[ \t*]*\S")
_FINAL = "Final Answer:"
_TOOL_CALL = "tool_call"
_OBSERVED = "\nObservation:"
_SAYS = frozenset({"content", "tool_calls", "role"})
_ASSISTANT = msgspec.Raw(b'"assistant"')


def prompt_of(messages: Payload) -> tuple[Payload, list[int]]:
    """The messages of a prompt as they were, and for each the number of the recorded one of which it is, perhaps as a
    part. A prompt that is one text stays one.
    """
    if not opens_with(messages, b"["):
        return messages, []
    told: list[Payload] = []
    numbers: list[int] = []
    for number, message in enumerate(items_of(opened(messages))):
        parts = _parted(message)
        told += parts
        numbers += [number] * len(parts)
    return msgspec.Raw(b"[" + b",".join(told) + b"]"), numbers


def left_out(before: Payload, after: Payload) -> bool:
    """Whether a prompt, as it was when its request began, shows a call or a result that it does not show at the end:
    a provider's own shape of it repeats them all.
    """
    return before != after and not _shown(before) <= _shown(after)


def _shown(messages: Payload) -> set[tuple[str, str]]:
    """The calls and the results in a prompt, by what each is and its id, or the tool of one that has none."""
    told, _ = prompt_of(messages)
    parsed = [parse_message(item, "") for item in items_of(told)]
    asked = {("call", part.recorded_id or part.tool) for message in parsed for part in message.calls}
    return asked | {("result", part.recorded_id or part.tool) for message in parsed for part in message.results}


def answer_of(response: Payload, *, of_a_tool: bool) -> Payload | None:
    """The message that a response is; None where it is what a tool returned that ran inside the request (`of_a_tool`).
    Calls come as a list of them, in the words of each provider.
    """
    response = opened(response)
    if is_text(response):
        return None if of_a_tool else _message({"content": response})
    if opens_with(response, b"["):
        return _asking(items_of(response))
    fields = fields_of(response)
    if _SAYS & fields.keys():
        return _message(fields)
    return _message({"content": raw(bytes(response).decode("utf-8", "replace"))})


def is_of_a_tool(fields: Fields) -> bool:
    """Whether a response may be what a tool returned: older releases write the kind of a call in Python's notation."""
    return _TOOL_CALL in text(fields, "call_type").lower()


def says_nothing(fields: Fields) -> bool:
    """Whether an answer is empty: calls that its model asked for may have been dropped."""
    said = present(fields, "response")
    return said is None or (is_text(said) and not text_of(said).strip() and not is_of_a_tool(fields))


def writes_a_call(response: Payload) -> bool:
    """Whether a model asks for a call in its words."""
    said = text_of(response) if is_text(response) else ""
    return _FINAL not in said and _ACTION.search(said) is not None


def _message(fields: Fields) -> Payload:
    return msgspec.Raw(b"[" + as_object({**fields, "role": _ASSISTANT}) + b"]")


def _asking(items: list[Payload]) -> Payload:
    """Calls: those of OpenAI's shape beside the content, others as parts of it."""
    calls = [item for item in items if "function" in fields_of(item)]
    parts = [_part(item) for item in items if "function" not in fields_of(item)]
    content = msgspec.Raw(b"[" + b",".join(parts) + b"]") if parts else msgspec.Raw(b"null")
    return _message({"content": content, "tool_calls": msgspec.Raw(b"[" + b",".join(calls) + b"]")})


def _part(item: Payload) -> Payload:
    """A part of an answer; Bedrock's call without the member around it."""
    return as_object({"toolUse": item}) if "toolUseId" in fields_of(item) else item


def _parted(message: Payload) -> list[Payload]:
    """A message of the model with what was observed behind its words as two."""
    fields = fields_of(message)
    content = present(fields, "content")
    if content is None or not is_text(content) or text(fields, "role") != "assistant":
        return [message]
    words, mark, observed = text_of(content).partition(_OBSERVED)
    if not mark or _ACTION.search(words) is None:
        return [message]
    shown = as_object({"role": raw("user"), "content": raw(mark.strip() + observed)})
    return [as_object({**fields, "content": raw(words)}), shown]
