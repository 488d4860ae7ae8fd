"""`forensics inspect`: what does every step say, and which tuples are there?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from forensics.cli.options import JUDGING, READING, Settings, shared
from forensics.cli.output import show
from forensics.cli.progress import working
from forensics.cli.values import FILES, step_number

if TYPE_CHECKING:
    from forensics.api import Examination
    from forensics.report.documents import InspectionDocument, StepRow

_EPILOG = """\b
Examples:
  forensics inspect trace.json
  forensics inspect trace.json --step 6
  forensics inspect local.db --trace ID --format json > inspection.json
"""
_UNTOLD = 3


@click.command(epilog=_EPILOG)
@click.argument("evidence", type=FILES)
@click.option("--step", callback=step_number, metavar="N", help="Everything about one step, with its bytes.")
@shared(*JUDGING, *READING, "tools")
def command(evidence: str, step: int | None, settings: Settings) -> int:
    """Show every step and tuple, of refused and damaged traces too.

    EVIDENCE is a file, a folder, a glob or - for standard input.
    """
    from forensics.api import examine

    with working(settings):
        examination = examine(evidence, settings.options())
        document = examination.inspection()
    if step is not None and document.steps:
        if step >= len(document.steps):
            message = f"there is no step {step}: the steps are 0 to {len(document.steps) - 1}"
            raise click.BadParameter(message, param_hint="--step")
        document = _one_step(examination, document, evidence, step)
    show(document, settings)
    return _code(document)


def _one_step(examination: Examination, document: InspectionDocument, evidence: str, step: int) -> InspectionDocument:
    from forensics.report.onestep import one_step

    return examination.shown(one_step(document, step, _bytes(examination, document.steps[step], evidence)))


def _bytes(examination: Examination, row: StepRow, evidence: str) -> bytes:
    """What stands at a step's locator: the range of the file, read once more, or the value that it points to."""
    from forensics.api import evidence_at
    from forensics.report.onestep import stands_in_a_file

    where = row.locator
    if stands_in_a_file(row) and evidence != "-":
        with evidence_at(evidence, where.evidence) as source:
            if source is not None and source.sha256 == examination.examined[where.evidence].sha256:
                start = where.offset or 0
                return bytes(source.data[start : start + (where.length or 0)])
    return _payload(examination, row.index)


def _payload(examination: Examination, step: int) -> bytes:
    for analysis in examination.analyses:
        if step < len(analysis.trace):
            return bytes(analysis.trace.payload[step] or b"")
        step -= len(analysis.trace)
    return b""


def _code(document: InspectionDocument) -> int:
    """3 where an evidence could not be read, or nothing of a trace was in it."""
    unread = any(row.status == "refused" for row in document.evidence)
    return _UNTOLD if unread or not document.traces else 0
