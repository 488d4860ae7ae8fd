"""What happened in one Inspect sample? Its events, told in order: model requests, tools, approvals, sub-agents.

A tool event is an execution; that of a sub-agent ends with the span of the agent that it started, so that what the
sub-agent did stands inside it. Events of scorers are the benchmark's, and are told as such.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from forensics.core.build import Execution, Lane, Spot
from forensics.core.jsonvalue import raw
from forensics.core.sanitise import one_line
from forensics.core.times import nanoseconds
from forensics.core.trace import Boundary, StepKind
from forensics.formats.shared.fields import (
    Fields,
    call_marks,
    fields_of,
    items_in,
    object_in,
    present,
    text,
    whole_number,
)
from forensics.formats.shared.inspect_logs.sample import Sample, failure_of
from forensics.formats.shared.messages.exchanges import Exchanges
from forensics.formats.shared.messages.telling import Offers, tell
from forensics.formats.shared.wholeness import cut_short, finish_words

if TYPE_CHECKING:
    from forensics.core.build import TraceBuilder
    from forensics.core.messages import Message
    from forensics.core.reading import EvidenceBuilder
    from forensics.core.trace import Payload

_NOTHING = msgspec.Raw(b"null")
_SCORERS = frozenset({"scorer", "scorers"})


class _Scope(msgspec.Struct, frozen=True):
    """A span: the one around it, what it is and of what name."""

    parent: str
    kind: str
    name: str


class _Running(msgspec.Struct, frozen=True):
    """A tool call inside which other events happen before it returns."""

    lane: Lane
    row: int
    ran: Execution


class SampleWalk:
    """One sample on its way to the builder; `spot` is where the sample stands."""

    def __init__(self, fields: Fields, builder: TraceBuilder, build: EvidenceBuilder, spot: Spot) -> None:
        self.sample = Sample(fields)
        self.builder = builder
        self.build = build
        self.spot = spot
        self.exchanges = Exchanges(builder)
        self.offers = Offers()
        self.scopes: dict[str, _Scope] = {}
        self.running: dict[str, _Running] = {}
        self.around: list[str] = []

    def run(self) -> None:
        """Tell the sample."""
        fields = self.sample.fields
        events = items_in(fields, "events")
        self._tried_before(items_in(fields, "error_retries"))
        self._note_scopes(events)
        self._events(events, "/events")
        for span in list(self.running):
            self._end(span)
        self._messages(bool(events))
        self._ended(fields)
        if self.sample.missing:
            message = f"{self.sample.missing} attachments that the sample names are not in it"
            self.builder.gap("evidence_gap", message, self.spot.down("/attachments"))

    def _tried_before(self, retries: list[Payload]) -> None:
        """Attempts at the sample that failed: what they did is not recorded, only how they ended."""
        for at, retry in enumerate(retries):
            spot = self.spot.down(f"/error_retries/{at}")
            self.builder.step(StepKind.ERROR, spot, name="retry", payload=present(fields_of(retry), "message"))
            self.builder.gap("evidence_gap", "an earlier attempt at the sample, whose calls are not recorded", spot)

    def _note_scopes(self, events: list[Payload]) -> None:
        """The spans first: a tool event may stand before the agent's span that it names."""
        for event in events:
            fields = fields_of(event)
            if text(fields, "event") == "span_begin":
                scope = _Scope(text(fields, "parent_id"), text(fields, "type"), text(fields, "name"))
                self.scopes.setdefault(text(fields, "id"), scope)

    def _events(self, events: list[Payload], pointer: str) -> None:
        for at, event in enumerate(events):
            fields = fields_of(event)
            where = f"{pointer}/{at}"
            spot = Spot(self.spot.place, self.spot.pointer + where, nanoseconds(present(fields, "timestamp")))
            told = _EVENTS.get(text(fields, "event"), SampleWalk.other)
            told(self, fields, spot, where)

    # who acts --------------------------------------------------------------------------------------------------------

    def _asker(self, fields: Fields) -> tuple[str, str]:
        """The agent that an event belongs to: the id of its span and its name; ("", "") outside of any."""
        found = self._around(text(fields, "span_id"), frozenset({"agent"}))
        if found is not None:
            return found
        return (self.around[-1], self.around[-1]) if self.around else ("", "")

    def _around(self, span: str, kinds: frozenset[str]) -> tuple[str, str] | None:
        """The nearest span of one of these kinds around an event."""
        seen: set[str] = set()
        while span and span not in seen:
            seen.add(span)
            scope = self.scopes.get(span)
            if scope is None:
                return None
            if scope.kind in kinds:
                return span, scope.name
            span = scope.parent
        return None

    # events ----------------------------------------------------------------------------------------------------------

    def model(self, fields: Fields, spot: Spot, where: str) -> None:
        """A model request with its answer."""
        answer, error, finish = self._answer(fields, where)
        if self._around(text(fields, "span_id"), _SCORERS) is not None and not (answer and answer.calls):
            said = answer.text if answer is not None else error
            self.builder.step(StepKind.OTHER, spot, name="scorer", payload=said)
            return
        self.offers.note(self.builder, present(fields, "tools"), spot.down("/tools"))
        asker, agent = self._asker(fields)
        prompt, lacking = self.sample.prompt(fields, where)
        base = Spot(self.spot.place, self.spot.pointer, spot.at)
        lane = self.exchanges.request(prompt, base, asker=asker, agent=agent)
        if lacking:
            self.builder.gap("evidence_gap", f"a prompt points to {lacking} messages that are not in the log", spot)
        if finish:
            self.builder.gap("evidence_gap", finish, spot)
        self._answered(lane, answer, error, fields, spot, asker)

    def _answer(self, fields: Fields, where: str) -> tuple[Message | None, Payload | None, str]:
        """The model's message, the error in its place, and why it may hide something."""
        output = object_in(fields, "output")
        choices = items_in(output, "choices")
        choice = fields_of(choices[0]) if choices else {}
        error = present(fields, "error") or present(output, "error")
        if present(choice, "message") is None:
            return None, error, ""
        message = self.sample.message(choice["message"], f"{where}/output/choices/0/message")
        why = cut_short(finish_words(present(choice, "stop_reason")), calls=bool(message.calls))
        return message, error, why

    def _answered(  # noqa: PLR0917 - what one request got
        self, lane: Lane, answer: Message | None, error: Payload | None, fields: Fields, spot: Spot, asker: str
    ) -> None:
        base = Spot(self.spot.place, self.spot.pointer, spot.at)
        if answer is not None:
            self.exchanges.answer(lane, answer, base, asker=asker, model=text(fields, "model"))
            self._count(fields)
        if error is not None:
            self.builder.step(StepKind.ERROR, spot, name="model", agent=lane.agent, payload=error)
        elif answer is None:
            self.builder.silent_turn(lane, spot, model=text(fields, "model"))

    def _count(self, fields: Fields) -> None:
        usage = object_in(object_in(fields, "output"), "usage")
        self.build.counts.input_tokens += whole_number(usage, "input_tokens")
        self.build.counts.output_tokens += whole_number(usage, "output_tokens")

    def tool(self, fields: Fields, spot: Spot, where: str) -> None:
        """A tool that ran, with what happened inside it."""
        asker, agent = self._asker(fields)
        lane = self.exchanges.lane_of(text(fields, "id"), asker, agent)
        span = text(fields, "agent_span_id")
        inner = items_in(fields, "events")
        ran = self._execution(fields, spot, Boundary.SUB_AGENT if span or _holds_a_turn(inner) else Boundary.TOOL)
        row = self.builder.begin(lane, ran)
        if span in self.scopes:
            self._end(span)  # two calls that name one span: the first ended when the second began
            self.running[span] = _Running(lane, row, ran)
            return
        self.around.append(text(fields, "function"))
        self._events(inner, f"{where}/events")
        self.around.pop()
        self.builder.end(lane, row, ran)

    def _execution(self, fields: Fields, spot: Spot, boundary: Boundary) -> Execution:
        failure = failure_of(fields)
        result = present(fields, "result")
        pending = bytes(fields.get("pending", _NOTHING)) == b"true"
        return Execution(
            text(fields, "function"),
            spot,
            recorded_id=text(fields, "id") or None,
            arguments=self._resolved(present(fields, "arguments")),
            result=None if failure is not None or pending else self._resolved(result),
            error=None if failure is None else self._resolved(failure.said),
            status="unsettled" if pending else "" if failure is None else failure.status,
            ended=not pending,
            start=spot.at,
            end=nanoseconds(present(fields, "completed")),
            boundary=boundary,
            answer=spot.down("/result" if failure is None else "/error"),
        )

    def _resolved(self, value: Payload | None) -> Payload | None:
        return None if value is None else self.sample.resolved(value)

    def span_end(self, fields: Fields, _spot: Spot, _where: str) -> None:
        """A span ends, and with it the call of the sub-agent that it was."""
        self._end(text(fields, "id"))

    def _end(self, span: str) -> None:
        one = self.running.pop(span, None)
        if one is not None:
            self.builder.end(one.lane, one.row, one.ran)

    def approval(self, fields: Fields, spot: Spot, _where: str) -> None:
        """A decision about a call, spelled as the analysis of oversight reads it."""
        call = object_in(fields, "call")
        told = {
            "call_id": text(call, "id"),
            "decision": _DECISIONS.get(text(fields, "decision"), text(fields, "decision")),
            "approver": text(fields, "approver"),
            "reason": text(fields, "explanation"),
        }
        self.builder.step(StepKind.APPROVAL, spot, name=text(call, "function"), payload=raw(told))

    def subtask(self, fields: Fields, spot: Spot, where: str) -> None:
        """A task of the agent's own code (older logs), and what happened in it."""
        self.builder.step(StepKind.AGENT, spot, name=text(fields, "name"), payload=present(fields, "input"))
        self.around.append(text(fields, "name"))
        self._events(items_in(fields, "events"), f"{where}/events")
        self.around.pop()

    def sandbox(self, fields: Fields, spot: Spot, _where: str) -> None:
        """What a tool does in its sandbox stands inside its call; what the agent's own code does there leaves the agent
        as a tool does.
        """
        span = text(fields, "span_id")
        if self.around or (span and (self._around(span, _INSIDE) or not self._around(span, _SOLVERS))):
            self.builder.step(StepKind.OTHER, spot, name="sandbox", payload=present(fields, "cmd", "file"))
            return
        asked = {name: fields[name] for name in ("cmd", "file", "input") if present(fields, name) is not None}
        asker, agent = self._asker(fields)
        ran = Execution(
            f"sandbox.{text(fields, 'action')}",
            spot,
            arguments=msgspec.Raw(msgspec.json.encode(asked)),
            result=self._resolved(present(fields, "output", "result")),
            start=spot.at,
            end=nanoseconds(present(fields, "completed")),
        )
        self.builder.execute(self.exchanges.lane_of("", asker, agent), ran)

    def error(self, fields: Fields, spot: Spot, _where: str) -> None:
        """What broke off: an error, a limit."""
        told = present(fields, "error", "message", "limit")
        self.builder.step(StepKind.ERROR, spot, name=text(fields, "event"), payload=told)

    def input(self, fields: Fields, spot: Spot, _where: str) -> None:
        """What a person typed."""
        self.builder.step(StepKind.USER, spot, name="input", payload=present(fields, "input"))

    def structure(self, fields: Fields, spot: Spot, where: str) -> None:
        """Spans, states and stores: what they say is told by the events between them."""

    def other(self, fields: Fields, spot: Spot, _where: str) -> None:
        """An event without a part in what the agent did, or of a kind that is not known."""
        name = text(fields, "event")
        self.builder.step(StepKind.OTHER, spot, name=name)
        if name not in _KNOWN and call_marks(fields):
            message = f"an event of a kind that is not known ({one_line(name, 40)}) looks like a call"
            self.builder.gap("evidence_gap", message, spot)

    # the end ---------------------------------------------------------------------------------------------------------

    def _messages(self, has_events: bool) -> None:  # noqa: FBT001 - what stands beside the messages
        """The messages of a sample without events are its record; beside events they must show no other call."""
        listed = items_in(self.sample.fields, "messages")
        messages = [self.sample.message(item, f"/messages/{at}") for at, item in enumerate(listed)]
        if not has_events:
            lane = self.builder.lane()
            tell(self.builder, lane, tuple(messages), self.spot)
            self.exchanges.doubts.note(self.builder, messages, self.spot)
            return
        known = {call.recorded_id for call in self.builder.trace.calls}
        for message in messages:
            if any(part.recorded_id not in known for part in message.calls):
                told = "the messages of the sample show a call that none of its events records"
                self.builder.gap("evidence_gap", told, self.spot.down(message.pointer))

    def _ended(self, fields: Fields) -> None:
        """How the sample ended: by an error, by a limit, or as it should."""
        for name in ("error", "limit"):
            told = present(fields, name)
            if told is not None:
                self.builder.step(StepKind.ERROR, self.spot.down(f"/{name}"), name=name, payload=told)
                self.builder.trace.ended_normally = False
        if self.builder.trace.ended_normally is None and "scores" in fields and "output" in fields:
            self.builder.trace.ended_normally = True


def _holds_a_turn(events: list[Payload]) -> bool:
    return any(text(fields_of(event), "event") == "model" for event in events)


_SOLVERS = frozenset({"solver", "solvers", "agent"})
_INSIDE = frozenset({"tool", *_SCORERS})
_DECISIONS = {"terminate": "reject", "modify": "approve"}
_KNOWN = frozenset(
    {"info", "logger", "score", "score_edit", "sample_init", "compaction", "branch", "anchor", "interrupt"}
)
_Event = Callable[[SampleWalk, Fields, Spot, str], None]
_EVENTS: dict[str, _Event] = {
    "model": SampleWalk.model,
    "tool": SampleWalk.tool,
    "span_end": SampleWalk.span_end,
    "approval": SampleWalk.approval,
    "subtask": SampleWalk.subtask,
    "sandbox": SampleWalk.sandbox,
    "error": SampleWalk.error,
    "sample_limit": SampleWalk.error,
    "input": SampleWalk.input,
    **dict.fromkeys(("span_begin", "step", "state", "store"), SampleWalk.structure),
}
