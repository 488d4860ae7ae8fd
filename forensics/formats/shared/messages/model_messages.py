"""Which messages is one message of Pydantic AI? Its request holds, part by part, what several say: the system's prompt,
a person's, what tools returned; its response is one message of the model.

Source: `ModelRequest` and `ModelResponse` of `pydantic_ai.messages`, told apart by `kind`, their parts by `part_kind`.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from forensics.formats.shared.fields import Fields, fields_of, items_in, opens_with, present, text
from forensics.formats.shared.messages.blocks import read_parts
from forensics.formats.shared.messages.draft import Draft
from forensics.formats.shared.messages.letta_messages import is_of_letta, parse_letta
from forensics.formats.shared.messages.vocabulary import in_place, message_of, parse_message
from forensics.formats.shared.wholeness import cut_short

if TYPE_CHECKING:
    from forensics.core.messages import Message
    from forensics.core.trace import Payload

_KINDS = frozenset({"request", "response"})
_WHOLE = frozenset({"", "complete"})
_SYSTEM = frozenset({"system-prompt", "instruction", "instruction-delta", "instruction-baseline"})
_TOOL = frozenset({"tool-return", "builtin-tool-return"})


def is_model_message(fields: Fields) -> bool:
    """Whether an object is a request or a response as Pydantic AI keeps it."""
    if "parts" not in fields or "role" in fields or text(fields, "kind") not in _KINDS:
        return False
    parts = items_in(fields, "parts")
    return not parts or "part_kind" in fields_of(parts[0])


def parse_messages(raw: Payload, pointer: str) -> tuple[Message, ...]:
    """An item of a list of messages as the messages that it is; of any other vocabulary than this it is one."""
    fields = fields_of(raw)
    if is_of_letta(fields):
        return parse_letta(fields, pointer)
    if not is_model_message(fields):
        return (parse_message(raw, pointer),)
    parts = items_in(fields, "parts")
    if text(fields, "kind") == "response":
        return (_response(fields, parts, pointer),)
    said = groupby(enumerate(parts), lambda one: _speaker(fields_of(one[1])))
    return (*_instructions(fields, pointer), *(_spoken(role, list(run), pointer) for role, run in said))


def _speaker(part: Fields) -> str:
    kind = text(part, "part_kind")
    if kind in _TOOL or (kind == "retry-prompt" and text(part, "tool_name")):
        return "tool"
    return "system" if kind in _SYSTEM else "user"


def _spoken(role: str, run: list[tuple[int, Payload]], pointer: str) -> Message:
    """What one speaker says in parts of a request that stand beside each other."""
    draft = Draft(in_place)
    draft.role = role
    read_parts(draft, [part for _, part in run], "/parts", run[0][0])
    return message_of(draft, {}, pointer)


def _response(fields: Fields, parts: list[Payload], pointer: str) -> Message:
    """What the model said; a response that was cut, suspended or interrupted may have been about to ask for calls."""
    draft = Draft(in_place)
    draft.role = "assistant"
    read_parts(draft, parts, "/parts")
    if text(fields, "state") not in _WHOLE:
        draft.doubt(cut_short(("incomplete",), calls=bool(draft.calls)), "/state")
    return message_of(draft, fields, pointer)


def _instructions(fields: Fields, pointer: str) -> tuple[Message, ...]:
    """What the system says beside the parts, with each request anew."""
    said = present(fields, "instructions")
    if said is None or opens_with(said, b"["):
        return ()
    draft = Draft(in_place)
    draft.role = "system"
    draft.texts.append(said)
    return (message_of(draft, {}, f"{pointer}/instructions"),)


def without_repeated(messages: list[Message]) -> tuple[Message, ...]:
    """The messages without the instructions that repeat the latest ones: every request carries them."""
    latest, kept = b"", []
    for message in messages:
        if message.pointer.endswith("/instructions"):
            if message.key == latest:
                continue
            latest = message.key
        kept.append(message)
    return tuple(kept)
