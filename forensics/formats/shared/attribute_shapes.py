"""Which attributes of a span are read, by their names alone, and what do they hold? Spans whose attributes have the
same names are read alike, so that this is asked once for all of them.
"""

from __future__ import annotations

from functools import partial
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING

import msgspec

from forensics.formats.shared.any_value import AnyValue, plain
from forensics.formats.shared.asked import Asked
from forensics.formats.shared.dialects import MARKS
from forensics.formats.shared.request_outline import are_plain
from forensics.formats.shared.span_names import SHARED, WANTED, OtherNames

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forensics.core.trace import Payload
    from forensics.formats.shared.told_spans import Holder, ToldAttribute

Names = tuple[str, ...]

_SHAPES = 4096
_LONGEST = 4096  # characters of names that are kept
_SHORT = 64  # bytes of a value that is kept once for all spans that have it
_TEXT = "stringValue"
_WITHIN = 3  # levels of a span around a value

_any_value = msgspec.json.Decoder(AnyValue).decode
_key, _value = attrgetter("key"), attrgetter("value")
_KINDS = frozenset(field.encode_name for field in msgspec.structs.fields(AnyValue))


class AttributeShape(msgspec.Struct, frozen=True, gc=False):
    """The names that are read, where each stands in the list of attributes, which of them often have the same value,
    and a vocabulary that is not read.
    """

    names: Names
    slots: tuple[int, ...]
    shared: frozenset[int]
    foreign: str


def names_of(told: Sequence[ToldAttribute]) -> Names:
    """The names of some attributes, in order."""
    return tuple(map(_key, told))


class AttributeShapes:
    """The shapes of the spans of one evidence, of which it has a handful."""

    def __init__(self, other_names: OtherNames) -> None:
        self._other_names = other_names
        self._known: dict[Names, AttributeShape | None] = {}
        self._texts: dict[bytes, Payload] = {}
        self._others = {kind: Asked(partial(_plain_of, kind)) for kind in _KINDS - {_TEXT}}

    def of(self, keys: Names) -> AttributeShape | None:
        """The shape of attributes of these names; None where more has to be looked at than their names."""
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
        shared = frozenset(slot for slot, name in zip(slots, names, strict=True) if name in SHARED)
        return AttributeShape(names, slots, shared, others[0].vocabulary if others else "")

    def values(self, shape: AttributeShape, told: Sequence[Sequence[ToldAttribute]]) -> list[dict[str, Payload]] | None:
        """What the attributes of some spans hold as plain JSON, by the names that are read; None where one of any name
        holds nothing, several things, or says something in two ways.
        """
        columns: list[Sequence[Payload]] = []
        read = frozenset(shape.slots)
        for slot, column in enumerate(zip(*told, strict=True)):
            values = self._column(list(map(_value, column)))
            if values is None:
                return None
            if slot in read:
                columns.append(self._once(values) if slot in shape.shared else values)
        if not columns:
            return [{} for _ in told]
        return [dict(zip(shape.names, row, strict=True)) for row in zip(*columns, strict=True)]

    def _column(self, held: list[Holder]) -> list[Payload] | None:
        """What these hold as plain JSON, if each holds one thing, and says that in one way."""
        if set(map(len, held)) != {1}:
            return None
        kind = next(iter(held[0]))
        try:
            values = list(map(itemgetter(kind), held))
        except KeyError:
            return self._mixed(held)
        return self._of_kind(kind, values)

    def _of_kind(self, kind: str, values: list[Payload]) -> list[Payload] | None:
        if kind == _TEXT:
            return values if _are_texts(values) else None
        if kind not in _KINDS:
            return None
        told = [self._others[kind][bytes(value)] for value in values]
        return [one for one in told if one is not None] if None not in told else None

    def _mixed(self, held: list[Holder]) -> list[Payload] | None:
        found: list[Payload] = []
        for ((kind, value),) in map(dict.items, held):
            told = self._of_kind(kind, [value])
            if told is None:
                return None
            found += told
        return found

    def _once(self, values: list[Payload]) -> list[Payload]:
        """The same values, a short one as it was met first."""
        keep = self._texts.setdefault
        if max(map(len, values)) <= _SHORT:
            return list(map(keep, map(bytes, values), values))
        return [keep(bytes(value), value) if len(value) <= _SHORT else value for value in values]


def _plain_of(kind: str, value: bytes) -> Payload | None:
    """A value of that kind as plain JSON; None for one that says something in two ways."""
    told = b'{"' + kind.encode() + b'":' + value + b"}"
    return plain(_any_value(told)) if are_plain([msgspec.Raw(told)], _WITHIN) else None


def _are_texts(payloads: list[Payload]) -> bool:
    """Whether each of these payloads, which stand on one line, is a text."""
    return b"\n".join([b"", *payloads]).count(b'\n"') == len(payloads)
