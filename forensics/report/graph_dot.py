r"""How is the causal graph written for Graphviz? As DOT, in which every text out of the trace is a quoted label.

A label is an escString: `\N` and its like name the node, and `&#60;` is an entity, so backslashes and ampersands are
doubled and spelled (graphviz.org, "escString" and "lang"). No label is HTML, and no attribute names a file or an URL.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.report.graph_words import drawn_edges, edge_words, node_lines, several_agents, title

if TYPE_CHECKING:
    from forensics.report.documents import GraphDocument, GraphEdgeRow, GraphStepRow

_LINES = {"recorded": "solid", "derived": "dashed", "inferred": "dotted"}
_FILLS = {"side-effecting": "#f7c9c2", "handle-returning": "#e3cdf5", "idempotent": "#cfe8cf"}
_SHAPES = {"model": "ellipse", "tool_result": "note"}
_COLOURS = {"value": "#9b1fb5", "retry": "#c2410c", "next": "#999999"}
_SPECIAL = str.maketrans({"\\": "\\\\", '"': '\\"', "&": "&amp;"})
_HEAD = """\
digraph causal {
  graph [rankdir=TB, fontname="sans-serif", labelloc=t, label=%s];
  node [shape=box, style="filled,rounded", fillcolor="#f4f4f4", fontname="sans-serif", fontsize=11];
  edge [fontname="sans-serif", fontsize=9];
"""


def dot(document: GraphDocument) -> str:
    """The graph in the DOT language."""
    agents = several_agents(document)
    lines = [_node(step, agents=agents) for step in document.steps]
    lines += [_edge(edge) for edge in drawn_edges(document)]
    return _HEAD % quoted(title(document)) + "\n".join(lines) + "\n}\n"


def quoted(*lines: str) -> str:
    """Plain lines as one quoted label."""
    return '"' + "\\n".join(line.translate(_SPECIAL) for line in lines if line) + '"'


def _node(step: GraphStepRow, *, agents: bool) -> str:
    attributes = [f"label={quoted(*node_lines(step, agents=agents))}"]
    if step.kind in _SHAPES:
        attributes.append(f"shape={_SHAPES[step.kind]}")
    if step.class_ is not None:
        attributes.append(f'fillcolor="{_FILLS[step.class_]}"')
    return f"  n{step.index} [{', '.join(attributes)}];"


def _edge(edge: GraphEdgeRow) -> str:
    attributes = [f"label={quoted(edge_words(edge))}", f"style={_LINES[edge.basis]}"]
    if edge.kind in _COLOURS:
        colour = _COLOURS[edge.kind]
        attributes += [f'color="{colour}"', f'fontcolor="{colour}"']
    if edge.kind == "value":
        attributes.append("constraint=false")  # values cross the layers; they do not make them
    return f"  n{edge.source} -> n{edge.target} [{', '.join(attributes)}];"
