"""Where does a written time stand first? A time is made of runs that are all told before, its hour, its minute, its
second, while the time itself may be new; so times are told by their runs in a row.

Most times of a log stand once. A sketch says which may stand again, and only those are kept with their first row.
"""

from __future__ import annotations

import re
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.analysis.run_blocks import Block, RunBlocks
    from forensics.analysis.runs import Runs

_TIME = re.compile(rb"(?<![^ ])[0-9]{4}-[01][0-9]-[0-3][0-9](?:T[0-2][0-9])?(?: [0-9]{1,9}Z?(?![^ ])){1,6}")
_SLOTS = 8  # of the sketch for each time
_MANY = 2


def holds_time(line: bytes) -> bool:
    """Whether runs parted by spaces hold those of a written time."""
    return _TIME.search(line) is not None


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
        return _TIME.fullmatch(time) is not None and self._first.get(time, row) >= row


class _Repeated:
    """Which times may stand more than once: counters by hash, never fewer than there are times."""

    def __init__(self, count: int) -> None:
        self._seen = bytearray(1 << (count * _SLOTS).bit_length())
        self._mask = len(self._seen) - 1

    def add(self, time: bytes) -> None:
        slot = hash(time) & self._mask
        self._seen[slot] = min(self._seen[slot] + 1, _MANY)

    def __contains__(self, time: bytes) -> bool:
        return self._seen[hash(time) & self._mask] == _MANY


def _repeated(blocks: RunBlocks) -> _Repeated:
    found = _Repeated(sum(1 for block in blocks.blocks for _ in _times(block)))
    for block in blocks.blocks:
        for _, time in _times(block):
            found.add(time)
    return found


def _times(block: Block) -> Iterator[tuple[int, bytes]]:
    """Each time in a block, and what begins as it does: another number may stand behind a time that ends before."""
    for match in _TIME.finditer(block):
        day, *numbers = match.group().split(b" ")
        for time in accumulate(numbers, lambda told, number: told + b" " + number, initial=day):
            if time is not day:
                yield match.start(), time
