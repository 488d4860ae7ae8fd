"""`forensics explain`: why did this step happen, and what did it lead to?"""

from __future__ import annotations

import click

from forensics.cli.commands.classify import complain
from forensics.cli.one_trace import one_trace
from forensics.cli.options import JUDGING, READING, Settings, shared
from forensics.cli.output import show
from forensics.cli.progress import working
from forensics.cli.values import FILES, step_number

_EPILOG = """\b
Examples:
  forensics explain trace.json 9
  forensics explain local.db 18 -v
  forensics explain trace.json 9 --format json > why.json
"""


@click.command(epilog=_EPILOG)
@click.argument("evidence", type=FILES)
@click.argument("step", callback=step_number)
@shared(*JUDGING, *READING)
def command(evidence: str, step: int, settings: Settings) -> int:
    """Say why a step happened and what it led to.

    EVIDENCE is a file, a folder, a glob or - for standard input. STEP is the number that audit and inspect of the same
    evidence give it; with --trace, the number that they give it with the same --trace. Every line says how it is
    known: recorded, derived or inferred.
    """
    from forensics.api import examine
    from forensics.report.graph_document import Drawn
    from forensics.report.graph_explanation import explanation_document

    with working(settings):
        examination = examine(evidence, settings.options())
    code = complain(examination)
    if examination.analyses:
        drawn = Drawn(examination.examined, one_trace(examination, step))
        policy, digest = examination.policy, examination.rules.digest
        document = explanation_document(examination.examined, drawn, step, policy, digest)
        show(examination.shown(document), settings)
    return code
