"""Which JSON values follow one another in this text? One document, one value a line, or values over several lines.

Console exporters print spans that way: indented, one below the other, perhaps with other output between them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from forensics.formats.shared.document import is_value
from forensics.formats.shared.lines import lines, plain_start

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.formats.shared.source import Source

_OPENING = re.compile(rb"[{\[]")
_BALANCE = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]]', re.DOTALL)
_FIRST = 8


class Chunk(msgspec.Struct, frozen=True, gc=False):
    """A part of the evidence: a value that begins on that line, or (`is_value` false) what stands between two."""

    line: int
    offset: int
    data: memoryview
    is_value: bool = True


def values(source: Source) -> Iterator[Chunk]:
    """The values of the evidence in order. What is none is told as a chunk of its own, so that nothing is lost."""
    start = plain_start(source)
    body = source.data[start:]
    if is_value(body):
        yield Chunk(1, start, body)
        return
    listed = list(lines(source))
    if len(listed) == 1 or any(is_value(line.data) for line in listed[:_FIRST]):
        yield from (Chunk(one.number, one.offset, one.data, is_value=is_value(one.data)) for one in listed)
        return
    yield from _over_lines(bytes(body), start, source.data)


def _over_lines(body: bytes, start: int, data: memoryview) -> Iterator[Chunk]:
    """Values that each end where their brackets are balanced again."""
    position = line = 0
    counted = 0
    while position < len(body):
        opening = _OPENING.search(body, position)
        begin = opening.start() if opening is not None else len(body)
        if body[position:begin].strip(b" \t\r\n,"):
            line += body.count(b"\n", counted, position)
            counted = position
            yield Chunk(line + 1, start + position, data[start + position : start + begin], is_value=False)
        if opening is None:
            return
        line += body.count(b"\n", counted, begin)
        counted = begin
        end = _balanced(body, begin)
        yield Chunk(line + 1, start + begin, data[start + begin : start + end])
        position = end


def _balanced(body: bytes, begin: int) -> int:
    depth = 0
    for token in _BALANCE.finditer(body, begin):
        mark = token.group()
        if mark in (b"{", b"["):
            depth += 1
        elif mark in (b"}", b"]"):
            depth -= 1
            if depth == 0:
                return token.end()
    return len(body)
