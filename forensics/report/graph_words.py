"""Which words stand on the nodes and edges of a drawn graph? The same in every format, and safe in all of them.

A text out of a trace comes out of here on one line, short, without anything that acts or hides, and without the two
characters that XML 1.0 forbids beyond those; each format then writes what is special in it in its own way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from forensics.core.sanitise import one_line
from forensics.report.terminal_effects import mark
from forensics.report.terminal_page import name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from forensics.report.documents import GraphDocument, GraphEdgeRow, GraphStepRow

NAME, VALUE = 40, 36  # characters
VALUES = 3  # on one edge
LEGEND = {"!": "side-effecting", "#": "handle-returning", "=": "idempotent", "~": "volatile"}
_NO_CHARACTER = str.maketrans({"\ufffe": "\\ufffe", "\uffff": "\\uffff"})
_QUOTES = {'"': "&quot;", "'": "&apos;"}


def plain(text: str, limit: int) -> str:
    """A text out of the trace, safe, on one line, cut at `limit` characters."""
    return one_line(text, limit).translate(_NO_CHARACTER)


def xml(text: str) -> str:
    """A plain text as XML content or attribute."""
    return escape(text, _QUOTES)


def title(document: GraphDocument) -> str:
    """What the whole drawing is of."""
    trace = document.trace
    of = f"trace {plain(trace.id, NAME)} in {plain(document.evidence[trace.evidence].name, NAME)}"
    part = document.slice
    if part is None:
        return of
    ways = " and ".join([*(["what led to it"] if part.back else []), *(["what it led to"] if part.forward else [])])
    near = f", at most {part.depth} edges away" if part.depth else ""
    return f"step {part.step} of {of}: {ways}{near}"


def step_words(step: GraphStepRow) -> tuple[str, str]:
    """`6 tool_call 1.0 !#` and the name."""
    parts = [str(step.index), step.kind, step.occurrence or "", mark(step.labels)]
    return " ".join(part for part in parts if part), named(step.name)


def several_agents(document: GraphDocument) -> bool:
    """Whether the drawing has to say whose each step is."""
    return len({step.agent for step in document.steps}) > 1


def node_lines(step: GraphStepRow, *, agents: bool) -> tuple[str, ...]:
    """The lines on a node; with its agent where there are several."""
    return (*step_words(step), f"agent {named(step.agent)}" if agents and step.agent else "")


def named(text: str, limit: int = NAME) -> str:
    """A name out of the trace, in quotes where it is more than one plain word; nothing for no name."""
    return name(text, limit).translate(_NO_CHARACTER) if text else ""


def edge_words(edge: GraphEdgeRow) -> str:
    """`value recorded: pg_8812, inc_1 and 3 more`."""
    carried = values(edge)
    return f"{edge.kind} {edge.basis}" + (f": {carried}" if carried else "")


def values(edge: GraphEdgeRow) -> str:
    """The values that an edge carries, the first three."""
    return listed([row.value for row in edge.values])


def listed(texts: Iterable[str]) -> str:
    """The first three texts, each once, and how many more."""
    shown = [named(text, VALUE) for text in dict.fromkeys(texts)]
    more = f" and {len(shown) - VALUES} more" if len(shown) > VALUES else ""
    return ", ".join(shown[:VALUES]) + more


def drawn_edges(document: GraphDocument) -> list[GraphEdgeRow]:
    """The edges that a drawing shows: sequence only between steps that nothing else joins."""
    joined = {(edge.source, edge.target) for edge in document.edges if edge.kind != "next"}
    return [e for e in document.edges if e.kind != "next" or (e.source, e.target) not in joined]
