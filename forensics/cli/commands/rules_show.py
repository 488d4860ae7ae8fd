"""`forensics rules show`: what does a rule say, and what does a finding or reason code mean?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from forensics.cli.options import Settings, shared
from forensics.cli.output import show

if TYPE_CHECKING:
    from collections.abc import Iterable

_EPILOG = """\b
Examples:
  forensics rules show unknown_outcome
  forensics rules show declared.http.post
  forensics rules show evidence_gap --format json
"""


def _complete(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    from forensics.report.code_pages import code_pages
    from forensics.rules import load_rules
    from forensics.rules.packfile import rules_of

    ids = [rule.id for pack in load_rules().packs for _, _, rule in rules_of(pack)]
    return [name for name in (*code_pages(), *ids) if name.startswith(incomplete)]


@click.command(epilog=_EPILOG)
@click.argument("name", metavar="CODE|ID", shell_complete=_complete)
@shared("rules")
def command(name: str, settings: Settings) -> int:
    """Show a rule, or the page of a finding or reason code.

    Of a code: what it means, why it matters, what it looks like, what it does not prove, what to do. Of a rule: where
    it stands, what it says, because of what, and about what it speaks.
    """
    from forensics.report.code_pages import code_pages
    from forensics.report.rule_rows import code_document

    pages = code_pages()
    show(code_document(pages[name]) if name in pages else _rule(name, pages, settings), settings)
    return 0


def _rule(name: str, codes: Iterable[str], settings: Settings) -> object:
    from forensics.report.rule_rows import rule_document
    from forensics.rules import load_rules
    from forensics.rules.collection import collect, read_all

    digest = load_rules(settings.rules).digest
    rules = [placed for file in read_all(collect((), settings.rules).files) for placed in file.rules()]
    found = next((placed for placed in rules if placed.rule.id == name), None)
    if found is None:
        from forensics.core.meant import meant

        hint = meant(name, [*codes, *(placed.rule.id for placed in rules)], listed=0)
        hint = hint or "`forensics rules list` names the rules"
        raise click.BadParameter(f"there is no rule and no code {name!r}; {hint}", param_hint="CODE|ID")
    return rule_document(found, rules, digest)
