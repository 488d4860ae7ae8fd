"""What did an agent do, told in Harbor's interchange format (ATIF)? One document a trajectory, with those of its
sub-agents in it or in files of their own.

A result names its call, or stands in the step of an only call; some agents write it into a later step (FORMATS section
12; the models are those of `harbor/models/trajectories`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.core.build import Spot
from forensics.core.jsonvalue import raw, text_of
from forensics.core.messages import Part
from forensics.core.sanitise import one_line
from forensics.core.times import nanoseconds
from forensics.core.trace import Boundary, StepKind
from forensics.formats.shared.document import note_cut, open_document
from forensics.formats.shared.fields import (
    Fields,
    as_object,
    fields_of,
    items_in,
    items_of,
    object_in,
    opens_with,
    present,
    text,
    whole_number,
)
from forensics.formats.shared.lost_arguments import lost_arguments
from forensics.formats.shared.messages.telling import Doubts, Offers, taint, tell
from forensics.formats.shared.messages.vocabulary import parse_message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.core.build import TraceBuilder
    from forensics.core.messages import Message
    from forensics.core.reading import EvidenceBuilder
    from forensics.core.trace import Payload
    from forensics.formats.shared.reader import Look
    from forensics.formats.shared.source import Source

NAME = "atif"
ABOUT = "ATIF trajectory (Harbor), alone, with those of its sub-agents, or several in one document"
CARRIES = "calls, arguments, results, prompts, sub-agents, tool schemas, times (where the agent had them), tokens"
LACKS = "error flags, executions apart from results, steps of other files (continuations, sub-agents)"
RERUN = "what continuations and sub-agents in other files did"
RECORDS_CALLS = True
SPANS_ARE_COMPLETE = False

_VERSION = "ATIF-"
_ROLES = {"system": "system", "user": "user", "agent": "assistant"}
_NULL = b"null"
_NOTHING = msgspec.Raw(_NULL)
_MEMBERS = frozenset(
    ("step_id", "timestamp", "source", "model_name", "reasoning_effort", "message", "reasoning_content", "tool_calls",
     "observation", "metrics", "extra", "is_copied_context", "llm_call_count")
)  # fmt: skip


def sniff(look: Look) -> int:
    """95 for a trajectory, 90 for a document whose members are trajectories."""
    fields = look.members()
    if _is_trajectory(fields):
        return 95
    return 90 if any(opens_with(v, b"{") and _is_trajectory(fields_of(v)) for v in fields.values()) else 0


def _is_trajectory(fields: Fields) -> bool:
    return text(fields, "schema_version").startswith(_VERSION)


def read(source: Source, build: EvidenceBuilder) -> None:
    """Tell every trajectory. Raises CorruptEvidenceError where nothing of it is JSON."""
    document = open_document(source, build)
    last: str | None = None
    names: dict[str, int] = {}
    found = [(item, fields_of(item), pointer) for item, pointer in _trajectories(document.body, "")]
    held = frozenset(_id_of(fields) for _, fields, _ in found)
    for item, fields, pointer in found:
        name = _id_of(fields) or "trajectory"
        names[name] = number = names.get(name, 0) + 1
        last = name if number == 1 else f"{name}#{number}"
        build.dialect = build.dialect or text(fields, "schema_version")
        one = _Trajectory(build.trace(last), build, document.spot.down(pointer), fields)
        one.held = held
        one.tell()
        taint(one.builder, document.taint_of(item), one.spot)
    note_cut(document, build, last)


def _id_of(fields: Fields) -> str:
    """The id of a trajectory, or the one by which another names it."""
    return text(fields, "trajectory_id", "session_id")


def _trajectories(item: Payload, pointer: str) -> Iterator[tuple[Payload, str]]:
    """A trajectory and those of its sub-agents; or the trajectories that a document holds."""
    fields = fields_of(item)
    if not _is_trajectory(fields):
        inner = ((v, f"{pointer}/{name}") for name, v in fields.items() if opens_with(v, b"{"))
        yield from ((v, where) for v, where in inner if _is_trajectory(fields_of(v)))
        return
    yield item, pointer
    for at, child in enumerate(items_in(fields, "subagent_trajectories")):
        yield from _trajectories(child, f"{pointer}/subagent_trajectories/{at}")


class _Trajectory:
    """One trajectory on its way to the builder; `held` are the ids of those that the document holds."""

    held: frozenset[str] = frozenset()

    def __init__(self, builder: TraceBuilder, build: EvidenceBuilder, spot: Spot, fields: Fields) -> None:
        self.builder = builder
        self.build = build
        self.spot = spot
        self.fields = fields
        agent = object_in(fields, "agent")
        self.lane = builder.lane("", text(agent, "name"))
        self.tools = present(agent, "tool_definitions")
        self.doubts = Doubts()

    def tell(self) -> None:
        """Tell its steps in order."""
        Offers().note(self.builder, self.tools, self.spot.down("/agent/tool_definitions"))
        for at, item in enumerate(items_in(self.fields, "steps")):
            step, pointer = fields_of(item), f"/steps/{at}"
            self._check(step, at, self.spot.down(pointer))
            self._step(step, pointer)
            self.build.counts.records += 1
        if present(self.fields, "continued_trajectory_ref") is not None:
            message = "the trajectory goes on in a file of its own"
            self.builder.gap("evidence_gap", message, self.spot.down("/continued_trajectory_ref"))

    def _check(self, step: Fields, at: int, spot: Spot) -> None:
        """Steps are numbered from 1 without a hole, and no version has members of other names: what stands in one that
        holds something is not read.
        """
        number = text(step, "step_id")
        if number and number != str(at + 1):
            message = f"step {one_line(number, 20)} stands where step {at + 1} is expected: a step is missing or moved"
            self.builder.gap("evidence_gap", message, spot.down("/step_id"))
        for name, held in step.items():
            if name not in _MEMBERS and (opens_with(held, b"{") or opens_with(held, b"[")):
                message = f"a member of a step that is not known ({one_line(name, 40)}): it may hide a call"
                self.builder.gap("evidence_gap", message, spot)
        for name, listed in (("tool_calls", step.get("tool_calls", _NOTHING)), ("observation", _results(step))):
            if not opens_with(listed, b"[") and bytes(listed) != _NULL:
                message = f"the {name} of a step are no list: they are not read"
                self.builder.gap("evidence_gap", message, spot.down(f"/{name}"))

    def _step(self, step: Fields, pointer: str) -> None:
        spot = Spot(self.spot.place, self.spot.pointer, nanoseconds(present(step, "timestamp")))
        results = items_of(_results(step))
        message = _message(step, pointer)
        if message.calls and not message.says_model:
            self.builder.gap("evidence_gap", "a step that is not the agent's asks for calls", spot.down(pointer))
        tell(self.builder, self.lane, (message,), spot)
        self.doubts.note(self.builder, (message,), spot)
        self._check_calls(step, spot.down(pointer))
        for at, item in enumerate(results):
            self._result(fields_of(item), message, spot.down(f"{pointer}/observation/results/{at}"), len(results))
        self._count(object_in(step, "metrics"))

    def _check_calls(self, step: Fields, spot: Spot) -> None:
        for at, call in enumerate(map(fields_of, items_in(step, "tool_calls"))):
            lost = lost_arguments(text(call, "function_name"), call, "arguments")
            if lost:
                self.builder.gap("evidence_gap", lost, spot.down(f"/tool_calls/{at}"))

    def _result(self, result: Fields, message: Message, spot: Spot, count: int) -> None:
        """One result: of the call that it names, else of the only call of its step."""
        content = present(result, "content")
        own = text(result, "source_call_id")
        if not own and len(message.calls) == count == 1:
            own = message.calls[0].recorded_id or ""
        if not own and self.lane.unshown.latest() is None:
            self._uncalled(result, content, spot)
            return
        row = self.builder.show(self.lane, own or None, "", content, spot.down("/content"))
        for reference in items_in(result, "subagent_trajectory_ref"):
            self._sub_agent(row, fields_of(reference), spot)

    def _uncalled(self, result: Fields, content: Payload | None, spot: Spot) -> None:
        """A result without a call: agents that write their commands into the message get one for what they ran, and
        for words that their harness could not read. Which of the two it is, only the words tell.
        """
        self.builder.step(StepKind.USER, spot, name="observation", agent=self.lane.agent, payload=content)
        self.builder.gap(
            "evidence_gap", "something was observed that no call asked for: it may stand in the text", spot
        )
        for reference in items_in(result, "subagent_trajectory_ref"):
            self._sub_agent(-1, fields_of(reference), spot)

    def _sub_agent(self, row: int, reference: Fields, spot: Spot) -> None:
        """A call that was another agent's work, which stands in the document or in a file of its own."""
        if row >= 0:
            self.builder.trace.calls[row].boundary = Boundary.SUB_AGENT
        if _id_of(reference) not in self.held:
            message = "what a sub-agent did stands in a trajectory of its own"
            self.builder.gap("evidence_gap", message, spot.down("/subagent_trajectory_ref"))

    def _count(self, metrics: Fields) -> None:
        self.build.counts.input_tokens += whole_number(metrics, "prompt_tokens")
        self.build.counts.output_tokens += whole_number(metrics, "completion_tokens")


def _message(step: Fields, pointer: str) -> Message:
    """A step as the message that it is."""
    role = _ROLES.get(text(step, "source"), text(step, "source"))
    told = {"role": raw(role), "content": step.get("message", raw(""))}
    message = parse_message(as_object(told), pointer)
    calls = tuple(_call(fields_of(item), at) for at, item in enumerate(items_in(step, "tool_calls")))
    thought = present(step, "reasoning_content")
    if thought is not None and message.says_model:
        said = "" if message.text is None else text_of(message.text)
        message = msgspec.structs.replace(message, text=raw(f"{text_of(thought)}\n{said}"))
    return msgspec.structs.replace(message, calls=(*message.calls, *calls))


def _results(step: Fields) -> Payload:
    """What a step observed, as the list that it should be."""
    observed = step.get("observation", _NOTHING)
    return fields_of(observed).get("results", observed)


def _call(call: Fields, at: int) -> Part:
    recorded = text(call, "tool_call_id") or None
    return Part(text(call, "function_name"), recorded, present(call, "arguments"), f"/tool_calls/{at}")
