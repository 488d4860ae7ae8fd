"""Which events of two sequences belong together? Equal ones first, then those of one shape between them, then of one
kind; what is left stands alone.

What is equal at both ends is taken off. Equal keys are then numbered by their occurrence, so that each pair is unique,
and the longest run of pairs in one order is kept (the idea of patience diff). It takes O(n log n) for every input: a
quadratic alignment of two hostile traces of a million steps would never end.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Sequence

    Keys = tuple[Any, ...]
    """The keys of one event from the strictest to the loosest: as many in both sequences, hashable, and in an order."""

Pair = tuple[int | None, int | None]


def aligned(left: Sequence[Keys], right: Sequence[Keys]) -> Iterator[Pair]:
    """The events side by side, as indices of both sequences, in the order of both; None where one has no twin.

    Of several equally long alignments one is chosen by the keys alone, so that swapped sequences are aligned alike.
    """
    if list(left) > list(right):
        yield from ((i, j) for j, i in aligned(right, left))
        return
    levels = len(left[0]) if left else 0
    yield from _between(range(len(left)), range(len(right)), left, right, levels)


def _between(ones: range, others: range, left: Sequence[Keys], right: Sequence[Keys], levels: int) -> Iterator[Pair]:
    """Pair what stands between two anchors, by each level of keys in turn; the depth is the number of levels."""
    level = 0 if not left else len(left[0]) - levels
    if not levels or not ones or not others:
        yield from ((one, None) for one in ones)
        yield from ((None, other) for other in others)
        return
    one, other = ones.start, others.start
    for i, j in _anchors([left[n][level] for n in ones], [right[n][level] for n in others]):
        at, to = ones.start + i, others.start + j
        yield from _between(range(one, at), range(other, to), left, right, levels - 1)
        yield at, to
        one, other = at + 1, to + 1
    yield from _between(range(one, ones.stop), range(other, others.stop), left, right, levels - 1)


def _anchors(left: Sequence[Hashable], right: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Many equal keys that come in one order in both: those at both ends, and between them the longest rise or, where
    that has no more, those that stand at the same place: something changed there rather than came and went.
    """
    most = min(len(left), len(right))
    head = next((n for n in range(most) if left[n] != right[n]), most)
    tail = next((n for n in range(most - head) if left[-1 - n] != right[-1 - n]), most - head)
    ones, others = left[head : len(left) - tail], right[head : len(right) - tail]
    rise = _longest_rise_of(ones, others)
    straight = [(n, n) for n, key in enumerate(ones) if key == others[n]] if len(ones) == len(others) else []
    middle = straight if len(straight) >= len(rise) else rise
    ends = [(len(left) - n, len(right) - n) for n in range(tail, 0, -1)]
    return [*((n, n) for n in range(head)), *((head + i, head + j) for i, j in middle), *ends]


def _longest_rise_of(left: Sequence[Hashable], right: Sequence[Hashable]) -> list[tuple[int, int]]:
    places = {key: j for j, key in enumerate(_numbered(right))}
    shared = [(i, places[key]) for i, key in enumerate(_numbered(left)) if key in places]
    return [shared[n] for n in _longest_rise([j for _, j in shared])]


def _numbered(keys: Iterable[Hashable]) -> Iterator[tuple[Hashable, int]]:
    """Each key with how many equal ones came before it."""
    seen: dict[Hashable, int] = {}
    for key in keys:
        number = seen.get(key, 0)
        seen[key] = number + 1
        yield key, number


def _longest_rise(values: Sequence[int]) -> list[int]:
    """The positions of a longest rising subsequence (patience sorting)."""
    tops: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for position, value in enumerate(values):
        pile = bisect_left(tops, value)
        before.append(ends[pile - 1] if pile else -1)
        tops[pile : pile + 1] = [value]
        ends[pile : pile + 1] = [position]
    found: list[int] = []
    position = ends[-1] if ends else -1
    while position >= 0:
        found.append(position)
        position = before[position]
    return found[::-1]
