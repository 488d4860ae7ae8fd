"""Does the same record stand in the evidence already? One that stands again in the same words is told once; two that
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

_SHOWN = 40


class Repeats:
    """The records of one log so far, by id. `what` names one of them in messages."""

    def __init__(self, build: EvidenceBuilder, what: str) -> None:
        self._build = build
        self._what = what
        self._seen: dict[str, bytes] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._seen

    def is_again(self, name: str, fields: Fields, spot: Spot, builder: TraceBuilder) -> bool:
        """Whether the same record stands in the log already. Another one of the same id is a finding."""
        if not name:
            return False
        whole = blake2b(as_object(fields), digest_size=16).digest()
        known = self._seen.setdefault(name, whole)
        if known is whole:
            return False
        if known != whole:
            message = f"two different {self._several} carry the id {one_line(name, _SHOWN)}"
            builder.note(finding("duplicate_record_id", message, locators=(self._build.places.locator(spot.place),)))
            return False
        self._build.counts.duplicate_records += 1
        self._build.once("duplicate_record", f"the {self._what} {one_line(name, _SHOWN)} stands twice", spot)
        return True

    def know(self, name: str) -> None:
        """A name that is none of a record, and may be referred to all the same."""
        self._seen.setdefault(name, b"")

    @property
    def _several(self) -> str:
        return f"{self._what[:-1]}ies" if self._what.endswith("y") else f"{self._what}s"
