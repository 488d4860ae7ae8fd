"""How does the causal graph of a trace become a document, whole or around one step?

Step numbers are those of the audit of the same evidence. A slice follows every kind of edge but `next`: that one step
came after another is no reason for it, and over sequence alone everything would reach everything.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from forensics.analysis.causality import causal_graph, value_uses
from forensics.core.graph import EdgeKind
from forensics.core.jsonvalue import spell_surrogates
from forensics.core.trace import StepKind
from forensics.errors import LimitExceededError
from forensics.report.compose import Numbering, evidence_row, place, policy_name, program
from forensics.report.documents import (
    GRAPH,
    Digest,
    GraphDocument,
    GraphEdgeRow,
    GraphStepRow,
    GraphTraceRow,
    GraphValueRow,
    Place,
    SliceRow,
)
from forensics.report.written import moment, preview

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from forensics.analysis.run import TraceAnalysis
    from forensics.core.graph import CausalGraph, Edge
    from forensics.core.handles import Handle, Use
    from forensics.core.policy import Policy
    from forensics.report.compose import Examined

    Kinds = Iterable[EdgeKind]

CAUSES = tuple(kind for kind in EdgeKind if kind is not EdgeKind.NEXT)
LIMIT = 50_000  # steps of one graph, in every form
EDGES = 500_000
SAID = 200  # characters of a step's first words
BRANCH = "branch"


class Drawn:
    """One analysed trace with its graph and the numbers that its steps have in documents."""

    def __init__(
        self, examined: Sequence[Examined], analysis: TraceAnalysis, numbering: Numbering | None = None
    ) -> None:
        self.analysis = analysis
        self.trace = analysis.trace
        self.graph: CausalGraph = causal_graph(self.trace, value_uses(analysis.handles))
        self.first = (numbering or Numbering(examined)).first(analysis)
        self.values = _values_between(analysis.handles)

    def row(self, step: int) -> int | None:
        """The row of a step by its number in documents; None where the step is not of this trace."""
        row = step - self.first
        return row if 0 <= row < len(self.trace) else None

    def trace_row(self) -> GraphTraceRow:
        """What the document says of the trace."""
        trace = self.trace
        return GraphTraceRow(
            id=spell_surrogates(trace.id),
            evidence=trace.places.evidence,
            format=trace.format,
            first_step=self.first,
            steps=len(trace),
            rerun_of=None if trace.rerun_of is None else spell_surrogates(trace.rerun_of),
        )

    def step(self, row: int, *, says: bool = False) -> GraphStepRow:
        """One step; with its first words where `says`."""
        step = self.trace.step(row)
        call = None if step.call is None else self.trace.calls[step.call]
        is_call = step.kind is StepKind.TOOL_CALL and step.call is not None
        classified = self.analysis.calls[step.call] if is_call and step.call is not None else None
        return GraphStepRow(
            index=self.first + row,
            kind=step.kind.label,
            name=spell_surrogates(step.name),
            agent=spell_surrogates(step.agent),
            at=moment(self.trace.when(row)),
            locator=place(step.locator) or Place(evidence=0),
            occurrence=None if call is None else call.occurrence,
            class_=None if classified is None else classified.tool_class.value,
            labels=[] if classified is None else list(classified.labels),
            outcome=None if call is None else call.outcome.value,
            says=preview(step.payload, SAID) if says and step.payload is not None else None,
        )

    def edge(self, edge: Edge) -> GraphEdgeRow:
        """One edge, with the values that it carries."""
        carried = self.values.get((edge.source, edge.target), ()) if edge.kind is EdgeKind.VALUE else ()
        return GraphEdgeRow(
            source=self.first + edge.source,
            target=self.first + edge.target,
            kind=edge.kind.label,
            basis=edge.basis.value,
            values=[value_row(handle, use) for handle, use in carried],
        )


def _values_between(handles: Iterable[Handle]) -> dict[tuple[int, int], list[tuple[Handle, Use]]]:
    """By the step that minted and the step that holds, the values that went between them, minted ones first."""
    found: dict[tuple[int, int], list[tuple[Handle, Use]]] = {}
    for handle in sorted(handles, key=lambda handle: not handle.minted):
        for use in handle.uses:
            if use.role != BRANCH:
                found.setdefault((handle.step, use.step), []).append((handle, use))
    return found


def value_row(handle: Handle, use: Use) -> GraphValueRow:
    """One value on its way into a step."""
    return GraphValueRow(
        value=spell_surrogates(handle.value),
        kind=handle.kind,
        role=use.role,
        written=use.stands_as,
        pointer=None if use.pointer is None else spell_surrogates(use.pointer),
        echo=use.echo,
    )


def sliced(graph: CausalGraph, row: int, part: SliceRow) -> list[int]:
    """The rows of a slice, the step itself included, ascending."""
    rows = {row}
    if part.back:
        rows.update(_within(graph.predecessors, row, part.depth) if part.depth else graph.backward(row, CAUSES))
    if part.forward:
        rows.update(_within(graph.successors, row, part.depth) if part.depth else graph.forward(row, CAUSES))
    return sorted(rows)


def _within(neighbours: Callable[[int, Kinds], tuple[int, ...]], row: int, depth: int) -> set[int]:
    """The rows at most so many edges away."""
    seen, level = {row}, {row}
    for _ in range(depth):
        level = {far for near in level for far in neighbours(near, CAUSES)} - seen
        seen |= level
        if not level:
            break
    return seen


def graph_document(
    examined: Sequence[Examined],
    drawn: Drawn,
    policy: Policy,
    rules_digest: str,
    part: SliceRow | None = None,
    *,
    says: bool = False,
) -> GraphDocument:
    """The graph document of one trace, or of the part around one step of it; with first words where `says`.

    Raises IndexError for a step that is not of the trace, and LimitExceededError beyond 50,000 steps or 500,000 edges.
    """
    rows: Sequence[int] = range(len(drawn.trace))
    if part is not None:
        row = drawn.row(part.step)
        if row is None:
            raise IndexError(f"step {part.step} is not of the trace")
        rows = sliced(drawn.graph, row, part)
    check_limit(len(rows), LIMIT, "a graph", "steps", whole=part is None)
    kept = set(rows)
    within = (edge for row in rows for edge in drawn.graph.edges_from(row) if edge.target in kept)
    edges = list(islice(within, EDGES + 1))
    check_limit(len(edges), EDGES, "a graph", "edges", whole=part is None)
    return GraphDocument(
        schema=GRAPH,
        tool=program(),
        policy=policy_name(policy),
        rules=Digest(digest=rules_digest),
        evidence=[evidence_row(one) for one in examined],
        trace=drawn.trace_row(),
        slice=part,
        steps=[drawn.step(row, says=says) for row in rows],
        edges=[drawn.edge(edge) for edge in edges],
    )


def check_limit(count: int, limit: int, what: str, of: str, *, whole: bool) -> None:
    """Raise LimitExceededError, with the advice to slice, where there is more than a form can hold."""
    if count > limit:
        hint = "draw what surrounds one step: --slice STEP --depth 5" if whole else "take a smaller part: --depth 5"
        raise LimitExceededError(f"{what} holds at most {limit:,} {of}, and this one has {count:,} or more", hint=hint)
