"""How does a user work with the causal graph? As a frozen networkx graph that reads the columns and copies nothing.

Neighbours and attributes are made when they are asked for, so the view costs no memory of its own; `.copy()` is an
ordinary, mutable graph. The way in is that of networkx's own views (`networkx.classes.graphviews`): a graph whose
dictionaries are replaced by read-only mappings. networkx is imported when a view is asked for, not before (ADR 0003).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from forensics.core.graph import BASES, KINDS

if TYPE_CHECKING:
    import networkx as nx

    from forensics.core.graph import Adjacency, CausalGraph
    from forensics.core.trace import Trace

Attributes = dict[str, Any]
Parallel = dict[str, Attributes]


def to_networkx(graph: CausalGraph, trace: Trace | None = None) -> nx.MultiDiGraph[int]:
    """The graph as a frozen `networkx.MultiDiGraph`, exactly: its nodes are all rows, its edges all edges.

    The key of an edge is the label of its kind, and its attributes are `kind` and `basis` (texts). With the trace, a
    node has `kind`, `name`, `agent` and, for a step of a call, `occurrence`. They are texts of the evidence as it has
    them: whoever writes them into a document makes them safe first. Raises ValueError where the trace is not the
    graph's.
    """
    import networkx as nx

    if trace is not None and len(trace) != graph.node_count:
        raise ValueError(f"the trace has {len(trace)} steps and the graph {graph.node_count} rows")
    view: nx.MultiDiGraph[int] = nx.MultiDiGraph()
    for name, table in (
        ("_node", _Nodes(graph.node_count, trace)),
        ("_adj", _Sides(graph.outgoing)),  # networkx keeps `_succ` equal to `_adj`
        ("_pred", _Sides(graph.incoming)),
    ):
        setattr(view, name, table)
    frozen: nx.MultiDiGraph[int] = nx.freeze(view)
    return frozen


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


class _Sides(_Rows, Mapping[int, Mapping[int, Parallel]]):
    """The neighbours of each row in one direction."""

    def __init__(self, side: Adjacency) -> None:
        super().__init__(len(side.offsets) - 1)
        self._side = side

    def __getitem__(self, row: int) -> Mapping[int, Parallel]:
        return _neighbours(self._side, self._known(row))


def _neighbours(side: Adjacency, row: int) -> dict[int, Parallel]:
    """By neighbour, and by kind, the attributes of the edges to it."""
    found: dict[int, Parallel] = {}
    for i in side.entries(row):
        label = KINDS[side.kinds[i]].label
        found.setdefault(side.rows[i], {})[label] = {"kind": label, "basis": BASES[side.bases[i]].value}
    return found
