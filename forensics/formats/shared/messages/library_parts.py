"""What does a part of a message say that a library keeps in a shape of its own, as no API writes it?

The messages of the Vercel AI SDK's interfaces tell a call and how it ended in one part; Goose keeps each call and each
result with whether it is one, or the error in its place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.core.trace import Boundary
from forensics.formats.shared.fields import Fields, fields_of, is_true, object_in, opens_with, present, text
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


LIBRARIES: dict[str, Callable[[Draft, Fields, str], None]] = {
    "toolRequest": _goose_request,
    "toolResponse": _goose_response,
}
"""By the type of a part."""
