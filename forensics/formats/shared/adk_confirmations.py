"""Which calls of an ADK session waited for a person to confirm them, and what did the person say?

A tool that wants a confirmation answers at once, with a text that is no result, and the event names the ids of such
calls (`requested_tool_confirmations`). The person is asked by a call of ADK's own (`adk_request_confirmation`), which
holds the call that waits; the answer to it says whether that may run. What comes of the call is then told under its own
id. Whether the tool did anything before it asked is not recorded: a call that is not answered again has no result.
(ADK: `FunctionTool`, `request_confirmation`.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.core.jsonvalue import raw, text_of, unfold, value_of
from forensics.core.sanitise import one_line
from forensics.core.trace import StepKind
from forensics.formats.shared.fields import Fields, as_object, fields_of, is_text, object_in, present, text
from forensics.formats.shared.messages.vocabulary import asks_for_calls

if TYPE_CHECKING:
    from forensics.core.build import Spot, TraceBuilder
    from forensics.core.messages import Message, Part
    from forensics.core.trace import Payload

USER = "user"
_ASKS = "adk_request_confirmation"
_TRUE = b"true"


class Confirmations:
    """The confirmations of one session so far: who waits for which, and which were not given."""

    def __init__(self, builder: TraceBuilder) -> None:
        self._builder = builder
        self._waits: dict[str, Payload] = {}
        self._refused: set[str] = set()
        self._called: set[str] = set()

    def without(self, message: Message, actions: Fields, spot: Spot, author: str) -> Message:
        """What a message says besides; requests, answers and texts that are no results yet are told as steps."""
        asks = [part for part in message.calls if self._is_asking(part)]
        self._called.update(part.recorded_id or "" for part in message.calls if part not in asks)
        waiting = object_in(actions, "requested_tool_confirmations") or object_in(actions, "requestedToolConfirmations")
        for name in waiting.keys() - self._called:
            says = f"a confirmation is asked for of a call that is not recorded ({one_line(name, 40)})"
            self._builder.gap("evidence_gap", says, spot.down("/actions"))
        for part in asks:
            self._ask(part, spot, author)
        left: list[Part] = []
        for part in message.results:
            if author == USER and part.tool == _ASKS and part.recorded_id in self._waits:
                self._answer(part, spot, author)
            elif waiting and (part.recorded_id or "") in {"", *waiting}:
                self._step(StepKind.OTHER, part.tool, part.payload, spot.down(part.pointer), author)
            else:
                left.append(self._final(part))
        calls = tuple(part for part in message.calls if part not in asks)
        known = "" if calls else asks_for_calls(message.role)  # it is written as if the person had asked
        doubts = tuple(doubt for doubt in message.doubts if doubt.says != known)
        return msgspec.structs.replace(message, calls=calls, results=tuple(left), doubts=doubts)

    def _is_asking(self, part: Part) -> bool:
        """Whether it is ADK's own call, which is of one that was told: a tool may have any name."""
        return part.tool == _ASKS and bool(part.recorded_id) and text(_waiting_call(part), "id") in self._called - {""}

    def _ask(self, part: Part, spot: Spot, author: str) -> None:
        call = _waiting_call(part)
        self._waits[part.recorded_id or ""] = call["id"]
        told = {"approval_id": raw(part.recorded_id), "call_id": call["id"], "args": call.get("args")}
        hint = present(object_in(_object(part.payload), "toolConfirmation"), "hint")
        payload = as_object({name: held for name, held in {**told, "hint": hint}.items() if held is not None})
        self._step(StepKind.APPROVAL_REQUEST, text(call, "name"), payload, spot.down(part.pointer), author)

    def _answer(self, part: Part, spot: Spot, author: str) -> None:
        """What a person answered; an answer that does not say so plainly is no confirmation, as in ADK."""
        call, confirmed = self._waits[part.recorded_id or ""], _confirmed(part.payload)
        if not confirmed:
            self._refused.add(text_of(call))
        told = {"approval_id": raw(part.recorded_id), "call_id": call, "approved": raw(confirmed)}
        if part.payload is not None:
            told["answer"] = part.payload
        self._step(StepKind.APPROVAL, "", as_object(told), spot.down(part.pointer), author)

    def _final(self, part: Part) -> Part:
        """What came of a call: nothing but an error, of one that a person did not confirm, is its refusal."""
        denied = part.recorded_id in self._refused and _object(part.payload).keys() == {"error"}
        return msgspec.structs.replace(part, denied=True) if denied else part

    def _step(self, kind: StepKind, name: str, payload: Payload | None, spot: Spot, author: str) -> None:
        self._builder.step(kind, spot, name=name, agent="" if author == USER else author, payload=payload)


def _waiting_call(part: Part) -> Fields:
    """The call that waits for the confirmation that another one asks for."""
    return object_in(_object(part.payload), "originalFunctionCall")


def _object(payload: Payload | None) -> Fields:
    return {} if payload is None or is_text(payload) else fields_of(payload)


def _confirmed(payload: Payload | None) -> bool:
    """Whether an answer says yes: itself or, where a client puts it so, as JSON text in its only member."""
    fields = _object(payload)
    if fields.keys() == {"response"}:
        inner = unfold(value_of(fields["response"]))
        return isinstance(inner, dict) and inner.get("confirmed") is True
    return bytes(fields.get("confirmed", b"")) == _TRUE
