"""Does a rule, or a word in it, never count because of another one?"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from forensics.rules.implication import implies
from forensics.rules.lints.axes import adds_nothing, says_less
from forensics.rules.lints.complaint import Complaint, complaint
from forensics.rules.lints.stages import stage_mates
from forensics.rules.model import ShapeRule, ToolRule, WordRule

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from forensics.rules.model import Role
    from forensics.rules.packfile import PlacedRule

_STRONGER: dict[Role, tuple[Role, ...]] = {
    "verb_or_noun": ("write",),
    "noun_or_verb": ("write", "verb_or_noun"),
    "read": ("write", "read_plain", "read_sure"),
    "read_sure": ("write",),
    "read_plain": ("write",),
    "read_noun": ("write", "read", "read_plain", "read_sure"),
}
"""For a role, the roles before which a word of it never counts (names.py and descriptions.py hold the order)."""


class Shadowed:
    """What a rule says is always said by another one already, or a word of it is taken by another rule."""

    name: ClassVar[str] = "shadowed"
    about: ClassVar[str] = "A rule, or a word in it, never counts because of another one."

    def complaints(self, rules: Sequence[PlacedRule]) -> Iterator[Complaint]:
        """One complaint for each rule, word or pattern that is shadowed."""
        yield from self._words(rules)
        yield from self._tools(rules)
        yield from self._shapes(rules)

    def _words(self, rules: Sequence[PlacedRule]) -> Iterator[Complaint]:
        seen: dict[tuple[Role, str], WordRule] = {}
        listed = [(placed, placed.rule) for placed in rules if isinstance(placed.rule, WordRule)]
        everywhere = {(rule.role, word): rule for _, rule in listed for word in rule.words}
        for placed, rule in listed:
            for index, word in enumerate(rule.words):
                first = seen.setdefault((rule.role, word), rule)
                again = first is not rule and not says_less(rule, first)
                other = first if again else _stronger(rule, word, everywhere)
                if rule.words.index(word) != index:
                    yield complaint(self, placed, f"rule {rule.id!r} lists the word {word!r} twice", "words", index)
                elif other is not None:
                    text = f"rule {rule.id!r}: the word {word!r} is shadowed by rule {other.id!r} ({other.role})"
                    yield complaint(self, placed, text, "words", index)

    def _tools(self, rules: Sequence[PlacedRule]) -> Iterator[Complaint]:
        tools = [placed.rule for placed in rules if isinstance(placed.rule, ToolRule)]
        for placed, rule, other in stage_mates(rules):
            if not _may_shadow(rule, other, tools) or not implies(rule.when, other.when):
                continue
            if implies(other.when, rule.when) and adds_nothing(other, rule) and tools.index(rule) < tools.index(other):
                continue  # two equal rules: the later one is named
            text = f"rule {rule.id!r} is shadowed by rule {other.id!r}, which says as much wherever it speaks"
            yield complaint(self, placed, text)

    def _shapes(self, rules: Sequence[PlacedRule]) -> Iterator[Complaint]:
        seen: dict[str, ShapeRule] = {}
        for placed in rules:
            if not isinstance(placed.rule, ShapeRule) or placed.rule.pattern is None:
                continue
            first = seen.setdefault(placed.rule.pattern, placed.rule)
            if first is not placed.rule and first.only_under in ("any", placed.rule.only_under):
                text = f"rule {placed.rule.id!r} is shadowed by rule {first.id!r}, which has the same pattern"
                yield complaint(self, placed, text, "pattern")


def _stronger(rule: WordRule, word: str, everywhere: dict[tuple[Role, str], WordRule]) -> WordRule | None:
    """The rule of a stronger role that takes this word wherever this rule would see it."""
    for role in _STRONGER.get(rule.role, ()):
        other = everywhere.get((role, word))
        if other is not None and other.where in ("both", _where(rule)):
            return other
    return None


def _where(rule: WordRule) -> str:
    """Reading roles are those of names; the reading words of descriptions have roles of their own."""
    return "names" if rule.role.startswith("read") else rule.where


def _may_shadow(rule: ToolRule, other: ToolRule, tools: list[ToolRule]) -> bool:
    if rule.source != other.source or other.id in rule.refines or (other.proof and not rule.proof):
        return False
    silencing = [one for one in tools if other.id in one.refines]
    return adds_nothing(rule, other) and all(rule.id in one.refines for one in silencing)
