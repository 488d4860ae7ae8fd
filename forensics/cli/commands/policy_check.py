"""`forensics policy check`: is the policy file right, and what does each of its entries change?"""

from __future__ import annotations

import datetime

import click
from msgspec.structs import replace

from forensics.cli.commands.classify import complain
from forensics.cli.options import READING, Settings, shared
from forensics.cli.output import show
from forensics.cli.progress import working
from forensics.cli.values import FILES

_EPILOG = """\b
Examples:
  forensics policy check team.yaml
  forensics policy check team.yaml trace.json
  forensics policy check team.yaml trace.json --as-of 2027-01-01
"""


@click.command(epilog=_EPILOG)
@click.argument("file", type=FILES)
@click.argument("evidence", required=False, type=FILES)
@shared("rules", "as_of", *READING)
def command(file: str, evidence: str | None, settings: Settings) -> int:
    """Say whether a policy file is right, and what each entry changes.

    Every fault of FILE is named with its line and column (exit code 2). With EVIDENCE it says which entries the traces
    never use, and which class and level would be another one without each entry.
    """
    from forensics.analysis.policy_effects import PolicyEffects
    from forensics.api import examine
    from forensics.report.policy_check import policy_check_document
    from forensics.rules import load_policy

    options = replace(settings, policy=file).options()
    policy, whole = load_policy(file, options.date()), load_policy(file, datetime.date.min)
    effects, code = None, 0
    if evidence is not None:
        with working(settings):
            examination = examine(evidence, options)
            readings = [one.reading for one in examination.examined if one.reading is not None]
            effects = PolicyEffects(readings, examination.rules, policy)
        code = complain(examination)
    show(policy_check_document(policy, whole, options.date(), effects), settings)
    return code
