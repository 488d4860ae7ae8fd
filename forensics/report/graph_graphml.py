"""How is the causal graph written as GraphML, for networkx, Gephi, yEd and Cytoscape?

One `graph` with typed attributes (Brandes et al., "GraphML Progress Report", 2001; graphml.graphdrawing.org). Nodes are
named `n` and the step's number. All edges stand there; parallel ones are told by their ids.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.report.graph_words import plain, values, xml

if TYPE_CHECKING:
    from forensics.report.documents import GraphDocument, GraphEdgeRow, GraphStepRow

_TEXT = 1_000  # characters of one attribute
_NODE_KEYS = {
    "step": "int",
    "kind": "string",
    "name": "string",
    "agent": "string",
    "at": "string",
    "occurrence": "string",
    "class": "string",
    "labels": "string",
    "outcome": "string",
}
_EDGE_KEYS = {"kind": "string", "basis": "string", "values": "string"}
_HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
"""


def graphml(document: GraphDocument) -> str:
    """The graph as GraphML."""
    lines = [_key(f"n_{key}", "node", key, kind) for key, kind in _NODE_KEYS.items()]
    lines += [_key(f"e_{key}", "edge", key, kind) for key, kind in _EDGE_KEYS.items()]
    lines.append('<graph id="causal" edgedefault="directed">')
    lines += [_node(step) for step in document.steps]
    lines += [_edge(number, edge) for number, edge in enumerate(document.edges)]
    return _HEAD + "\n".join(lines) + "\n</graph>\n</graphml>\n"


def _key(identifier: str, of: str, attribute: str, kind: str) -> str:
    return f'<key id="{identifier}" for="{of}" attr.name="{attribute}" attr.type="{kind}"/>'


def _node(step: GraphStepRow) -> str:
    attributes = {
        "step": str(step.index),
        "kind": step.kind,
        "name": step.name,
        "agent": step.agent,
        "at": step.at,
        "occurrence": step.occurrence,
        "class": step.class_,
        "labels": " ".join(step.labels),
        "outcome": step.outcome,
    }
    return f'<node id="n{step.index}">{_data("n", attributes)}</node>'


def _edge(number: int, edge: GraphEdgeRow) -> str:
    data = _data("e", {"kind": edge.kind, "basis": edge.basis, "values": values(edge)})
    return f'<edge id="e{number}" source="n{edge.source}" target="n{edge.target}">{data}</edge>'


def _data(of: str, attributes: dict[str, str | None]) -> str:
    return "".join(
        f'<data key="{of}_{key}">{xml(plain(text, _TEXT))}</data>' for key, text in attributes.items() if text
    )
