"""Where do the records of one evidence stand, and what is their text? Columns of line, offset and length."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from forensics.core.evidence import Locator
from forensics.core.limits import exceeded, limits

if TYPE_CHECKING:
    from collections.abc import Sequence

NOWHERE = -1
MOST_ROWS = 2**31 - 1
"""Rows are numbers of 32 bits."""


class Places:
    """Where records stand in one evidence: columns of line, offset and length, the row of a database record, and the
    member of an archive. `text` are the plain bytes in which offsets count, where there are such.
    """

    def __init__(self, evidence: int, text: memoryview | bytes = b"") -> None:
        self.evidence = evidence
        self.text = memoryview(text)
        self._line = array("i")
        self._offset = array("q")
        self._length = array("q")
        self._most = min(limits().records, MOST_ROWS)
        self._row: dict[int, tuple[str, int | str]] = {}
        self._member: dict[int, str] = {}

    def __len__(self) -> int:
        return len(self._line)

    def add(self, *, line: int = 0, offset: int = NOWHERE, length: int = 0) -> int:
        """Note a record by its line (from 1; 0: not a line), byte offset and length; returns its place. Raises
        LimitExceededError for one too many.
        """
        place = len(self._line)
        if place >= self._most:
            raise exceeded("records", f"the evidence holds {place + 1} records or more")
        self._line.append(line)
        self._offset.append(offset)
        self._length.append(length)
        return place

    def add_lines(self, numbers: Sequence[int], offsets: Sequence[int], lengths: Sequence[int]) -> range:
        """Note records that follow each other, one a line; returns their places. Raises LimitExceededError for one too
        many.
        """
        place = len(self._line)
        if place + len(numbers) > self._most:
            raise exceeded("records", f"the evidence holds {self._most + 1} records or more")
        for column, told in ((self._line, numbers), (self._offset, offsets), (self._length, lengths)):
            column.extend(array(column.typecode, told))
        return range(place, len(self._line))

    def add_row(self, table: str, row: int | str, length: int) -> int:
        """Note a database row; `length` is that of its payload in bytes."""
        place = self.add(length=length)
        self._row[place] = (table, row)
        return place

    def add_member(self, member: str, length: int, offset: int = 0) -> int:
        """Note a part of an archive's member; `offset` and `length` count its unpacked bytes."""
        place = self.add(offset=offset, length=length)
        self._member[place] = member
        return place

    def part_of(self, place: int, offset: int, length: int) -> int:
        """Note a part of a record that has an offset: `offset` counts from its beginning."""
        begins = max(self._offset[place], 0)
        member = self._member.get(place)
        if member is not None:
            return self.add_member(member, length, begins + offset)
        return self.add(offset=begins + offset, length=length)

    def bounds(self, place: int) -> tuple[int, int]:
        """The byte offset of a record (-1: it has none) and its length."""
        return self._offset[place], self._length[place]

    def locator(self, place: int, pointer: str = "") -> Locator:
        """The locator of a place, with a JSON Pointer inside the record."""
        table, row = self._row.get(place, (None, None))
        offset, length = self.bounds(place)
        return Locator(
            evidence=self.evidence,
            line=self._line[place] or None,
            offset=None if offset < 0 else offset,
            length=length or None,
            member=self._member.get(place),
            table=table,
            row=row,
            pointer=pointer or None,
        )
