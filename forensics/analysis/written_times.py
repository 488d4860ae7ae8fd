"""Where does a written time stand first? A time is made of runs that are all told before, its hour, its minute, its
second, while the time itself may be new; so times are told by their runs in a row.

Most times of a log stand once. A sketch says which may stand again, and only those are kept with their first row.
"""

from __future__ import annotations

from array import array
from itertools import chain
from typing import TYPE_CHECKING

from forensics.analysis.runs import END
from forensics.core.late import late

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Iterator

    from forensics.analysis.run_blocks import RunBlocks
    from forensics.analysis.runs import Runs

_DAY = rb"[0-9]{4}-[01][0-9]-[0-3][0-9](?:T[0-2][0-9])?"
_END = rb"(?![^ ])"  # of a run
_TIME = late(rb"(?<![^ ])%b(?: [0-9]{1,9}%b){0,6}(?: [0-9]{1,9}Z)?%b" % (_DAY, _END, _END))
_IS_DAY = late(_DAY)
_MOST_RUNS = 8  # of one time: its day, six numbers, and one with a Z
_DIGITS = bytes(ord("0") if byte in b"0123456789" else byte for byte in range(256))
_DATE = b"0000-00-00"
_SLOTS = 8  # of the sketch for each time
_LEAST_SLOTS = 1 << 14  # so that among few times hardly any two share one, whatever the seed of the hashes is
_MANY = 2
_FEWEST_RUNS = 2  # of a time that is told: its day and a number


def holds_time(line: bytes) -> bool:
    """Whether runs parted by spaces hold those of a written time."""
    return any(_times(line))


def written_times(line: bytes) -> list[bytes]:
    """The times in runs parted by spaces, each once and as long as it may be."""
    return list(dict.fromkeys(match.group() for match in _matches(line)))


def begun(runs: Runs) -> int:
    """Where in these runs a time begins that the runs behind them may go on; behind the last one where none does."""
    for at in range(len(runs) - 1, max(len(runs) - _MOST_RUNS, -1), -1):
        if _IS_DAY.fullmatch(runs[at]):
            return at
        if not runs[at].isdigit():
            break
    return len(runs)


class WrittenTimes:
    """The written times of a trace that may stand in more than one row, as texts of their runs parted by spaces."""

    def __init__(self, blocks: RunBlocks) -> None:
        self._first: dict[bytes, int] = {}
        spans = [_spans(block.text) for block in blocks.blocks]
        self._sketch = sketch = _Sketch(
            chain.from_iterable(hashes for _, _, hashes in spans), sum(len(one[0]) for one in spans)
        )
        for block, (begins, ends, hashes) in zip(blocks.blocks, spans, strict=True):
            line = at = 0
            for begin, end, number in zip(begins, ends, hashes, strict=True):
                if sketch.count(number) == _MANY:
                    line, at = line + block.text.count(END, at, begin), begin
                    self._first.setdefault(block.text[begin:end], block.rows[line])

    def is_new(self, runs: Runs, row: int) -> bool:
        """Whether these are the runs of a time that no earlier row holds."""
        time = b" ".join(runs)
        return len(runs) > 1 and _TIME.fullmatch(time) is not None and self._first.get(time, row) >= row

    def stands_once(self, runs: Runs) -> bool:
        """Whether these are the runs of a time with a `Z` that stands nowhere else, whatever letters follow it there:
        with such, its numbers would be told as a time without their end.
        """
        time = b" ".join(runs)
        if len(runs) <= _FEWEST_RUNS or not time.endswith(b"Z") or _TIME.fullmatch(time) is None:
            return False
        count = self._sketch.count
        return count(hash(time)) < _MANY and not count(hash(b" ".join(runs[:-1])))


class _Sketch:
    """Which times may stand more than once, by their hashes, of which there are so many: counters that are never less
    than there are times.
    """

    def __init__(self, hashes: Iterable[int], count: int) -> None:
        self._seen = seen = bytearray(max(_LEAST_SLOTS, 1 << (count * _SLOTS).bit_length()))
        self._mask = mask = len(seen) - 1
        for number in hashes:
            slot = number & mask
            if seen[slot] < _MANY:
                seen[slot] += 1

    def count(self, number: int) -> int:
        """How often a time of that hash may stand, at most: 0, once, or more often (_MANY)."""
        return self._seen[number & self._mask]


def _spans(text: bytes) -> tuple[array[int], array[int], array[int]]:
    """Of each time in a text, where it begins and ends, and its hash."""
    begins, ends, hashes = array("i"), array("i"), array("q")
    for begin, time in _times(text):
        begins.append(begin)
        ends.append(begin + len(time))
        hashes.append(hash(time))
    return begins, ends, hashes


def _times(text: bytes) -> Iterator[tuple[int, bytes]]:
    """Each time in a text. Behind one without a `Z` another number may stand, so it may end before each of these."""
    for match in _matches(text):
        time = match.group()
        if time.endswith(b"Z"):
            yield match.start(), time
            continue
        at = time.find(b" ")
        while at >= 0:
            at = time.find(b" ", at + 1)
            yield match.start(), time if at < 0 else time[:at]


def _matches(text: bytes) -> Iterator[re.Match[bytes]]:
    """Where the pattern holds in a text; it is tried only where the digits of a day stand, which most texts lack."""
    digits = text.translate(_DIGITS)
    at = digits.find(_DATE)
    while at >= 0:
        match = _TIME.match(text, at)
        if match is not None:
            yield match
        at = digits.find(_DATE, at + 1 if match is None else match.end())
