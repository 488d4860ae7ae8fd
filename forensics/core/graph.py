"""What led to what? The typed edges between the steps of a trace, as compressed sparse rows in both directions.

An edge is 6 bytes each way and a node 4 (docs/adr/0003); it carries a kind and a basis and no text, since whoever asks
"why" can be told from the two steps. Nodes are rows of the trace. Every walk is iterative: the depth of a hostile trace
exhausts no stack. networkx does the same in `forensics.analysis.graph_view`, for users and as the oracle of the tests.
"""

from __future__ import annotations

from array import array
from enum import IntEnum
from graphlib import CycleError
from heapq import heapify, heappop, heappush
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

import msgspec

from forensics.core.evidence import Basis

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
    """The edges in one direction. Those of row `r` are the entries `offsets[r]` up to `offsets[r + 1]` of the others:
    the row at the far end, the kind, and the basis by its strength. Entries of a row go by far end, then by kind.
    """

    offsets: array[int]
    rows: array[int]
    kinds: bytes
    bases: bytes

    def entries(self, row: int) -> range:
        """The entries of one row."""
        return range(self.offsets[row], self.offsets[row + 1])

    @property
    def size(self) -> int:
        """Bytes held."""
        columns = (self.offsets, self.rows)
        return sum(len(c) * c.itemsize for c in columns) + len(self.kinds) + len(self.bases)


KINDS = tuple(EdgeKind)
BASES = (Basis.RECORDED, Basis.DERIVED, Basis.INFERRED)  # strongest first: of two equal edges the first one is kept

# While it is collected an edge is one unsigned 64-bit key, so that sorting keys sorts edges:
# source (29 bits), target (29), kind (4), basis (2).
_ROW_BITS, _KIND_BITS, _BASIS_BITS = 29, 4, 2
_CODE_BITS = _KIND_BITS + _BASIS_BITS
_SOURCE_SHIFT = _ROW_BITS + _CODE_BITS
_CODE = (1 << _CODE_BITS) - 1
ROW_LIMIT = 1 << _ROW_BITS
_ROW = ROW_LIMIT - 1
_KIND_OF_CODE = bytes(code >> _BASIS_BITS & 0xF for code in range(256))
_BASIS_OF_CODE = bytes(code & 3 for code in range(256))


class GraphBuilder:
    """Collects edges in any order; the graph does not depend on that order."""

    def __init__(self) -> None:
        self._keys = array("Q")

    def __len__(self) -> int:
        """How many edges were added, repeated ones included."""
        return len(self._keys)

    def add(self, source: int, target: int, kind: EdgeKind, basis: Basis) -> None:
        """Add an edge. Raises IndexError for a row that no trace can have."""
        if not (0 <= source < ROW_LIMIT and 0 <= target < ROW_LIMIT):
            raise IndexError(f"no edge can join the rows {source} and {target}")
        code = kind << _BASIS_BITS | BASES.index(basis)
        self._keys.append(source << _SOURCE_SHIFT | target << _CODE_BITS | code)

    def build(self, node_count: int) -> CausalGraph:
        """The graph over rows 0 to `node_count` - 1. Equal edges are kept once, with their strongest basis. Raises
        IndexError where an edge names a row beyond.
        """
        keys = _distinct(sorted(self._keys))
        turned = array("Q", map(_turned, keys))
        outgoing = _adjacency(keys, node_count)
        del keys  # a sorted list of a million keys takes more than both columns of the graph; one at a time is enough
        return CausalGraph(outgoing, _adjacency(sorted(turned), node_count))


def _distinct(keys: list[int]) -> list[int]:
    """Sorted keys, of which equal edges stand together and the strongest basis first."""
    first = keys[:1]
    return first + [key for before, key in pairwise(keys) if before >> _BASIS_BITS != key >> _BASIS_BITS]


def _turned(key: int) -> int:
    """The key of the edge with source and target exchanged."""
    return (key >> _CODE_BITS & _ROW) << _SOURCE_SHIFT | key >> _SOURCE_SHIFT << _CODE_BITS | key & _CODE


def _adjacency(keys: list[int], node_count: int) -> Adjacency:
    """Sorted keys as columns. Raises IndexError where the last source is no node."""
    if keys and keys[-1] >> _SOURCE_SHIFT >= node_count:
        raise IndexError(f"an edge names row {keys[-1] >> _SOURCE_SHIFT} of {node_count}")
    degrees = array("i", bytes(4 * (node_count + 1)))
    for key in keys:
        degrees[(key >> _SOURCE_SHIFT) + 1] += 1
    codes = bytes([key & _CODE for key in keys])
    return Adjacency(
        array("i", accumulate(degrees)),
        array("i", [key >> _CODE_BITS & _ROW for key in keys]),
        codes.translate(_KIND_OF_CODE),
        codes.translate(_BASIS_OF_CODE),
    )


class CausalGraph:
    """The causal graph of one trace, never changed once built. `outgoing` and `incoming` hold the same edges.

    Every method that takes `kinds` follows the edges of these kinds only (None: of every kind); every method that takes
    a row raises IndexError for one that the graph does not have.
    """

    __slots__ = ("incoming", "outgoing", "rows_are_ordered")

    def __init__(self, outgoing: Adjacency, incoming: Adjacency) -> None:
        self.outgoing = outgoing
        self.incoming = incoming
        self.rows_are_ordered = _points_forward(incoming)

    @property
    def node_count(self) -> int:
        """How many rows there are, those without an edge included."""
        return len(self.outgoing.offsets) - 1

    @property
    def edge_count(self) -> int:
        """How many edges there are; two kinds between the same rows are two edges."""
        return len(self.outgoing.rows)

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
        side = self.outgoing
        return (self._edge(row, side.rows[i], side, i) for i in side.entries(self._known(row)))

    def edges_into(self, row: int) -> Iterator[Edge]:
        """What led to this row."""
        side = self.incoming
        return (self._edge(side.rows[i], row, side, i) for i in side.entries(self._known(row)))

    @staticmethod
    def _edge(source: int, target: int, side: Adjacency, entry: int) -> Edge:
        return Edge(source, target, KINDS[side.kinds[entry]], BASES[side.bases[entry]])

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


def _points_forward(incoming: Adjacency) -> bool:
    """Whether every edge goes from an earlier to a later row: the last entry of a row names its greatest cause."""
    ends = enumerate(pairwise(incoming.offsets))
    return all(start == end or incoming.rows[end - 1] < row for row, (start, end) in ends)


def _mask(kinds: Iterable[EdgeKind] | None) -> bytes:
    """For each kind whether it is wanted, as 0 or 1."""
    wanted = set(KINDS if kinds is None else kinds)
    return bytes(kind in wanted for kind in KINDS)


def _neighbours(side: Adjacency, row: int, wanted: bytes) -> tuple[int, ...]:
    return tuple(dict.fromkeys(side.rows[i] for i in side.entries(row) if wanted[side.kinds[i]]))


def _reached(side: Adjacency, start: int, wanted: bytes) -> tuple[int, ...]:
    offsets, rows, kinds = side.offsets, side.rows, side.kinds
    seen = {start}
    todo = [start]
    while todo:
        row = todo.pop()
        for i in range(offsets[row], offsets[row + 1]):
            if wanted[kinds[i]] and rows[i] not in seen:
                seen.add(rows[i])
                todo.append(rows[i])
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
        for i in graph.outgoing.entries(row):
            target = graph.outgoing.rows[i]
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
        self.offsets, self.rows = side.offsets, side.rows
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
        rows, low = self.rows, self.low
        for i in range(self.cursor[row], self.offsets[row + 1]):
            self.cursor[row] = i
            if not low[rows[i]]:
                return rows[i]
            low[row] = min(low[row], low[rows[i]])
        self.cursor[row] = self.offsets[row + 1]
        return None

    def _complete(self, row: int) -> list[int]:
        component: list[int] = []
        while not component or component[-1] != row:
            component.append(self.open.pop())
            self.low[component[-1]] = self.count + 1
        return sorted(component)
