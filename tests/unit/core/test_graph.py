"""Does the graph hold exactly the edges that were added, both ways, and walk them without recursion?"""

from __future__ import annotations

from graphlib import CycleError
from itertools import pairwise

import pytest

from forensics.core.edge_keys import ROW_LIMIT
from forensics.core.evidence import Basis
from forensics.core.graph import CausalGraph, Edge, EdgeKind, GraphBuilder
from forensics.errors import LimitExceededError

NEXT, VALUE, PARENT = EdgeKind.NEXT, EdgeKind.VALUE, EdgeKind.PARENT
RECORDED, DERIVED, INFERRED = Basis.RECORDED, Basis.DERIVED, Basis.INFERRED


def graph_of(count: int, *edges: tuple[int, int, EdgeKind, Basis]) -> CausalGraph:
    builder = GraphBuilder()
    for edge in edges:
        builder.add(*edge)
    return builder.build(count)


def chain(count: int, *more: tuple[int, int]) -> CausalGraph:
    pairs = [*pairwise(range(count)), *more]
    return graph_of(count, *((source, target, NEXT, DERIVED) for source, target in pairs))


def test_the_kinds_have_the_labels_of_the_documents() -> None:
    labels = [kind.label for kind in EdgeKind]
    assert labels == ["parent", "link", "requests", "returns", "feeds", "next", "value", "handoff", "retry"]


def test_edges_come_by_source_target_and_kind_whatever_the_order_they_were_added_in() -> None:
    edges = [(2, 3, VALUE, INFERRED), (0, 2, NEXT, DERIVED), (0, 2, PARENT, RECORDED), (0, 1, NEXT, DERIVED)]
    expected = [
        Edge(0, 1, NEXT, DERIVED),
        Edge(0, 2, PARENT, RECORDED),
        Edge(0, 2, NEXT, DERIVED),
        Edge(2, 3, VALUE, INFERRED),
    ]
    assert list(graph_of(4, *edges).edges()) == expected
    assert list(graph_of(4, *reversed(edges)).edges()) == expected


@pytest.mark.parametrize("order", [(INFERRED, RECORDED, DERIVED), (RECORDED, INFERRED), (INFERRED, RECORDED)])
def test_an_edge_added_again_is_kept_once_with_its_strongest_basis(order: tuple[Basis, ...]) -> None:
    graph = graph_of(2, *((0, 1, VALUE, basis) for basis in order))
    assert list(graph.edges()) == [Edge(0, 1, VALUE, RECORDED)]
    assert list(graph.edges_into(1)) == [Edge(0, 1, VALUE, RECORDED)]


def test_derived_is_stronger_than_inferred() -> None:
    graph = graph_of(2, (0, 1, VALUE, INFERRED), (0, 1, VALUE, DERIVED))
    assert list(graph.edges()) == [Edge(0, 1, VALUE, DERIVED)]


def test_two_kinds_between_the_same_rows_are_two_edges_and_one_neighbour() -> None:
    graph = graph_of(2, (0, 1, NEXT, DERIVED), (0, 1, VALUE, INFERRED))
    assert graph.edge_count == 2
    assert graph.successors(0) == (1,)
    assert graph.predecessors(1) == (0,)


def test_both_directions_hold_the_same_edges() -> None:
    graph = graph_of(5, (0, 4, NEXT, DERIVED), (3, 1, VALUE, INFERRED), (0, 1, PARENT, RECORDED))
    into = [edge for row in range(graph.node_count) for edge in graph.edges_into(row)]
    assert sorted(into, key=lambda edge: (edge.source, edge.target)) == list(graph.edges())
    assert list(graph.edges_into(1)) == [Edge(0, 1, PARENT, RECORDED), Edge(3, 1, VALUE, INFERRED)]
    assert list(graph.edges_from(0)) == [Edge(0, 1, PARENT, RECORDED), Edge(0, 4, NEXT, DERIVED)]


def test_neighbours_and_slices_follow_only_the_kinds_asked_for() -> None:
    graph = graph_of(4, (0, 1, VALUE, INFERRED), (1, 2, NEXT, DERIVED), (1, 3, VALUE, INFERRED))
    assert graph.successors(1, (NEXT,)) == (2,)
    assert graph.predecessors(1, (NEXT,)) == ()
    assert graph.forward(0) == (1, 2, 3)
    assert graph.forward(0, (VALUE,)) == (1, 3)
    assert graph.forward(0, ()) == ()
    assert graph.backward(2) == (0, 1)
    assert graph.backward(2, (VALUE,)) == ()


def test_a_slice_leaves_out_its_own_row_even_on_a_cycle() -> None:
    graph = chain(3, (2, 0))
    assert graph.forward(1) == (0, 2)
    assert graph.backward(1) == (0, 2)


def test_rows_in_causal_order_need_no_sort() -> None:
    graph = chain(4)
    assert graph.rows_are_ordered
    assert list(graph.topological()) == [0, 1, 2, 3]
    assert graph.cycles() == []


def test_an_edge_back_is_sorted_out_with_the_smallest_free_row_first() -> None:
    graph = graph_of(4, (3, 0, PARENT, RECORDED), (0, 1, NEXT, DERIVED))
    assert not graph.rows_are_ordered
    assert list(graph.topological()) == [2, 3, 0, 1]
    assert graph.cycles() == []


def test_cycles_are_named_and_no_order_is_given() -> None:
    graph = graph_of(
        7,
        (5, 4, PARENT, RECORDED),
        (4, 5, NEXT, DERIVED),
        (0, 1, NEXT, DERIVED),
        (1, 2, NEXT, DERIVED),
        (2, 0, PARENT, RECORDED),
        (2, 4, NEXT, DERIVED),
        (6, 6, VALUE, INFERRED),
    )
    assert graph.cycles() == [(0, 1, 2), (4, 5), (6,)]
    with pytest.raises(CycleError) as raised:
        graph.topological()
    assert raised.value.args[1] == [0, 1, 2]


def test_depth_exhausts_no_stack() -> None:
    count = 50_000
    ring = chain(count, (count - 1, 0))
    assert ring.cycles() == [tuple(range(count))]
    assert len(ring.forward(0)) == count - 1
    assert len(ring.backward(0)) == count - 1


def test_a_hub_is_walked_once_an_edge() -> None:
    """Each leaf leads back to the hub; looking again at all leaves for each of them would take minutes."""
    count = 50_000
    builder = GraphBuilder()
    for leaf in range(1, count):
        builder.add(0, leaf, NEXT, DERIVED)
        builder.add(leaf, 0, VALUE, INFERRED)
    assert builder.build(count).cycles() == [tuple(range(count))]


def test_no_edges_and_no_rows() -> None:
    assert list(graph_of(0).topological()) == []
    assert graph_of(0).node_count == 0
    graph = graph_of(3)
    assert (graph.node_count, graph.edge_count) == (3, 0)
    assert graph.forward(1) == graph.backward(1) == ()
    assert graph.cycles() == []


def test_an_edge_takes_few_bytes() -> None:
    count = 10_000
    graph = chain(count, *((row, row + 2) for row in range(count - 2)))
    assert graph.edge_count == 2 * count - 3
    assert graph.size == 2 * (4 * (count + 1) + 4 * graph.edge_count)


@pytest.mark.parametrize(("source", "target"), [(-1, 0), (0, -1), (ROW_LIMIT, 0), (0, ROW_LIMIT)])
def test_a_row_that_no_trace_can_have_is_refused_when_added(source: int, target: int) -> None:
    builder = GraphBuilder()
    with pytest.raises(IndexError):
        builder.add(source, target, NEXT, DERIVED)
    assert len(builder) == 0


@pytest.mark.parametrize(("source", "target"), [(0, 2), (2, 0)])
def test_an_edge_beyond_the_rows_is_refused_when_built(source: int, target: int) -> None:
    with pytest.raises(IndexError, match="row 2 of 2"):
        graph_of(2, (source, target, NEXT, DERIVED))


@pytest.mark.parametrize("row", [-1, 2])
def test_a_row_that_the_graph_lacks_is_an_error(row: int) -> None:
    graph = chain(2)
    for ask in (
        graph.successors,
        graph.predecessors,
        graph.forward,
        graph.backward,
        graph.edges_from,
        graph.edges_into,
    ):
        with pytest.raises(IndexError):
            ask(row)


def test_the_last_possible_row_keeps_its_kind_and_basis_apart() -> None:
    builder = GraphBuilder()
    builder.add(ROW_LIMIT - 1, ROW_LIMIT - 1, EdgeKind.RETRY, INFERRED)
    with pytest.raises(IndexError, match=f"row {ROW_LIMIT - 1} of 1"):
        builder.build(1)


def test_edges_added_together_are_those_added_one_by_one() -> None:
    sources, targets = [0, 0, 3, 1], [1, 2, 1, 2]
    together, one_by_one = GraphBuilder(), GraphBuilder()
    together.add_all(sources, targets, VALUE, INFERRED)
    for source, target in zip(sources, targets, strict=True):
        one_by_one.add(source, target, VALUE, INFERRED)
    assert len(together) == len(one_by_one) == 4
    assert list(together.build(4).edges()) == list(one_by_one.build(4).edges())


@pytest.mark.parametrize(("sources", "targets"), [([0, -1], [1, 1]), ([0, ROW_LIMIT], [1, 1])])
def test_of_edges_with_an_impossible_one_none_is_added(sources: list[int], targets: list[int]) -> None:
    builder = GraphBuilder()
    with pytest.raises(IndexError):
        builder.add_all(sources, targets, NEXT, DERIVED)
    assert len(builder) == 0


def test_more_rows_than_a_graph_can_have_are_a_limit_and_no_fault() -> None:
    with pytest.raises(LimitExceededError, match=f"{ROW_LIMIT + 1} steps"):
        GraphBuilder().build(ROW_LIMIT + 1)
