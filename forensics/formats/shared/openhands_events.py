"""What does a conversation of OpenHands tell, event by event? Actions, what was observed of them, and what the harness
notes.

An action that the model asked for as a call keeps the model's whole response, in which the calls stand as they were
asked for; one response may ask for several. An observation names the action that it is of. Of an agent without calls an
action is the call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.core.build import Spot
from forensics.core.sanitise import one_line
from forensics.core.times import nanoseconds
from forensics.core.trace import Boundary, StepKind
from forensics.formats.shared.fields import (
    Fields,
    as_object,
    call_marks,
    fields_of,
    is_like_calls,
    is_true,
    object_in,
    present,
    text,
    whole_number,
)
from forensics.formats.shared.messages.answers import read_body
from forensics.formats.shared.messages.telling import Doubts, Offers, taint
from forensics.formats.shared.wholeness import arguments_damage, result_damage

if TYPE_CHECKING:
    from forensics.core.build import Lane, TraceBuilder
    from forensics.core.reading import EvidenceBuilder
    from forensics.core.trace import Payload

_NO_CALLS = frozenset(
    {"change_agent_state", "condensation", "condensation_request", "finish", "message", "null", "pause", "recall"}
    | {"reject", "resume", "start", "system", "task_tracking", "think"}
)
"""Actions that reach nothing but the harness, where no call of the model asks for them."""
_NOTES = frozenset({"agent_state_changed", "condense", "file_download", "null", "recall", "server_ready", "success"})
"""Observations that need not be of a call."""
_FAILED = frozenset({"error", "agent_error"})
_REFUSED = "user_rejected"
_DELEGATE = "delegate"
_ENDS = frozenset({"finish", "reject"})
"""Actions that the harness takes as the end of a run: it answers them with a state, and no result ever comes."""
_OVER = frozenset({"finished", "rejected"})
_USER, _AGENT = "user", "agent"
_NOT_ASKED = frozenset(
    {"action_risk", "blocking", "confirmation_state", "hidden", "is_confirmed", "keep_prompt", "kernel_init_code"}
    | {"security_risk", "thought"}
)
"""Members of an action's arguments that the harness adds."""


class Conversation:
    """The events of one conversation on their way to the builder."""

    def __init__(self, builder: TraceBuilder, build: EvidenceBuilder) -> None:
        self.builder = builder
        self.build = build
        self.lane: Lane = builder.lane()
        self.offers, self.doubts = Offers(), Doubts()
        self.response = ""
        self.asked: dict[str, str] = {}
        self.has_ids = False
        self.told: set[str] = set()
        self.ending: int | None = None

    def event(self, fields: Fields, spot: Spot, tainted: str | None) -> None:
        """Tell one event."""
        spot = Spot(spot.place, spot.pointer, nanoseconds(present(fields, "timestamp")))
        before = len(self.builder.trace.calls)
        self.has_ids = self.has_ids or "id" in fields
        self.told.add(text(fields, "id"))
        self._goes_on(fields)
        if text(fields, "action"):
            self._action(fields, spot, tainted)
        elif "observation" in fields:
            self._observation(fields, spot, tainted)
        else:
            self._note(fields, spot)
        taint(self.builder, tainted, spot, before)

    def close(self) -> None:
        """The conversation is told: nothing answers an action that ended it and after which it did not go on."""
        if self.ending is not None:
            self.builder.end_by(self.lane, self.ending)
            self.ending = None

    def _goes_on(self, fields: Fields) -> None:
        """What follows an action that ends a run tells whether it did: a person, a state, whoever delegated the task.
        Where the agent itself goes on, that action was no end.
        """
        if self.ending is None:
            return
        kind, state = text(fields, "observation"), text(object_in(fields, "extras"), "agent_state")
        if kind == _DELEGATE or state in _OVER or _is_said_by_a_person(fields):
            self.close()
        elif state or kind in _FAILED or (text(fields, "action") and text(fields, "source") in (_AGENT, "")):
            self.ending = None

    # actions -----------------------------------------------------------------------------------------------------

    def _action(self, fields: Fields, spot: Spot, tainted: str | None) -> None:
        kind, (args, below) = text(fields, "action"), _arguments(fields)
        self.builder.trace.ended_normally = True if kind == "finish" else None
        metadata = object_in(fields, "tool_call_metadata")
        if metadata:
            self._asked_for(fields, metadata, spot, tainted)
            self._ends(kind, metadata)
        elif kind == "system":
            self.offers.note(self.builder, present(args, "tools"), spot.down(f"{below}/tools"))
            self._step(StepKind.SYSTEM, args, spot.down(f"{below}/content"))
        elif kind == "message" and self._is_a_persons(fields):
            self._step(StepKind.USER, args, spot.down(f"{below}/content"))
        elif kind == "message":
            self.response = ""
            self.builder.turn(self.lane, spot.down(f"{below}/content"), text=present(args, "content"))
        elif kind in _NO_CALLS or text(fields, "source") not in (_AGENT, ""):
            said = present(args, "thought", "final_thought", "content")
            self.builder.step(StepKind.OTHER, spot, name=kind, payload=said)
            self.look_through(fields, spot)
        else:
            self._acts(kind, fields, spot, tainted)

    def _ends(self, kind: str, metadata: Fields) -> None:
        """Note the call whose action ends the run; which of several calls under one id it is, is not known. A call of a
        tool that is not called so may have done more than to end it, and its result is due.
        """
        rows = self.lane.calls.get(text(metadata, "tool_call_id"))
        ends = kind in _ENDS and len(rows) == 1 and self.builder.trace.calls[rows[0]].tool == kind
        self.ending = rows[0] if ends else None

    def _is_a_persons(self, fields: Fields) -> bool:
        """Whether a message is a person's; where nothing says so, the first one is."""
        said_by = text(fields, "source")
        return said_by == _USER or (not said_by and not self.lane.turns)

    def _step(self, kind: StepKind, args: Fields, spot: Spot) -> None:
        self.builder.step(kind, spot, payload=present(args, "content"))

    def _asked_for(self, fields: Fields, metadata: Fields, spot: Spot, tainted: str | None) -> None:
        """An action that a call of the model asked for: with the first of a response all of its calls are told."""
        response = object_in(metadata, "model_response")
        name, call = text(response, "id"), text(metadata, "tool_call_id")
        if not name or name != self.response or call not in self.asked:
            self._turn(response, spot, tainted)
            self.response = name
        if call not in self.asked:
            message = "the model's response lacks the call that this action is of"
            self.builder.gap("evidence_gap", message, spot.down("/tool_call_metadata"))
            args, below = _arguments(fields)
            name = text(metadata, "function_name")
            self._request(name, call, _asked_arguments(args), spot.down(below), tainted)
        if text(fields, "id"):
            self.asked[f"#{text(fields, 'id')}"] = call

    def _turn(self, response: Fields, spot: Spot, tainted: str | None) -> None:
        """The turn of the model that a response is, with all that it asks for."""
        told = read_body(response, "/tool_call_metadata/model_response")
        said = next((message.text for message in told.messages), None)
        self.builder.turn(self.lane, spot.down("/tool_call_metadata/model_response"), text=said, model=told.model)
        self.doubts.note(self.builder, told.messages, spot)
        for doubt in told.doubts:
            self.builder.gap(doubt.code, doubt.says, spot.down(doubt.pointer))
        for message in told.messages:
            for part in message.calls:
                at = spot.down(message.pointer + part.pointer)
                self._request(part.tool, part.recorded_id or "", part.payload, at, tainted or part.tainted)
        usage = {} if told.usage is None else fields_of(told.usage)
        self.build.counts.input_tokens += whole_number(usage, "prompt_tokens")
        self.build.counts.output_tokens += whole_number(usage, "completion_tokens")

    def _acts(self, kind: str, fields: Fields, spot: Spot, tainted: str | None) -> None:
        """An action of an agent whose model writes it in its words: the action is the call."""
        self.response = ""
        args, below = _arguments(fields)
        said = present(args, "thought")
        said = None if said is None or bytes(said) == b'""' else said
        self.builder.turn(self.lane, spot.down(f"{below}/thought" if said is not None else ""), text=said)
        key = text(fields, "id")
        self._request(kind, f"#{key}" if key else "", _asked_arguments(args), spot.down(below), tainted)
        if key:
            self.asked[f"#{key}"] = f"#{key}"

    def _request(self, tool: str, call: str, arguments: Payload | None, spot: Spot, tainted: str | None) -> None:
        damage = None if arguments is None else arguments_damage(arguments)
        boundary = Boundary.SUB_AGENT if tool.startswith(_DELEGATE) else Boundary.TOOL
        turn = self.lane.turns[-1]
        self.builder.request(
            self.lane, turn, tool, call or None, arguments, spot, boundary=boundary, tainted=tainted or damage
        )
        self.asked[call] = call

    # observations ------------------------------------------------------------------------------------------------

    def _observation(self, fields: Fields, spot: Spot, tainted: str | None) -> None:
        """What was observed of an action; what the harness notes is of none."""
        kind = text(fields, "observation")
        cause = text(fields, "cause")
        call = text(object_in(fields, "tool_call_metadata"), "tool_call_id") or self.asked.get(f"#{cause}", "")
        known = call in self.asked if call else False
        if not call and not cause and kind in _FAILED and self.has_ids:
            self._went_wrong(fields, spot)
            return
        if not known and (kind in _NOTES or (cause in self.told and cause and kind not in _FAILED and not call)):
            step = StepKind.SYSTEM if kind == "recall" else StepKind.OTHER
            self.builder.step(step, spot.down("/content"), name=kind, payload=present(fields, "content"))
            self.look_through(fields, spot)
            return
        self._show(kind, call, fields, spot, tainted)

    def _went_wrong(self, fields: Fields, spot: Spot) -> None:
        """An error of no action: what the model said could not be made one, and is not in the file."""
        self.builder.step(StepKind.ERROR, spot.down("/content"), payload=present(fields, "content"))
        message = "an error of no action: what the model said before it is not recorded"
        self.builder.gap("evidence_gap", message, spot)

    def _show(self, kind: str, call: str, fields: Fields, spot: Spot, tainted: str | None) -> None:
        content, extras = present(fields, "content"), object_in(fields, "extras")
        damage = None if content is None else result_damage(content)
        self.builder.show(
            self.lane,
            call or None,
            "" if call else kind,
            content,
            spot.down("/content"),
            failed=kind in _FAILED or kind == _REFUSED or _says_failed(fields, extras),
            denied=kind == _REFUSED,
            tainted=tainted or damage,
        )

    # what is neither ---------------------------------------------------------------------------------------------

    def _note(self, fields: Fields, spot: Spot) -> None:
        self.builder.step(StepKind.OTHER, spot, name="event")
        if not fields or call_marks(fields) or present(fields, "action", "observation") is not None:
            self.builder.gap("evidence_gap", "an event that is neither an action nor an observation", spot)
        self.look_through(fields, spot)

    def look_through(self, fields: Fields, spot: Spot) -> None:
        """A gap where what is not read holds a call."""
        for name, held in fields.items():
            if name != "tool_call_metadata" and is_like_calls(held):
                message = f"what looks like a call in a member that is not read ({one_line(name, 40)})"
                self.builder.gap("evidence_gap", message, spot.down(f"/{name}"))


def _is_said_by_a_person(fields: Fields) -> bool:
    return text(fields, "action") == "message" and text(fields, "source") == _USER


def _arguments(fields: Fields) -> tuple[Fields, str]:
    """The arguments of an action, and where they stand: in a member, in older files in the event itself."""
    if "args" in fields:
        return object_in(fields, "args"), "/args"
    return {name: held for name, held in fields.items() if name not in _OF_THE_EVENT}, ""


_OF_THE_EVENT = frozenset({"action", "cause", "id", "message", "source", "timeout", "timestamp", "tool_call_metadata"})


def _asked_arguments(args: Fields) -> Payload:
    return as_object({name: held for name, held in args.items() if name not in _NOT_ASKED})


def _says_failed(fields: Fields, extras: Fields) -> bool:
    """Whether an observation says that it went wrong: by a flag, or by the exit code of a command."""
    code = present(extras, "exit_code") or present(object_in(extras, "metadata"), "exit_code")
    code = code if code is not None else present(fields, "exit_code")
    return is_true(extras, "error") or (code is not None and bytes(code) not in (b"0", b"-1"))
