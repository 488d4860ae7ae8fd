"""`forensics rules list`: which rules are in force?"""

from __future__ import annotations

import click

from forensics.cli.options import Settings, shared
from forensics.cli.output import show

_EPILOG = """\b
Examples:
  forensics rules list
  forensics rules list --pack kubernetes
  forensics rules list --rules mine.yaml --format json
"""


@click.command(epilog=_EPILOG)
@click.option("--pack", metavar="NAME", help="Only the rules of this pack.")
@shared("rules")
def command(pack: str | None, settings: Settings) -> int:
    """List the rules in force.

    The shipped packs, and those of --rules, with what each rule says on the axes of effect, result and scope.
    """
    from forensics.core.meant import meant
    from forensics.report.rule_rows import rule_list_document
    from forensics.rules import load_rules
    from forensics.rules.collection import collect, read_all

    rules = load_rules(settings.rules)
    names = [one.pack for one in rules.packs]
    if pack is not None and pack not in names:
        raise click.BadParameter(f"there is no pack {pack!r}; {meant(pack, names)}", param_hint="--pack")
    files = read_all(collect((), settings.rules).files)
    wanted = [file for file in files if pack in (None, file.pack.pack)]
    show(rule_list_document(wanted, rules.digest), settings)
    return 0
