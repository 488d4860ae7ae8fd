"""How does a rerun read as a trace? Its log as the steps of one run, so that all that reads a trace reads a rerun.

What a model was shown is told as the rerun gave it; where the agent named no messages, the recorded inputs stand.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import msgspec

from forensics.core.build import Spot
from forensics.core.evidence import Evidence
from forensics.core.jsonvalue import raw, value_of
from forensics.core.lanes import Execution
from forensics.core.reading import EvidenceBuilder
from forensics.core.trace import StepKind
from forensics.replay.log import Called, Disposition, GuardedBy, Told, Turned

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from forensics.core.build import Lane, TraceBuilder
    from forensics.core.reading import Reading
    from forensics.core.trace import Call, Payload, Trace
    from forensics.replay.log import Entry
    from forensics.replay.script import Script

FINAL, NAME = "final output", "the rerun"


def retold(recorded: Trace, script: Script, log: Sequence[Entry], output: Any, rerun_id: str) -> Reading:
    """The trace of a rerun, as a reading of its own. Its format is that of the recorded run, since its values are
    spelled as that one's; its digest is that of the log.
    """
    return _Telling(recorded, script, rerun_id, hashlib.sha256(msgspec.json.encode(log)).hexdigest()).tell(log, output)


class _Telling:
    def __init__(self, recorded: Trace, script: Script, rerun_id: str, digest: str) -> None:
        self.recorded = recorded
        evidence = Evidence(1, NAME, digest, 0, recorded.format)
        self.build = EvidenceBuilder(evidence, records_calls=recorded.records_calls)
        self.builder: TraceBuilder = self.build.trace(rerun_id)
        self.builder.trace.facts.update(recorded.facts)
        self.place = self.build.places.add()
        self.turn_of: list[int] = []
        self.waiting: dict[tuple[int, int], int] = {}
        self.shown = {turn.step: turn for turn in script.turns}

    def tell(self, log: Sequence[Entry], output: Any) -> Reading:
        said = None
        for entry in log:
            self._tell(entry)
            if isinstance(entry, Turned):
                said = entry.answer.text
        if output is not None and output != said:
            self.builder.step(StepKind.OTHER, Spot(self.place), name=FINAL, payload=raw(output))
        reading = self.build.finish()
        trace = reading.traces[0]
        trace.rerun_of, trace.ended_normally = self.recorded.id, True
        return reading

    def _tell(self, entry: Entry) -> None:
        if isinstance(entry, Told):
            self.builder.step(entry.kind, Spot(self.place), agent=entry.agent, payload=_payload(entry.value))
        elif isinstance(entry, Turned):
            self._turn(entry)
        elif isinstance(entry, Called):
            self._call(entry)
        elif isinstance(entry, GuardedBy):
            payload = self._decision(entry)
            kind, spot = StepKind.GUARDRAIL, Spot(self.place)
            self.builder.step(kind, spot, name=entry.name, agent=entry.agent, payload=payload)

    def _turn(self, entry: Turned) -> None:
        lane = self._lane(entry.agent)
        if entry.new is None and entry.step in self.shown:
            for kind, value in self._inputs(entry.step):
                self.builder.step(kind, Spot(self.place), agent=entry.agent, payload=_payload(value))
        text, model = _payload(entry.answer.text), entry.answer.model or ""
        turn = self.builder.turn(lane, Spot(self.place), text=text, model=model)
        for index, call in enumerate(entry.answer.calls):
            row = self.builder.request(lane, turn, call.name, call.id, raw(call.arguments), Spot(self.place))
            self.waiting[len(self.turn_of), index] = row
        self.turn_of.append(turn)

    def _inputs(self, step: int) -> Iterator[tuple[StepKind, Any]]:
        """What the recorded turn was shown beside results: the agent named no messages of its own."""
        for one in self.shown[step].shown:
            if one.kind not in {StepKind.TOOL_RESULT, StepKind.MODEL}:
                yield one.kind, one.value

    def _call(self, entry: Called) -> None:
        lane = self._lane(entry.agent)
        known = None if entry.row is None else self.recorded.calls[entry.row]
        over = entry.disposition is Disposition.MISSED
        ran = Execution(
            entry.tool,
            Spot(self.place),
            recorded_id=entry.call_id,
            arguments=raw(entry.arguments),
            result=None if entry.failed or over else self._result(entry, known),
            error=raw(entry.shown) if entry.failed else None,
            status="" if over else "error" if entry.failed else "ok",
            ended=not over,
        )
        self.builder.execute(lane, ran)

    def _result(self, entry: Called, known: Call | None) -> Payload:
        """The recorded bytes where the agent was given what is recorded, else what it was given."""
        recorded = None if known is None else known.result
        if recorded is not None and value_of(recorded) == entry.value:
            return recorded
        return raw(entry.value)

    def _decision(self, entry: GuardedBy) -> Payload:
        """The recorded words of a guardrail that decides as it did in the record."""
        from forensics.replay.guards import says_passed

        told = None if entry.step is None else self.recorded.payload[entry.step]
        if told is not None and says_passed(told) is entry.passed:
            return told
        return raw([{"name": entry.name, "result": "pass" if entry.passed else "block"}])

    def _lane(self, agent: str) -> Lane:
        return self.builder.lane(agent, agent)


def _payload(value: Any) -> Payload | None:
    return None if value is None else raw(value)
