"""What does this message of Letta's server say? Each thing that an agent does is a message of its own: a thought, a
call, what came back, what it said; several that one answer of the model holds stand beside each other.

Source: the message types of Letta's API (`message_type`). Lists of them begin with the latest, unless they were asked
for in the other order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.core.sanitise import one_line
from forensics.formats.shared.fields import Fields, fields_of, items_in, object_in, opens_with, present, text
from forensics.formats.shared.messages.blocks import read_content
from forensics.formats.shared.messages.draft import Draft, part_of
from forensics.formats.shared.messages.vocabulary import in_place, message_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from forensics.core.messages import Message
    from forensics.core.trace import Payload

_ENDS = "_message"
_ASSISTANT = {"type": msgspec.Raw(b'"reasoning"')}
"""Marks a message as one of several that make a turn."""
_NO_MESSAGES = frozenset({"stop_reason", "usage_statistics", "ping"})


def is_of_letta(fields: Fields) -> bool:
    """Whether an object is a message as Letta's server gives it, or what stands beside some in its streams."""
    kind = text(fields, "message_type")
    return (kind.endswith(_ENDS) and "id" in fields) or (kind in _NO_MESSAGES and "role" not in fields)


def parse_letta(fields: Fields, pointer: str) -> tuple[Message, ...]:
    """One message; none where an object only stands beside some, in a stream."""
    kind = text(fields, "message_type").removesuffix(_ENDS)
    if kind in _NO_MESSAGES:
        return ()
    draft = Draft(in_place)
    reader = _READERS.get(kind)
    if reader is not None:
        draft.role = _ROLES.get(kind, "assistant")
        reader(draft, fields)
    else:
        draft.role = "system"
        draft.doubt(f"a message of a kind that is not read ({one_line(kind, 40)})")
    return (message_of(draft, _ASSISTANT if draft.role == "assistant" else {}, pointer),)


def in_order(items: list[Payload]) -> list[tuple[int, Payload]]:
    """The items of a list with their places in it, the earliest first."""
    told = list(enumerate(items))
    if not items or b'"message_type"' not in bytes(items[0]):
        return told
    dates = [text(fields_of(one), "date") for one in (items[0], items[-1])]
    return told[::-1] if all(dates) and dates[0] > dates[1] else told


def _words(draft: Draft, fields: Fields) -> None:
    read_content(draft, {"role": msgspec.Raw(b'"user"'), **{k: v for k, v in fields.items() if k == "content"}})


def _thought(draft: Draft, fields: Fields) -> None:
    said = present(fields, "reasoning", "hidden_reasoning")
    if said is not None:
        draft.texts.append(said)


def _call(draft: Draft, fields: Fields) -> None:
    listed = [(fields_of(one), f"/tool_calls/{at}") for at, one in enumerate(_listed(fields, "tool_calls"))]
    for inner, pointer in listed or [(object_in(fields, "tool_call"), "/tool_call")]:
        arguments = present(inner, "arguments")
        draft.call(part_of(text(inner, "name"), text(inner, "tool_call_id"), arguments, pointer), inner)


def _return(draft: Draft, fields: Fields) -> None:
    listed = [(fields_of(one), f"/tool_returns/{at}") for at, one in enumerate(_listed(fields, "tool_returns"))]
    for inner, pointer in listed or [(fields, "")]:
        given = present(inner, "tool_return", "func_response")
        part = part_of(text(inner, "name"), text(inner, "tool_call_id"), given, f"{pointer}/tool_return")
        draft.result(part, inner)


def _listed(fields: Fields, name: str) -> list[Payload]:
    held = fields.get(name)
    return items_in(fields, name) if held is not None and opens_with(held, b"[") else []


def _approval(draft: Draft, fields: Fields) -> None:
    """An answer to a question for approval; a refusal is the end of its call."""
    said = present(fields, "reason") or present(fields, "approve")
    draft.texts.extend([] if said is None else [said])
    for at, one in enumerate(_listed(fields, "approvals")):
        inner = fields_of(one)
        if text(inner, "tool_call_id") and "tool_return" in inner:
            part = part_of("", text(inner, "tool_call_id"), present(inner, "tool_return"), f"/approvals/{at}")
            draft.result(part, inner)
        elif text(inner, "approve") == "false":
            why = present(inner, "reason")
            draft.result(part_of("", text(inner, "tool_call_id"), why, f"/approvals/{at}"), inner, denied=True)


def _summary(draft: Draft, fields: Fields) -> None:
    draft.doubt("what was said before was replaced by a summary", "", "compacted_history")
    said = present(fields, "summary")
    draft.texts.extend([] if said is None else [said])


_ROLES = {
    "user": "user", "system": "system", "tool_return": "tool", "approval_response": "approval",
    "summary": "system", "event": "system",
}  # fmt: skip
_READERS: dict[str, Callable[[Draft, Fields], None]] = {
    "user": _words,
    "system": _words,
    "assistant": _words,
    "reasoning": _thought,
    "hidden_reasoning": _thought,
    "tool_call": _call,
    "approval_request": _call,
    "tool_return": _return,
    "approval_response": _approval,
    "summary": _summary,
    "event": _summary,
}
"""By the type of a message, without its end."""
