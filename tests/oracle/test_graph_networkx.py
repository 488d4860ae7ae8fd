"""Does the graph say what networkx says? Random graphs, random traces, and the view against an ordinary graph."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import msgspec
import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forensics.analysis.causality import causal_graph, program_order
from forensics.analysis.graph_view import to_digraph, to_networkx
from forensics.core.build import Execution, Spot, TraceBuilder
from forensics.core.evidence import Basis
from forensics.core.graph import BASES, CausalGraph, EdgeKind, GraphBuilder
from forensics.core.messages import Message, Part
from forensics.core.trace import Outcome, Places, StepKind

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from forensics.core.build import Lane
    from forensics.core.trace import Call, Trace

Added = tuple[int, int, EdgeKind, Basis]


@st.composite
def graphs(draw: st.DrawFn) -> tuple[int, list[Added]]:
    count = draw(st.integers(1, 14))
    row = st.integers(0, count - 1)
    edge = st.tuples(row, row, st.sampled_from(EdgeKind), st.sampled_from(Basis))
    return count, draw(st.lists(edge, max_size=40))


def ours(count: int, edges: list[Added]) -> CausalGraph:
    builder = GraphBuilder()
    for edge in edges:
        builder.add(*edge)
    return builder.build(count)


def oracle(count: int, edges: list[Added], kinds: set[EdgeKind] | None = None) -> nx.MultiDiGraph[int]:
    graph: nx.MultiDiGraph[int] = nx.MultiDiGraph()
    graph.add_nodes_from(range(count))
    for source, target, kind, basis in sorted(edges, key=lambda edge: -BASES.index(edge[3])):  # the strongest is last
        if kinds is None or kind in kinds:
            graph.add_edge(source, target, key=kind.label, kind=kind.label, basis=basis.value)
    return graph


@given(graphs())
def test_the_edges_are_those_of_networkx(drawn: tuple[int, list[Added]]) -> None:
    graph, truth = ours(*drawn), oracle(*drawn)
    expected = {(s, t, key, data["basis"]) for s, t, key, data in truth.edges(keys=True, data=True)}
    told = [(e.source, e.target, e.kind.label, e.basis.value) for e in graph.edges()]
    into = [(e.source, e.target, e.kind.label, e.basis.value) for row in truth for e in graph.edges_into(row)]
    assert len(told) == len(into) == graph.edge_count == truth.number_of_edges()
    assert set(told) == set(into) == expected
    for row in truth:
        assert list(graph.successors(row)) == sorted(truth.successors(row))
        assert list(graph.predecessors(row)) == sorted(truth.predecessors(row))


@given(graphs(), st.randoms(use_true_random=False))
def test_the_order_of_adding_changes_nothing(drawn: tuple[int, list[Added]], random: Random) -> None:
    count, edges = drawn
    shuffled = edges.copy()
    random.shuffle(shuffled)
    one, other = ours(count, edges), ours(count, shuffled)
    assert (one.outgoing, one.incoming) == (other.outgoing, other.incoming)


@given(graphs(), st.none() | st.sets(st.sampled_from(EdgeKind)))
def test_slices_are_ancestors_and_descendants(drawn: tuple[int, list[Added]], kinds: set[EdgeKind] | None) -> None:
    graph, truth = ours(*drawn), oracle(*drawn, kinds)
    for row in truth:
        assert list(graph.backward(row, kinds)) == sorted(nx.ancestors(truth, row))
        assert list(graph.forward(row, kinds)) == sorted(nx.descendants(truth, row))


@given(graphs())
def test_cycles_are_strongly_connected_components(drawn: tuple[int, list[Added]]) -> None:
    graph, truth = ours(*drawn), oracle(*drawn)
    components = nx.strongly_connected_components(truth)
    expected = sorted(tuple(sorted(c)) for c in components if len(c) > 1 or truth.has_edge(*[*c, *c]))
    assert graph.cycles() == expected


@given(graphs())
def test_the_order_is_the_smallest_topological_one(drawn: tuple[int, list[Added]]) -> None:
    graph, truth = ours(*drawn), oracle(*drawn)
    if nx.is_directed_acyclic_graph(truth):
        assert list(graph.topological()) == list(nx.lexicographical_topological_sort(truth))
    else:
        with pytest.raises(ValueError, match="cycle"):
            graph.topological()


@given(graphs(), st.permutations(range(14)))
def test_an_acyclic_graph_with_any_names_for_its_rows_is_sorted(
    drawn: tuple[int, list[Added]], names: list[int]
) -> None:
    """Random edges are seldom acyclic: here every edge goes forward, and then the rows change their names."""
    edges = [(names[min(s, t)], names[max(s, t)], kind, basis) for s, t, kind, basis in drawn[1] if s != t]
    graph, truth = ours(14, edges), oracle(14, edges)
    assert graph.cycles() == []
    assert graph.rows_are_ordered == all(s < t for s, t, _, _ in edges)
    assert list(graph.topological()) == list(nx.lexicographical_topological_sort(truth))


@given(graphs())
def test_the_view_is_the_graph_that_networkx_would_have(drawn: tuple[int, list[Added]]) -> None:
    view, truth = to_networkx(ours(*drawn)), oracle(*drawn)
    assert nx.utils.graphs_equal(view, truth)
    assert nx.utils.graphs_equal(view.copy(), truth)
    assert nx.utils.graphs_equal(view.reverse(copy=False), truth.reverse(copy=False))
    assert nx.utils.graphs_equal(view.subgraph([0, 1, 2]), truth.subgraph([0, 1, 2]))
    assert dict(view.in_degree()) == dict(truth.in_degree())
    assert {*map(frozenset, nx.weakly_connected_components(view))} == {
        *map(frozenset, nx.weakly_connected_components(truth))
    }
    assert (view.number_of_nodes(), view.number_of_edges()) == (truth.number_of_nodes(), truth.number_of_edges())
    for row in (-1, len(truth)):
        assert not view.has_node(row)
    strangers: list[object] = ["0", [], None]
    assert not any(stranger in view for stranger in strangers)


# what the algorithms of networkx say of the views --------------------------------------------------------------------

ALGORITHMS: dict[str, Callable[[nx.DiGraph[int]], object]] = {
    "edges": lambda graph: sorted(map(str, graph.edges(data=True))),
    "degrees": lambda graph: (dict(graph.in_degree()), dict(graph.out_degree()), dict(graph.degree())),
    "ancestors": lambda graph: [nx.ancestors(graph, row) for row in graph],
    "descendants": lambda graph: [nx.descendants(graph, row) for row in graph],
    "acyclic": nx.is_directed_acyclic_graph,
    "generations": lambda graph: [sorted(rows) for rows in nx.topological_generations(graph)],
    "order": lambda graph: list(nx.lexicographical_topological_sort(graph)),
    "longest path": nx.dag_longest_path_length,
    "shortest paths": lambda graph: dict(nx.all_pairs_shortest_path_length(graph)),
    "strong components": lambda graph: {*map(frozenset, nx.strongly_connected_components(graph))},
    "weak components": lambda graph: {*map(frozenset, nx.weakly_connected_components(graph))},
    "condensation": lambda graph: {frozenset(rows) for _, rows in nx.condensation(graph).nodes(data="members")},
    "dominators": lambda graph: sorted(nx.immediate_dominators(graph, 0).items()),
    "frontiers": lambda graph: nx.dominance_frontiers(graph, 0),
    "reachable": lambda graph: sorted(nx.dfs_preorder_nodes(graph, 0)),
    "layers": lambda graph: [sorted(rows) for rows in nx.bfs_layers(graph, 0)],
    "closeness": nx.closeness_centrality,
    "centrality": nx.in_degree_centrality,
    "reduction": lambda graph: sorted(nx.transitive_reduction(graph).edges),
    "closure": lambda graph: sorted(nx.transitive_closure(graph).edges),
    "subgraph": lambda graph: sorted(map(str, graph.subgraph([0, 1, 2, 3]).edges(data=True))),
    "reversed": lambda graph: sorted(map(str, graph.reverse(copy=False).edges(data=True))),
    "undirected": lambda graph: nx.number_connected_components(graph.to_undirected(as_view=True)),
    "core": nx.core_number,
    "edge list": lambda graph: sorted(map(str, nx.to_edgelist(graph))),
    "GraphML": lambda graph: sorted(nx.generate_graphml(graph)),
    "ordinary": lambda graph: nx.utils.graphs_equal(nx.MultiDiGraph(graph), nx.MultiDiGraph(graph.copy())),
}


def said(algorithm: Callable[[nx.DiGraph[int]], object], graph: nx.DiGraph[int]) -> object:
    """What an algorithm returns, or that it takes no such graph."""
    try:
        return algorithm(graph)
    except (nx.NetworkXError, nx.NetworkXNotImplemented, nx.NetworkXUnfeasible) as error:
        return type(error)


def merged(truth: nx.MultiDiGraph[int]) -> nx.DiGraph[int]:
    """The same with one edge for all between two rows."""
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(truth)
    for source, target in truth.edges():
        told = [truth[source][target][kind.label] for kind in EdgeKind if kind.label in truth[source][target]]
        strongest = min((Basis(edge["basis"]) for edge in told), key=BASES.index)
        graph.add_edge(source, target, kinds=" ".join(edge["kind"] for edge in told), basis=strongest.value)
    return graph


@given(graphs())
def test_the_merged_view_is_the_graph_that_networkx_would_have(drawn: tuple[int, list[Added]]) -> None:
    view, truth = to_digraph(ours(*drawn)), merged(oracle(*drawn))
    assert nx.utils.graphs_equal(view, truth)
    assert nx.utils.graphs_equal(view.copy(), truth)
    with pytest.raises(nx.NetworkXError, match=r"[Ff]rozen"):
        view.add_edge(0, 0)


@pytest.mark.parametrize("name", ALGORITHMS)
@given(graphs())
@settings(max_examples=25)
def test_an_algorithm_says_the_same_of_a_view_and_of_an_ordinary_graph(
    name: str, drawn: tuple[int, list[Added]]
) -> None:
    graph, truth = ours(*drawn), oracle(*drawn)
    assert said(ALGORITHMS[name], to_networkx(graph)) == said(ALGORITHMS[name], truth)
    assert said(ALGORITHMS[name], to_digraph(graph)) == said(ALGORITHMS[name], merged(truth))


def test_the_algorithms_take_the_merged_view_of_a_run_without_cycles() -> None:
    """Else every algorithm could refuse every graph, and be equal."""
    forward: list[Added] = [(row, row + step, EdgeKind.NEXT, Basis.DERIVED) for row in range(9) for step in (1, 2)]
    view = to_digraph(ours(11, forward))
    refused = {name for name, algorithm in ALGORITHMS.items() if isinstance(said(algorithm, view), type)}
    assert refused == set()


# random traces -------------------------------------------------------------------------------------------------------

Event = tuple[str, int, int]
_PLAIN = (StepKind.USER, StepKind.SYSTEM, StepKind.HANDOFF, StepKind.ERROR, StepKind.APPROVAL, StepKind.AGENT)
_ACTS = ("turn", "request", "show", "execute", "begin", "end", "step", "fail")
_events = st.lists(st.tuples(st.sampled_from(_ACTS), st.integers(0, 2), st.integers(0, 5)), max_size=40)
_IDS = ("c0", "c1", None)


class _Teller:
    """Tells a reader's events in any interleaving, also those that no right reader would tell."""

    def __init__(self) -> None:
        self.places = Places(0)
        self.build = TraceBuilder("t", self.places, "random")
        self.begun: list[tuple[Lane, int, Execution]] = []

    def tell(self, event: Event) -> None:
        act, agent, number = event
        lane = self.build.lane(f"a{agent}", f"a{agent}")
        getattr(self, f"_{act}")(lane, number)

    def spot(self) -> Spot:
        return Spot(self.places.add(line=len(self.places) + 1))

    def _turn(self, lane: Lane, _number: int) -> None:
        self.build.turn(lane, self.spot())

    def _request(self, lane: Lane, number: int) -> None:
        if lane.turns:
            tool, arguments = f"tool{number % 2}", msgspec.Raw(b'{"n": %d}' % (number % 2))
            self.build.request(lane, lane.turns[-1], tool, _IDS[number % 3], arguments, self.spot())

    def _show(self, lane: Lane, number: int, *, failed: bool = False) -> None:
        result = msgspec.Raw(b'"r%d"' % number)
        self.build.show(lane, _IDS[number % 3], f"tool{number % 2}", result, self.spot(), failed=failed)

    def _fail(self, lane: Lane, number: int) -> None:
        self._show(lane, number, failed=True)

    def _ran(self, number: int) -> Execution:
        result = None if number == 5 else msgspec.Raw(b'"r"')
        status = ("ok", "error", "pending")[number % 3]
        arguments = msgspec.Raw(b'{"n": %d}' % (number % 2))
        return Execution(f"tool{number % 2}", self.spot(), _IDS[number % 3], arguments, result, status=status)

    def _execute(self, lane: Lane, number: int) -> None:
        self.build.execute(lane, self._ran(number))

    def _begin(self, lane: Lane, number: int) -> None:
        ran = self._ran(number)
        self.begun.append((lane, self.build.begin(lane, ran), ran))

    def _end(self, _lane: Lane, _number: int) -> None:
        if self.begun:
            self.build.end(*self.begun.pop())

    def _step(self, lane: Lane, number: int) -> None:
        self.build.step(_PLAIN[number], self.spot(), agent=lane.agent)

    def _adopt(self, lane: Lane, number: int) -> None:
        """A prompt that shows a model message with a call, which may have run already."""
        recorded = _IDS[number % 2]
        call = Part(f"tool{number % 2}", recorded, msgspec.Raw(b'{"n": %d}' % (number % 2)), "/0")
        self.build.feed(lane, (Message("assistant", b"%d" % len(self.places), "/m", calls=(call,)),), self.spot())


def told(events: list[Event]) -> Trace:
    teller = _Teller()
    for event in events:
        teller.tell(event)
    return teller.build.finish()


@given(_events)
def test_every_edge_of_a_trace_goes_from_an_earlier_to_a_later_row(events: list[Event]) -> None:
    graph = causal_graph(told(events))
    assert graph.rows_are_ordered
    assert all(edge.source < edge.target for edge in graph.edges())


_with_adoption = st.lists(
    st.tuples(
        st.sampled_from(("turn", "execute", "begin", "end", "adopt", "step", "show")),
        st.integers(0, 1),
        st.integers(0, 5),
    ),
    max_size=30,
)


@given(_with_adoption)
def test_a_call_told_before_its_turn_makes_no_cycle(events: list[Event]) -> None:
    trace = told(events)
    order = program_order(trace)
    position = {row: place for place, row in enumerate(order)}
    assert sorted(order) == list(range(len(trace)))
    graph = causal_graph(trace)
    assert graph.cycles() == []
    assert all(position[edge.source] < position[edge.target] for edge in graph.edges())


@given(_events)
def test_the_edges_of_a_trace_are_those_of_a_naive_reading(events: list[Event]) -> None:
    """The rules again, written over the steps with no regard to time."""
    trace = told(events)
    steps = list(trace.steps())
    expected: set[tuple[int, int, str]] = set()
    for agent in {step.agent for step in steps}:
        rows = [step.index for step in steps if step.agent == agent]
        expected |= {(a, b, "next") for a, b in pairwise(rows)}
    for step in steps:
        later = [s for s in steps if s.index > step.index]
        if step.kind.label in {"user", "system", "tool_result", "approval", "error"}:
            turns = [s.index for s in later if s.kind is StepKind.MODEL and s.agent == step.agent]
            expected |= {(step.index, turn, "feeds") for turn in turns[:1]}
        if step.kind is StepKind.HANDOFF:
            others = [s.index for s in later if s.agent != step.agent]
            expected |= {(step.index, other, "handoff") for other in others[:1]}
    for call in trace.calls:
        turns = [s.index for s in steps if s.kind is StepKind.MODEL and s.turn == call.turn]
        expected |= {(turn, call.step, "requests") for turn in turns}
        expected |= {(call.step, call.result_step, "returns")} if call.result_step >= 0 else set()
    expected |= {(a.step, b.step, "retry") for a, b in naive_retries(trace)}
    assert {(e.source, e.target, e.kind.label) for e in causal_graph(trace).edges()} == expected


def naive_retries(trace: Trace) -> list[tuple[Call, Call]]:
    """For each call the one before it with the same request that was answered last, if that one did not settle."""
    found = []
    for call in trace.calls:
        if call.arguments is None:  # not recorded: nobody knows what was asked
            continue
        same = [c for c in trace.calls if (c.tool, c.arguments) == (call.tool, call.arguments) and c is not call]
        answered = [c for c in same if max(c.step, c.result_step) < call.step and c.outcome is not Outcome.ABSENT]
        last = max(answered, key=lambda c: max(c.step, c.result_step), default=None)
        if last is None or last.outcome not in (Outcome.FAILED, Outcome.INDETERMINATE):
            continue
        if last.result_step >= 0 or last.turn != call.turn:
            found.append((last, call))
    return found
