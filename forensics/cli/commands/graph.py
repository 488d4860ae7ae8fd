"""`forensics graph`: what led to what?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from forensics.cli.commands.classify import complain
from forensics.cli.one_trace import one_trace
from forensics.cli.options import JUDGING, READING, Settings, shared
from forensics.cli.output import note, write
from forensics.cli.progress import working
from forensics.cli.values import FILES, Place, step_number

if TYPE_CHECKING:
    from collections.abc import Callable

    from forensics.api import Examination
    from forensics.report.documents import GraphDocument

Part = tuple[int, bool, bool, int | None]  # step, back, forward, depth

FORMS = ("json", "graphml", "dot", "mermaid", "svg", "html")
_EPILOG = """\b
Examples:
  forensics graph trace.json --to html --output out/graph.html
  forensics graph trace.json --to mermaid --slice 9 --depth 5
  forensics graph local.db --trace ID --to graphml > graph.graphml

\b
Lines: recorded solid, derived dashed, inferred dotted.
Marks: ! side-effecting, # handle-returning, = idempotent, ~ volatile.
"""


@click.command(epilog=_EPILOG)
@click.argument("evidence", type=FILES)
@click.option("--to", type=click.Choice(FORMS), default="json", show_default=True, help="The form of the graph.")
@click.option("--output", type=Place(dir_okay=False, path_type=Path), metavar="FILE", help="Write to this file.")
@click.option("--slice", "around", callback=step_number, metavar="STEP", help="Only what surrounds one step.")
@click.option("--back", is_flag=True, help="With --slice: what led to it.")
@click.option("--forward", is_flag=True, help="With --slice: what it led to.")
@click.option("--depth", type=click.IntRange(min=1), metavar="N", help="With --slice: at most N edges away.")
@shared(*JUDGING, *READING, formats=())
def command(
    evidence: str,
    to: str,
    output: Path | None,
    around: int | None,
    depth: int | None,
    *,
    back: bool,
    forward: bool,
    settings: Settings,
) -> int:
    """Draw what led to what, whole or around one step.

    EVIDENCE is a file, a folder, a glob or - for standard input. Where it holds several runs, choose one with --trace.
    Steps have the numbers that audit and inspect give them; a slice is of the run that has the step. It goes both ways
    unless one is given.
    """
    from forensics.api import examine
    from forensics.report.outputs import check_outputs, write_output

    if around is None and (back or forward or depth):
        raise click.UsageError("--back, --forward and --depth belong to --slice STEP.")
    outputs = () if output is None else (output,)
    check_outputs(outputs, (evidence,), force=True)
    with working(settings):
        examination = examine(evidence, settings.options())
    code = complain(examination)
    if examination.analyses:
        both = back is forward
        part = None if around is None else (around, back or both, forward or both, depth)
        document = _document(examination, part, says=to == "html")
        data = _form(to, document, settings)
        if output is None:
            write(data)
        else:
            write_output(output, data, force=True)
    return code


def _document(examination: Examination, part: Part | None, *, says: bool) -> GraphDocument:
    from forensics.report.documents import SliceRow
    from forensics.report.graph_document import Drawn, graph_document

    drawn = Drawn(examination.examined, one_trace(examination, None if part is None else part[0]))
    row = None
    if part is not None:
        step, back, forward, depth = part
        row = SliceRow(step=step, back=back, forward=forward, depth=depth)
    digest = examination.rules.digest
    return examination.shown(graph_document(examination.examined, drawn, examination.policy, digest, row, says=says))


def _form(to: str, document: GraphDocument, settings: Settings) -> bytes:
    """The bytes of the graph in one form. Raises LimitExceededError where it has too many steps for that form."""
    from forensics.report.graph_dot import dot
    from forensics.report.graph_graphml import graphml
    from forensics.report.graph_mermaid import MANY_EDGES, mermaid
    from forensics.report.graph_svg import svg
    from forensics.report.html.graph import graph_html
    from forensics.report.jsonout import json_bytes

    if to in ("json", "html"):
        return json_bytes(document) if to == "json" else graph_html(document)
    if to == "mermaid" and len(document.edges) > MANY_EDGES:
        note(f"Mermaid draws more than {MANY_EDGES} edges only where maxEdges is raised; --slice STEP", settings)
    forms: dict[str, Callable[[GraphDocument], str]] = {"graphml": graphml, "dot": dot, "mermaid": mermaid, "svg": svg}
    return forms[to](document).encode("utf-8")
