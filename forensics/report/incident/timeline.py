"""What came after what, on whose lane, and which way did the values go? Everything that a drawing of the run needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from forensics.core.graph import EdgeKind
from forensics.core.jsonvalue import spell_surrogates
from forensics.core.trace import StepKind
from forensics.report.compose import place
from forensics.report.documents import Place
from forensics.report.graph_document import LIMIT, Drawn
from forensics.report.incident.documents import Edge, Event, Lane, Thread, ThreadUse, Timeline
from forensics.report.incident.statements import share
from forensics.report.terminal_verdict import deciding
from forensics.report.written import moment

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from forensics.core.trace import Step
    from forensics.report.documents import HandleRow
    from forensics.report.incident.documents import ReportFinding
    from forensics.report.incident.material import Material

_PEOPLE = frozenset({StepKind.USER, StepKind.APPROVAL})
_TOOLS = frozenset({StepKind.TOOL_CALL, StepKind.TOOL_RESULT})


class LaneKey(NamedTuple):
    """Which lane: the trace, people, agent, model or tool, and the name."""

    trace: int
    kind: str
    name: str


def timeline(material: Material, drawn: Mapping[int, Drawn], findings: Sequence[ReportFinding]) -> Timeline:
    """The part of a report about time. `drawn` are the traces that are small enough for a graph, by index."""
    lanes = _Lanes()
    marks = _marks(findings)
    deciding = _deciding(material)
    events = [e for index in range(len(material.traces)) for e in _events(material, index, lanes, marks, deciding)]
    return Timeline(
        timed=share("steps with a recorded time", sum(event.at is not None for event in events), len(events)),
        edged=share("steps whose edges are listed", sum(material.traces[i].steps for i in drawn), len(events)),
        lanes=lanes.rows(),
        events=events,
        edges=[edge for one in drawn.values() for edge in _edges(one)],
        threads=list(_threads(material)),
    )


def drawings(material: Material) -> dict[int, Drawn]:
    """The graph of every trace that is not too long for one, by index."""
    return {
        index: Drawn(material.examined, analysis, material.numbering)
        for index, analysis in enumerate(material.analyses)
        if len(analysis.trace) <= LIMIT
    }


class _Lanes:
    """The lanes in the order in which they begin."""

    def __init__(self) -> None:
        self._index: dict[LaneKey, int] = {}
        self._steps: list[int] = []

    def take(self, key: LaneKey) -> int:
        """The number of a lane, which gets one more step."""
        index = self._index.setdefault(key, len(self._index))
        if index == len(self._steps):
            self._steps.append(0)
        self._steps[index] += 1
        return index

    def rows(self) -> list[Lane]:
        """What the document says of them."""
        return [
            Lane(index=index, trace=key.trace, kind=key.kind, name=key.name, steps=self._steps[index])
            for key, index in self._index.items()
        ]


def _lane(index: int, step: Step, tool: str) -> LaneKey:
    if step.kind in _TOOLS:
        return LaneKey(index, "tool", tool)
    if step.kind is StepKind.MODEL:
        return LaneKey(index, "model", spell_surrogates(step.name))
    if step.kind in _PEOPLE:
        return LaneKey(index, "people", "")
    return LaneKey(index, "agent", spell_surrogates(step.agent))


def _events(
    material: Material, index: int, lanes: _Lanes, marks: Mapping[int, list[int]], deciding: frozenset[int]
) -> Iterator[Event]:
    analysis, row = material.analyses[index], material.traces[index]
    first = row.first_step
    calls = {call.step: call for call in row.executions}
    labels = {(tool.name, tool.server): tool.labels for tool in row.tools}
    for step in analysis.trace.steps():
        call = None if step.call is None else calls.get(first + analysis.trace.calls[step.call].step)
        held = None if step.call is None else analysis.trace.calls[step.call]
        tool = spell_surrogates(step.name) if call is None else call.tool
        server = None if held is None else held.server
        yield Event(
            index=first + step.index,
            trace=index,
            lane=lanes.take(_lane(index, step, tool)),
            kind=step.kind.label,
            locator=place(step.locator) or Place(evidence=0),
            name=tool if step.kind in _TOOLS else spell_surrogates(step.name),
            agent=spell_surrogates(step.agent),
            at=moment(analysis.trace.when(step.index)),
            occurrence=None if call is None else call.occurrence,
            call_id=None if held is None or not held.recorded_id else spell_surrogates(held.recorded_id),
            call=None if call is None else call.step,
            result=None if call is None else call.result_step,
            class_=None if call is None else call.class_,
            labels=[] if call is None else labels.get((call.tool, server), []),
            effect=None if call is None else call.effect,
            outcome=None if call is None else call.outcome,
            decision=None if call is None else call.decision,
            said=material.content.of(step.payload),
            size=0 if step.payload is None else len(step.payload),
            findings=marks.get(first + step.index, []),
            deciding=first + step.index in deciding,
        )


def _marks(findings: Iterable[ReportFinding]) -> dict[int, list[int]]:
    """By step, the findings that name it."""
    found: dict[int, list[int]] = {}
    for finding in findings:
        for step in dict.fromkeys(finding.steps):
            found.setdefault(step, []).append(finding.index)
    return found


def _deciding(material: Material) -> frozenset[int]:
    refused = [trace for trace in material.traces if not trace.verdict.cleared]
    return frozenset(step for step in (deciding(trace).step for trace in refused) if step is not None)


def _edges(drawn: Drawn) -> Iterator[Edge]:
    """The edges of one trace; mere sequence only between steps that nothing else joins."""
    for row in range(len(drawn.trace)):
        edges = tuple(drawn.graph.edges_from(row))
        joined = {edge.target for edge in edges if edge.kind is not EdgeKind.NEXT}
        for edge in edges:
            if edge.kind is not EdgeKind.NEXT or edge.target not in joined:
                yield Edge(
                    source=drawn.first + edge.source,
                    target=drawn.first + edge.target,
                    kind=edge.kind.label,
                    basis=edge.basis.value,
                )


def _threads(material: Material) -> Iterator[Thread]:
    index = 0
    for number, trace in enumerate(material.traces):
        for handle in trace.handles:
            yield Thread(
                index=index,
                trace=number,
                value=material.value(number, handle.value),
                kind=handle.kind,
                minted=handle.minted.step,
                pointer=handle.minted.pointer,
                tool=handle.minted.tool,
                uses=_uses(handle),
            )
            index += 1


def _uses(handle: HandleRow) -> list[ThreadUse]:
    return [
        ThreadUse(
            step=use.step, role=use.role, written=use.written, basis=use.basis, pointer=use.pointer, echo=use.echo
        )
        for use in handle.uses
    ]
