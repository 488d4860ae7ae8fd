"""Does a rule say anything? One that holds and has no value on any axis is noise in every list of evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from forensics.rules.lints.axes import GRAMMAR_ROLES, says_nothing
from forensics.rules.lints.complaint import Complaint, complaint
from forensics.rules.model import ShapeRule, WordRule

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from forensics.rules.packfile import PlacedRule


class SaysNothing:
    """A rule has neither effect nor result nor scope."""

    name: ClassVar[str] = "says-nothing"
    about: ClassVar[str] = "A rule has neither effect nor result nor scope."

    def complaints(self, rules: Sequence[PlacedRule]) -> Iterator[Complaint]:
        """One complaint a rule."""
        for placed in rules:
            rule = placed.rule
            if isinstance(rule, ShapeRule) or (isinstance(rule, WordRule) and rule.role in GRAMMAR_ROLES):
                continue
            if says_nothing(rule):
                yield complaint(self, placed, f"rule {rule.id!r} says neither effect nor result nor scope")
