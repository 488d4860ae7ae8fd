"""`forensics case`: does a run still do what it did?"""

from __future__ import annotations

import click

from forensics.cli.program import LazyGroup

_COMMANDS = {
    "save": ("forensics.cli.commands.case_save", "Rerun a run and keep what it does as a regression case."),
    "run": ("forensics.cli.commands.case_run", "Rerun every case of a file, free of charge."),
}
_EPILOG = """\b
Examples:
  forensics case save local.db --policy inject --to cases/cases.jsonl \\
      --with-evidence
  forensics case run cases/cases.jsonl
  pytest --forensics-cases cases/cases.jsonl
"""


@click.group(cls=LazyGroup, table=_COMMANDS, epilog=_EPILOG)
def command() -> None:
    """Keep reruns as regression cases, and run them."""
