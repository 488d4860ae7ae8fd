"""On which line of its file does a byte stand? For readers of a report that can't count bytes, such as code scanning.

Formats that are no line formats give bytes alone. The newlines before each place are counted once, in one pass over the
text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from forensics.report.compose import Examined
    from forensics.report.documents import Place

_CHUNK = 1 << 20


class LineNumbers:
    """The lines of places in these evidences."""

    def __init__(self, examined: Sequence[Examined], places: Iterable[Place]) -> None:
        wanted: dict[int, set[int]] = {}
        for place in places:
            if _has_none(place):
                wanted.setdefault(place.evidence, set()).add(place.offset or 0)
        self._lines = {number: _lines(_text(examined[number]), offsets) for number, offsets in wanted.items()}

    def at(self, place: Place) -> Place:
        """The place with its line, where it stands in a file of text; else as it is."""
        known: Mapping[int, int] = self._lines.get(place.evidence, {})
        if not _has_none(place) or (place.offset or 0) not in known:
            return place
        return msgspec.structs.replace(place, line=known[place.offset or 0])


def _has_none(place: Place) -> bool:
    """Whether a place has an offset of its file and no line."""
    return place.offset is not None and place.line is None and place.member is None and place.table is None


def _text(one: Examined) -> memoryview:
    """The bytes in which the offsets of an evidence count; none where it was packed, or is no text."""
    reading = one.reading
    if reading is None or not reading.traces or reading.evidence.compression is not None:
        return memoryview(b"")
    text = reading.traces[0].places.text
    return memoryview(b"") if b"\x00" in bytes(text[:_CHUNK]) else text


def _lines(text: memoryview, offsets: Iterable[int]) -> dict[int, int]:
    """The line (from 1) of each offset that the text has."""
    found: dict[int, int] = {}
    line, at = 1, 0
    for offset in sorted(offset for offset in offsets if offset < len(text)):
        for start in range(at, offset, _CHUNK):
            line += bytes(text[start : min(start + _CHUNK, offset)]).count(b"\n")
        at = offset
        found[offset] = line
    return found
