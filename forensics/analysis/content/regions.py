"""Where in the JSON of an evidence does a byte stand? The smallest value around it that is cheap to decode, and its
JSON Pointer.

Bytes are visited in ascending order. A large container is split once into its members by the decoder itself (it passes
over what it need not build), and kept as long as bytes fall into it: the whole costs one pass a level of nesting.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from forensics.core.late import late
from forensics.core.pointers import escape

if TYPE_CHECKING:
    from collections.abc import Callable

SMALL = 16_384
"""Bytes of a value that is decoded as it is."""

_PASSED = 1 << 16  # bytes in which the ends of lines are looked for together
_BOM = b"\xef\xbb\xbf"
_GAP = late(rb"[\s,]*")
_MEMBER = late(rb'[\s,]*("(?:[^"\\]|\\.)*")\s*:\s*', re.DOTALL)
_OPENS = late(rb"\s*([\[{])")
_DEEPEST = 64  # levels that are split; below, the rest is looked at as text
_raw = msgspec.json.Decoder(msgspec.Raw)
_items = msgspec.json.Decoder(list[msgspec.Raw])
_members = msgspec.json.Decoder(dict[str, msgspec.Raw])
_text = msgspec.json.Decoder(str)


class Region(msgspec.Struct, frozen=True, gc=False):
    """A part of the evidence: its offsets, the JSON Pointer that leads to it from its record, the name of the field
    that holds it, and whether it is one JSON value.
    """

    start: int
    end: int
    pointer: str
    key: str | None
    is_json: bool


class _Members(msgspec.Struct, frozen=True, gc=False):
    starts: array[int]
    ends: array[int]
    names: list[str] | None


class _Open(msgspec.Struct, frozen=True, gc=False):
    """A container on the way to the current byte."""

    region: Region
    members: _Members


class Regions:
    """Finds the region of each offset; offsets ascend. `find(needle, start)` is that of the source."""

    def __init__(self, data: memoryview, find: Callable[[bytes, int], int]) -> None:
        self._data = data
        self._find = find
        self._way: list[_Open] = []
        self._first = len(_BOM) if bytes(data[: len(_BOM)]) == _BOM else 0
        self._whole = _is_json(data[self._first :])
        self._start, self._end = 0, -1
        self._counted, self._line = 0, 1

    @property
    def structured(self) -> bool:
        """Whether the evidence is JSON, or its first line is: then all that a reader takes from it stands in it."""
        if self._whole:
            return True
        end = self._find(b"\n", self._first)
        return _is_json(self._data[self._first : len(self._data) if end < 0 else end])

    def around(self, offset: int) -> Region:
        """The region of the byte at this offset."""
        while self._way and offset >= self._way[-1].region.end:
            self._way.pop()
        region = self._member_of(self._way[-1], offset) if self._way else self._record(offset)
        while region.is_json and region.start <= offset and region.end - region.start > SMALL:
            members = self._split(region) if len(self._way) < _DEEPEST else None
            if members is None:
                break
            self._way.append(_Open(region, members))
            region = self._member_of(self._way[-1], offset)
        return region

    def names_beside(self) -> list[str]:
        """The names of the members of the container that was split last; none of a list."""
        return (self._way[-1].members.names or []) if self._way else []

    def line_of(self, region: Region) -> int | None:
        """The number of the line that holds a region, from 1; None where the evidence has no lines. Regions ascend."""
        if self._whole:
            return None
        for at in range(self._counted, region.start, _PASSED):
            self._line += bytes(self._data[at : min(at + _PASSED, region.start)]).count(b"\n")
        self._counted = max(self._counted, region.start)
        return self._line

    def _record(self, offset: int) -> Region:
        """The whole document, or the line."""
        if self._whole:
            return Region(self._first, len(self._data), "", None, is_json=True)
        return self._line_at(offset)

    def _line_at(self, offset: int) -> Region:
        if self._end < offset:
            self._start = self._line_before(offset)
            end = self._find(b"\n", offset)
            self._end = len(self._data) if end < 0 else end
        start = max(self._start, self._first)
        line = self._data[start : self._end]
        return Region(start, self._end, "", None, is_json=_is_json(line))

    def _line_before(self, offset: int) -> int:
        """Where the line begins in which an offset stands, which is behind the line before."""
        least = self._end + 1
        for end in range(offset, least, -_PASSED):
            start = max(end - _PASSED, least)
            found = bytes(self._data[start:end]).rfind(b"\n")
            if found >= 0:
                return start + found + 1
        return least

    def _member_of(self, opened: _Open, offset: int) -> Region:
        """The member of a container that holds the byte, or whose name does: the one that begins behind it."""
        region, members = opened.region, opened.members
        starts, ends, names = members.starts, members.ends, members.names
        at = bisect_right(starts, offset) - 1
        if at < 0 or offset >= ends[at]:
            at += 1
        if at == len(starts):
            return replace(region, start=offset, end=region.end, is_json=False)
        token = str(at) if names is None else names[at]
        pointer = f"{region.pointer}/{escape(token)}"
        key = region.key if names is None else token
        return Region(starts[at], ends[at], pointer, key, is_json=True)

    def _split(self, region: Region) -> _Members | None:
        """Where the members of a container stand; None of a scalar, and of one in which a name stands twice."""
        data = self._data[: region.end]
        opens = _OPENS.match(data, region.start)
        if opens is None:
            return None
        part = data[region.start :]
        return _list(data, opens.end(), part) if opens.group(1) == b"[" else _object(data, opens.end(), part)


def _is_json(data: memoryview) -> bool:
    """Whether this is one JSON container."""
    if _OPENS.match(data) is None:
        return False
    try:
        _raw.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True


def _list(data: memoryview, position: int, part: memoryview) -> _Members | None:
    starts, ends = array("q"), array("q")
    for item in _items.decode(part):
        gap = _GAP.match(data, position)
        start = gap.end() if gap is not None else position
        position = start + memoryview(item).nbytes
        starts.append(start)
        ends.append(position)
    return _Members(starts, ends, None)


def _object(data: memoryview, position: int, part: memoryview) -> _Members | None:
    starts, ends, names = array("q"), array("q"), list[str]()
    members = _members.decode(part)
    for _ in members:
        named = _MEMBER.match(data, position)
        name = None if named is None else _text.decode(bytes(named.group(1)))
        if named is None or name not in members:
            return None
        position = named.end() + memoryview(members[name]).nbytes
        starts.append(named.end())
        ends.append(position)
        names.append(name)
    closes = _GAP.match(data, position)
    whole = closes is not None and bytes(data[closes.end() : closes.end() + 1]) == b"}"
    return _Members(starts, ends, names) if whole else None
