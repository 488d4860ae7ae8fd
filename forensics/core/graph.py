"""What led to what? The typed edges between the steps of a trace, as compressed sparse rows in both directions.

An edge is 4 bytes each way and a node 4 (docs/adr/0020); it carries a kind and a basis and no text, since whoever asks
"why" can be told from the two steps. Nodes are rows of the trace. Every walk is iterative: the depth of a hostile trace
exhausts no stack. networkx does the same in `forensics.analysis.graph_view`, for users and as the oracle of the tests.
"""

from __future__ import annotations

from array import array
from enum import IntEnum
from functools import cached_property
from graphlib import CycleError
from heapq import heapify, heappop, heappush
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

import msgspec

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
from forensics.core.evidence import Basis
from forensics.errors import LimitExceededError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


class EdgeKind(IntEnum):
    """Why one step led to another (docs/glossary.md: Edge)."""

    PARENT = 0
    LINK = 1
    REQUESTS = 2
    RETURNS = 3
    FEEDS = 4
    NEXT = 5
    VALUE = 6
    HANDOFF = 7
    RETRY = 8

    @property
    def label(self) -> str:
        """The name in documents, in lower case."""
        return self.name.lower()


class Edge(msgspec.Struct, frozen=True, gc=False):
    """One edge, from the row of the cause to the row of its consequence."""

    source: int
    target: int
    kind: EdgeKind
    basis: Basis


class Adjacency(msgspec.Struct, frozen=True, gc=False):
    """The edges in one direction. Those of row `r` are the entries `offsets[r]` up to `offsets[r + 1]`; an entry holds
    the row at the far end and the code of its kind and basis. Entries of a row go by far end, then by kind.
    """

    offsets: array[int]
    words: array[int]

    def of(self, row: int) -> array[int]:
        """The words of one row, for `far_end`, `kind_of` and `basis_of`."""
        return self.words[self.offsets[row] : self.offsets[row + 1]]

    @property
    def size(self) -> int:
        """Bytes held."""
        return sum(len(column) * column.itemsize for column in (self.offsets, self.words))


KINDS = tuple(EdgeKind)
BASES = (Basis.RECORDED, Basis.DERIVED, Basis.INFERRED)  # strongest first: of two equal edges the first one is kept
_BASIS = (1 << BASIS_BITS) - 1


def far_end(word: int) -> int:
    """The row at the far end of an entry."""
    return word >> CODE_BITS


def kind_of(word: int) -> EdgeKind:
    """The kind of an entry."""
    return KINDS[(word & CODE) >> BASIS_BITS]


def basis_of(word: int) -> Basis:
    """The basis of an entry."""
    return BASES[word & _BASIS]


def _code(kind: EdgeKind, basis: Basis) -> int:
    return kind << BASIS_BITS | BASES.index(basis)


class GraphBuilder:
    """Collects edges in any order; the graph does not depend on that order."""

    def __init__(self) -> None:
        self._keys = array("Q")

    def __len__(self) -> int:
        """How many edges were added, repeated ones included."""
        return len(self._keys)

    def add(self, source: int, target: int, kind: EdgeKind, basis: Basis) -> None:
        """Add an edge. Raises IndexError for a row that no trace can have."""
        self._keys.append(key_of(source, target, _code(kind, basis)))

    def add_all(self, sources: Sequence[int], targets: Sequence[int], kind: EdgeKind, basis: Basis) -> None:
        """Add edges of one kind and basis, from each source to the target at the same place. Raises IndexError for a
        row that no trace can have; then none of them is added.
        """
        self._keys += keys_of(sources, targets, _code(kind, basis))

    def build(self, node_count: int) -> CausalGraph:
        """The graph over rows 0 to `node_count` - 1, after which there are no edges here. Equal edges are kept once,
        with their strongest basis. Raises IndexError where an edge names a row beyond, and LimitExceededError for more
        rows than a graph can have.
        """
        if node_count > ROW_LIMIT:
            raise LimitExceededError(f"a graph has at most {ROW_LIMIT} rows, and the trace has {node_count} steps")
        collected, self._keys = self._keys, array("Q")
        keys = distinct(in_order(collected[:]))
        outgoing = _adjacency(keys, node_count)
        if len(keys) == len(collected):
            keys = collected  # as they were added, they are in order in more ways than one
        return CausalGraph(outgoing, _adjacency(in_order(turned(keys)), node_count))


def _adjacency(keys: array[int], node_count: int) -> Adjacency:
    """Sorted keys as columns. Raises IndexError where the last source is no node."""
    rows = sources_of(keys)
    if rows and rows[-1] >= node_count:
        raise IndexError(f"an edge names row {rows[-1]} of {node_count}")
    degrees = [0] * node_count
    for row in rows:
        degrees[row] += 1
    return Adjacency(array("i", accumulate(degrees, initial=0)), words_of(keys))


class CausalGraph:
    """The causal graph of one trace, never changed once built. `outgoing` and `incoming` hold the same edges.

    Every method that takes `kinds` follows the edges of these kinds only (None: of every kind); every method that takes
    a row raises IndexError for one that the graph does not have.
    """

    def __init__(self, outgoing: Adjacency, incoming: Adjacency) -> None:
        self.outgoing = outgoing
        self.incoming = incoming

    @cached_property
    def rows_are_ordered(self) -> bool:
        """Whether every edge goes from an earlier to a later row: the last word of a row names its greatest cause."""
        ends = enumerate(pairwise(self.incoming.offsets))
        return all(start == end or far_end(self.incoming.words[end - 1]) < row for row, (start, end) in ends)

    @property
    def node_count(self) -> int:
        """How many rows there are, those without an edge included."""
        return len(self.outgoing.offsets) - 1

    @property
    def edge_count(self) -> int:
        """How many edges there are; two kinds between the same rows are two edges."""
        return len(self.outgoing.words)

    @property
    def size(self) -> int:
        """Bytes that the edges take in both directions."""
        return self.outgoing.size + self.incoming.size

    # neighbours --------------------------------------------------------------------------------------------------

    def edges(self) -> Iterator[Edge]:
        """Every edge, by source, target and kind."""
        for row in range(self.node_count):
            yield from self.edges_from(row)

    def edges_from(self, row: int) -> Iterator[Edge]:
        """What this row led to."""
        return (Edge(row, far_end(w), kind_of(w), basis_of(w)) for w in self.outgoing.of(self._known(row)))

    def edges_into(self, row: int) -> Iterator[Edge]:
        """What led to this row."""
        return (Edge(far_end(w), row, kind_of(w), basis_of(w)) for w in self.incoming.of(self._known(row)))

    def successors(self, row: int, kinds: Iterable[EdgeKind] | None = None) -> tuple[int, ...]:
        """The rows that this row led to directly, each once, ascending."""
        return _neighbours(self.outgoing, self._known(row), _mask(kinds))

    def predecessors(self, row: int, kinds: Iterable[EdgeKind] | None = None) -> tuple[int, ...]:
        """The rows that led to this row directly, each once, ascending."""
        return _neighbours(self.incoming, self._known(row), _mask(kinds))

    def _known(self, row: int) -> int:
        if not 0 <= row < self.node_count:
            raise IndexError(f"the graph has no row {row}, it has {self.node_count}")
        return row

    # slices ------------------------------------------------------------------------------------------------------

    def backward(self, row: int, kinds: Iterable[EdgeKind] | None = None) -> tuple[int, ...]:
        """The backward slice: every row that led to this one, ascending, without the row itself. The work grows with
        the slice, not with the graph (Weiser, "Program slicing", 1981).
        """
        return _reached(self.incoming, self._known(row), _mask(kinds))

    def forward(self, row: int, kinds: Iterable[EdgeKind] | None = None) -> tuple[int, ...]:
        """The forward slice: every row that this one led to, ascending, without the row itself."""
        return _reached(self.outgoing, self._known(row), _mask(kinds))

    # order -------------------------------------------------------------------------------------------------------

    def topological(self) -> Sequence[int]:
        """All rows, causes before consequences, and otherwise in the order of rows. Raises graphlib.CycleError, whose
        second argument is the first cycle, where there is no such order.
        """
        if self.rows_are_ordered:
            return range(self.node_count)
        order = _sorted_by_cause(self)
        if len(order) < self.node_count:
            raise CycleError("steps cause each other in a cycle", list(self.cycles()[0]))
        return order

    def cycles(self) -> list[tuple[int, ...]]:
        """The sets of rows that cause each other: strongly connected components of more than one row, or of one row
        with an edge to itself. Rows ascend in each, and the components by their first row.
        """
        if self.rows_are_ordered:
            return []
        return sorted(tuple(c) for c in _Components(self.outgoing) if len(c) > 1 or c[0] in self.successors(c[0]))


def _mask(kinds: Iterable[EdgeKind] | None) -> bytes:
    """For each code whether its kind is wanted, as 0 or 1."""
    wanted = set(KINDS if kinds is None else kinds)
    return bytes(code >> BASIS_BITS in wanted for code in range(CODE + 1))


def _neighbours(side: Adjacency, row: int, wanted: bytes) -> tuple[int, ...]:
    return tuple(dict.fromkeys(word >> CODE_BITS for word in side.of(row) if wanted[word & CODE]))


def _reached(side: Adjacency, start: int, wanted: bytes) -> tuple[int, ...]:
    seen = {start}
    todo = [start]
    while todo:
        near = {word >> CODE_BITS for word in side.of(todo.pop()) if wanted[word & CODE]} - seen
        seen |= near
        todo += near
    seen.discard(start)
    return tuple(sorted(seen))


def _sorted_by_cause(graph: CausalGraph) -> list[int]:
    """As many rows as an order can hold, the smallest free row first (Kahn, 1962)."""
    waiting = [end - start for start, end in pairwise(graph.incoming.offsets)]
    free = [row for row, causes in enumerate(waiting) if not causes]
    heapify(free)
    order: list[int] = []
    while free:
        row = heappop(free)
        order.append(row)
        for target in map(far_end, graph.outgoing.of(row)):
            waiting[target] -= 1
            if not waiting[target]:
                heappush(free, target)
    return order


class _Components:
    """The strongly connected components (Tarjan, "Depth-first search and linear graph algorithms", 1972), without
    recursion.

    `low` is 0 for a row not visited yet, and beyond every number for one whose component is complete. The cursor of a
    row stays on a child while that child is walked, so that the child's `low` is taken when the walk comes back.
    """

    def __init__(self, side: Adjacency) -> None:
        self.offsets, self.words = side.offsets, side.words
        self.count = len(side.offsets) - 1
        self.number, self.low = [0] * self.count, [0] * self.count
        self.cursor = list(side.offsets)
        self.visited = 0
        self.open: list[int] = []

    def __iter__(self) -> Iterator[list[int]]:
        for root in range(self.count):
            path = [] if self.low[root] else [self._visit(root)]
            while path:
                row = path[-1]
                child = self._new_child(row)
                if child is not None:
                    path.append(self._visit(child))
                    continue
                path.pop()
                if self.low[row] == self.number[row]:
                    yield self._complete(row)

    def _visit(self, row: int) -> int:
        self.visited += 1
        self.number[row] = self.low[row] = self.visited
        self.open.append(row)
        return row

    def _new_child(self, row: int) -> int | None:
        """The next child that was not visited; takes the `low` of those before it."""
        low = self.low
        for i in range(self.cursor[row], self.offsets[row + 1]):
            self.cursor[row] = i
            near = self.words[i] >> CODE_BITS
            if not low[near]:
                return near
            low[row] = min(low[row], low[near])
        self.cursor[row] = self.offsets[row + 1]
        return None

    def _complete(self, row: int) -> list[int]:
        component: list[int] = []
        while not component or component[-1] != row:
            component.append(self.open.pop())
            self.low[component[-1]] = self.count + 1
        return sorted(component)
