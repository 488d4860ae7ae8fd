"""`forensics policy draft`: which entries could a policy file for this trace have?"""

from __future__ import annotations

import click

from forensics.cli.commands.classify import complain
from forensics.cli.options import JUDGING, READING, Settings, shared
from forensics.cli.output import write
from forensics.cli.progress import working
from forensics.cli.values import FILES

_EPILOG = """\b
Examples:
  forensics policy draft trace.json > team.yaml
  forensics policy draft local.db --trace ID
"""


@click.command(epilog=_EPILOG)
@click.argument("evidence", type=FILES)
@shared(*JUDGING, *READING, formats=())
def command(evidence: str, settings: Settings) -> int:
    """Write a policy file with every tool of a trace and nothing vouched for.

    Every entry is a comment, with the evidence for it above it. A person who knows the tool fills it in and removes
    the # before it.
    """
    from forensics.analysis.inventory import classify_traces
    from forensics.api import examine
    from forensics.report.classification import classification_document
    from forensics.report.policy_draft import draft

    with working(settings):
        examination = examine(evidence, settings.options())
        tools = classify_traces(examination.analyses)
    code = complain(examination)
    if examination.analyses:
        document = examination.shown(classification_document(tools, (), examination.policy, examination.rules))
        names = examination.shown([one.name for one in examination.examined if one.analyses])
        write(draft(document, names).encode("utf-8"))
    return code
