"""Is the rule there that a rule refines? A wrong name there would silence nothing, and nobody would see."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from forensics.rules.lints.complaint import Complaint, complaint
from forensics.rules.model import ToolRule

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from forensics.rules.packfile import PlacedRule


class RefinesNothing:
    """A rule names, in `refines`, a rule that is not there."""

    name: ClassVar[str] = "refines-nothing"
    about: ClassVar[str] = "A rule refines a rule that is not there."

    def complaints(self, rules: Sequence[PlacedRule]) -> Iterator[Complaint]:
        """One complaint for each name."""
        ids = {placed.rule.id for placed in rules}
        for placed in rules:
            named = placed.rule.refines if isinstance(placed.rule, ToolRule) else ()
            for index, other in enumerate(named):
                if other not in ids:
                    text = f"rule {placed.rule.id!r} refines {other!r}, which is not there"
                    yield complaint(self, placed, text, "refines", index)
