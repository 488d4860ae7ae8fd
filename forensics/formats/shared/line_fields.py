"""Which fields has each line? Blocks of lines are decoded at once where that provably says what line by line would.

The decoder takes objects that follow each other, wherever their lines end, so nothing is taken from a block but what,
written again, is the very text of the line: then it stands on that line and no key stands twice in it. The payloads of
a block are views into one view, which for a log of many lines saves hundreds of bytes a line.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import msgspec

from forensics.formats.shared.fields import Fields
from forensics.formats.shared.lines import spans

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.formats.shared.lines import Span
    from forensics.formats.shared.source import Source

_BLOCK = 256  # lines
_LARGEST = 1 << 20  # bytes of a block; larger ones are told line by line

_lines = msgspec.json.Decoder(Fields).decode_lines
_encode = msgspec.json.Encoder().encode


def lines_with_fields(source: Source) -> Iterator[tuple[Span, Fields | None]]:
    """Each line that is not blank, with its fields; None for one that has to be looked at by itself: no object, one
    that is spelled with blanks, or in which a key stands twice.
    """
    told = spans(source)
    while block := list(islice(told, _BLOCK)):
        found = _decoded(source.data, block)
        if len(found) != len(block):
            yield from ((span, None) for span in block)
            continue
        for span, fields in zip(block, found, strict=True):
            same = _is_spelled(source.data, span, fields)
            yield span, fields if same else None


def _decoded(data: memoryview, block: list[Span]) -> list[Fields]:
    """The objects of a block, none where the first line is not one that can be told so, or anything is wrong."""
    _, start, end = block[0]
    _, _, last = block[-1]
    if last - start > _LARGEST:
        return []
    try:
        first = _lines(data[start:end])
        return _lines(data[start:last]) if len(first) == 1 and _is_spelled(data, block[0], first[0]) else []
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return []


def _is_spelled(data: memoryview, span: Span, fields: Fields) -> bool:
    """Whether a line is these fields, written without blanks."""
    _, start, end = span
    try:
        return _encode(fields) == bytes(data[start:end])
    except UnicodeEncodeError:  # a key with a lone surrogate
        return False
