"""`forensics rules`: which rules are in force, and are they good ones?"""

from __future__ import annotations

import click

from forensics.cli.program import LazyGroup

_COMMANDS = {
    "list": ("forensics.cli.commands.rules_list", "List the rules in force."),
    "show": ("forensics.cli.commands.rules_show", "Show a rule, or the page of a finding or reason code."),
    "lint": ("forensics.cli.commands.rules_lint", "Look for faults in rule packs."),
    "test": ("forensics.cli.commands.rules_test", "Run the tests inside rule packs."),
}
_EPILOG = """\b
Examples:
  forensics rules list
  forensics rules show unknown_outcome
  forensics rules lint mine.yaml
  forensics rules test mine.yaml
"""


@click.group(cls=LazyGroup, table=_COMMANDS, epilog=_EPILOG)
def command() -> None:
    """List, show, lint and test rules; show what a code of a finding means."""
