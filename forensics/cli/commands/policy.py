"""`forensics policy`: how does a person write down what is known about the tools?"""

from __future__ import annotations

import click

from forensics.cli.program import LazyGroup

_COMMANDS = {
    "draft": (
        "forensics.cli.commands.policy_draft",
        "Write a policy file with every tool of a trace and nothing vouched for.",
    ),
    "check": (
        "forensics.cli.commands.policy_check",
        "Say whether a policy file is right, and what each entry changes.",
    ),
}
_EPILOG = """\b
Examples:
  forensics policy draft trace.json > team.yaml
  forensics policy check team.yaml trace.json
"""


@click.group(cls=LazyGroup, table=_COMMANDS, epilog=_EPILOG)
def command() -> None:
    """Draft a policy file, or check one."""
