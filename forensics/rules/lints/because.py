"""Does a rule say why it holds? Whoever is refused by it asks just that."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from forensics.rules.lints.complaint import Complaint, complaint

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from forensics.rules.packfile import PlacedRule


class BecauseMissing:
    """A rule has no `because`, or an empty one."""

    name: ClassVar[str] = "because-missing"
    about: ClassVar[str] = "A rule does not say why it holds."

    def complaints(self, rules: Sequence[PlacedRule]) -> Iterator[Complaint]:
        """One complaint a rule."""
        for placed in rules:
            if not placed.rule.because.strip():
                yield complaint(self, placed, f"rule {placed.rule.id!r} has no because", "because")
