"""Which attributes of a span are read, by their names alone? Spans whose attributes have the same names are read alike,
so that this is asked once for all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.formats.shared.any_value import ABSENT, KeyValue, plain
from forensics.formats.shared.dialects import MARKS
from forensics.formats.shared.span_names import SHARED, WANTED, OtherNames

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forensics.core.trace import Payload

Names = tuple[str, ...]

_SHAPES = 4096
_LONGEST = 4096  # characters of names that are kept


class AttributeShape(msgspec.Struct, frozen=True, gc=False):
    """The names that are read, where each stands in the list of attributes, which of them often have the same value,
    and a vocabulary that is not read.
    """

    names: Names
    slots: tuple[int, ...]
    shared: tuple[int, ...]
    foreign: str

    def values(self, told: Sequence[KeyValue]) -> list[Payload] | None:
        """What these attributes hold as plain JSON, in the order of the names; None where one of them holds nothing."""
        values: list[Payload] = []
        for slot in self.slots:
            value = told[slot].value
            payload = value.string_value if value.string_value is not ABSENT else plain(value)
            if payload is None:
                return None
            values.append(payload)
        return values


class AttributeShapes:
    """The shapes of the spans of one evidence, of which it has a handful."""

    def __init__(self, other_names: OtherNames) -> None:
        self._other_names = other_names
        self._known: dict[Names, AttributeShape | None] = {}

    def of(self, told: Sequence[KeyValue]) -> AttributeShape | None:
        """The shape of these attributes; None where more has to be looked at than their names."""
        keys = tuple([one.key for one in told])
        try:
            return self._known[keys]
        except KeyError:
            shape = self._shape(keys)
            if len(self._known) >= _SHAPES:
                self._known.clear()
            if sum(map(len, keys)) <= _LONGEST:
                self._known[keys] = shape
            return shape

    def _shape(self, keys: Names) -> AttributeShape | None:
        slots = tuple(slot for slot, key in enumerate(keys) if key in WANTED)
        names = tuple(WANTED[keys[slot]] for slot in slots)
        others = [other for key in keys if key not in WANTED and (other := self._other_names[key]) is not None]
        if len(set(names)) < len(names) or not MARKS.isdisjoint(names) or any(other.family for other in others):
            return None
        shared = tuple(number for number, name in enumerate(names) if name in SHARED)
        return AttributeShape(names, slots, shared, others[0].vocabulary if others else "")
