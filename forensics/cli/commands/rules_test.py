"""`forensics rules test`: does every rule speak about its own tests as they say?"""

from __future__ import annotations

from pathlib import Path

import click

from forensics.cli.options import Settings, shared
from forensics.cli.output import show

_EPILOG = """\b
Examples:
  forensics rules test
  forensics rules test mine.yaml
  forensics rules test packs/ --format json

\b
Exit codes:
  0  every test holds
  1  at least one does not
  2  a pack that is not there or can't be read
"""


@click.command(epilog=_EPILOG)
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=click.Path(exists=True, path_type=Path))
@shared("rules")
def command(paths: tuple[Path, ...], settings: Settings) -> int:
    """Run the tests inside rule packs.

    PATH is a pack, or a folder of *.yaml; its rules are asked together with the shipped ones, and a pack of the same
    name stands in for the shipped one. Without PATH the tests of all packs in force are run.
    """
    from forensics.report.rule_rows import rule_tests_document
    from forensics.rules.collection import collect, read_all
    from forensics.rules.engine import rule_set_of
    from forensics.rules.trials import Trials

    packs = collect(paths, settings.rules)
    rules = rule_set_of(packs.files)
    trials = Trials(rules)
    tried = [(placed, t) for file in read_all(packs.asked) for placed in file.rules() for t in trials.of(placed.rule)]
    show(rule_tests_document([name for name, _ in packs.asked], tried, rules.digest), settings)
    return 0 if all(trial.holds for _, trial in tried) else 1
