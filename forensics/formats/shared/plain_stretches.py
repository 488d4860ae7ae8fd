"""What do the records of a plain log say that are told at once, in columns?

Records of one shape are read column by column; then the columns of all shapes are dealt out in the order of the lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, groupby
from operator import add, itemgetter
from typing import TYPE_CHECKING, TypeVar

import msgspec

from forensics.core.stretches import Stretch
from forensics.core.times import all_nanoseconds
from forensics.core.trace import NOWHERE, Outcome
from forensics.formats.shared.fields import Fields, text
from forensics.formats.shared.groups import Alike, Group
from forensics.formats.shared.plain_records import ONLY_TRACE
from forensics.formats.shared.plain_shapes import BY_ITSELF, Part, Shape

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from forensics.core.trace import Payload
    from forensics.formats.shared.line_fields import Block
    from forensics.formats.shared.plain_shapes import Shapes

_T = TypeVar("_T")


class Records(msgspec.Struct, gc=False):
    """Records that follow each other, one a line: their shapes and fields, and the bytes of each, where they begin in
    the evidence, and their places.
    """

    shapes: list[Shape]
    fields: list[Fields]
    texts: Sequence[bytes]
    offsets: list[int]
    places: Sequence[int]
    are_compact: bool
    _groups: dict[Shape, Alike] | None = None

    def parted(self) -> Iterator[tuple[str | None, Records]]:
        """Parts of them: each with the trace of its records, or None where each is told by itself. Between two of the
        latter the records of each trace are one part: usual ones say nothing but of their own trace.
        """
        traces: list[str | None] = [None] * len(self.shapes)
        for shape, (at, group) in self.groups().items():
            odd = shape.odd(group)
            for row, named in enumerate(group.texts(shape.plan["trace"])):
                traces[at[row]] = None if row in odd else named or ONLY_TRACE
        if len(set(traces)) == 1:
            yield traces[0], self
            return
        for usual, run in groupby(range(len(traces)), lambda row: traces[row] is not None):
            rows = list(run)
            if usual:
                yield from ((trace, self.some(of_trace)) for trace, of_trace in _by_value(rows, traces).items())
            else:
                yield None, self.some(rows)

    def groups(self) -> dict[Shape, Alike]:
        """Those of each usual shape, and which they are."""
        if self._groups is None:
            rows = _by_value(range(len(self.shapes)), self.shapes)
            rows.pop(BY_ITSELF, None)
            self._groups = {shape: (at, Group([self.fields[row] for row in at])) for shape, at in rows.items()}
        return self._groups

    def part(self, begin: int, end: int) -> Records:
        """Some of them."""
        one = slice(begin, end)
        columns = (self.shapes[one], self.fields[one], self.texts[one], self.offsets[one], self.places[one])
        return Records(*columns, self.are_compact)

    def some(self, rows: list[int]) -> Records:
        """These of them, in this order."""
        return Records(
            _taken(self.shapes, rows),
            _taken(self.fields, rows),
            _taken(self.texts, rows),
            _taken(self.offsets, rows),
            _taken(self.places, rows),
            self.are_compact,
        )

    def row_of(self, step: int) -> int:
        """Which of them a step of their stretch belongs to."""
        ends = accumulate(len(shape.parts) for shape in self.shapes)
        return next(row for row, end in enumerate(ends) if step < end)

    def agent(self) -> str:
        """The agent that the first of them names."""
        return text(self.fields[0], *self.shapes[0].plan["agent"])


def records_of(block: Block, places: Sequence[int], known: Shapes) -> Records:
    """The records of a block of lines, which stand at these places."""
    groups = known.of(block.alike)
    shapes = [BY_ITSELF] * len(block.fields)
    for shape, (rows, _) in groups.items():
        for row in rows:
            shapes[row] = shape
    return Records(shapes, block.fields, block.texts, block.starts, places, block.is_compact, groups)


def _by_value(rows: Iterable[int], values: Sequence[_T]) -> dict[_T, list[int]]:
    """The rows of each value, in the order in which they come first."""
    found: dict[_T, list[int]] = {}
    for row in rows:
        found.setdefault(values[row], []).append(row)
    return found


def _taken(column: Sequence[_T], rows: list[int]) -> list[_T]:
    return [column[row] for row in rows]


class _Columns:
    """The columns of a stretch while they are filled, group by group; `order` says which entry is each step's."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._firsts = list(accumulate((len(shape.parts) for shape in records.shapes), initial=0))
        self._order = [NOWHERE] * self._firsts.pop()
        self._kinds = bytearray()
        self._names: list[str] = []
        self._ids: list[str] = []
        self._outcomes: list[Outcome] = []
        self._places: list[int] = []
        self._times: list[int] = []
        self._offsets: list[int] = []
        self._lengths: list[int] = []

    def fill(self, shape: Shape, group: Group, at: Sequence[int]) -> None:
        """Fill in the steps of a group of records, which stand at these positions."""
        times, places, outcomes = _times(shape, group), self._records.places, shape.outcomes(group)
        for nth, part in enumerate(shape.parts):
            for entry, row in enumerate(at, len(self._kinds)):
                self._order[self._firsts[row] + nth] = entry
            payloads = group.payloads(part.says)
            self._kinds += bytes([part.kind]) * len(at)
            self._names += group.texts(part.names)
            self._ids += _ids(part, group)
            self._outcomes += outcomes
            self._places += [places[row] for row in at]
            self._times += times
            self._offsets += self._where(group, part, payloads, at)
            self._lengths += [0 if payload is None else len(payload) for payload in payloads]

    def _where(self, group: Group, part: Part, payloads: Sequence[Payload | None], at: Sequence[int]) -> list[int]:
        """Where payloads stand in the evidence: equal bytes in the record are the payload, whichever were meant."""
        records = self._records
        starts = [records.offsets[row] for row in at]
        if records.are_compact and part.says and payloads is group.column(part.says[0]):
            return list(map(add, starts, group.positions(part.says[0])))
        told = zip(payloads, starts, [records.texts[row] for row in at], strict=True)
        return [NOWHERE if payload is None else start + text.find(payload) for payload, start, text in told]

    def dealt_out(self) -> Stretch:
        """The stretch with its steps in order."""
        if len(self._order) == 1:
            columns = (self._names, self._ids, self._outcomes, self._places, self._times, self._offsets, self._lengths)
            return Stretch(bytes(self._kinds), *columns)
        pick = itemgetter(*self._order)
        return Stretch(
            bytes(pick(self._kinds)),
            pick(self._names),
            pick(self._ids),
            pick(self._outcomes),
            pick(self._places),
            pick(self._times),
            pick(self._offsets),
            pick(self._lengths),
        )


def read_at_once(records: Records) -> Stretch:
    """The events of records that are all of usual shapes."""
    columns = _Columns(records)
    for shape, (at, group) in records.groups().items():
        columns.fill(shape, group, at)
    return columns.dealt_out()


def _times(shape: Shape, group: Group) -> list[int]:
    told = group.payloads(shape.plan["at"])
    if None in told:
        return [NOWHERE if one is None else all_nanoseconds([one])[0] for one in told]
    return all_nanoseconds([one for one in told if one is not None])


def _ids(part: Part, group: Group) -> list[str]:
    ids = group.texts(part.ids)
    return [one or own for one, own in zip(ids, group.texts(part.own_ids), strict=True)] if part.own_ids else ids
