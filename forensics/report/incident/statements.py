"""How is a sentence of a report known? Three ways to say one, each of which asks for what it has to carry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.core.evidence import Basis
from forensics.report.incident.documents import Share, Statement

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forensics.report.documents import Place

COMMANDS = "The commands here are for the folder that holds the evidence."
WITH_AGENT = "Of these the trace does not hold the agent: its own code is named in place of MODULE:FUNCTION."
"""What a report says once of the commands in it: an evidence is named without a folder, whoever reads it and where."""


def recorded(text: str, *, steps: Sequence[int] = (), locators: Sequence[Place] = ()) -> Statement:
    """What an id or a field of the evidence says."""
    return Statement(text=text, basis=Basis.RECORDED.value, steps=list(steps), locators=list(locators))


def derived(text: str, rule: str, *, steps: Sequence[int] = (), locators: Sequence[Place] = ()) -> Statement:
    """What a rule says of the evidence."""
    return Statement(text=text, basis=Basis.DERIVED.value, steps=list(steps), locators=list(locators), rule=rule)


def inferred(
    text: str, rule: str, alternatives: Sequence[str], *, steps: Sequence[int] = (), locators: Sequence[Place] = ()
) -> Statement:
    """What matching values suggest, with at least one other explanation."""
    return Statement(
        text=text,
        basis=Basis.INFERRED.value,
        steps=list(steps),
        locators=list(locators),
        rule=rule,
        alternatives=list(alternatives),
    )


def known(basis: str, text: str, rule: str, alternatives: Sequence[str], *, steps: Sequence[int] = ()) -> Statement:
    """A statement of this basis, with what that basis has to carry."""
    if basis == Basis.RECORDED.value:
        return recorded(text, steps=steps)
    if basis == Basis.DERIVED.value:
        return derived(text, rule, steps=steps)
    return inferred(text, rule, alternatives, steps=steps)


def share(what: str, count: int, of: int) -> Share:
    """`count` of `of`."""
    return Share(what=what, count=count, of=of)
