"""`forensics rules lint`: what is wrong with these rule packs?"""

from __future__ import annotations

from pathlib import Path

import click

from forensics.cli.options import Settings, shared
from forensics.cli.output import show

_EPILOG = """\b
Examples:
  forensics rules lint
  forensics rules lint mine.yaml
  forensics rules lint packs/ --format json

\b
Exit codes:
  0  no complaint
  1  at least one complaint
  2  a file that is not there or can't be read
"""


@click.command(epilog=_EPILOG)
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=click.Path(exists=True, path_type=Path))
@shared("rules")
def command(paths: tuple[Path, ...], settings: Settings) -> int:
    """Look for faults in rule packs.

    PATH is a pack, or a folder of *.yaml; it is looked at beside the shipped packs, and a pack of the same name stands
    in for the shipped one. Without PATH all packs in force are looked at.
    """
    from forensics.report.rule_rows import rule_lints_document
    from forensics.rules.collection import collect, read_all
    from forensics.rules.lints.run import LINTS, lint

    asked, beside = collect(paths, settings.rules)
    complaints = lint(asked, read_all(beside))
    checked = sum(1 for file in read_all(asked) for _ in file.rules())
    show(rule_lints_document([name for name, _ in asked], checked, LINTS, complaints), settings)
    return 1 if complaints else 0
