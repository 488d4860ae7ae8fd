"""What does a part of a message say that a library keeps in a shape of its own, as no API writes it?

The messages of the Vercel AI SDK's interfaces tell a call and how it ended in one part; Goose keeps each call and each
result with whether it is one, or the error in its place. Pydantic AI says how a call ended and asks to try again in
parts of their own, LlamaIndex and Semantic Kernel name the kind of a part in other members than `type`, and Haystack
names it by the part's one member.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.core.trace import Boundary
from forensics.formats.shared.fields import (
    Fields,
    fields_of,
    is_text,
    is_true,
    items_of,
    object_in,
    opens_with,
    present,
    text,
)
from forensics.formats.shared.messages.draft import part_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from forensics.core.trace import Payload
    from forensics.formats.shared.messages.draft import Draft

_DENIED = msgspec.Raw(b'"the execution was denied"')
_TRUE = msgspec.Raw(b"true")
_NAMED_PART = "tool-"
_STREAMING = frozenset({"partial-call", "input-streaming"})
_FAILED = frozenset({"output-error", "output-denied"})
_ENDED = _FAILED | {"result", "output-available"}


def is_asked_and_ended(fields: Fields) -> bool:
    """Whether a part tells a call of the Vercel AI SDK: under the name of the tool, or in a member of its own."""
    named = text(fields, "type").startswith((_NAMED_PART, "dynamic-tool"))
    return named and ("toolInvocation" in fields or {"toolCallId", "state"} <= fields.keys())


def asked_and_ended(draft: Draft, fields: Fields, pointer: str) -> None:
    """A call together with how it ended; its `state` says how far it came."""
    inner = object_in(fields, "toolInvocation") or fields
    name = text(inner, "toolName") or text(fields, "type").removeprefix(_NAMED_PART)
    recorded, state = text(inner, "toolCallId"), text(inner, "state")
    ran_by = Boundary.PROVIDER_TOOL if is_true(inner, "providerExecuted") else Boundary.TOOL
    asked = part_of(name, recorded, present(inner, "input", "args", "rawInput"), pointer, ran_by)
    draft.call(asked, {**inner, "truncated": _TRUE} if state in _STREAMING else inner)
    denied = state == "output-denied"
    told = _why(inner) if denied else present(inner, "output", "result", "errorText")
    if state in _ENDED or told is not None:
        draft.result(part_of(name, recorded, told, pointer), inner, failed=state in _FAILED, denied=denied)


def _why(fields: Fields) -> Payload:
    """Why a call was denied, as far as is said."""
    return present(object_in(fields, "approval"), "reason") or _DENIED


def _vercel_error(draft: Draft, fields: Fields, pointer: str) -> None:
    """The error of a call, in a part of its own."""
    part = part_of(text(fields, "toolName"), text(fields, "toolCallId"), present(fields, "error"), pointer)
    draft.result(part, fields, failed=True)


def _goose_request(draft: Draft, fields: Fields, pointer: str) -> None:
    """A call or, where what the model asked for could not be read, why not."""
    asked, failed = _kept(fields, "toolCall")
    inner = {} if asked is None else fields_of(asked)
    if failed or not text(inner, "name"):
        draft.doubt("a call that could not be read when it was asked for", pointer)
        return
    draft.call(part_of(text(inner, "name"), text(fields, "id"), present(inner, "arguments"), pointer), inner)


def _goose_response(draft: Draft, fields: Fields, pointer: str) -> None:
    """A result, or the error in its place."""
    told, failed = _kept(fields, "toolResult")
    inner = fields_of(told) if told is not None and opens_with(told, b"{") else {}
    content = present(inner, "content") if "content" in inner else told
    draft.result(part_of("", text(fields, "id"), content, pointer), inner, failed=failed)


def _kept(fields: Fields, name: str) -> tuple[Payload | None, bool]:
    """A value that Goose keeps, and whether it is the error instead."""
    held = object_in(fields, name)
    error = present(held, "error", "Err")
    return (error, True) if error is not None else (present(held, "value", "Ok") or present(fields, name), False)


def kind_of_part(fields: Fields) -> str:
    """The kind of a part, in whichever member a library says it; "" where none does."""
    return text(fields, "type", "part_kind", "block_type", "content_type")


_FAILED_RETURNS = frozenset({"failed", "retried"})


def _pydantic_builtin(draft: Draft, fields: Fields, pointer: str) -> None:
    """A tool that the model's provider ran; what it gave back is a part of its own."""
    name, recorded = text(fields, "tool_name"), text(fields, "tool_call_id")
    draft.call(part_of(name, recorded, present(fields, "args"), pointer, Boundary.PROVIDER_TOOL), fields)


def _pydantic_return(draft: Draft, fields: Fields, pointer: str) -> None:
    """What a tool returned, with its `outcome`: one that was interrupted may have taken effect."""
    outcome = text(fields, "outcome")
    told = {**fields, "status": fields["outcome"]} if outcome == "interrupted" else fields
    part = part_of(text(fields, "tool_name"), text(fields, "tool_call_id"), present(fields, "content"), pointer)
    draft.result(part, told, failed=outcome in _FAILED_RETURNS, denied=outcome == "denied")


def _pydantic_retry(draft: Draft, fields: Fields, pointer: str) -> None:
    """The request to try again: the failed end of a call where it names a tool, else words to the model."""
    content = present(fields, "content")
    if text(fields, "tool_name"):
        part = part_of(text(fields, "tool_name"), text(fields, "tool_call_id"), content, pointer)
        draft.result(part, fields, failed=True)
    elif content is not None:
        draft.texts.append(draft.keep(content))


def _prompt(draft: Draft, fields: Fields, _pointer: str) -> None:
    """What was said to the model: a text, or texts and media."""
    content = present(fields, "content")
    if content is not None and not opens_with(content, b"["):
        draft.texts.append(draft.keep(content))
        return
    for item in () if content is None else items_of(content):
        if is_text(item):
            draft.texts.append(draft.keep(item))
        elif text(fields_of(item), "kind") == "text-content":
            draft.texts.append(draft.keep(present(fields_of(item), "content") or item))
        else:
            draft.shows(item)


def _function_result(draft: Draft, fields: Fields, pointer: str) -> None:
    """A result that names the call by its own id (Semantic Kernel) or by a member for that (Gemini's interactions)."""
    recorded = text(fields, "call_id") or text(fields, "id")
    draft.result(part_of(text(fields, "name"), recorded, present(fields, "result"), pointer), fields)


def is_of_haystack(fields: Fields) -> bool:
    """Whether the value of a part's one member is a call as Haystack keeps it."""
    return "tool_name" in fields and "arguments" in fields


def haystack_call(draft: Draft, fields: Fields, pointer: str) -> None:
    """A call: its tool, its arguments and, where the model's API gives one, its id."""
    draft.call(part_of(text(fields, "tool_name"), text(fields, "id"), fields["arguments"], pointer), fields)


def haystack_result(draft: Draft, raw: Payload, pointer: str) -> None:
    """A result with the call that it answers (`origin`)."""
    inner = fields_of(raw)
    origin = object_in(inner, "origin")
    part = part_of(text(origin, "tool_name"), text(origin, "id"), present(inner, "result"), pointer)
    draft.result(part, {}, failed=is_true(inner, "error"))


LIBRARIES: dict[str, Callable[[Draft, Fields, str], None]] = {
    "tool_error": _vercel_error,
    "toolRequest": _goose_request,
    "toolResponse": _goose_response,
    "tool_return": _pydantic_return,
    "builtin_tool_return": _pydantic_return,
    "builtin_tool_call": _pydantic_builtin,
    "retry_prompt": _pydantic_retry,
    "retry_feedback": _pydantic_retry,
    "user_prompt": _prompt,
    "system_prompt": _prompt,
    "function_result": _function_result,
}
"""By the type of a part."""
