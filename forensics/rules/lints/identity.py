"""Is an id used for two rules? Documents and policies name rules by their ids, so that an id is never used again."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from forensics.rules.lints.complaint import Complaint, complaint

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from forensics.rules.packfile import PlacedRule


class IdReused:
    """Two rules have one id, in one file or in two."""

    name: ClassVar[str] = "id-reused"
    about: ClassVar[str] = "Two rules have one id."

    def complaints(self, rules: Sequence[PlacedRule]) -> Iterator[Complaint]:
        """One complaint for each rule but the first of an id."""
        files: dict[str, str] = {}
        for placed in rules:
            if placed.rule.id in files:
                text = f"rule id {placed.rule.id!r} is already used in {files[placed.rule.id]}"
                yield complaint(self, placed, text)
            files.setdefault(placed.rule.id, placed.file.name)
