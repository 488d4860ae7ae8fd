"""Is what is done to many keys at once the same as what would be done to each?"""

from __future__ import annotations

from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.core import edge_keys
from forensics.core.edge_keys import (
    BASIS_BITS,
    CODE,
    CODE_BITS,
    ROW_LIMIT,
    distinct,
    in_order,
    key_of,
    keys_of,
    sources_of,
    turned,
    words_of,
)

Edges = list[tuple[int, int, int]]
_row = st.sampled_from([0, 1, 2, 5, ROW_LIMIT // 2, ROW_LIMIT - 2, ROW_LIMIT - 1]) | st.integers(0, ROW_LIMIT - 1)
_edges = st.lists(st.tuples(_row, _row, st.integers(0, CODE)), max_size=60)


def packed(edges: Edges) -> array[int]:
    return array("Q", [key_of(*edge) for edge in edges])


def unpacked(keys: array[int]) -> Edges:
    pairs = zip(sources_of(keys), words_of(keys), strict=True)
    return [(source, word >> CODE_BITS, word & CODE) for source, word in pairs]


@pytest.fixture(params=[(1 << 15, 1 << 16, 1 << 10), (2, 4, 2), (1, 2, 1)], autouse=True, ids=["real", "small", "tiny"])
def _sizes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few keys are as many blocks, runs and ranges as millions."""
    for name, size in zip(("_BLOCK", "_RUN", "_SAMPLED"), request.param, strict=True):
        monkeypatch.setattr(edge_keys, name, size)


@given(_edges, st.integers(0, CODE))
def test_many_keys_are_those_of_each(edges: Edges, code: int) -> None:
    sources, targets = [edge[0] for edge in edges], [edge[1] for edge in edges]
    expected = packed([(source, target, code) for source, target, _ in edges])
    assert keys_of(sources, targets, code) == expected
    assert keys_of(array("i", sources), array("I", targets), code) == expected


@given(_edges)
def test_a_key_gives_back_what_it_is_of(edges: Edges) -> None:
    assert unpacked(packed(edges)) == edges


@given(_edges)
def test_turned_keys_go_the_other_way(edges: Edges) -> None:
    assert unpacked(turned(packed(edges))) == [(target, source, code) for source, target, code in edges]


@given(_edges.map(lambda edges: edges + edges[::3]))
def test_order_is_that_of_the_edges_and_of_equal_ones_the_strongest_stays(edges: Edges) -> None:
    kept: dict[tuple[int, int, int], int] = {}
    for source, target, code in sorted(edges, reverse=True):
        kept[source, target, code >> BASIS_BITS] = code
    expected = [(source, target, code) for (source, target, _), code in sorted(kept.items())]
    assert unpacked(distinct(in_order(packed(edges)))) == expected


@pytest.mark.parametrize(
    ("sources", "targets"),
    [([-1], [0]), ([0], [-1]), ([0, ROW_LIMIT], [0, 0]), ([0, 0], [0, ROW_LIMIT]), ([1 << 40], [0]), ([0], [1 << 70])],
)
def test_a_row_that_no_graph_can_have_is_refused(sources: list[int], targets: list[int]) -> None:
    with pytest.raises(IndexError, match="no edge can join"):
        keys_of(sources, targets, 0)


def test_sources_without_targets_are_refused() -> None:
    with pytest.raises(ValueError, match="2 sources and 1 targets"):
        keys_of([0, 1], [1], 0)
