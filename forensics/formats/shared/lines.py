"""Which lines does a line format have, and which of them can't be read? Bytes, split on newline only.

Text is never split by `str.splitlines` (it also cuts at U+2028 and others, RELIABILITY section 3); one carriage return
before the newline is stripped, a byte order mark at the start is passed over.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import msgspec

from forensics.core.build import Spot
from forensics.core.limits import exceeded, limits
from forensics.formats.shared.wholeness import REDACTED, holds_redaction

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.core.reading import EvidenceBuilder
    from forensics.formats.shared.source import Source

BOM = b"\xef\xbb\xbf"
_BLANK = b" \t\r"
_RETURN = 13
_COPIED = 1 << 20  # bytes of lines that are copied to count them


class Line(msgspec.Struct, frozen=True, gc=False):
    """One line that is not blank: its number (from 1), byte offset and bytes (a view into the evidence)."""

    number: int
    offset: int
    data: memoryview


def plain_start(source: Source) -> int:
    """Where the text of the evidence begins: behind a byte order mark."""
    return len(BOM) if bytes(source.data[: len(BOM)]) == BOM else 0


Span = tuple[int, int, int]
"""Number of a line (from 1), and the offsets where it begins and ends."""


def cuts(source: Source, size: int) -> Iterator[tuple[int, int]]:
    """Where blocks of lines of at least so many bytes begin and end: each ends where a line does."""
    start, last = plain_start(source), len(source.data)
    while start < last:
        found = source.find(b"\n", min(start + size, last))
        end = last if found < 0 else found + 1
        yield start, end
        start = end


def blocks(source: Source, size: int) -> Iterator[Span]:
    """The same, each with the number of its first line."""
    number = 1
    for start, end in cuts(source, size):
        yield number, start, end
        short = end - start <= _COPIED
        number += bytes(source.data[start:end]).count(b"\n") if short else line_ends(source, start, end)


def line_ends(source: Source, start: int, end: int) -> int:
    """How many lines end there. They may be too long to be copied."""
    count = 0
    while 0 <= (found := source.find(b"\n", start)) < end:
        start = found + 1
        count += 1
    return count


def lines(source: Source) -> Iterator[Line]:
    """The lines of the evidence that are not blank, in order. Raises LimitExceededError for one that is too long."""
    return (line_at(source, span) for span in spans(source))


def line_at(source: Source, span: Span) -> Line:
    """The line that stands there."""
    number, start, end = span
    return Line(number, start, source.data[start:end])


def spans(source: Source) -> Iterator[Span]:
    """Where the lines stand that `lines` gives."""
    return spans_between(source, plain_start(source), len(source.data), 1)


def spans_between(source: Source, position: int, stop: int, number: int) -> Iterator[Span]:
    """The same of the lines between two offsets, the first of which is that of line `number`; the second ends a line or
    the evidence.
    """
    data, find, longest = source.data, source.find, limits().line
    for count in itertools.count(number):
        if position >= stop:
            return
        end = find(b"\n", position)
        end = stop if not 0 <= end < stop else end
        if end - position > longest:
            raise exceeded("line", f"line {count} of {source.name} has {end - position} bytes")
        close = end - 1 if end > position and data[end - 1] == _RETURN else end
        if close > position and (data[position] not in _BLANK or bytes(data[position:close]).strip(_BLANK)):
            yield count, position, close
        position = end + 1


def bad_line(build: EvidenceBuilder, line: Line, place: int, message: str) -> None:
    """A line that can't be read: by NUL bytes, by a redaction that broke it, or otherwise."""
    data = bytes(line.data)
    build.bad_line(line.number, "nul_padding" if b"\x00" in data else "malformed_line", message, Spot(place))
    if holds_redaction(data):
        build.once(REDACTED, f"line {line.number} was broken by what replaced a value in it", Spot(place))
