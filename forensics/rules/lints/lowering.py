"""Does a rule lower what another one says, without naming it?

Evidence is joined upwards, so that a lower value beside a higher one changes nothing; `refines` is the one way to
lower, because it names what is overruled. A rule that lowers without it either does nothing, or does by the order of
files what only an author should decide.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from forensics.rules.implication import implies
from forensics.rules.lints.axes import WRITING_ROLES, lowers, says_less
from forensics.rules.lints.complaint import Complaint, complaint
from forensics.rules.lints.stages import stage_mates, tool_rules
from forensics.rules.model import EffectName, WordRule

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from forensics.rules.model import ToolRule
    from forensics.rules.packfile import PlacedRule


class LowersWithoutRefines:
    """A rule says less than another rule about the same thing and does not name it in `refines`."""

    name: ClassVar[str] = "lowers-without-refines"
    about: ClassVar[str] = "A rule lowers what another one says and does not name it in `refines`."

    def complaints(self, rules: Sequence[PlacedRule]) -> Iterator[Complaint]:
        """One complaint for each rule that lowers for all, and for each rule or word that it would lower."""
        for placed, rule in tool_rules(rules):
            if lowers(rule) and not rule.refines and not _weighed_by_the_policy(rule):
                yield complaint(self, placed, f"rule {rule.id!r} lowers and names no rule in refines")
        for placed, rule, other in stage_mates(rules):
            if rule.refines or rule.source == "declaration" or (other.proof and not rule.proof):
                continue
            if says_less(rule, other) and implies(rule.when, other.when):
                text = f"rule {rule.id!r} says less than rule {other.id!r} wherever it speaks, and does not refine it"
                yield complaint(self, placed, text)
        yield from self._words(rules)

    def _words(self, rules: Sequence[PlacedRule]) -> Iterator[Complaint]:
        seen: dict[tuple[str, str], WordRule] = {}
        for placed in rules:
            rule = placed.rule
            if not isinstance(rule, WordRule):
                continue
            if rule.role in WRITING_ROLES and rule.effect in (None, EffectName.NONE):
                text = f"rule {rule.id!r} lists words of the role {rule.role} and says that they have no effect"
                yield complaint(self, placed, text)
            for index, word in enumerate(rule.words):
                first = seen.setdefault((rule.role, word), rule)
                if says_less(rule, first):
                    text = f"rule {rule.id!r} lowers the word {word!r} of rule {first.id!r}; a word can't be refined"
                    yield complaint(self, placed, text, "words", index)


def _weighed_by_the_policy(rule: ToolRule) -> bool:
    """Declarations and rules about one exact tool lower only where the policy trusts the server or the pack by name."""
    exact = rule.when.tool is not None and not {"*", "?"} & set(rule.when.tool)
    return rule.source == "declaration" or (rule.source == "pack" and exact)
