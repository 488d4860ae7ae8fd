"""Where does a written time stand first? A time is made of runs that are all told before, its hour, its minute, its
second, while the time itself may be new; so times are told by their runs in a row.

Most times of a log stand once. A sketch says which may stand again, and only those are kept with their first row.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from forensics.core.late import late

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

    from forensics.analysis.run_blocks import Block, RunBlocks
    from forensics.analysis.runs import Runs

_DAY = rb"[0-9]{4}-[01][0-9]-[0-3][0-9](?:T[0-2][0-9])?"
_END = rb"(?![^ ])"  # of a run
_TIME = late(rb"(?<![^ ])%b(?: [0-9]{1,9}%b){0,6}(?: [0-9]{1,9}Z)?%b" % (_DAY, _END, _END))
_DIGITS = bytes(ord("0") if byte in b"0123456789" else byte for byte in range(256))
_DATE = b"0000-00-00"
_SLOTS = 8  # of the sketch for each time
_MANY = 2


def holds_time(line: bytes) -> bool:
    """Whether runs parted by spaces hold those of a written time."""
    return any(_times(line))


class WrittenTimes:
    """The written times of a trace that may stand in more than one row, as texts of their runs parted by spaces."""

    def __init__(self, blocks: RunBlocks) -> None:
        repeated = _repeated(blocks)
        self._first: dict[bytes, int] = {}
        for rows, block in blocks:
            line, at = 0, 0
            for begin, time in _times(block):
                if time in repeated:
                    line, at = line + block.count(b"\n", at, begin), begin
                    self._first.setdefault(time, rows[line])

    def is_new(self, runs: Runs, row: int) -> bool:
        """Whether these are the runs of a time that no earlier row holds."""
        time = b" ".join(runs)
        return len(runs) > 1 and _TIME.fullmatch(time) is not None and self._first.get(time, row) >= row


class _Sketch:
    """Which times may stand more than once: counters by hash, never fewer than there are times."""

    def __init__(self, hashes: array[int]) -> None:
        self._seen = seen = bytearray(1 << (len(hashes) * _SLOTS).bit_length())
        self._mask = mask = len(seen) - 1
        for number in hashes:
            slot = number & mask
            if seen[slot] < _MANY:
                seen[slot] += 1

    def __contains__(self, time: bytes) -> bool:
        return self._seen[hash(time) & self._mask] == _MANY


def _repeated(blocks: RunBlocks) -> _Sketch:
    return _Sketch(array("q", (hash(time) for block in blocks.blocks for _, time in _times(block))))


def _times(block: Block) -> Iterator[tuple[int, bytes]]:
    """Each time in a block. Behind one without a `Z` another number may stand, so it may end before each of these."""
    for match in _matches(block):
        time = match.group()
        if time.endswith(b"Z"):
            yield match.start(), time
            continue
        at = time.find(b" ")
        while at >= 0:
            at = time.find(b" ", at + 1)
            yield match.start(), time if at < 0 else time[:at]


def _matches(block: Block) -> Iterator[re.Match[bytes]]:
    """Where the pattern holds in a block; it is tried only where the digits of a day stand, which most blocks lack."""
    digits = block.translate(_DIGITS)
    at = digits.find(_DATE)
    while at >= 0:
        match = _TIME.match(block, at)
        if match is not None:
            yield match
        at = digits.find(_DATE, at + 1 if match is None else match.end())
