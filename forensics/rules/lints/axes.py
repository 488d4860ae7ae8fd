"""What does a rule say on each axis, and does it say more or less than another?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.core.classes import Effect, Scope, Stability

if TYPE_CHECKING:
    from forensics.rules.model import ToolRule, WordRule

GRAMMAR_ROLES = frozenset({"joiner", "negation", "advice", "lead_in", "filler", "harmless_phrase"})
"""Roles whose words say nothing of a tool; they say how other words are read."""

WRITING_ROLES = frozenset({"write", "verb_or_noun", "noun_or_verb", "write_phrase"})
"""Roles whose words say that a tool writes."""

_SCOPES = list(Scope)


def heights(rule: ToolRule | WordRule) -> tuple[int | None, int | None, int | None]:
    """Effect, result and scope as places in the order in which values are joined upwards; None where it is silent."""
    effect = None if rule.effect is None else Effect[rule.effect.name].value
    result = None if rule.result is None else Stability[rule.result.name].value
    scope = None if rule.scope is None else _SCOPES.index(Scope(rule.scope.value))
    return effect, result, scope


def says_nothing(rule: ToolRule | WordRule) -> bool:
    """Whether a rule is silent on every axis."""
    return heights(rule) == (None, None, None)


def adds_nothing(rule: ToolRule | WordRule, other: ToolRule | WordRule) -> bool:
    """Whether everything that `rule` says is said by `other` already, or more."""
    pairs = zip(heights(rule), heights(other), strict=True)
    return all(mine is None or (theirs is not None and theirs >= mine) for mine, theirs in pairs)


def says_less(rule: ToolRule | WordRule, other: ToolRule | WordRule) -> bool:
    """Whether `rule` says something lower than `other` does on an axis where both speak, scope aside."""
    pairs = zip(heights(rule)[:2], heights(other)[:2], strict=True)
    return any(mine is not None and theirs is not None and mine < theirs for mine, theirs in pairs)


def lowers(rule: ToolRule) -> bool:
    """Whether a rule says the best there is on an axis: no effect, or a stable result."""
    effect, result, _ = heights(rule)
    return effect == Effect.NONE or result == Stability.STABLE
