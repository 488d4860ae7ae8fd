"""Which event of one run stands beside which of the other? Both runs as one list of rows, in the order of the left one.

Events are aligned lane by lane: two agents side by side have no order between them. A pair that says the same and
stands in another order in its lane is one row, marked as moved.
"""

from __future__ import annotations

from functools import partial
from itertools import groupby, takewhile
from typing import TYPE_CHECKING

import msgspec

from forensics.compare.alignment import aligned
from forensics.compare.events import CALL, Event, lanes_of
from forensics.compare.keys import EventKeys

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from forensics.compare.alignment import Pair
    from forensics.compare.keys import Keys


class Row(msgspec.Struct, frozen=True):
    """Two events that belong together, or one alone. `at` is the step of the left run, or where it would stand there;
    `first` marks the first row of a lane, and `number` counts the rows in order.
    """

    lane: str
    at: int
    left: Event | None
    right: Event | None
    moved: bool = False
    first: bool = False
    number: int = 0


class Lane(msgspec.Struct, frozen=True):
    """One lane of both runs: events with their keys."""

    name: str
    left: list[tuple[Event, EventKeys]]
    right: list[tuple[Event, EventKeys]]


class Script(msgspec.Struct, frozen=True):
    """Every row in order, and whether the lanes took turns otherwise: agents side by side promise no order."""

    rows: tuple[Row, ...]
    interleaved: bool


def script(left: tuple[Event, ...], right: tuple[Event, ...], keys: tuple[Keys, Keys]) -> Script:
    """Set two runs side by side."""
    lanes: dict[str, Lane] = {}
    for side, events, names in zip((0, 1), (left, right), lanes_of(left, right), strict=True):
        for event, name, key in zip(events, names, keys[side].of_all(events), strict=True):
            lane = lanes.setdefault(name, Lane(name, [], []))
            (lane.right if side else lane.left).append((event, key))
    placed = sorted((place for lane in lanes.values() for place in _placed(lane)), key=lambda one: one[0])
    rows = tuple(msgspec.structs.replace(row, number=number) for number, (_, row) in enumerate(placed))
    return Script(rows, len(lanes) > 1 and _interleaved(rows))


_Order = tuple[int, int, str, int]


def _placed(lane: Lane) -> Iterator[tuple[_Order, Row]]:
    """The rows of a lane, each with its place in the order of the left run."""
    pairs = list(_calls_first(lane, aligned([keys for _, keys in lane.left], [keys for _, keys in lane.right])))
    moved = _moved(lane, pairs)
    taken = set(moved.values())
    steps = [event.step for event, _ in lane.left]
    before = -1
    for number, (i, j) in enumerate(pairs):
        if i is None and j in taken:
            continue
        twin = moved.get(i) if j is None and i is not None else j
        if i is not None:
            before = i
        at = steps[before if i is not None else min(before + 1, len(steps) - 1)] if steps else 0
        order = (-1 if before < 0 else steps[before], int(i is None), lane.name, number)
        row = Row(
            lane=lane.name,
            at=at,
            left=None if i is None else lane.left[i][0],
            right=None if twin is None else lane.right[twin][0],
            moved=i is not None and i in moved,
            first=not number,
        )
        yield order, row


def _calls_first(lane: Lane, pairs: Iterable[Pair]) -> Iterator[Pair]:
    """The same pairs, and between two that belong together those of the left run first; but where the right run went on
    with calls that no turn asked for, and the left one with something else, those calls: they are what was done
    otherwise, and that another turn came there follows.
    """
    for alone, several in groupby(pairs, key=lambda pair: None in pair):
        found = list(several)
        if not alone:
            yield from found
            continue
        lefts, rights = ([pair for pair in found if pair[side] is not None] for side in (0, 1))
        calls = [] if lefts and _is_call(lane, lefts[0]) else list(takewhile(partial(_is_call, lane), rights))
        yield from (*calls, *lefts, *rights[len(calls) :])


def _is_call(lane: Lane, pair: Pair) -> bool:
    i, j = pair
    event = lane.left[i][0] if i is not None else lane.right[j][0] if j is not None else None
    return event is not None and event.kind == CALL


def _moved(lane: Lane, pairs: Sequence[tuple[int | None, int | None]]) -> dict[int, int]:
    """The events left alone on both sides that say the same: they stand in another order."""
    alone: dict[bytes, list[int]] = {}
    for i, j in pairs:
        if i is None and j is not None:
            alone.setdefault(lane.right[j][1][0], []).append(j)
    free = {key: iter(places) for key, places in alone.items()}
    lefts = (i for i, j in pairs if j is None and i is not None)
    found = ((i, next(free.get(lane.left[i][1][0], iter(())), None)) for i in lefts)
    return {i: j for i, j in found if j is not None}


def _interleaved(rows: Iterable[Row]) -> bool:
    """Whether the paired events of all lanes come in two orders, though each lane keeps its own."""
    steps = [row.right.step for row in rows if row.left is not None and row.right is not None and not row.moved]
    return steps != sorted(steps)
