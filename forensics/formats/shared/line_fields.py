"""Which fields has each line? Blocks of lines are decoded at once where that provably says what line by line would.

The decoder takes objects that follow each other, wherever their lines end. So a block is taken as it was decoded only
where each of its line ends stands between two objects, and where what was decoded is as long as the block, or has as
many quotes when it is written again: then each object stands on its line and no key stands twice in it. The payloads of
a block are views into its bytes, which for a log of many lines saves hundreds of bytes a line.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, chain, islice, repeat
from operator import add, sub
from typing import TYPE_CHECKING, overload

import msgspec

from forensics.core.keyed import keyed
from forensics.core.limits import limits
from forensics.formats.shared.fields import Fields
from forensics.formats.shared.groups import Alike, Group
from forensics.formats.shared.lines import Span, cuts, line_ends, spans_between

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.formats.shared.source import Source

_BLOCK = 1 << 18  # bytes, and what is left of the last line
_LARGEST = 1 << 20  # bytes; a block that its last line makes longer is told line by line
_SMALLEST = 1 << 12  # bytes; a block in which something is odd is halved down to this
_TOGETHER = 256  # lines that are decoded together where each of them is looked at

_lines = msgspec.json.Decoder(Fields).decode_lines
_write_lines = msgspec.json.Encoder().encode_lines
_write = msgspec.json.Encoder().encode


class LineTexts(Sequence[bytes]):
    """The bytes of lines that stand in one text, each taken out of it when it is asked for."""

    def __init__(self, text: bytes, begins: list[int], lengths: list[int]) -> None:
        self._text = text
        self._begins = begins
        self._lengths = lengths

    def __len__(self) -> int:
        return len(self._begins)

    @overload
    def __getitem__(self, at: int) -> bytes: ...
    @overload
    def __getitem__(self, at: slice) -> LineTexts: ...
    def __getitem__(self, at: int | slice) -> bytes | LineTexts:
        if isinstance(at, slice):
            return LineTexts(self._text, self._begins[at], self._lengths[at])
        begin = self._begins[at]
        return self._text[begin : begin + self._lengths[at]]

    def __iter__(self) -> Iterator[bytes]:
        text = self._text
        return (text[begin : begin + length] for begin, length in zip(self._begins, self._lengths, strict=True))


class Block(msgspec.Struct, frozen=True, gc=False):
    """Lines that follow each other, blank ones left out: their numbers, where each begins, and its length.

    `fields` are those of each where every line is an object that says each key once; then `texts` are the bytes of
    each, `alike` groups them by their keys, and `is_compact` says that these are the fields written without a blank
    between them. `mixed` are the fields of each in any other block; None for a line that has to be looked at by itself.
    """

    numbers: Sequence[int]
    starts: list[int]
    lengths: list[int]
    fields: list[Fields] = []
    texts: Sequence[bytes] = ()
    alike: list[Alike] = []
    is_compact: bool = False
    mixed: Sequence[Fields | None] = ()

    def spans(self) -> Iterator[Span]:
        """Where the lines stand."""
        return zip(self.numbers, self.starts, map(add, self.starts, self.lengths), strict=True)


def blocks_of_lines(source: Source) -> Iterator[Block]:
    """The lines that are not blank, in order. Raises LimitExceededError for one that is too long."""
    number = 1
    for start, end in cuts(source, _BLOCK):
        if end - start > min(_LARGEST, limits().line):
            yield from _one_by_one(source, start, end, number)
            number += line_ends(source, start, end)
        elif (whole := _whole(text := bytes(source.data[start:end]), start, number)) is not None:
            yield whole
            number += len(whole.numbers)
        else:
            yield from _halves(source, text, start, number)
            number += text.count(b"\n")


def _halves(source: Source, text: bytes, start: int, number: int) -> Iterator[Block]:
    """The lines of a text that is no whole block, in blocks that leave what is odd in it to a small one."""
    middle = text.find(b"\n", len(text) // 2) + 1
    if len(text) <= _SMALLEST or not 0 < middle < len(text):
        yield from _one_by_one(source, start, start + len(text), number)
        return
    after = number + text.count(b"\n", 0, middle)
    for half, begin, first in ((text[:middle], start, number), (text[middle:], start + middle, after)):
        whole = _whole(half, begin, first)
        yield from _halves(source, half, begin, first) if whole is None else (whole,)


def _whole(text: bytes, start: int, number: int) -> Block | None:
    """The block of a text in which each line is one object that says each key once."""
    first = text.find(b"\n")
    if 0 < first < len(text) - 1 and text[first - 1 : first + 2] != b"}\n{":
        return None  # as where all lines end in two characters, or blank ones stand between
    try:
        found = _lines(text)
        alike = [(one.places, Group(one.objects)) for one in keyed(found).groups]
        lengths, is_compact = _compact_lengths(text, alike, len(found)), True
        if lengths is None:
            lengths, is_compact = _lengths_apart(text, found), False
    except (msgspec.DecodeError, UnicodeDecodeError, UnicodeEncodeError, RecursionError):
        return None
    if lengths is None:
        return None
    begins = list(accumulate(map(_AND_ITS_END, lengths), initial=0))[:-1]
    numbers, starts = range(number, number + len(found)), list(map(start.__add__, begins))
    return Block(numbers, starts, lengths, found, LineTexts(text, begins, lengths), alike, is_compact)


_AND_ITS_END = len(b"\n").__add__


def _compact_lengths(text: bytes, alike: list[Alike], count: int) -> list[int] | None:
    """How long the line of each of so many objects is, where the text is nothing but them, each written without a blank
    and with each key once, and each on a line of its own; else None.

    No object can be written shorter than so: a blank, a key that stands twice, one spelled with escapes make it longer.
    So each is written so where lines of these lengths make up the text, and a line end stands where each is to end. For
    one that were longer would move what follows behind the ends that are looked at, which fall into objects then, and
    only objects without a line end between them could make up for it: at last the end that is looked at would be the
    bracket that closes one.
    """
    lengths = [0] * count
    for places, group in alike:
        for at, length in zip(places, group.sizes(), strict=True):
            lengths[at] = length
    ends = list(accumulate(map(_AND_ITS_END, lengths), initial=-1))[1:]
    if not ends or len(text) not in (ends[-1], ends[-1] + 1):
        return None
    looked_at = ends if len(text) > ends[-1] else ends[:-1]
    return lengths if set(map(text.__getitem__, looked_at)) <= _LINE_END else None


_LINE_END = frozenset(b"\n")


def _lengths_apart(text: bytes, found: list[Fields]) -> list[int] | None:
    """How long the line of each of these objects is, where each stands on one and says each key once; else None."""
    texts = text.removesuffix(b"\n").split(b"\n")
    if len(found) == len(texts) and _stands_apart(text, len(texts)) and _has_all_quotes(text, found):
        return list(map(len, texts))
    return None


def _stands_apart(text: bytes, lines: int) -> bool:
    """Whether each line end stands between two objects."""
    return text.startswith(b"{") and text.endswith((b"}", b"}\n")) and text.count(b"}\n{") == lines - 1


def _has_all_quotes(text: bytes, found: list[Fields]) -> bool:
    """Whether no member was dropped: each has quotes, and none is written with more than it had unless its key holds
    one.
    """
    written = _write_lines(found)
    return text.count(b'"') == written.count(b'"') and not any('"' in key for key in set(chain.from_iterable(found)))


def _one_by_one(source: Source, start: int, end: int, number: int) -> Iterator[Block]:
    """The lines that stand there, of which each is looked at."""
    told = spans_between(source, start, end, number)
    while spans := list(islice(told, _TOGETHER)):
        numbers, starts, ends = map(list, zip(*spans, strict=True))
        lengths = list(map(sub, ends, starts))
        yield Block(numbers, starts, lengths, mixed=_looked_at(source.data, spans))


def _looked_at(data: memoryview, spans: list[Span]) -> list[Fields | None]:
    """The fields of each line; None for one that is spelled with blanks, or that may be anything else."""
    found = _decoded(data, spans)
    if len(found) != len(spans):
        return [None] * len(spans)
    same = map(_is_spelled, repeat(data), spans, found)
    return [fields if is_it else None for fields, is_it in zip(found, same, strict=True)]


def _decoded(data: memoryview, spans: list[Span]) -> list[Fields]:
    """The objects of some lines, none where the first line is not one that can be told so, or anything is wrong."""
    _, start, end = spans[0]
    _, _, last = spans[-1]
    if last - start > _LARGEST:
        return []
    try:
        first = _lines(data[start:end])
        return _lines(data[start:last]) if len(first) == 1 and _is_spelled(data, spans[0], first[0]) else []
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return []


def _is_spelled(data: memoryview, span: Span, fields: Fields) -> bool:
    """Whether a line is these fields, written without blanks."""
    _, start, end = span
    try:
        return _write(fields) == bytes(data[start:end])
    except UnicodeEncodeError:  # a key with a lone surrogate
        return False
