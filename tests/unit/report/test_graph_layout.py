"""Does every step of a drawing have a place of its own, with time going down and results beside their calls?"""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from forensics.report.documents import (
    Digest,
    EvidenceRow,
    GraphDocument,
    GraphEdgeRow,
    GraphStepRow,
    GraphTraceRow,
    GraphValueRow,
    Place,
    PolicyName,
    Program,
)
from forensics.report.graph_lanes import LANES
from forensics.report.graph_layout import CALL, RESULT, TURN, Layout
from forensics.report.graph_routes import routes
from forensics.report.graph_values import LABELS, TRACKS, labels, ways

KINDS = ("user", "model", "tool_call", "tool_result", "agent")


def graph(steps: list[tuple[str, str]], edges: list[tuple[int, int, str]]) -> GraphDocument:
    """A graph of (kind, agent) and (source, target, kind); an edge of kind `value` carries one value."""
    return GraphDocument(
        schema="forensics/graph/v1",
        tool=Program(name="forensics", version="0"),
        policy=PolicyName(name="strict", digest="", base="strict"),
        rules=Digest(digest=""),
        evidence=[EvidenceRow(name="x", sha256="", size=0, status="read")],
        trace=GraphTraceRow(id="t", evidence=0, format="event-log", first_step=0, steps=len(steps)),
        slice=None,
        steps=[
            GraphStepRow(index=n, kind=kind, agent=agent, locator=Place(evidence=0))
            for n, (kind, agent) in enumerate(steps)
        ],
        edges=[
            GraphEdgeRow(source=s, target=t, kind=kind, basis="recorded", values=value(s) if kind == "value" else [])
            for s, t, kind in edges
        ],
    )


def value(mint: int) -> list[GraphValueRow]:
    return [GraphValueRow(value=f"v{mint}", kind="id", role="argument", written="verbatim")]


@st.composite
def graphs(draw: st.DrawFn) -> GraphDocument:
    agents = st.sampled_from([f"a{n}" for n in range(draw(st.integers(1, 12)))])
    steps = draw(st.lists(st.tuples(st.sampled_from(KINDS), agents), min_size=1, max_size=30))
    row = st.integers(0, len(steps) - 1)
    kind = st.sampled_from(("requests", "returns", "feeds", "next", "value", "parent", "retry", "handoff"))
    edges = draw(st.lists(st.tuples(row, row, kind), max_size=40))
    return graph(steps, [edge for edge in edges if edge[0] < edge[1]])


@given(graphs())
def test_no_two_steps_share_a_place(document: GraphDocument) -> None:
    layout = Layout(document)
    assert len(set(layout.cells.values())) == len(document.steps)


@given(graphs())
def test_time_goes_down_but_for_what_stands_beside_its_turn(document: GraphDocument) -> None:
    layout = Layout(document)
    lowest = -1
    for step in document.steps:
        cell = layout.cells[step.index]
        if cell.column == TURN:
            assert cell.row > lowest
        lowest = max(lowest, cell.row)


@given(graphs())
def test_lanes_lie_side_by_side_and_are_bounded(document: GraphDocument) -> None:
    layout = Layout(document)
    assert len(layout.lanes) <= min(LANES, len({step.agent for step in document.steps}))
    assert all(left.right < right.x for left, right in pairwise(layout.lanes))
    for step, box in layout.boxes.items():
        lane = layout.lanes[layout.cells[step].lane]
        assert lane.x < box.x
        assert box.right <= lane.right


@given(graphs())
def test_agents_that_share_a_lane_have_stretches_of_it_apart(document: GraphDocument) -> None:
    layout = Layout(document)
    for lane in range(len(layout.lanes)):
        mine = [one for one in layout.stretches if one.lane == lane]
        assert all(above.last + 1 < below.first for above, below in pairwise(mine))
        assert lane == LANES - 1 or not any(one.others for one in mine)
    agents = {step.agent for step in document.steps}
    assert sum(1 + one.others for one in layout.stretches) == len(agents)


def test_a_sub_agent_takes_the_lane_of_one_that_is_gone() -> None:
    work = [("model", "m"), ("agent", "a"), ("model", "a"), ("model", "m"), ("agent", "b"), ("model", "m")]
    layout = Layout(graph(work, []))
    assert [(one.agent, one.lane, one.first, one.last) for one in layout.stretches] == [
        ("m", 0, 0, 5),
        ("a", 1, 1, 2),
        ("b", 1, 4, 4),
    ]


def test_agents_at_work_at_once_have_lanes_of_their_own() -> None:
    work = [("model", "m"), ("agent", "a"), ("agent", "b"), ("model", "a"), ("model", "b"), ("agent", "c")]
    assert [one.lane for one in Layout(graph(work, [])).stretches] == [0, 1, 2, 1]


def test_a_retry_does_not_run_upon_the_line_that_asked_for_the_call() -> None:
    steps = [("model", ""), ("tool_call", ""), ("tool_call", ""), ("model", ""), ("tool_call", "")]
    edges = [(0, 1, "requests"), (0, 2, "requests"), (3, 4, "requests"), (1, 4, "retry")]
    document = graph(steps, edges)
    paths = {route.edges[0]: route.path for route in routes(document, Layout(document))}
    ways = {edge: {part.split("V")[0] for part in path.split("H")[1:]} for edge, path in paths.items()}
    assert not ways[(1, 4)] & ways[(0, 2)] - {"248"}


@given(graphs())
def test_every_edge_that_causes_has_a_line_or_a_label(document: GraphDocument) -> None:
    layout = Layout(document)
    drawn = {(s, t, route.kind) for route in routes(document, layout) for s, t in route.edges}
    carried = {(way.mint, use) for way in ways(document, layout) for use in way.uses}
    for edge in document.edges:
        if edge.kind == "value":
            assert (edge.source, edge.target) in carried
        elif edge.kind not in ("next", "parent"):
            assert (edge.source, edge.target, edge.kind) in drawn


def test_parallel_calls_and_their_results_stand_beside_their_turn() -> None:
    steps = [
        ("user", ""),
        ("model", ""),
        ("tool_call", ""),
        ("tool_call", ""),
        ("tool_result", ""),
        ("tool_result", ""),
    ]
    edges = [(1, 2, "requests"), (1, 3, "requests"), (3, 4, "returns"), (2, 5, "returns")]
    cells = Layout(graph(steps, edges)).cells
    assert [tuple(cells[n])[1:] for n in range(6)] == [
        (TURN, 0),
        (TURN, 1),
        (CALL, 1),
        (CALL, 2),
        (RESULT, 2),
        (RESULT, 1),
    ]


def test_a_result_that_came_after_a_sub_agent_stands_below_it() -> None:
    steps = [("model", "a"), ("tool_call", "a"), ("agent", "b"), ("model", "b"), ("tool_result", "a")]
    cells = Layout(graph(steps, [(0, 1, "requests"), (1, 4, "returns"), (1, 2, "parent")])).cells
    assert [cells[n].row for n in range(5)] == [0, 0, 1, 2, 3]
    assert [cells[n].lane for n in range(5)] == [0, 0, 1, 1, 0]


def test_ways_that_overlap_have_tracks_of_their_own() -> None:
    steps = [("user", "")] * (TRACKS + 4)
    last = len(steps) - 1
    document = graph(steps, [(n, last, "value") for n in range(last)])
    tracks = [way.track for way in ways(document, Layout(document))]
    assert sorted(track for track in tracks if track is not None) == list(range(TRACKS))
    assert tracks.count(None) == last - TRACKS


def test_a_track_is_free_again_below_the_last_use() -> None:
    document = graph([("user", "")] * 4, [(0, 1, "value"), (2, 3, "value")])
    assert [way.track for way in ways(document, Layout(document))] == [0, 0]


def test_a_row_has_room_for_some_labels_and_counts_the_others() -> None:
    document = graph([("user", "")] * 9, [(n, 8, "value") for n in range(8)])
    layout = Layout(document)
    told = labels(ways(document, layout), layout)
    assert [label.words for label in told[0]] == ["0 to 8: v0"]
    assert [label.words for label in told[8]] == ["8 from 0: v0", "8 from 1: v1", "8 from 2: v2", "… 5 more"]
    assert len(told[8]) == LABELS
