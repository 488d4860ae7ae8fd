"""What did an agent of smolagents think, run and see, step by step? The steps of its memory, as `get_full_steps` and
`get_succinct_steps` give them, a result of `run` with its steps, or a step a line.

Source: the steps of `smolagents.memory`. What was observed is one text a step: of one call it is the result, of several
it is nobody's. A call that raised ends its step, and the step names only the calls that went before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.core.build import Spot
from forensics.core.sanitise import one_line
from forensics.core.times import nanoseconds
from forensics.core.trace import StepKind
from forensics.formats.shared.document import find_document, note_cut
from forensics.formats.shared.fields import (
    Fields,
    fields_of,
    is_text,
    items_in,
    items_of,
    object_in,
    present,
    unread_calls,
    whole_number,
)
from forensics.formats.shared.json_lines import json_values
from forensics.formats.shared.messages.blocks import read_parts, read_tool_calls
from forensics.formats.shared.messages.draft import Draft, part_of
from forensics.formats.shared.messages.telling import Doubts, taint, tell
from forensics.formats.shared.messages.vocabulary import in_place, message_of, parse_message
from forensics.formats.shared.records_in import records_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from forensics.core.build import TraceBuilder
    from forensics.core.messages import Message, Part
    from forensics.core.reading import EvidenceBuilder
    from forensics.core.trace import Payload
    from forensics.formats.shared.reader import Look
    from forensics.formats.shared.source import Source

NAME = "smolagents"
ABOUT = "smolagents memory: the steps of a run, alone or in its result, a list or a step a line"
CARRIES = "calls with their ids, code that was run, what was observed, errors, prompts (full steps); times in µs"
LACKS = "which of several calls in a step a result is of; what code called; tool schemas (they stand in the prompt)"
RERUN = "the tools' schemas, the interpreter's state, and what the code called"
RECORDS_CALLS = True
SPANS_ARE_COMPLETE = False

_SURE = 90
_LOOKED_AT = 4
_ACTION = frozenset({"tool_calls", "observations"})
_NUMBERS = frozenset({"step_number", "step"})
_HEADS = frozenset({"task", "system_prompt", "plan"})
_READ = _ACTION | {"model_output_message", "model_input_messages", "code_action", "action_output"}
_NO_STEP = "a record that is no step of a run"


def sniff(look: Look) -> int:
    """90 where one of the first steps is one in which an agent acted."""
    document = look.members()
    if document:
        return _SURE if _steps_of(document) else 0
    firsts = [*look.items()[:_LOOKED_AT], *look.lines[:_LOOKED_AT]]
    return _SURE if any(_is_action(one) or _steps_of(one) for one in firsts) else 0


def _is_action(fields: Fields) -> bool:
    return fields.keys() >= _ACTION and not _NUMBERS.isdisjoint(fields)


def _steps_of(fields: Fields) -> list[Payload]:
    """The steps that a result of a run holds; none where it is none."""
    steps = items_in(fields, "steps") if "steps" in fields else []
    return steps if any(_is_action(fields_of(step)) for step in steps[:_LOOKED_AT]) else []


def read(source: Source, build: EvidenceBuilder) -> None:
    """Tell every run. Raises CorruptEvidenceError where the evidence holds no step."""
    runs = _Runs(build)
    document = find_document(source, build)
    if document is not None:
        runs.value(document.body, document.spot, document.tainted)
        note_cut(document, build)
    else:
        for value, spot, tainted in json_values(source, build):
            runs.value(value, spot, tainted)
    if not build.counts.records:
        raise source.holds_no("step")


class _Runs:
    """The runs of the evidence: a task begins one, and so does a result."""

    def __init__(self, build: EvidenceBuilder) -> None:
        self.build = build
        self.run: _Run | None = None
        self.begun = 0

    def value(self, raw: Payload, spot: Spot, tainted: str | None) -> None:
        """Read one value of the evidence: a step, a result with its steps, or a list of either."""
        for _, fields, pointer in records_in(raw, self._around):
            self._step(fields, spot.down(pointer), tainted)

    def _around(self, fields: Fields) -> tuple[str, ...]:
        """Where a result has its steps, which are a run."""
        if not _steps_of(fields):
            return ()
        self.run = None
        return ("steps",)

    def _step(self, fields: Fields, spot: Spot, tainted: str | None) -> None:
        told = next((name for name in _STEPS if name in fields), "")
        if not told:
            self.build.gap("evidence_gap", _NO_STEP, spot)
            return
        if self.run is None or (told == "task" and self.run.acted):
            self.run = _Run(self.build.trace(f"trace-{self.begun}"))
            self.begun += 1
        self.build.counts.records += 1
        before = len(self.run.builder.trace.calls)
        _STEPS[told](self.run, fields, spot)
        if self.run.builder.trace.calls[before:] or tainted:
            taint(self.run.builder, tainted, spot, before)
        for member in unread_calls(fields, _READ):
            message = f"what looks like a call in a member that is not read ({one_line(member, 40)})"
            self.run.builder.gap("evidence_gap", message, spot)
        usage = object_in(fields, "token_usage")
        self.build.counts.input_tokens += whole_number(usage, "input_tokens")
        self.build.counts.output_tokens += whole_number(usage, "output_tokens")


class _Run:
    """One run on its way to the builder."""

    def __init__(self, builder: TraceBuilder) -> None:
        self.builder = builder
        self.lane = builder.lane()
        self.doubts = Doubts()
        self.acted = False
        self.prompted = False

    def action(self, fields: Fields, spot: Spot) -> None:
        """A step in which the model answered, and what it asked for was run."""
        self.acted = True
        self._system(fields, spot)
        timing = object_in(fields, "timing") or fields
        asked = _asked(fields)
        self._tell(asked, _at(spot, present(timing, "start_time")))
        ended = _at(spot, present(timing, "end_time"))
        shown = _observed(fields, asked)
        self._tell(shown, ended)
        error = present(fields, "error")
        if error is not None and not shown.results:
            self.builder.step(StepKind.ERROR, ended.down("/error"), payload=_why(error))
        observed = present(fields, "observations")
        if observed is not None and not any(part.payload == observed for part in shown.results):
            self.builder.step(StepKind.USER, ended.down("/observations"), name="observations", payload=observed)

    def task(self, fields: Fields, spot: Spot) -> None:
        """What the agent was asked to do."""
        self.builder.step(StepKind.USER, spot.down("/task"), payload=fields["task"])

    def prompt(self, fields: Fields, spot: Spot) -> None:
        """The system's prompt, in a step of its own."""
        self.prompted = True
        self.builder.step(StepKind.SYSTEM, spot.down("/system_prompt"), payload=fields["system_prompt"])

    def plan(self, fields: Fields, spot: Spot) -> None:
        """A turn in which the model planned."""
        self._system(fields, spot)
        at = _at(spot, present(object_in(fields, "timing"), "end_time"))
        self.builder.turn(self.lane, at.down("/plan"), text=fields["plan"])

    def output(self, fields: Fields, spot: Spot) -> None:
        """What the run as a whole answered."""
        self.builder.step(StepKind.OTHER, spot.down("/output"), name="final output", payload=fields["output"])

    def _system(self, fields: Fields, spot: Spot) -> None:
        """The system's prompt, which the first step that keeps its prompt shows; the rest of it repeats the steps."""
        shown = () if self.prompted else items_in(fields, "model_input_messages")
        for at, raw in enumerate(shown):
            message = parse_message(raw, f"/model_input_messages/{at}")
            if message.role == "system":
                self.prompted = True
                self._tell(message, spot)

    def _tell(self, message: Message, spot: Spot) -> None:
        if message.text is not None or message.calls or message.results or message.says_model:
            tell(self.builder, self.lane, (message,), spot)
            self.doubts.note(self.builder, (message,), spot)


def _at(spot: Spot, time: Payload | None) -> Spot:
    return spot if time is None else Spot(spot.place, spot.pointer, nanoseconds(time))


def _asked(fields: Fields) -> Message:
    """What the model said, and the calls that it asked for: those that were run, and those of its answer that are not
    among them, of which one raised.
    """
    draft = Draft(in_place)
    draft.role = "assistant"
    answer = object_in(fields, "model_output_message")
    said = present(fields, "model_output", "llm_output") or present(answer, "content")
    if said is not None and is_text(said):
        draft.texts.append(said)
    elif said is not None:
        read_parts(draft, items_of(said), "/model_output")
    run = _calls(fields, "")
    draft.calls = [msgspec.structs.replace(part, freeform=_is_code(part.payload)) for part in run]
    known = {part.recorded_id for part in run}
    draft.calls += [part for part in _calls(answer, "/model_output_message") if part.recorded_id not in known]
    return message_of(draft, {}, "")


def _calls(fields: Fields, pointer: str) -> list[Part]:
    draft = Draft(in_place)
    read_tool_calls(draft, {"tool_calls": fields["tool_calls"]} if items_in(fields, "tool_calls") else {})
    return [msgspec.structs.replace(part, pointer=pointer + part.pointer) for part in draft.calls]


def _is_code(arguments: Payload | None) -> bool:
    """Whether a call was given a text and no arguments by name: the code that the interpreter ran."""
    return arguments is not None and is_text(arguments)


def _observed(fields: Fields, asked: Message) -> Message:
    """What came of the calls of a step: of one, what was observed or why it failed; of several that went well, that
    they were run.
    """
    draft = Draft(in_place)
    draft.role = "tool"
    error = present(fields, "error")
    if len(asked.calls) == 1:
        (call,) = asked.calls
        told = present(fields, "observations") if error is None else _why(error)
        place = "/observations" if error is None else "/error"
        draft.result(part_of(call.tool, call.recorded_id or "", told, place), {}, failed=error is not None)
    elif error is None:
        for call in asked.calls:
            draft.result(part_of(call.tool, call.recorded_id or "", None, "/observations"), {})
    return message_of(draft, {}, "")


def _why(error: Payload) -> Payload:
    """The message of an error."""
    return error if is_text(error) else present(fields_of(error), "message") or error


_STEPS: dict[str, Callable[[_Run, Fields, Spot], None]] = {
    "tool_calls": _Run.action,
    "plan": _Run.plan,
    "task": _Run.task,
    "system_prompt": _Run.prompt,
    "output": _Run.output,
}
"""By the member that only steps of that kind have."""
