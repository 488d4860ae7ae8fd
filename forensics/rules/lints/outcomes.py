"""Has a rule a test of each outcome? Without a negative one it may speak about everything, and nobody would see."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from forensics.rules.lints.complaint import Complaint, complaint

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from forensics.rules.packfile import PlacedRule


class NegativeTestMissing:
    """A rule has no test that says where it stays silent (or none that says where it speaks)."""

    name: ClassVar[str] = "negative-test-missing"
    about: ClassVar[str] = "A rule has no test in which it stays silent, or none in which it speaks."

    def complaints(self, rules: Sequence[PlacedRule]) -> Iterator[Complaint]:
        """One complaint a rule."""
        for placed in rules:
            there = {test.speaks for test in placed.rule.tests}
            if there != {True, False}:
                lacking = " and ".join(f"`speaks: {str(o).lower()}`" for o in (True, False) if o not in there)
                needs = f"rule {placed.rule.id!r} needs at least two tests, one of each outcome"
                yield complaint(self, placed, f"{needs}; there is none with {lacking}")
