"""Which entries of a log that is a chain, or a tree, stand twice, and which follow one that is not there?

Each entry names itself and the one that it follows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.formats.shared.repeats import Repeats

if TYPE_CHECKING:
    from forensics.core.reading import EvidenceBuilder


class EntryChain(Repeats):
    """The entries of one log so far; `branches` counts the ends of its tree. An entry may follow what is none: the log,
    a call.
    """

    def __init__(self, build: EvidenceBuilder) -> None:
        super().__init__(build, "entry")
        self.branches = 1
        self._followed: set[str] = set()

    def follow(self, parent: str) -> bool:
        """Take the entry that the next one follows ("": none); returns whether it is in the log."""
        if not parent:
            return True
        if parent in self._followed:
            self.branches += 1
        self._followed.add(parent)
        return parent in self
