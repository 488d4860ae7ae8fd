"""Is a pattern anchored where being wide is dangerous?

Patterns are matched against the whole text, so that an anchor inside one is a misunderstanding. One that is open at
both ends finds its words anywhere, in a text that a stranger wrote; where that lowers, or says what a value is, it is
not anchored at all.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from forensics.rules.lints.axes import lowers
from forensics.rules.lints.complaint import Complaint, complaint
from forensics.rules.lints.parts import patterns_of
from forensics.rules.model import ShapeRule, ToolRule

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from forensics.rules.lints.parts import PlacedPattern
    from forensics.rules.packfile import PlacedRule, Rule

_FLAGS = re.compile(r"(?:\(\?[a-zA-Z]+\))+")
_ANYTHING = r"(?:\.|\[\\[sS]\\[sS]\]|\[\\[wW]\\[wW]\])[*+]\??"
_OPEN = re.compile(rf"{_ANYTHING}.*(?<!\\){_ANYTHING}", re.DOTALL)
_ANCHOR = re.compile(r"\\[AzZ]|\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|[\^$]", re.DOTALL)


class RegexNotAnchored:
    """A pattern carries anchors of its own, or is open at both ends in a rule that lowers or in a shape."""

    name: ClassVar[str] = "regex-not-anchored"
    about: ClassVar[str] = "A pattern has anchors of its own, or is open at both ends where being wide is dangerous."

    def complaints(self, rules: Sequence[PlacedRule]) -> Iterator[Complaint]:
        """One complaint a pattern."""
        for placed in rules:
            for found in patterns_of(placed.rule):
                fault = self._fault(placed.rule, found)
                if fault is not None:
                    yield complaint(self, placed, f"rule {placed.rule.id!r}: pattern: {fault}", *found.path)

    def _fault(self, rule: Rule, found: PlacedPattern) -> str | None:
        if any(match.group() in ("^", "$", "\\A", "\\z", "\\Z") for match in _ANCHOR.finditer(found.pattern)):
            return "it is matched against the whole text and needs no anchor"
        bare = _FLAGS.sub("", found.pattern, count=1) if found.pattern.startswith("(?") else found.pattern
        if _must_be_narrow(rule, negated=found.negated) and _OPEN.fullmatch(bare):
            return "it is open at both ends and finds its words anywhere"
        return None


def _must_be_narrow(rule: Rule, *, negated: bool) -> bool:
    return isinstance(rule, ShapeRule) or (isinstance(rule, ToolRule) and lowers(rule) is not negated)
