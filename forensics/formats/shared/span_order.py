"""In which order did the spans of one trace happen, and what hangs under what? Parent links and call ids beat clocks.

A span comes after its parent, a tool after the model turn that asked for it, a model turn after the tools whose results
it was shown; only where none of these says anything do the clocks decide, and where they tie the order of the request,
then the id. The order of the spans in the file is never used, so a shuffled file gives the same trace.
"""

from __future__ import annotations

import math
from array import array
from heapq import heapify, heappop, heappush
from itertools import chain, groupby
from operator import attrgetter, lt
from typing import TYPE_CHECKING

import msgspec

from forensics.formats.shared.span_joins import parents_of
from forensics.formats.shared.span_rows import TraceSpans

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from forensics.formats.shared.span_names import Role
    from forensics.formats.shared.spans import Span

NO_PARENT = -1
_TOGETHER = 512
_GRAINS = (1_000_000_000, 1_000_000, 1_000, 256)
"""Clock resolutions in nanoseconds, coarsest first; 256 is the spacing of a double at today's epoch."""


class Tree(msgspec.Struct):
    """The spans of one trace, in an order that does not depend on the file, and what hangs under what.

    `parent[i]` is a row or -1; `missing` lists the parents that are named and not there with their orphans; `cyclic`
    the rows at which a cycle of parent links was cut; `down` all rows, parents first.
    """

    spans: TraceSpans
    parent: array[int]
    children: Children
    missing: dict[str, array[int]]
    cyclic: list[int]
    down: array[int]
    depth: array[int]
    roots: array[int]

    def forget_order(self) -> None:
        """Forget what hangs under what, when the order is known in which spans are told: roots are kept."""
        self.missing = {}
        self.parent, self.children, self.down, self.depth = array("i"), Children(()), array("i"), array("i")


class Children:
    """What hangs under each row, in order: the first child of each, and the next one beside it; eight bytes a row."""

    def __init__(self, parent: Sequence[int]) -> None:
        self._first = array("i", [NO_PARENT]) * len(parent)
        self._beside = array("i", [NO_PARENT]) * len(parent)
        first, beside = self._first, self._beside
        for row in range(len(parent) - 1, -1, -1):
            above = parent[row]
            if above != NO_PARENT:
                beside[row] = first[above]
                first[above] = row

    def __getitem__(self, row: int) -> list[int]:
        found: list[int] = []
        child = self._first[row]
        while child != NO_PARENT:
            found.append(child)
            child = self._beside[child]
        return found

    def has(self, row: int) -> bool:
        """Whether anything hangs under a row."""
        return self._first[row] != NO_PARENT

    def cut(self, row: int, child: int) -> None:
        """Take a child from under a row."""
        held = [one for one in self[row] if one != child]
        for one, after in zip(held, [*held, NO_PARENT][1:], strict=True):
            self._beside[one] = after
        self._first[row] = held[0] if held else NO_PARENT


def sorted_by(spans: Iterable[Span], *fields: str) -> list[Span]:
    """The spans sorted by these fields: by one after the other, which takes no tuple for each of a million spans."""
    found = list(spans)
    for field in reversed(fields):
        found.sort(key=attrgetter(field))
    return found


def build_tree(spans: TraceSpans) -> Tree:
    """Link the spans of one trace. Orphans of one missing parent hang under the root where there is exactly one."""
    ordered = _in_order(spans)
    parent, missing = parents_of(ordered)
    roots = missing.pop("", array("i"))
    if len(roots) == 1:
        for orphans in missing.values():
            for row in orphans:
                parent[row] = roots[0]
    ordered.forget_links()
    size = len(ordered)
    tree = Tree(ordered, parent, Children(parent), missing, [], array("i"), array("i", [0]) * size, roots)
    _link(tree)
    return tree


def _in_order(spans: TraceSpans) -> TraceSpans:
    """The spans by when they began, then when they ended, then their ids."""
    times = array("q", map(_since, spans.starts, spans.ends))
    if all(map(lt, times, times[1:])):
        return spans
    order = list(range(len(spans)))
    if len(set(times)) < len(times):
        ids = [span_id for some, _ in spans.links() for span_id in some]
        order.sort(key=ids.__getitem__)
        order.sort(key=spans.ends.__getitem__)
    order.sort(key=times.__getitem__)
    return spans.picked(order)


def _since(start: int, end: int) -> int:
    return start if start >= 0 else end


def _link(tree: Tree) -> None:
    _walk_down(tree, [r for r, p in enumerate(tree.parent) if p == NO_PARENT])
    is_reached = len(tree.down) == len(tree.spans)
    reached = set[int]() if is_reached else set(tree.down)
    for row in () if is_reached else range(len(tree.spans)):
        if row not in reached:
            tree.cyclic.append(row)
            tree.children.cut(tree.parent[row], row)
            tree.parent[row] = NO_PARENT
            before = len(tree.down)
            _walk_down(tree, [row])
            reached.update(tree.down[before:])


def _walk_down(tree: Tree, level: list[int]) -> None:
    """What hangs under rows that hang under nothing: each row once, as it has one parent. Breadth first, so that no
    depth of nesting exhausts the stack.
    """
    depth = 0
    while level:
        tree.down.extend(level)
        depth += 1
        level = list(chain.from_iterable(map(tree.children.__getitem__, level)))
        for row in level:
            tree.depth[row] = depth


def nearest_above(tree: Tree, roles: Sequence[Role], wanted: frozenset[Role]) -> array[int]:
    """For each row the nearest span above it whose role is one of these, or -1."""
    found = array("i", [NO_PARENT]) * len(tree.spans)
    for row in tree.down:
        parent = tree.parent[row]
        if parent != NO_PARENT:
            found[row] = parent if roles[parent] in wanted else found[parent]
    return found


def grain(times: Iterable[int]) -> int:
    """The resolution (ns) of one clock: the coarsest whose ticks all its times are. Unknown times (-1) say nothing."""
    return _grain_of(_common(0, times))


def _common(so_far: int, times: Iterable[int]) -> int:
    return math.gcd(so_far, *(t for t in times if t >= 0))


def _grain_of(common: int) -> int:
    return next((g for g in _GRAINS if common and common % g == 0), 1)


class Clocks:
    """What the clocks of one trace resolve, each service having its own."""

    def __init__(self, spans: TraceSpans) -> None:
        common: dict[str, int] = {}
        for start in range(0, len(spans), _TOGETHER):
            rows = range(start, min(start + _TOGETHER, len(spans)))
            for service, of_service in groupby(rows, spans.service):
                for row in of_service:
                    times = (spans.starts[row], spans.ends[row])
                    common[service] = _common(common.get(service, 0), times)
        self._grain = {service: _grain_of(found) for service, found in common.items()}

    def runs_backwards(self, before: Span, after: Span) -> bool:
        """Whether a span starts before one that it must follow, by more than the clocks' resolution hides."""
        if after.start >= before.start or after.start < 0:
            return False
        return before.start - after.start >= max(self._grain[before.service], self._grain[after.service])

    def ends_first(self, span: Span) -> bool:
        """Whether a span ends before it starts, by more than its clock's resolution hides."""
        return 0 <= span.end < span.start and span.start - span.end >= self._grain[span.service]


class Event(msgspec.Struct, frozen=True, gc=False):
    """Entering or leaving a span. `row` is the span's."""

    row: int
    leaving: bool = False


class Events:
    """Events in their order, four bytes each: twice the row for entering a span, twice the row + 1 for leaving it."""

    def __init__(self, numbers: Iterable[int]) -> None:
        self._numbers = array("i", numbers)

    def parts(self, size: int) -> Iterator[list[Event]]:
        """All of them, so many at a time."""
        for start in range(0, len(self._numbers), size):
            yield [Event(number >> 1, bool(number & 1)) for number in self._numbers[start : start + size]]

    def __iter__(self) -> Iterator[Event]:
        return chain.from_iterable(self.parts(_TOGETHER))


def order_events(
    tree: Tree,
    kept: Sequence[int],
    left: frozenset[int],
    precedence: Iterable[tuple[int, int]],
    rank: Callable[[int], int],
) -> Events:
    """The events of the rows `kept`, in causal order. Rows in `left` have a second event when they end; `precedence`
    holds pairs of rows of which the first is finished before the second begins; `rank` breaks ties of time.
    """
    timeline = _Timeline(tree, kept, left, rank)
    for before, after in precedence:
        timeline.require(before, after)
    return Events(timeline.sorted())


class _Timeline:
    """Events as their numbers."""

    def __init__(self, tree: Tree, kept: Sequence[int], left: frozenset[int], rank: Callable[[int], int]) -> None:
        self.tree = tree
        self.left = left
        self.rank = rank
        self.kept = bytearray(len(tree.spans))
        for row in kept:
            self.kept[row] = 1
        self._before, self._after = array("i"), array("i")  # events of which the one comes before the other
        self.numbers = array("i", (2 * row for row in kept))
        self.numbers.extend(2 * row + 1 for row in kept if row in left)
        self._nest(kept)

    def _nest(self, kept: Sequence[int]) -> None:
        """A span is entered after the nearest kept span above it, and left after all that lies below."""
        above = self._kept_above()
        for row in kept:
            over = above[row]
            if row in self.left:
                self._edge(2 * row, 2 * row + 1)
            if over != NO_PARENT:
                self._edge(2 * over, 2 * row)
                if over in self.left:
                    self._edge(self._last(row), 2 * over + 1)

    def _edge(self, before: int, after: int) -> None:
        self._before.append(before)
        self._after.append(after)

    def _kept_above(self) -> array[int]:
        above = array("i", [NO_PARENT]) * len(self.tree.spans)
        for row in self.tree.down:
            parent = self.tree.parent[row]
            if parent != NO_PARENT:
                above[row] = parent if self.kept[parent] else above[parent]
        return above

    def _last(self, row: int) -> int:
        return 2 * row + 1 if row in self.left else 2 * row

    def require(self, before: int, after: int) -> None:
        self._edge(self._last(before), 2 * after)

    def key(self, number: int) -> tuple[int, int, int, int]:
        row, leaving = divmod(number, 2)
        start, end, depth = self.tree.spans.starts[row], self.tree.spans.ends[row], self.tree.depth[row]
        if leaving:
            return (end if end >= 0 else start, -depth, 0, row)
        return (_since(start, end), depth, self.rank(row), row)

    def sorted(self) -> Sequence[int]:
        """By the clocks where that breaks no rule, else by the rules, the clocks deciding what they leave open."""
        by_clock: Sequence[int] = self.numbers if self._is_in_order() else sorted(self.numbers, key=self.key)
        place = array("i", bytes(array("i").itemsize * 2 * len(self.tree.spans)))
        for at, number in enumerate(by_clock):
            place[number] = at
        before, after = map(place.__getitem__, self._before), map(place.__getitem__, self._after)
        if any(a > b for a, b in zip(before, after, strict=True)):
            by_clock = self._by_rule({number: self.key(number) for number in self.numbers})
        return by_clock

    def _is_in_order(self) -> bool:
        """Whether the rows, as they are ordered, have different times, and none of them a second event."""
        if self.left:
            return False
        known = self.tree.spans.starts
        starts = array("q", (known[number >> 1] for number in self.numbers))
        return (not starts or starts[0] >= 0) and all(map(lt, starts, starts[1:]))

    def _by_rule(self, keys: dict[int, tuple[int, int, int, int]]) -> list[int]:
        """Kahn's topological sort, the earliest key first; rules that contradict each other yield to the clocks."""
        waits = dict.fromkeys(self.numbers, 0)
        after: dict[int, list[int]] = {}
        for a, b in zip(self._before, self._after, strict=True):
            after.setdefault(a, []).append(b)
            waits[b] += 1
        ready = [(keys[n], n) for n in self.numbers if not waits[n]]
        heapify(ready)
        out: list[int] = []
        done: set[int] = set()
        stuck = sorted(self.numbers, key=keys.__getitem__, reverse=True)
        while len(out) < len(self.numbers):
            if not ready:
                while stuck[-1] in done:
                    stuck.pop()
                heappush(ready, (keys[stuck[-1]], stuck[-1]))
            _, number = heappop(ready)
            if number in done:
                continue
            done.add(number)
            out.append(number)
            for later in after.get(number, ()):
                waits[later] -= 1
                if not waits[later] and later not in done:
                    heappush(ready, (keys[later], later))
        return out
