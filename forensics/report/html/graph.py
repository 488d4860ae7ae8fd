"""How does the causal graph look in a browser? The timeline of the report over the steps of a graph document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.report.graph_document import check_limit
from forensics.report.graph_words import title
from forensics.report.html.page import page
from forensics.report.html.timeline import STEPS, Drawing, timeline, timeline_data
from forensics.report.html.words import Inspecting, command
from forensics.report.incident.documents import Edge, Event, Lane, Thread, ThreadUse
from forensics.report.incident.statements import COMMANDS
from forensics.report.markup import el

if TYPE_CHECKING:
    from collections.abc import Mapping

    from forensics.report.documents import GraphDocument, GraphEdgeRow, GraphStepRow, GraphValueRow

    Ends = tuple[int | None, int | None]  # a call and its result

_TOOLS = frozenset({"tool_call", "tool_result"})
_PEOPLE = frozenset({"user", "approval"})


def graph_html(document: GraphDocument) -> bytes:
    """The graph as one page. Raises LimitExceededError beyond 20,000 steps."""
    check_limit(len(document.steps), STEPS, "a page", "steps", whole=document.slice is None)
    drawing = _drawing(document)
    return page(
        f"Causal graph: {title(document)}",
        [timeline_data(drawing)],
        el(
            "header",
            el("h1", f"Causal graph: {title(document)}"),
            el("p", COMMANDS, class_="quiet") if drawing.inspect else None,
        ),
        el("main", el("section", el("h2", "Timeline"), timeline(drawing))),
    )


def _drawing(document: GraphDocument) -> Drawing:
    lanes: dict[tuple[str, str], int] = {}
    ends = _ends(document)
    events = [_event(step, lanes.setdefault(_lane(step), len(lanes)), ends) for step in document.steps]
    counts = [0] * len(lanes)
    for event in events:
        counts[event.lane] += 1
    return Drawing(
        id="t0",
        lanes=[Lane(index=i, trace=0, kind=kind, name=name, steps=counts[i]) for (kind, name), i in lanes.items()],
        events=events,
        edges=[Edge(source=e.source, target=e.target, kind=e.kind, basis=e.basis) for e in document.edges],
        threads=_threads(document),
        inspect=_inspecting(document),
        start=None if document.slice is None else document.slice.step,
    )


def _inspecting(document: GraphDocument) -> Inspecting | None:
    line = command("forensics", "inspect", document.evidence[document.trace.evidence].name)
    return Inspecting(line) if line is not None and len(document.evidence) == 1 else None


def _lane(step: GraphStepRow) -> tuple[str, str]:
    if step.kind in _TOOLS:
        return "tool", step.name
    if step.kind == "model":
        return "model", step.name
    return ("people", "") if step.kind in _PEOPLE else ("agent", step.agent)


def _event(step: GraphStepRow, lane: int, ends: Mapping[int, Ends]) -> Event:
    call, result = ends.get(step.index, (None, None))
    return Event(
        index=step.index,
        trace=0,
        lane=lane,
        kind=step.kind,
        locator=step.locator,
        name=step.name,
        agent=step.agent,
        at=step.at,
        occurrence=step.occurrence,
        call=call,
        result=result,
        class_=step.class_,
        labels=step.labels,
        outcome=step.outcome,
        said=step.says,
    )


def _ends(document: GraphDocument) -> dict[int, Ends]:
    """By step of a call or a result, both."""
    ends: dict[int, Ends] = {step.index: (step.index, None) for step in document.steps if step.kind == "tool_call"}
    for edge in document.edges:
        if edge.kind == "returns":
            ends[edge.source] = ends[edge.target] = (edge.source, edge.target)
    return ends


def _threads(document: GraphDocument) -> list[Thread]:
    """The values that edges carry, each from the step that minted it to all its uses."""
    uses: dict[tuple[int, str, str], list[ThreadUse]] = {}
    for edge in document.edges:
        for value in edge.values:
            uses.setdefault((edge.source, value.value, value.kind), []).append(_use(edge, value))
    names = {step.index: step.name for step in document.steps}
    return [
        Thread(index=i, trace=0, value=value, kind=kind, minted=mint, pointer="", tool=names[mint], uses=found)
        for i, ((mint, value, kind), found) in enumerate(uses.items())
    ]


def _use(edge: GraphEdgeRow, value: GraphValueRow) -> ThreadUse:
    return ThreadUse(
        step=edge.target,
        role=value.role,
        written=value.written,
        basis=edge.basis,
        pointer=value.pointer,
        echo=value.echo,
    )
