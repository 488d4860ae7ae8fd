"""How are millions of edges brought into order without a loop over each? As numbers of 64 bits, many at a time.

An edge is a key: its source above, and below it the word that an adjacency keeps, its target (26 bits) and its code (6:
kind and basis). Sorting keys sorts edges. What has to be done to every word is done to a block of them at once: a block
is read as one long integer, in which each word is a lane of 32 bits that never overflows into the next (Lamport,
"Multiple byte processing with full-word instructions", 1975).

Keys are sorted as doubles: positive ones are in the order of their bits, and a list of them is smaller, and sooner
sorted, than one of long numbers. One bit in all keys makes each a normal double, whatever a processor does with others.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left
from collections.abc import Callable
from functools import lru_cache, partial
from itertools import groupby
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

CODE_BITS, BASIS_BITS, ROW_BITS = 6, 2, 26
CODE = (1 << CODE_BITS) - 1
ROW_LIMIT = 1 << ROW_BITS
"""How many rows a graph can have."""

_WORD_BITS = 32
_ROW, _WORD, _KEY = ROW_LIMIT - 1, (1 << _WORD_BITS) - 1, (1 << 64) - 1
_MARK = 1 << 30  # in the upper half of every key: the exponent of a normal double
_BELOW, _ABOVE = (0, 1) if sys.byteorder == "little" else (1, 0)  # the halves of a key, as words
_BLOCK = 1 << 15  # words: 128 KiB, so that a block stays near the processor
_RUN = 1 << 16  # keys that are sorted as a list of numbers: 2 MB
_SAMPLED = 1 << 10  # of so many keys one says where a range ends


def key_of(source: int, target: int, code: int) -> int:
    """The key of one edge. Raises IndexError for a row that no graph can have."""
    if not (0 <= source < ROW_LIMIT and 0 <= target < ROW_LIMIT):
        raise IndexError(f"no edge can join the rows {source} and {target}")
    return (_MARK | source) << _WORD_BITS | target << CODE_BITS | code


def keys_of(sources: Sequence[int], targets: Sequence[int], code: int) -> array[int]:
    """The keys of edges with one code. Raises IndexError for a row that no graph can have, and ValueError where there
    are more of one than of the other.
    """
    if len(sources) != len(targets):
        raise ValueError(f"{len(sources)} sources and {len(targets)} targets")
    try:
        above, ends = array("I", sources), array("I", targets)
    except OverflowError:
        raise IndexError("no edge can join a row below 0 or beyond 32 bits") from None
    if any((row | end) & each(_WORD - _ROW) for each, row, end in _blocks(above, ends)):
        raise IndexError(f"no edge can join a row beyond {ROW_LIMIT - 1}")
    return _joined(above, _column((each, end << CODE_BITS | each(code)) for each, end in _blocks(ends)))


def sources_of(keys: array[int]) -> array[int]:
    """The source of each key."""
    above = array("I", _halves(keys)[_ABOVE::2].tobytes())
    return _column((each, half & each(_ROW)) for each, half in _blocks(above))


def words_of(keys: array[int]) -> array[int]:
    """The lower half of each key: target and code."""
    return array("I", _halves(keys)[_BELOW::2].tobytes())


def turned(keys: array[int]) -> array[int]:
    """The keys of the same edges with source and target exchanged, each at the place where it was."""
    above, below = sources_of(keys), words_of(keys)
    ends = _column((each, word >> CODE_BITS & each(_ROW)) for each, word in _blocks(below))
    both = _blocks(above, below)
    return _joined(ends, _column((each, row << CODE_BITS | word & each(CODE)) for each, row, word in both))


# order ---------------------------------------------------------------------------------------------------------------


def in_order(keys: array[int]) -> array[int]:
    """The keys sorted. `keys` lose the order that they had.

    As one list they would take four times their memory. So they are sorted in runs, where they stand, and the runs are
    merged range by range, as one sorts what does not fit into memory (Knuth, "Sorting and Searching", 5.4).
    """
    doubles = memoryview(keys).cast("B").cast("d")
    for start in range(0, len(keys), _RUN):
        if not _rises(keys[start : start + _RUN]):
            doubles[start : start + _RUN] = array("d", sorted(doubles[start : start + _RUN].tolist()))
    found = array("Q")
    for part in _ranges(keys, doubles):
        found.frombytes(array("d", sorted(part)).tobytes())
    return found


def distinct(keys: array[int]) -> array[int]:
    """Of sorted keys that differ in basis alone, the strongest (the smallest)."""
    if _rises(keys, BASIS_BITS):
        return keys
    return array("Q", (next(same) for _, same in groupby(keys, lambda key: key >> BASIS_BITS)))


def _ranges(runs: array[int], doubles: memoryview[float]) -> Iterator[list[float]]:
    """The keys of all runs from one splitter to the next."""
    sample = sorted(runs[_SAMPLED - 1 :: _SAMPLED])
    begun = list(range(0, len(runs), _RUN))
    ends = [*begun[1:], len(runs)]
    for splitter in [*sample[_RUN // _SAMPLED - 1 :: _RUN // _SAMPLED], _KEY]:
        part: list[float] = []
        for run, (start, end) in enumerate(zip(begun, ends, strict=False)):
            begun[run] = bisect_left(runs, splitter, start, end)
            part += doubles[start : begun[run]].tolist()
        yield part


def _rises(keys: array[int], but: int = 0) -> bool:
    """Whether each key is above the one before it, with so many of their last bits aside."""
    view, least = memoryview(keys), 1 << but
    pairs = _blocks(view[:-1], view[1:])
    if not but:
        return all(_is_below(before, after, each, _KEY) for each, before, after in pairs)
    return all(
        _is_below(before & each(_KEY - least + 1), after & each(_KEY - least + 1), each, _KEY)
        for each, before, after in pairs
    )


# lanes ---------------------------------------------------------------------------------------------------------------

Each = Callable[[int], int]
"""Puts one number into every lane of a block."""


def _blocks(*columns: array[int] | memoryview[int]) -> Iterator[tuple[Any, ...]]:
    """These columns as long integers, a block of each at a time, after what fills the lanes of such a block."""
    width = columns[0].itemsize
    for start in range(0, len(columns[0]), _BLOCK):
        blocks = [column[start : start + _BLOCK].tobytes() for column in columns]
        yield partial(_filled, len(blocks[0]), width), *(int.from_bytes(block, sys.byteorder) for block in blocks)


@lru_cache(maxsize=32)
def _filled(size: int, width: int, value: int) -> int:
    return int.from_bytes(value.to_bytes(width, sys.byteorder) * (size // width), sys.byteorder)


def _column(blocks: Iterable[tuple[Any, int]]) -> array[int]:
    """The column of words that these blocks are."""
    made = array("I")
    for each, lanes in blocks:
        made.frombytes(lanes.to_bytes(each.args[0], sys.byteorder))
    return made


def _is_below(less: int, more: int, each: Each, greatest: int) -> bool:
    """Whether `less` is below `more` in every lane: then the top bit of no lane is borrowed from."""
    top = each(greatest // 2 + 1)
    return (more | top) - less - each(1) & top == top


def _halves(keys: array[int]) -> memoryview[int]:
    return memoryview(keys).cast("B").cast("I")


def _joined(above: array[int], below: array[int]) -> array[int]:
    """The keys of their sources and words."""
    keys = array("Q", bytes(8 * len(above)))
    marked = _column((each, row | each(_MARK)) for each, row in _blocks(above))
    halves = _halves(keys)
    halves[_ABOVE::2], halves[_BELOW::2] = memoryview(marked), memoryview(below)
    return keys
