"""What do the records of a trace say? Payloads by number: an offset and a length into the evidence where they stand
there, so that a payload costs a few bytes beside the mapped file however long it is (docs/adr/0002).
"""

from __future__ import annotations

from array import array
from itertools import compress
from typing import TYPE_CHECKING, overload

import msgspec

from forensics.core.spool import Spool

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from forensics.core.places import Places

Payload = msgspec.Raw

_NONE = -1  # instead of an offset
_SPOOLED = -2  # this and below: an offset into the spool, counted down from here
_PART = 1 << 18  # bytes of a record in which those are looked for at a time that most likely stand in it
_AT_A_TIME = 8  # records in which payloads are looked for
_MISSES = 16  # payloads, one after another, that were not found
_HEAD = 32  # bytes of a payload
_ALIKE = 8  # texts that begin alike
_SEARCHED = 1 << 16  # bytes of a record: in a longer one, where many payloads may stand, none is looked for


class Payloads:
    """A list of payloads, each None or a JSON text. What does not stand in its record as it is told (a text out of a
    text, a value of our own making) is spooled.
    """

    def __init__(self, places: Places) -> None:
        self._places = places
        self._text = places.text
        self._offset = array("q")
        self._length = array("i")
        self._spool = Spool()
        self._record = (-1, 0, b"")  # the record looked at last: its place, offset and text

    def __len__(self) -> int:
        return len(self._offset)

    @property
    def spooled(self) -> int:
        """How many do not stand in the evidence as they are told."""
        return sum(offset <= _SPOOLED for offset in self._offset)

    def add(self, payload: Payload | None, place: int) -> int:
        """Note what the record at a place says; returns its number."""
        number = len(self._offset)
        if payload is None:
            self._offset.append(_NONE)
            self._length.append(0)
            return number
        known, start, text = self._record
        if known != place:
            start, text = self._look_at(place)
        at = text.find(payload)  # equal bytes are the payload, whichever of them were meant
        self._offset.append(start + at if at >= 0 else self._spooled_at(payload))
        self._length.append(len(payload))
        return number

    def add_all(self, offsets: Sequence[int], lengths: Sequence[int]) -> None:
        """Note payloads that stand in the evidence there; one that begins NOWHERE is none and has no length."""
        self._offset.extend(array("q", offsets))
        self._length.extend(array("i", lengths))

    def add_each(self, payloads: Sequence[Payload | None], places: Sequence[int], standing: bytes) -> None:
        """Note what the record at each of these places says. `standing` has a byte for each: where it is not 0, the
        payload stands in its record as it is told, most likely behind those before it.
        """
        told = [None if payload is None else bytes(payload) for payload in payloads]
        offsets = _Standing(self).find_all(told, places, standing)
        end, spooled = self._spool.size, []
        for number, (at, text) in enumerate(zip(offsets, told, strict=True)):
            if at < 0 and text is not None:
                spooled.append(text)
                offsets[number] = _SPOOLED - end
                end += len(text)
        self._spool.add(b"".join(spooled))
        self._offset.extend(array("q", offsets))
        self._length.extend(array("i", [0 if text is None else len(text) for text in told]))

    def _spooled_at(self, payload: Payload) -> int:
        return _SPOOLED - self._spool.add(payload)

    def _look_at(self, place: int) -> tuple[int, bytes]:
        """The offset and the text of the record at a place; no text where none is to be looked at."""
        start, end = self.reach(place)
        text = self.part(start, end) if start >= 0 and end - start <= _SEARCHED else b""
        self._record = (place, start, text)
        return start, text

    def reach(self, place: int) -> tuple[int, int]:
        """Where the record at a place begins and ends in the evidence; below 0 where it has no offset."""
        start, length = self._places.bounds(place) if place >= 0 else (_NONE, 0)
        return start, start + length

    def part(self, begin: int, end: int) -> bytes:
        """The bytes of the evidence between two offsets."""
        return self._text[begin:end].tobytes()

    @overload
    def __getitem__(self, number: int) -> Payload | None: ...
    @overload
    def __getitem__(self, number: slice) -> list[Payload | None]: ...
    def __getitem__(self, number: int | slice) -> Payload | list[Payload | None] | None:
        if isinstance(number, slice):
            return [self[one] for one in range(*number.indices(len(self)))]
        offset = self._offset[number]
        if offset >= 0:
            return Payload(self._text[offset : offset + self._length[number]])
        return None if offset == _NONE else Payload(self._spool.get(_SPOOLED - offset, self._length[number]))

    def __setitem__(self, number: int, payload: Payload | None) -> None:
        self._offset[number] = _NONE if payload is None else self._spooled_at(payload)
        self._length[number] = 0 if payload is None else len(payload)

    def __iter__(self) -> Iterator[Payload | None]:
        return map(self.__getitem__, range(len(self)))

    def sizes(self, numbers: Sequence[int]) -> list[int]:
        """How many bytes each of these payloads has; 0 for a number below 0."""
        lengths = self._length
        return [lengths[number] if number >= 0 else 0 for number in numbers]

    def several(self, numbers: Sequence[int]) -> list[bytes | None]:
        """The bytes of each of these payloads; None for a number below 0, and for a payload that is None."""
        text, offsets, lengths = self._text, self._offset, self._length
        return [
            None
            if number < 0 or (offset := offsets[number]) == _NONE
            else text[offset : offset + lengths[number]].tobytes()
            if offset >= 0
            else self._spool.get(_SPOOLED - offset, lengths[number])
            for number in numbers
        ]

    def texts(self) -> Iterator[bytes | None]:
        """The bytes of each."""
        text, spool = self._text, self._spool
        for offset, length in zip(self._offset, self._length, strict=True):
            if offset >= 0:
                yield text[offset : offset + length].tobytes()
            else:
                yield None if offset == _NONE else spool.get(_SPOOLED - offset, length)


class _Standing:
    """Looks for payloads in their records. Where one after another is not found as it is told, none is looked for any
    longer.
    """

    def __init__(self, payloads: Payloads) -> None:
        self._payloads = payloads
        self._records: dict[int, _Record] = {}
        self._tries = _MISSES

    def find_all(self, told: Sequence[bytes | None], places: Sequence[int], standing: bytes) -> list[int]:
        """The offset of each of these texts in the evidence; below 0 of one that was not looked for, or not found."""
        found = [_NONE] * len(told)
        for number in compress(range(len(told)), standing):
            text = told[number]
            if text is not None and self._tries:
                found[number] = at = self._record(places[number]).find(text)
                self._tries = self._tries - 1 if at < 0 else _MISSES
        return found

    def _record(self, place: int) -> _Record:
        record = self._records.get(place)
        if record is None:
            if len(self._records) >= _AT_A_TIME:
                self._records.clear()
            record = self._records[place] = _Record(self._payloads, place)
        return record


class _Record:
    """Looks for payloads in one record, each behind the one before it, in a part of the record at a time."""

    def __init__(self, payloads: Payloads, place: int) -> None:
        self._payloads = payloads
        self._behind, self._end = payloads.reach(place)
        self._look()

    def _look(self) -> None:
        """Look at the part of the record behind what was found last."""
        self._begin = begin = self._behind
        self._part = self._payloads.part(begin, min(self._end, begin + _PART)) if begin >= 0 else b""

    def find(self, told: bytes) -> int:
        """Where a payload begins in the evidence; below 0 where it was not found."""
        part, begin = self._part, self._begin
        at = part.find(told[:_HEAD], self._behind - begin)
        if at < 0 or not part.startswith(told, at):
            at = self._search(told)
            if at < 0:
                return _NONE
            begin = self._begin
        self._behind = begin + at + len(told)
        return begin + at

    def _search(self, told: bytes) -> int:
        """Where in the part that is looked at, or in the next one, a payload begins that is not simply the next."""
        at = self._near(told)
        if at < 0 and self._begin < self._behind and self._begin + len(self._part) < self._end:
            self._look()
            at = self._near(told)
        return at if at >= 0 else self._part.find(told)

    def _near(self, told: bytes) -> int:
        """Where a payload begins that stands behind the last one, found by its first bytes: to prepare a search for all
        of it takes longer than the few texts that begin alike. Below 0 where it is none of these.
        """
        text, head = self._part, told[:_HEAD]
        at = self._behind - self._begin - 1
        for _ in range(_ALIKE):
            at = text.find(head, at + 1)
            if at < 0 or text.startswith(told, at):
                return at
        return _NONE
