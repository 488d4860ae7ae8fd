"""What led to the step that everybody asks about first, and what did it lead to?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.core.evidence import Basis
from forensics.report.graph_explanation import reach
from forensics.report.incident.documents import Cause
from forensics.report.incident.material import effect_calls
from forensics.report.incident.statements import known, share
from forensics.report.terminal_page import short
from forensics.report.terminal_verdict import deciding

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from forensics.report.documents import GraphEdgeRow, ReachRow
    from forensics.report.graph_document import Drawn
    from forensics.report.incident.documents import ReportFinding, Statement
    from forensics.report.incident.material import Material

_TRACES = 20
_EDGES = 25
_LOUD = ("critical", "high")
_VERBS = {
    "value": "gave {values} to",
    "requests": "asked for",
    "returns": "was answered by",
    "feeds": "was shown to",
    "handoff": "handed over to",
    "retry": "was tried again by",
    "link": "is linked to",
    "parent": "encloses",
    "next": "came before",
}
_OTHERWISE = {
    "value": "an equal value may have come from another place, or the model was shown it and did not use it",
    "feeds": "the model was shown it and need not have used it",
    "retry": "the second call may have been meant as a call of its own",
}
_ORDER_ONLY = "only the order of the records may join the two"


def causes(material: Material, drawn: Mapping[int, Drawn], findings: Sequence[ReportFinding]) -> list[Cause]:
    """The part of a report about causes: one chain a trace, of the first twenty that have a step to ask about."""
    found = []
    for index, one in drawn.items():
        asked = _asked(material, index, findings)
        if asked is not None:
            found.append(_cause(material, index, one, *asked))
        if len(found) == _TRACES:
            break
    return found


def _asked(material: Material, index: int, findings: Sequence[ReportFinding]) -> tuple[int, str] | None:
    """The step that a reader asks about first, and why that one: a loud finding's, the deciding one, the last write."""
    loud = next(
        (f for f in findings if f.trace == index and f.severity in _LOUD and f.steps and not f.suppressed), None
    )
    if loud is not None:
        return loud.steps[-1], f"the finding {loud.code} ({loud.severity}) names it"
    trace = material.traces[index]
    if not trace.verdict.cleared and (step := deciding(trace).step) is not None:
        return step, "it decides that the trace is refused"
    written = effect_calls(trace)
    return (written[-1].step, "it is the last call with an effect") if written else None


def _cause(material: Material, index: int, drawn: Drawn, step: int, why: str) -> Cause:
    row = step - drawn.first
    before, after = reach(drawn, row, back=True), reach(drawn, row, back=False)
    of = len(drawn.trace) - 1
    return Cause(
        trace=index,
        step=step,
        why_this_step=why,
        before=share("other steps of the trace that led to it", before.steps, of),
        after=share("other steps of the trace that it led to", after.steps, of),
        led_to_it=_statements(material, index, drawn, before),
        it_led_to=_statements(material, index, drawn, after),
    )


def _statements(material: Material, index: int, drawn: Drawn, found: ReachRow) -> list[Statement]:
    edges = [*found.direct, *found.further]
    causal = [edge for edge in edges if edge.kind != "next"] or edges
    return [_statement(material, index, drawn, edge) for edge in causal[:_EDGES]]


def _statement(material: Material, index: int, drawn: Drawn, edge: GraphEdgeRow) -> Statement:
    verb = _VERBS[edge.kind].format(values=_values(material, index, edge))
    text = f"{_named(drawn, edge.source)} {verb} {_named(drawn, edge.target)}"
    otherwise = [_OTHERWISE.get(edge.kind, _ORDER_ONLY)] if edge.basis == Basis.INFERRED.value else []
    return known(edge.basis, text, f"edge {edge.kind}", otherwise, steps=[edge.source, edge.target])


def _values(material: Material, index: int, edge: GraphEdgeRow) -> str:
    shown = [material.value(index, value.value) for value in edge.values[:3]]
    return ", ".join(dict.fromkeys(short(value, 60) for value in shown)) or "a value"


def _named(drawn: Drawn, step: int) -> str:
    row = drawn.step(step - drawn.first)
    name = f" {short(row.name, 60)}" if row.name else ""
    return f"step {step} ({row.kind.replace('_', ' ')}{name})"
