"""Which entries of a log that is a chain, or a tree, stand twice, and which follow one that is not there?

Each entry names itself and the one that it follows. One that stands again in the same words is told once; two that
share an id are told both.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

from forensics.core.findings import finding
from forensics.core.sanitise import one_line
from forensics.formats.shared.fields import Fields, as_object

if TYPE_CHECKING:
    from forensics.core.build import Spot, TraceBuilder
    from forensics.core.reading import EvidenceBuilder


class EntryChain:
    """The entries of one log so far; `branches` counts the ends of its tree."""

    def __init__(self, build: EvidenceBuilder) -> None:
        self.build = build
        self.branches = 1
        self._seen: dict[str, bytes] = {}
        self._followed: set[str] = set()

    def is_again(self, name: str, fields: Fields, spot: Spot, builder: TraceBuilder) -> bool:
        """Whether the same entry stands in the log already. Another one of the same id is a finding."""
        if not name:
            return False
        whole = blake2b(as_object(fields), digest_size=16).digest()
        known = self._seen.setdefault(name, whole)
        if known is whole:
            return False
        if known != whole:
            message = f"two different entries carry the id {one_line(name, 40)}"
            builder.note(finding("duplicate_record_id", message, locators=(self.build.places.locator(spot.place),)))
            return False
        self.build.counts.duplicate_records += 1
        self.build.once("duplicate_record", f"the entry {one_line(name, 40)} stands twice", spot)
        return True

    def know(self, name: str) -> None:
        """A name that an entry may follow and that is none of an entry: that of the log, of a call."""
        self._seen.setdefault(name, b"")

    def follow(self, parent: str) -> bool:
        """Take the entry that the next one follows ("": none); returns whether it is in the log."""
        if not parent:
            return True
        if parent in self._followed:
            self.branches += 1
        self._followed.add(parent)
        return parent in self._seen
