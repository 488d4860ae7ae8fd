"""Why did a step happen, and what did it lead to? The edges that touch it, then the rest of both slices, nearest first.

Every further step is reached once, by the edge that reached it first; so each row says how one step hangs together with
one that was named before it. Values come first at every distance: they say most.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.core.evidence import Basis
from forensics.core.graph import EdgeKind
from forensics.report.compose import evidence_row, policy_name, program
from forensics.report.documents import EXPLANATION, Digest, ExplanationDocument, GraphEdgeRow, GraphValueRow, ReachRow
from forensics.report.graph_document import BRANCH, value_row

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from forensics.core.graph import CausalGraph, Edge
    from forensics.core.policy import Policy
    from forensics.report.compose import Examined
    from forensics.report.graph_document import Drawn

FURTHER = 10_000  # rows of one direction
_ORDER = (
    EdgeKind.VALUE,
    EdgeKind.REQUESTS,
    EdgeKind.RETURNS,
    EdgeKind.FEEDS,
    EdgeKind.HANDOFF,
    EdgeKind.RETRY,
    EdgeKind.LINK,
    EdgeKind.PARENT,
    EdgeKind.NEXT,
)
_RANK = {kind: rank for rank, kind in enumerate(_ORDER)}


def explanation_document(
    examined: Sequence[Examined], drawn: Drawn, step: int, policy: Policy, rules_digest: str
) -> ExplanationDocument:
    """The explanation of one step by its number in documents. Raises IndexError where it is not of the trace."""
    row = drawn.row(step)
    if row is None:
        raise IndexError(f"step {step} is not of the trace")
    why, led_to = reach(drawn, row, back=True), reach(drawn, row, back=False)
    named = {end for reach in (why, led_to) for e in (*reach.direct, *reach.further) for end in (e.source, e.target)}
    return ExplanationDocument(
        schema=EXPLANATION,
        tool=program(),
        policy=policy_name(policy),
        rules=Digest(digest=rules_digest),
        evidence=[evidence_row(one) for one in examined],
        trace=drawn.trace_row(),
        step=drawn.step(row, says=True),
        steps=[drawn.step(other - drawn.first, says=True) for other in sorted(named - {step})],
        why=why,
        led_to=led_to,
    )


def reach(drawn: Drawn, row: int, *, back: bool) -> ReachRow:
    """One direction of an explanation: the edges that touch the row, then the rest of the slice, nearest first."""
    walk = Walk(drawn.graph, back=back)
    direct = [drawn.edge(edge) for edge in walk.touching(row)]
    values = [edge for edge in direct if edge.kind == EdgeKind.VALUE.label]
    further = walk.further(row)
    return ReachRow(
        steps=walk.found,
        direct=[*values, *_shown(drawn, row, back=back), *direct[len(values) :]],
        further=[drawn.edge(edge) for edge in further[:FURTHER]],
        more=max(len(further) - FURTHER, 0),
    )


def _shown(drawn: Drawn, row: int, *, back: bool) -> list[GraphEdgeRow]:
    """The turns that were shown values and may rest on them, where no recorded text of the turn holds the value."""
    ends: dict[tuple[int, int], list[GraphValueRow]] = {}
    for handle in drawn.analysis.handles:
        held = {use.step for use in handle.uses if use.role != BRANCH}
        for use in handle.uses:
            end = use.step if back else handle.step
            if use.role == BRANCH and end == row and use.step not in held:
                ends.setdefault((handle.step, use.step), []).append(value_row(handle, use))
    return [
        GraphEdgeRow(
            source=drawn.first + mint,
            target=drawn.first + turn,
            kind=EdgeKind.VALUE.label,
            basis=Basis.INFERRED.value,
            values=values,
        )
        for (mint, turn), values in ends.items()
    ]


class Walk:
    """A walk over the graph in one direction. Sequence is followed to the neighbours of the first step only."""

    def __init__(self, graph: CausalGraph, *, back: bool) -> None:
        self.graph = graph
        self.back = back
        self.found = 0  # steps of the slice, once it was walked

    def touching(self, row: int) -> list[Edge]:
        """The edges of one step in this direction: by kind, then the nearest first."""
        edges = self.graph.edges_into(row) if self.back else self.graph.edges_from(row)
        return sorted(edges, key=lambda edge: (_RANK[edge.kind], abs(self._far(edge) - row)))

    def further(self, row: int) -> list[Edge]:
        """The edges by which the rest of the slice is reached: by distance, then by kind, then the nearest first."""
        seen = {row, *(self._far(edge) for edge in self._causes([row]))}
        level = sorted(seen - {row}, key=lambda far: abs(far - row))
        out: list[Edge] = []
        while level:
            new = self._unseen(level, seen)
            new.sort(key=lambda edge: (_RANK[edge.kind], abs(self._far(edge) - row)))
            out += new
            level = [self._far(edge) for edge in new]
        self.found = len(seen) - 1
        return out

    def _unseen(self, level: Iterable[int], seen: set[int]) -> list[Edge]:
        """The best edge to each step that was not seen before, which it then is."""
        best: dict[int, Edge] = {}
        for edge in self._causes(level):
            far = self._far(edge)
            if far not in seen and (far not in best or _RANK[edge.kind] < _RANK[best[far].kind]):
                best[far] = edge
        seen.update(best)
        return list(best.values())

    def _causes(self, rows: Iterable[int]) -> Iterator[Edge]:
        for row in rows:
            for edge in self.graph.edges_into(row) if self.back else self.graph.edges_from(row):
                if edge.kind is not EdgeKind.NEXT:
                    yield edge

    def _far(self, edge: Edge) -> int:
        return edge.source if self.back else edge.target
