"""How does a user work with the causal graph? As a frozen networkx graph that reads the columns and copies nothing.

Neighbours and attributes are made when they are asked for, so the view costs no memory of its own; `.copy()` is an
ordinary, mutable graph. The way in is that of networkx's own views (`networkx.classes.graphviews`): a graph whose
dictionaries are replaced by read-only mappings. networkx is imported when a view is asked for, not before (ADR 0003).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from forensics.core.graph import BASES, basis_of, far_end, kind_of

if TYPE_CHECKING:
    import networkx as nx

    from forensics.core.graph import Adjacency, CausalGraph
    from forensics.core.trace import Trace

Attributes = dict[str, Any]
Parallel = dict[str, Attributes]
G = TypeVar("G", bound="nx.DiGraph[int]")


def to_networkx(graph: CausalGraph, trace: Trace | None = None) -> nx.MultiDiGraph[int]:
    """The graph as a frozen `networkx.MultiDiGraph`, exactly: its nodes are all rows, its edges all edges.

    The key of an edge is the label of its kind, and its attributes are `kind` and `basis` (texts). With the trace, a
    node has `kind`, `name`, `agent` and, for a step of a call, `occurrence`. They are texts of the evidence as it has
    them: whoever writes them into a document makes them safe first. Raises ValueError where the trace is not the
    graph's.
    """
    import networkx as nx

    view: nx.MultiDiGraph[int] = nx.MultiDiGraph()
    return _filled(view, graph, trace, _parallel)


def to_digraph(graph: CausalGraph, trace: Trace | None = None) -> nx.DiGraph[int]:
    """The same as a frozen `networkx.DiGraph`, for the algorithms that take no parallel edges: all edges between two
    rows are one, whose attributes are `kinds` (their labels, with blanks between them) and the strongest `basis`.
    """
    import networkx as nx

    view: nx.DiGraph[int] = nx.DiGraph()
    return _filled(view, graph, trace, _merged)


def _filled(view: G, graph: CausalGraph, trace: Trace | None, told: Callable[[Sequence[int]], Attributes]) -> G:
    """The empty graph with mappings that read ours in the place of its dictionaries, frozen."""
    import networkx as nx

    if trace is not None and len(trace) != graph.node_count:
        raise ValueError(f"the trace has {len(trace)} steps and the graph {graph.node_count} rows")
    for name, table in (
        ("_node", _Nodes(graph.node_count, trace)),
        ("_adj", _Sides(graph.outgoing, told)),  # networkx keeps `_succ` equal to `_adj`
        ("_pred", _Sides(graph.incoming, told)),
    ):
        setattr(view, name, table)
    frozen: G = nx.freeze(view)
    return frozen


def _parallel(words: Sequence[int]) -> Parallel:
    """By kind, the attributes of the edges to one neighbour."""
    return {kind_of(word).label: {"kind": kind_of(word).label, "basis": basis_of(word).value} for word in words}


def _merged(words: Sequence[int]) -> Attributes:
    """The attributes of all edges to one neighbour as one."""
    strongest = min(map(basis_of, words), key=BASES.index)
    return {"kinds": " ".join(kind_of(word).label for word in words), "basis": strongest.value}


class _Rows:
    """The keys 0 up to `count` - 1 of a mapping."""

    def __init__(self, count: int) -> None:
        self._count = count

    def __iter__(self) -> Iterator[int]:
        return iter(range(self._count))

    def __len__(self) -> int:
        return self._count

    def __contains__(self, row: object) -> bool:
        return isinstance(row, int) and 0 <= row < self._count

    def _known(self, row: int) -> int:
        if row not in self:
            raise KeyError(row)
        return row


class _Nodes(_Rows, Mapping[int, Attributes]):
    """The attributes of each row."""

    def __init__(self, count: int, trace: Trace | None) -> None:
        super().__init__(count)
        self._trace = trace

    def __getitem__(self, row: int) -> Attributes:
        self._known(row)
        return {} if self._trace is None else _node_attributes(self._trace, row)


def _node_attributes(trace: Trace, row: int) -> Attributes:
    step = trace.step(row)
    attributes: Attributes = {"kind": step.kind.label, "name": step.name, "agent": step.agent}
    if step.call is not None:
        attributes["occurrence"] = trace.calls[step.call].occurrence
    return attributes


class _Sides(_Rows, Mapping[int, Mapping[int, Attributes]]):
    """The neighbours of each row in one direction."""

    def __init__(self, side: Adjacency, told: Callable[[Sequence[int]], Attributes]) -> None:
        super().__init__(len(side.offsets) - 1)
        self._side, self._told = side, told

    def __getitem__(self, row: int) -> Mapping[int, Attributes]:
        return _Neighbours(self._side.of(self._known(row)), self._told)


class _Neighbours(Mapping[int, Attributes]):
    """By neighbour, what is told of the edges to it. An algorithm that only walks never asks for that."""

    __slots__ = ("_told", "_words")

    def __init__(self, words: Sequence[int], told: Callable[[Sequence[int]], Attributes]) -> None:
        self._words, self._told = words, told

    def __iter__(self) -> Iterator[int]:
        return iter(dict.fromkeys(map(far_end, self._words)))

    def __len__(self) -> int:
        return len(set(map(far_end, self._words)))

    def __contains__(self, row: object) -> bool:
        return isinstance(row, int) and bool(self._to(row))

    def __getitem__(self, row: int) -> Attributes:
        words = self._to(row)
        if not words:
            raise KeyError(row)
        return self._told(words)

    def _to(self, row: int) -> Sequence[int]:
        """The words of the edges to one neighbour: they stand together, and in order."""
        start = bisect_left(self._words, row, key=far_end)
        return self._words[start : bisect_right(self._words, row, start, key=far_end)]
