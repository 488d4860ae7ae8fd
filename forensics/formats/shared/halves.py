"""Which records tell one thing, each a part of it? Services are sent what began and, later, what came of it: the parts
with one id are laid over each other, and each member keeps its place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.core.build import Spot
from forensics.core.jsonvalue import canonical, value_of
from forensics.core.sanitise import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from forensics.core.reading import EvidenceBuilder
    from forensics.core.trace import Payload
    from forensics.formats.shared.document import Document
    from forensics.formats.shared.fields import Fields

_SAID_ONCE = frozenset({"input", "inputs", "output", "outputs", "error", "exception", "statusMessage"})
"""Members that a later part may fill in, and not change: what was given, and what came of it."""
_EMPTY = (b"null", b"{}", b"[]", b'""')
Identified = tuple[str, "Fields", str]
"""A record by its id ("": none), its members, and its pointer in the value that it stands in."""


class Halves:
    """Records by their id, in the order in which each was first met. `what` names one of them in messages."""

    def __init__(self, build: EvidenceBuilder, what: str) -> None:
        self._build = build
        self._what = what
        self._members: dict[str, dict[str, tuple[Payload, str]]] = {}
        self._spots: dict[str, Spot] = {}
        self._tainted: dict[str, str] = {}

    def __iter__(self) -> Iterator[str]:
        """The ids."""
        return iter(self._members)

    def __contains__(self, record: str) -> bool:
        return record in self._members

    def read(self, document: Document, found: Callable[[Payload], Iterator[Identified]]) -> None:
        """Read one value of the evidence, in which `found` finds the records."""
        for record, fields, pointer in found(document.body):
            spot = document.spot.down(pointer)
            if record:
                self._add(record, fields, spot, document.tainted)
            else:
                self._strange(spot)

    def _strange(self, spot: Spot) -> None:
        message = f"a record that is no {self._what}: it has no id"
        self._build.unread("malformed_line", message, spot)

    def _add(self, record: str, fields: Fields, spot: Spot, tainted: str | None) -> None:
        counts, known = self._build.counts, self._members.get(record)
        counts.records += 1
        if known is None:
            known = self._members[record] = {}
            self._spots[record] = spot
            counts.spans += 1
        for name, payload in fields.items():
            if name in _SAID_ONCE and name in known and _differ(known[name][0], payload):
                message = f"two records of the {self._what} {one_line(record, 40)} tell of two values as its {name}"
                self._build.gap("duplicate_record_id", message, spot.down(f"/{name}"))
            if name not in known or bytes(payload) not in _EMPTY:
                known[name] = (payload, f"{spot.pointer}/{name}")
        if spot != self._spots[record]:
            self._spots[record] = Spot(spot.place)
        if tainted:
            self._tainted[record] = tainted

    def fields(self, record: str) -> Fields:
        """The members of a record, the later part's over those of the earlier one."""
        return {name: payload for name, (payload, _) in self._members[record].items()}

    def spot(self, record: str) -> Spot:
        """Where a record stands; where its parts stand apart, their whole document or line."""
        return self._spots[record]

    def place_of(self, record: str, member: str) -> str:
        """The pointer of a member, seen from the record's own place."""
        return self._members[record][member][1].removeprefix(self._spots[record].pointer)

    def taint_of(self, record: str) -> str | None:
        """The code of what makes a record unsure, else None."""
        return self._tainted.get(record)


def _differ(one: Payload, other: Payload) -> bool:
    """Whether both say something, and not the same."""
    told, again = bytes(one), bytes(other)
    if told == again or told in _EMPTY or again in _EMPTY:
        return False
    return canonical(value_of(one)) != canonical(value_of(other))
