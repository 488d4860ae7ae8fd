"""Which conditions and patterns are inside a rule, and where does each stand?"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from forensics.rules.model import Condition, ShapeRule, ToolRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.rules.packfile import Rule

Path = tuple[str | int, ...]


class PlacedCondition(NamedTuple):
    """A condition, its path from the rule, and whether an odd number of `not` stands around it."""

    path: Path
    condition: Condition
    negated: bool


class PlacedPattern(NamedTuple):
    """A pattern, its path from the rule, and whether an odd number of `not` stands around it."""

    path: Path
    pattern: str
    negated: bool


def conditions_of(rule: Rule) -> Iterator[PlacedCondition]:
    """Every condition inside a rule, outer ones first."""
    if isinstance(rule, ToolRule):
        yield from _below(PlacedCondition(("when",), rule.when, negated=False))


def _below(placed: PlacedCondition) -> Iterator[PlacedCondition]:
    yield placed
    path, condition, negated = placed
    for key in ("all", "any"):
        for index, part in enumerate(getattr(condition, key)):
            yield from _below(PlacedCondition((*path, key, index), part, negated))
    if condition.not_ is not None:
        yield from _below(PlacedCondition((*path, "not"), condition.not_, not negated))


def patterns_of(rule: Rule) -> Iterator[PlacedPattern]:
    """Every pattern inside a rule."""
    if isinstance(rule, ShapeRule) and rule.pattern is not None:
        yield PlacedPattern(("pattern",), rule.pattern, negated=False)
    for path, condition, negated in conditions_of(rule):
        if condition.matches is not None:
            yield PlacedPattern((*path, "matches"), condition.matches, negated)
