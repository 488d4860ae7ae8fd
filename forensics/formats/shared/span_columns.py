"""What do spans of OTLP say that follow each other? Those whose attributes have the same names are read together,
column by column.
"""

from __future__ import annotations

from functools import partial
from itertools import compress, repeat
from operator import attrgetter
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET, UnsetType

from forensics.formats.shared.asked import Asked
from forensics.formats.shared.attribute_shapes import AttributeShapes, names_of
from forensics.formats.shared.request_outline import are_plain
from forensics.formats.shared.spans import Span, all_nanoseconds, are_hex_ids
from forensics.formats.shared.told_spans import Part, ToldSpan, read_told, told_one_way

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from forensics.formats.shared.attribute_shapes import AttributeShape
    from forensics.formats.shared.span_names import OtherNames
    from forensics.formats.shared.span_rows import At, Stand

Rows = dict[int, ToldSpan]
"""Some spans, by where they stand among others."""

_WITHIN = 1  # level of a span around a member
_BESIDE = {field.name: field.encode_name for field in msgspec.structs.fields(ToldSpan) if field.type == Part}
"""Members that may say more of a span than its columns do, and how the standard spells them."""
_beside = attrgetter(*_BESIDE)


class SpanColumns:
    """Reads the spans of one evidence. `says_more` tells of a member and its value whether it says more of a span than
    that the span was, and `kind_of` which number the value of its kind is.
    """

    def __init__(
        self,
        other_names: OtherNames,
        says_more: Callable[[str, bytes], bool],
        kind_of: Callable[[int | str | None], int],
    ) -> None:
        self._shapes = AttributeShapes(other_names)
        self._odd = {member: Asked(partial(_is_odd, says_more, spelled)) for member, spelled in _BESIDE.items()}
        self._kind_of = kind_of

    def read(self, spans: Sequence[msgspec.Raw], stand: Stand, first: int) -> list[Span | None] | None:
        """These spans, which stand there from that index on; None for one that has to be told by itself. None at all
        where one of them says something in two ways.
        """
        found: list[Span | None] = [None] * len(spans)
        told = {row: one for row, one in enumerate(told_one_way(spans)) if one is not None}
        for shape, alike in self._alike(told):
            stands = [(stand, first + row) for row in alike]
            for row, span in zip(alike, self._spans(shape, list(alike.values()), stands), strict=False):
                found[row] = span
        odd = [span for span, one in zip(spans, found, strict=True) if one is None]
        return found if are_plain(odd) else None

    def again(self, spans: Sequence[memoryview], stands: Sequence[At]) -> list[Span]:
        """Spans that were read in columns before, by their texts and where they stand."""
        found: dict[int, Span] = {}
        alike: dict[tuple[str, ...], list[tuple[int, ToldSpan]]] = {}
        for number, one in enumerate(map(read_told, spans)):
            alike.setdefault(names_of(one.attributes or ()), []).append((number, one))
        for names, some in alike.items():
            shape = self._shapes.of(names)
            if shape is not None:
                self._read_again(shape, some, stands, found)
        return [found[number] for number in range(len(spans))]

    def _read_again(
        self, shape: AttributeShape, some: list[tuple[int, ToldSpan]], stands: Sequence[At], found: dict[int, Span]
    ) -> None:
        """Those of one shape; where values of a name are not all of one kind, in smaller parts."""
        spans = list(self._spans(shape, [one for _, one in some], [stands[number] for number, _ in some]))
        found.update(zip([number for number, _ in some], spans, strict=False))
        if len(spans) < len(some) and len(some) > 1:
            half = len(some) // 2
            for part in (some[:half], some[half:]):
                self._read_again(shape, part, stands, found)

    def _alike(self, told: Rows) -> Iterator[tuple[AttributeShape, Rows]]:
        """Those of these spans of which no member says more, by the shape of their attributes."""
        if not told or not are_hex_ids(_ids(told.values())):
            return
        columns = map(list, zip(*map(_beside, told.values()), strict=True))
        odd = {
            row for member, column in zip(_BESIDE, columns, strict=True) for row in self._odd_in(told, member, column)
        }
        alike: dict[tuple[str, ...], Rows] = {}
        for row, span in told.items():
            if row not in odd:
                alike.setdefault(names_of(span.attributes or ()), {})[row] = span
        for names, some in alike.items():
            shape = self._shapes.of(names)
            if shape is not None:
                yield shape, some

    def _odd_in(self, told: Rows, member: str, column: list[Part]) -> Iterator[int]:
        """Those of these spans of which that member, which is told of each, says more."""
        if column.count(UNSET) == len(column):
            return iter(())
        values, is_odd = _bytes_of(column), self._odd[member].__getitem__
        return compress(told, map(is_odd, values)) if any(map(is_odd, set(values))) else iter(())

    def _spans(self, shape: AttributeShape, told: list[ToldSpan], stands: Sequence[At]) -> Iterator[Span]:
        """Spans whose attributes have that shape; none where one of them holds what is not to be told so."""
        began = all_nanoseconds([one.start_time_unix_nano for one in told])
        ended = all_nanoseconds([one.end_time_unix_nano for one in told])
        values = self._shapes.values(shape, [one.attributes or () for one in told])
        if began is None or ended is None or values is None:
            return iter(())
        return map(
            Span,
            [one.trace_id for one in told],
            [one.span_id for one in told],
            [one.parent_span_id or "" for one in told],
            [one.name or "" for one in told],
            began,
            ended,
            self._kinds([one.kind for one in told]),
            repeat(False),  # noqa: FBT003 - they ended well, of which nothing is said
            repeat(None),
            repeat(shape.shape),
            values,
            repeat(()),
            [stand.place for stand, _ in stands],
            [stand.pointer(index) for stand, index in stands],
            [stand.service for stand, _ in stands],
        )

    def _kinds(self, told: list[int | str | UnsetType]) -> Iterator[int]:
        """The number of each kind."""
        numbers = {kind: self._kind_of(None if isinstance(kind, UnsetType) else kind) for kind in set(told)}
        return map(numbers.__getitem__, told)


def _ids(told: Iterable[ToldSpan]) -> list[str]:
    """All the ids in these spans."""
    parents = [one.parent_span_id for one in told if one.parent_span_id]
    return [*(one.trace_id for one in told), *(one.span_id for one in told), *parents]


def _bytes_of(values: list[Part]) -> list[bytes]:
    """The bytes of each; b"" of one that is not there."""
    return [b"" if value is UNSET else bytes(value) for value in values]


def _is_odd(says_more: Callable[[str, bytes], bool], member: str, value: bytes) -> bool:
    """Whether a member of a span says more than columns can, or says something in two ways."""
    return bool(value) and (says_more(member, value) or not are_plain([msgspec.Raw(value)], _WITHIN))
