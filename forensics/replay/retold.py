"""How does a rerun read as a trace? Its log as the steps of one run, so that all that reads a trace reads a rerun.

What a model was shown is told as the rerun gave it; where the agent named no messages, the recorded inputs stand.
"""

from __future__ import annotations

import functools
import hashlib
from typing import TYPE_CHECKING, Any

import msgspec

from forensics.core.build import Spot
from forensics.core.evidence import Evidence
from forensics.core.jsonvalue import same_value, value_of, written
from forensics.core.lanes import Execution
from forensics.core.reading import EvidenceBuilder
from forensics.core.trace import NOT_REACHED, Absence, StepKind
from forensics.replay.guards import says_passed
from forensics.replay.log import Called, Disposition, Earlier, GuardedBy, Told, Turned
from forensics.replay.script import calls_by_turn, ending_tools

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from forensics.core.build import Lane, TraceBuilder
    from forensics.core.reading import Reading
    from forensics.core.trace import Call, Payload, Step, Trace
    from forensics.replay.log import Entry
    from forensics.replay.script import Script

FINAL, NAME = "final output", "the rerun"


def retold(
    recorded: Trace, script: Script, log: Sequence[Entry], output: Any, rerun_id: str, *, stopped: bool = False
) -> Reading:
    """The trace of a rerun, as a reading of its own. Its format is that of the recorded run, since its values are
    spelled as that one's; its digest is that of the log. Where it was not `stopped`, what its agent was asked to call
    and did not call it would never have called.
    """
    telling = _Telling(recorded, script, rerun_id, hashlib.sha256(written(log)).hexdigest())
    reading = telling.tell(log, output)
    if not stopped:
        telling.mark_unmade()
    return reading


class _Telling:
    def __init__(self, recorded: Trace, script: Script, rerun_id: str, digest: str) -> None:
        self.recorded = recorded
        evidence = Evidence(1, NAME, digest, 0, recorded.format)
        self.build = EvidenceBuilder(evidence, records_calls=True)
        self.builder: TraceBuilder = self.build.trace(rerun_id)
        self.builder.trace.facts.update(recorded.facts)
        self.place = self.build.places.add()
        self.turn_of: list[int] = []
        self.ids: dict[tuple[int, int], str | None] = {}  # of the calls that turns asked for, by turn and index
        self.asked_for: list[int] = []  # their rows
        self.ending = ending_tools(recorded)
        self.shown = {turn.step: turn for turn in script.turns}

    def tell(self, log: Sequence[Entry], output: Any) -> Reading:
        said = None
        for entry in log:
            self._tell(entry)
            if isinstance(entry, Turned):
                said = entry.answer.text
        if output is not None and not same_value(output, said):
            self.builder.step(StepKind.OTHER, Spot(self.place), name=FINAL, payload=_raw(output))
        reading = self.build.finish()
        trace = reading.traces[0]
        trace.rerun_of, trace.ended_normally = self.recorded.id, True
        return reading

    def mark_unmade(self) -> None:
        """Mark the calls that a turn asked for and nobody made."""
        for row in self.asked_for:
            call = self.builder.trace.calls[row]
            if call.executed is None and call.absence is Absence.UNANSWERED:
                call.disposition = NOT_REACHED

    def _tell(self, entry: Entry) -> None:
        if isinstance(entry, Told):
            self.builder.step(entry.kind, Spot(self.place), agent=entry.agent, payload=_payload(entry.value))
        elif isinstance(entry, Turned):
            self._turn(entry)
        elif isinstance(entry, Earlier):
            self._earlier(self.recorded.step(entry.step))
        elif isinstance(entry, Called):
            self._call(entry)
        elif isinstance(entry, GuardedBy):
            payload = self._decision(entry)
            kind, spot = StepKind.GUARDRAIL, Spot(self.place)
            self.builder.step(kind, spot, name=entry.name, agent=entry.agent, payload=payload)

    def _earlier(self, step: Step) -> None:
        """What was said before the run, as the record has it."""
        lane = self._lane(step.agent)
        if step.kind is StepKind.MODEL:
            turn = self.builder.turn(lane, Spot(self.place), text=step.payload, model=step.name)
            for call in self._asked.get(-1 if step.turn is None else step.turn, ()):
                asked = None if call.requested is None else call.requested.payload
                self.builder.request(lane, turn, call.tool, call.recorded_id, asked, Spot(self.place))
        elif step.call is not None:
            known = self.recorded.calls[step.call]
            self.builder.show(lane, known.recorded_id, known.tool, known.result, Spot(self.place))

    @functools.cached_property
    def _asked(self) -> dict[int, list[Call]]:
        """The recorded calls by the turn that asked for them."""
        return calls_by_turn(self.recorded)

    def _turn(self, entry: Turned) -> None:
        lane = self._lane(entry.agent)
        if entry.new is None and entry.step in self.shown:
            for kind, value in self._inputs(entry.step):
                self.builder.step(kind, Spot(self.place), agent=entry.agent, payload=_payload(value))
        text, model = _payload(entry.answer.text), entry.answer.model or ""
        turn = self.builder.turn(lane, Spot(self.place), text=text, model=model)
        for index, call in enumerate(entry.answer.calls):
            row = self.builder.request(lane, turn, call.name, call.id, _raw(call.arguments), Spot(self.place))
            self.ids[len(self.turn_of), index] = call.id
            self.asked_for.append(row)
            if self._ends(entry, index, call.name):
                self.builder.end_by(lane, row)
        self.turn_of.append(turn)

    def _ends(self, entry: Turned, index: int, tool: str) -> bool:
        """Whether a call that a turn asks for is the end of the run, as in the record: the agent does not make it."""
        turn = None if entry.step is None else self.shown.get(entry.step)
        if turn is None:
            return tool in self.ending
        asked = self._asked.get(turn.number, ())
        return index < len(asked) and asked[index].absence is Absence.NOT_DUE

    def _inputs(self, step: int) -> Iterator[tuple[StepKind, Any]]:
        """What the recorded turn was shown beside results: the agent named no messages of its own."""
        for one in self.shown[step].shown:
            if one.kind not in {StepKind.TOOL_RESULT, StepKind.MODEL}:
                yield one.kind, one.value

    def _call(self, entry: Called) -> None:
        """A call under the id by which its turn asked for it: an agent may give it another one, or none."""
        lane = self._lane(entry.agent)
        known = None if entry.row is None else self.recorded.calls[entry.row]
        over = entry.disposition is Disposition.MISSED
        ran = Execution(
            entry.tool,
            Spot(self.place),
            recorded_id=self.ids.get((entry.turn, entry.index), entry.call_id),
            arguments=_raw(entry.arguments),
            result=None if entry.failed or over else self._result(entry, known),
            error=_raw(entry.shown) if entry.failed else None,
            status="" if over else "error" if entry.failed else "ok",
            ended=not over,
        )
        self.builder.execute(lane, ran)

    def _result(self, entry: Called, known: Call | None) -> Payload:
        """The recorded bytes where the agent was given what is recorded, else what it was given."""
        recorded = None if known is None else known.result
        if recorded is not None and same_value(value_of(recorded), entry.value):
            return recorded
        return _raw(entry.value)

    def _decision(self, entry: GuardedBy) -> Payload:
        """The recorded words of a guardrail that decides as it did in the record."""
        told = None if entry.step is None else self.recorded.payload[entry.step]
        if told is not None and says_passed(told) is entry.passed:
            return told
        return _raw([{"name": entry.name, "result": "pass" if entry.passed else "block"}])

    def _lane(self, agent: str) -> Lane:
        return self.builder.lane(agent, agent)


def _payload(value: Any) -> Payload | None:
    return None if value is None else _raw(value)


def _raw(value: Any) -> Payload:
    """A payload that reads as the value was."""
    return msgspec.Raw(written(value))
