"""Which attributes of a span are read, by their names alone, and what do they hold? Spans whose attributes have the
same names are read alike, so that this is asked once for all of them.
"""

from __future__ import annotations

from functools import partial
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING

import msgspec

from forensics.formats.shared.any_value import AnyValue, plain
from forensics.formats.shared.asked import Asked
from forensics.formats.shared.dialects import MARKS
from forensics.formats.shared.request_outline import are_plain
from forensics.formats.shared.span_names import SHARED, WANTED, OtherNames
from forensics.formats.shared.spans import Shape, shape_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forensics.core.trace import Payload
    from forensics.formats.shared.told_spans import ToldAttribute

Names = tuple[str, ...]

_SHAPES = 4096
_LONGEST = 4096  # characters of names that are kept
_SHORT = 64  # bytes of a value that is kept once for all spans that have it
_TEXT = "stringValue"
_WITHIN = 3  # levels of a span around a value

_any_value = msgspec.json.Decoder(AnyValue).decode
_ONE = frozenset({1})
_key, _value = attrgetter("key"), attrgetter("value")
_KINDS = frozenset(field.encode_name for field in msgspec.structs.fields(AnyValue))


class AttributeShape(msgspec.Struct, frozen=True, gc=False):
    """The shape of attributes, of which `read` are read, and `shared` often have the same value."""

    shape: Shape
    read: frozenset[int]
    shared: frozenset[int]


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
        return AttributeShape(shape_of(names, slots, others[0].vocabulary if others else ""), frozenset(slots), shared)

    def values(
        self, shape: AttributeShape, told: Sequence[Sequence[ToldAttribute]]
    ) -> Sequence[tuple[Payload, ...]] | None:
        """What the attributes of some spans hold as plain JSON, those that are read; None where one holds nothing,
        several things or another thing than the others of its name, or says something in two ways.
        """
        width, held = len(told[0]), list(map(_value, chain.from_iterable(told)))
        kinds = list(chain.from_iterable(held))
        own = kinds[:width]
        if not _ONE.issuperset(map(len, held)) or kinds != own * len(told) or not _KINDS.issuperset(own):
            return None
        values = list(map(dict.__getitem__, held, kinds))
        texts = [values[slot::width] for slot, kind in enumerate(own) if kind == _TEXT]
        if not _are_texts(texts):
            return None
        columns = [self._column(shape, slot, kind, values[slot::width]) for slot, kind in enumerate(own)]
        if None in columns:
            return None
        read = [column for slot, column in enumerate(columns) if slot in shape.read and column is not None]
        return list(zip(*read, strict=True)) if read else [()] * len(told)

    def _column(self, shape: AttributeShape, slot: int, kind: str, values: list[Payload]) -> list[Payload] | None:
        """What the attributes in one slot hold, of which all are of one kind."""
        if kind != _TEXT:
            told = list(map(self._others[kind].__getitem__, map(bytes, values)))
            return None if None in told else [one for one in told if one is not None]
        return self._once(values) if slot in shape.shared else values

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


def _are_texts(columns: list[list[Payload]]) -> bool:
    """Whether each of these payloads is a text: nothing else ends with a quote, and in a text no line ends."""
    joined = b"\n".join([*chain.from_iterable(columns), b""])
    return joined.count(b'"\n') == joined.count(b"\n") == sum(map(len, columns))
