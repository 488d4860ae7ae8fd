"""Which way does each edge of a drawing take? Along the free ways between the boxes, never through one.

Edges that end alike share a trunk: the results that one turn was shown, the calls that one turn asked for. Sequence is
told by place, from top to bottom, and is drawn only between neighbours of a first column that nothing else joins; a
parent is drawn where no other line leads to the step, or from another agent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from forensics.report.graph_layout import BOX, CALL, GAP, TURN
from forensics.report.graph_words import drawn_edges

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from forensics.report.documents import GraphDocument, GraphEdgeRow
    from forensics.report.graph_layout import Layout


class Route(NamedTuple):
    """One line: kind and basis of its edges, the path in SVG's own commands, and the edges that it stands for."""

    kind: str
    basis: str
    path: str
    edges: tuple[tuple[int, int], ...]


def routes(document: GraphDocument, layout: Layout) -> Iterator[Route]:
    """Every line but those of values, in the order of the document."""
    edges = list(_shown(document, layout))
    feeds: dict[tuple[int, str], list[int]] = {}
    for edge in edges:
        if _goes_round(edge, layout):
            feeds.setdefault((edge.target, edge.basis), []).append(edge.source)
        else:
            yield Route(edge.kind, edge.basis, _single(edge, layout), ((edge.source, edge.target),))
    for (target, basis), sources in feeds.items():
        yield Route("feeds", basis, _round(sources, target, layout), tuple((source, target) for source in sources))


def _shown(document: GraphDocument, layout: Layout) -> Iterator[GraphEdgeRow]:
    edges = [edge for edge in drawn_edges(document) if edge.kind != "value"]
    reached = {edge.target for edge in edges if edge.kind not in ("next", "parent")}
    agents = {step.index: step.agent for step in document.steps}
    for edge in edges:
        within = agents[edge.source] == agents[edge.target]
        if edge.kind == "next":
            if layout.follows_directly(edge.source, edge.target):
                yield edge
        elif edge.kind != "parent" or edge.target not in reached or not within:
            yield edge


def _goes_round(edge: GraphEdgeRow, layout: Layout) -> bool:
    """Whether a result (or a call) is shown to a turn below it in its lane: along the right side and back."""
    source, target = layout.cells[edge.source], layout.cells[edge.target]
    return (
        edge.kind == "feeds"
        and source.lane == target.lane
        and source.column != TURN
        and target.column == TURN
        and source.row < target.row
    )


def _single(edge: GraphEdgeRow, layout: Layout) -> str:
    source, target = layout.cells[edge.source], layout.cells[edge.target]
    if source.lane == target.lane:
        if layout.follows_directly(edge.source, edge.target):
            return _down(edge.source, edge.target, layout)
        if source.column == target.column:
            return _bracket(edge.source, edge.target, layout)
        if target.column == source.column + 1:
            return _across(edge.source, edge.target, layout)
    return _around(edge.source, edge.target, layout)


def _down(source: int, target: int, layout: Layout) -> str:
    above, below = layout.boxes[source], layout.boxes[target]
    return f"M{above.centre} {above.y + BOX}V{below.y}"


def _bracket(source: int, target: int, layout: Layout) -> str:
    """Two of one column: along the way to its left; beside the lines by which calls were asked for, not upon them."""
    cell = layout.cells[target]
    start, end, way = layout.boxes[source], layout.boxes[target], layout.way_before(cell)
    left, up = (10, 9) if cell.column == CALL else (0, 0)
    return f"M{start.x} {start.middle - up}H{way - left}V{end.middle - up}H{end.x}"


def _across(source: int, target: int, layout: Layout) -> str:
    """To the next column of the lane: straight, or up and down on the way between."""
    start, end, way = layout.boxes[source], layout.boxes[target], layout.way_before(layout.cells[target])
    if start.y == end.y:
        return f"M{start.right} {start.middle}H{end.x}"
    return f"M{start.right} {start.middle}H{way}V{end.middle}H{end.x}"


def _round(sources: Iterable[int], target: int, layout: Layout) -> str:
    """Stubs from each source to the trunk, then the trunk: down the right side and back above the turn."""
    end, way = layout.boxes[target], layout.way_after(layout.cells[target])
    first, *rest = sorted((layout.boxes[source] for source in sources), key=lambda box: box.y)
    stubs = "".join(f"M{box.right} {box.middle}H{way}" for box in rest if box.middle != first.middle)
    above = end.y - GAP + 8
    return f"{stubs}M{first.right} {first.middle}H{way}V{above}H{end.centre}V{end.y}"


def _around(source: int, target: int, layout: Layout) -> str:
    """To any other place: below the row, along, and up or down on the way before the target's column."""
    start, end, way = layout.boxes[source], layout.boxes[target], layout.way_before(layout.cells[target])
    below = start.y + BOX + 4
    shift = -6 if layout.cells[target].column == CALL else 4
    return f"M{start.centre} {start.y + BOX}V{below}H{way + shift}V{end.middle + 6}H{end.x}"


# values --------------------------------------------------------------------------------------------------------------


def value_stub(step: int, x: int, layout: Layout, *, mints: bool) -> str:
    """From a box to a track at `x`, or back to the box where it does not mint the value."""
    box, height = layout.boxes[step], value_height(step, layout, mints=mints)
    if layout.is_last_of_row(step):
        return f"M{box.right} {height}H{x}" if mints else f"M{x} {height}H{box.right}"
    if mints:
        return f"M{box.right - 12} {box.y + BOX}V{height}H{x}"
    return f"M{x} {height}H{box.right - 12}V{box.y}"


def value_height(step: int, layout: Layout, *, mints: bool) -> int:
    """Where that line runs: beside the box where nothing stands to its right, else on the way below or above it."""
    box = layout.boxes[step]
    if layout.is_last_of_row(step):
        return box.middle + (-6 if mints else 6)
    return box.y + BOX + 4 if mints else box.y - 6
