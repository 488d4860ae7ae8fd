"""What did a workflow do, told from its events in their order? Model requests become turns; other activities, child
workflows, Nexus operations and signals leave the workflow and are calls.

An activity has no id of the call that asked for it: it is joined with a request of that name whose arguments fit, which
activities mostly take one by one and without their names.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from forensics.core.build import Execution, Lane, Spot
from forensics.core.evidence import Basis
from forensics.core.findings import finding
from forensics.core.jsonvalue import canonical, value_of
from forensics.core.sanitise import one_line
from forensics.core.trace import Boundary, Payload, StepKind
from forensics.formats.shared.fields import fields_of, object_in, present, text, whole_number
from forensics.formats.shared.messages.conversation import Conversation
from forensics.formats.shared.messages.exchanges import Exchanges
from forensics.formats.shared.messages.telling import Offers
from forensics.formats.shared.temporal.models import answer_of, looks_like_a_request, request_of
from forensics.formats.shared.temporal.payloads import NULL, Event, Payloads, payloads_of, snake

if TYPE_CHECKING:
    from forensics.core.build import TraceBuilder
    from forensics.core.messages import Message
    from forensics.core.reading import EvidenceBuilder
    from forensics.formats.shared.messages.answers import Answer


class _Request(msgspec.Struct, frozen=True):
    """A model request that was scheduled and not answered yet."""

    asked: Conversation
    spot: Spot


class _Running(msgspec.Struct, frozen=True):
    """A call that was scheduled and has not ended yet."""

    lane: Lane
    row: int
    ran: Execution


class HistoryWalk:
    """One history on its way to the builder; `where` gives the spot of an event."""

    def __init__(self, builder: TraceBuilder, build: EvidenceBuilder) -> None:
        self.builder = builder
        self.build = build
        self.exchanges = Exchanges(builder)
        self.offers = Offers()
        self.requests: dict[int, _Request] = {}
        self.running: dict[int, _Running] = {}
        self.asked: dict[str, list[tuple[Lane, Payload | None]]] = {}

    def event(self, event: Event, spot: Spot) -> None:
        """Tell one event."""
        told = _EVENTS.get(event.kind)
        if told is not None:
            told(self, event, spot)
        elif not event.kind.startswith(_SILENT):
            self.builder.step(StepKind.OTHER, spot, name=event.kind)

    def close(self) -> None:
        """What was scheduled and never ended may still have taken effect."""
        for request in self.requests.values():
            lane = self._request(request, request.spot)
            self.builder.silent_turn(lane, request.spot, model=request.asked.model)
        for one in self.running.values():
            ended = msgspec.structs.replace(one.ran, status="unsettled", ended=False)
            self.builder.end(one.lane, one.row, ended)

    # activities ------------------------------------------------------------------------------------------------------

    def activity_scheduled(self, event: Event, spot: Spot) -> None:
        """An activity was scheduled: a model request or a call."""
        name = event.member("activity_type", "name")
        given = payloads_of(present(event.attributes, "input"))
        asked = None if given.unread else request_of(given.values)
        if asked is not None:
            self.requests[event.number] = _Request(asked, spot)
            return
        if looks_like_a_request(name) and not given.unread:
            message = f"an activity called as a model request is ({one_line(name, 60)}) holds none that is read"
            self.builder.gap("evidence_gap", message, spot)
        self._begin(event.number, name, given, spot)

    def activity_started(self, event: Event, _spot: Spot) -> None:
        """Of an activity that was tried more than once only the last attempt is recorded."""
        one = self.running.get(event.number_of("scheduled_event_id"))
        attempt = event.number_of("attempt")
        if one is not None and attempt > 1:
            step = self.builder.trace.calls[one.row].step
            name = one_line(one.ran.tool, 60)
            message = (
                f"{name} was tried {attempt} times; only the last attempt is recorded, and each earlier one may have "
                "taken effect"
            )
            self.builder.note(finding("unknown_outcome", message, steps=(step,), basis=Basis.RECORDED))

    def completed(self, event: Event, spot: Spot) -> None:
        """An activity, a child workflow or an operation returned."""
        number = event.number_of("scheduled_event_id", "initiated_event_id")
        result = payloads_of(present(event.attributes, "result"))
        request = self.requests.pop(number, None)
        if request is not None:
            self._answered(request, result, spot)
            return
        value = NULL if not result.values else result.one
        self._end(number, spot, value, status="redacted" if result.unread else "")

    def failed(self, event: Event, spot: Spot) -> None:
        """It failed; a timeout or a cancellation leaves open whether it took effect."""
        number = event.number_of("scheduled_event_id", "initiated_event_id")
        failure = present(event.attributes, "failure", "cause", "details")
        status = "error" if event.kind.endswith("_failed") else "unsettled"
        if failure is not None and not _OPEN.isdisjoint(fields_of(failure)):
            status = "unsettled"
        request = self.requests.pop(number, None)
        if request is not None:
            lane = self._request(request, spot)
            self.builder.step(StepKind.ERROR, spot, name="model", agent=lane.agent, payload=failure)
            return
        self._end(number, spot, None, status=status, error=failure)

    # calls -----------------------------------------------------------------------------------------------------------

    def _begin(self, number: int, name: str, given: Payloads, spot: Spot, boundary: Boundary = Boundary.TOOL) -> None:
        if given.unread:
            encoding = one_line(given.unread, 40)
            message = f"payloads that can't be read ({encoding}): {one_line(name, 60)} may be anything"
            self.builder.gap("evidence_gap", message, spot)
        lane, arguments = self._asked_for(name, given)
        ran = Execution(name, spot, arguments=arguments, start=spot.at, boundary=boundary)
        self.running[number] = _Running(lane, self.builder.begin(lane, ran), ran)

    def _asked_for(self, name: str, given: Payloads) -> tuple[Lane, Payload | None]:
        """The lane in which a model asked for this, and the arguments by their names; else the latest lane."""
        waiting = self.asked.get(name, [])
        for at, (lane, asked) in enumerate(waiting):
            if _fits(asked, given):
                del waiting[at]
                return lane, asked
        if waiting:
            lane, _ = waiting.pop(0)
            return lane, given.one
        return self.exchanges.lane_of(""), given.one

    def _end(
        self, number: int, spot: Spot, result: Payload | None, *, status: str, error: Payload | None = None
    ) -> None:
        one = self.running.pop(number, None)
        if one is None:
            self.builder.gap("orphan_result", "an event ends something whose beginning is not recorded", spot)
            return
        if status == "redacted":
            message = f"a payload that can't be read: what {one_line(one.ran.tool, 60)} returned"
            self.builder.gap("evidence_gap", message, spot)
        ended = msgspec.structs.replace(one.ran, result=result, error=error, status=status, end=spot.at, answer=spot)
        self.builder.end(one.lane, one.row, ended)

    def child_initiated(self, event: Event, spot: Spot) -> None:
        """A child workflow was started: an agent of its own, whose history stands elsewhere."""
        name = event.member("workflow_type", "name")
        given = payloads_of(present(event.attributes, "input"))
        self._begin(event.number, name, given, spot, Boundary.SUB_AGENT)
        message = f"what the child workflow {one_line(name, 60)} did stands in a history of its own"
        self.builder.gap("evidence_gap", message, spot)

    def operation_scheduled(self, event: Event, spot: Spot) -> None:
        """A Nexus operation was called."""
        name = ".".join(part for part in (event.text("service"), event.text("operation")) if part)
        self._begin(event.number, name, payloads_of(present(event.attributes, "input")), spot)

    def signal_initiated(self, event: Event, spot: Spot) -> None:
        """Another workflow was signalled or asked to cancel."""
        name = event.text("signal_name") or "cancel"
        given = payloads_of(present(event.attributes, "input"))
        self._begin(event.number, f"signal {name}", given, spot, Boundary.MESSAGING)

    def signalled(self, event: Event, spot: Spot) -> None:
        """The signal was delivered."""
        self._end(event.number_of("initiated_event_id"), spot, NULL, status="")

    def marker(self, event: Event, spot: Spot) -> None:
        """A local activity is a call; a value that the workflow made for itself is a step."""
        name = event.text("marker_name")
        details = snake(object_in(event.attributes, "details"))
        told = payloads_of(present(details, "data", "side_effect_id", "result"))
        if "local_activity" in name.lower().replace("localactivity", "local_activity"):
            self._local_activity(event, details, told, spot)
        else:
            self.builder.step(StepKind.OTHER, spot, name=f"marker {name}", payload=told.one)

    def _local_activity(self, event: Event, details: dict[str, Payload], told: Payloads, spot: Spot) -> None:
        about = snake(fields_of(told.values[0])) if told.values else {}
        name = text(about, "activity_type", "type") or "local activity"
        failure = present(event.attributes, "failure")
        result = payloads_of(present(details, "result", "output"))
        lane, _ = self._asked_for(name, Payloads())
        ran = Execution(
            name,
            spot,
            result=result.one if failure is None else None,
            error=failure,
            status="" if failure is None else "error",
        )
        self.builder.execute(lane, ran)

    # models ----------------------------------------------------------------------------------------------------------

    def _request(self, request: _Request, spot: Spot) -> Lane:
        asked = request.asked
        self.offers.note(self.builder, asked.tools, request.spot.down("/tools"))
        asker = _instructions(asked.prompt)
        lane = self.exchanges.request(asked.prompt, msgspec.structs.replace(request.spot, at=spot.at), asker=asker)
        for doubt in asked.doubts:
            self.builder.gap(doubt.code, doubt.says, request.spot)
        return lane

    def _answered(self, request: _Request, result: Payloads, spot: Spot) -> None:
        lane = self._request(request, request.spot)
        value = result.one
        if value is None:
            self.builder.silent_turn(lane, spot, model=request.asked.model)
            self.builder.gap("evidence_gap", "the answer of a model can't be read", spot)
            return
        answer = answer_of(value)
        asker = _instructions(request.asked.prompt)
        for message in answer.messages:
            if message.says_model:
                self.exchanges.answer(lane, message, spot, asker=asker, model=request.asked.model)
                self._note_calls(lane, message)
        for doubt in answer.doubts:
            self.builder.gap(doubt.code, doubt.says, spot)
        if answer.error is not None:
            self.builder.step(StepKind.ERROR, spot, name="model", agent=lane.agent, payload=answer.error)
        self._count(answer)

    def _note_calls(self, lane: Lane, message: Message) -> None:
        for part in message.calls:
            if part.boundary is Boundary.TOOL:
                self.asked.setdefault(part.tool, []).append((lane, part.payload))

    def _count(self, answer: Answer) -> None:
        usage = snake(fields_of(answer.usage)) if answer.usage is not None else {}
        counts = self.build.counts
        counts.input_tokens += whole_number(usage, "input_tokens", "prompt_token_count")
        counts.output_tokens += whole_number(usage, "output_tokens", "candidates_token_count")

    # the workflow ----------------------------------------------------------------------------------------------------

    def started(self, event: Event, spot: Spot) -> None:
        """The workflow begins with what it was given."""
        self._given(present(event.attributes, "input"), spot, event.member("workflow_type", "name"))

    def spoken_to(self, event: Event, spot: Spot) -> None:
        """A signal or an update: what came from outside while it ran."""
        request = snake(object_in(event.attributes, "accepted_request"))
        inner = snake(object_in(request, "input"))
        if inner:
            self._given(present(inner, "args"), spot, text(inner, "name"))
        else:
            self._given(present(event.attributes, "input"), spot, event.text("signal_name"))

    def _given(self, told: Payload | None, spot: Spot, name: str) -> None:
        given = payloads_of(told)
        self.builder.step(StepKind.USER, spot, name=name, payload=given.one)
        if given.unread:
            self.builder.gap("evidence_gap", "what the workflow was given can't be read", spot, hides=False)

    def ended(self, event: Event, spot: Spot) -> None:
        """The workflow returned."""
        result = payloads_of(present(event.attributes, "result"))
        self.builder.step(StepKind.OTHER, spot, name="result", payload=result.one)
        self.builder.trace.ended_normally = True

    def broke_off(self, event: Event, spot: Spot) -> None:
        """The workflow failed, or was timed out, cancelled or terminated."""
        told = present(event.attributes, "failure", "reason", "details")
        self.builder.step(StepKind.ERROR, spot, name=event.kind, payload=told)
        if event.kind.startswith("workflow_execution"):
            self.builder.trace.ended_normally = False


def _fits(asked: Payload | None, given: Payloads) -> bool:
    """Whether an activity was given what a model asked for: the object itself, or its values one by one."""
    if asked is None or given.unread:
        return False
    wanted = value_of(asked)
    values = [value_of(value) for value in given.values]
    if len(values) == 1 and canonical(values[0]) == canonical(wanted):
        return True
    return isinstance(wanted, dict) and canonical(list(wanted.values())) == canonical(values)


def _instructions(prompt: tuple[Message, ...]) -> str:
    """Who asks: the agent by its instructions."""
    return next((message.key.hex() for message in prompt if message.role == "system"), "")


_SILENT = ("workflow_task_", "timer_", "upsert_", "activity_task_cancel_requested")
_Event = Callable[[HistoryWalk, Event, Spot], None]
_OPEN = frozenset({"timeoutFailureInfo", "canceledFailureInfo", "timeout_failure_info", "canceled_failure_info"})
"""What a failure holds that leaves open whether an activity took effect."""
_FAILED = ("failed", "timed_out", "canceled", "terminated")
_EVENTS: dict[str, _Event] = {
    "workflow_execution_started": HistoryWalk.started,
    "workflow_execution_signaled": HistoryWalk.spoken_to,
    "workflow_execution_update_accepted": HistoryWalk.spoken_to,
    "workflow_execution_completed": HistoryWalk.ended,
    **{f"workflow_execution_{how}": HistoryWalk.broke_off for how in _FAILED},
    "workflow_task_failed": HistoryWalk.broke_off,
    "activity_task_scheduled": HistoryWalk.activity_scheduled,
    "activity_task_started": HistoryWalk.activity_started,
    "activity_task_completed": HistoryWalk.completed,
    **{f"activity_task_{how}": HistoryWalk.failed for how in _FAILED},
    "start_child_workflow_execution_initiated": HistoryWalk.child_initiated,
    "start_child_workflow_execution_failed": HistoryWalk.failed,
    "child_workflow_execution_completed": HistoryWalk.completed,
    **{f"child_workflow_execution_{how}": HistoryWalk.failed for how in _FAILED},
    "nexus_operation_scheduled": HistoryWalk.operation_scheduled,
    "nexus_operation_completed": HistoryWalk.completed,
    **{f"nexus_operation_{how}": HistoryWalk.failed for how in _FAILED},
    "signal_external_workflow_execution_initiated": HistoryWalk.signal_initiated,
    "external_workflow_execution_signaled": HistoryWalk.signalled,
    "signal_external_workflow_execution_failed": HistoryWalk.failed,
    "request_cancel_external_workflow_execution_initiated": HistoryWalk.signal_initiated,
    "external_workflow_execution_cancel_requested": HistoryWalk.signalled,
    "request_cancel_external_workflow_execution_failed": HistoryWalk.failed,
    "marker_recorded": HistoryWalk.marker,
}
