"""How is the causal graph written as a Mermaid flowchart, for a wiki or a pull request?

Mermaid reads Markdown, HTML and entities inside quoted labels, so every character but letters, digits and blanks is
written as its `#number;` (mermaid.js.org, "Flowcharts", on entity codes); nothing out of a trace is syntax. The line
styles follow the basis: a `linkStyle` names edges by their place in the file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.report.graph_words import drawn_edges, edge_words, node_lines, several_agents

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forensics.report.documents import GraphDocument, GraphEdgeRow, GraphStepRow

MANY_EDGES = 500  # beyond it Mermaid draws only where its maxEdges was raised
_SHAPES = {"model": ("([", "])"), "tool_result": ("[/", "/]"), "user": ("{{", "}}")}
_DASHES = {"derived": "stroke-dasharray:6 4", "inferred": "stroke-dasharray:2 3"}
_CLASSES = {
    "side-effecting": ("effect", "fill:#f7c9c2,stroke:#b42318,color:#1f1f1f"),
    "handle-returning": ("handle", "fill:#e3cdf5,stroke:#7a28a3,color:#1f1f1f"),
    "idempotent": ("read", "fill:#cfe8cf,stroke:#2e7d32,color:#1f1f1f"),
}


def mermaid(document: GraphDocument) -> str:
    """The graph as a Mermaid flowchart."""
    edges = drawn_edges(document)
    agents = several_agents(document)
    lines = ["flowchart TD"]
    lines += [_node(step, agents=agents) for step in document.steps]
    lines += [_edge(edge) for edge in edges]
    lines += [f"  classDef {name} {style}" for name, style in _CLASSES.values()]
    lines += _link_styles(edges)
    return "\n".join(lines) + "\n"


def quoted(*lines: str) -> str:
    """Plain lines as one quoted label."""
    return '"' + "<br/>".join(_coded(line) for line in lines if line) + '"'


def _coded(text: str) -> str:
    return "".join(c if c == " " or c.isalnum() else f"#{ord(c)};" for c in text)


def _node(step: GraphStepRow, *, agents: bool) -> str:
    left, right = _SHAPES.get(step.kind, ("[", "]"))
    suffix = f":::{_CLASSES[step.class_][0]}" if step.class_ is not None else ""
    return f"  n{step.index}{left}{quoted(*node_lines(step, agents=agents))}{right}{suffix}"


def _edge(edge: GraphEdgeRow) -> str:
    return f"  n{edge.source} -->|{quoted(edge_words(edge))}| n{edge.target}"


def _link_styles(edges: Sequence[GraphEdgeRow]) -> list[str]:
    lines = []
    for basis, dashes in _DASHES.items():
        places = [str(place) for place, edge in enumerate(edges) if edge.basis == basis]
        if places:
            lines.append(f"  linkStyle {','.join(places)} {dashes}")
    return lines
