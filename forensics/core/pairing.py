"""Which call does this result answer? The nearest preceding unanswered call with that id, then name, then order.

What stays ambiguous is said to be so and never guessed: it makes the calls not injectable (CONTRACT: injectable).
"""

from __future__ import annotations

from array import array
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import msgspec

from forensics.core.jsonvalue import equal_values, value_of
from forensics.core.late import late
from forensics.core.places import NOWHERE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from forensics.core.trace import Call, Calls, Payload


class How(StrEnum):
    """By what a result was paired with its call."""

    ID = "id"
    NAME = "name"
    ORDER = "order"
    ECHO = "order, and the arguments that the result repeats"


class Batch:
    """Open calls of one turn that a result might answer alike, in order of request. `fresh` are those that nothing has
    called ambiguous yet, so that a batch of any size is marked once; answered ones may still stand in it.
    """

    __slots__ = ("calls", "fresh")

    def __init__(self) -> None:
        self.calls: dict[int, None] = {}
        self.fresh: list[int] = []

    def first(self) -> int:
        """The call that was asked for first."""
        return next(iter(self.calls))

    def take_fresh(self) -> tuple[int, ...]:
        """The calls that were not called ambiguous before, in order; they are from now on."""
        taken = tuple(sorted({call for call in self.fresh if call in self.calls}))
        self.fresh.clear()
        return taken


class Match(msgspec.Struct, frozen=True, gc=False):
    """The call that a result answers (a row of the trace's calls), by what, and the batch whose other calls it might
    answer as well (None: certain).
    """

    call: int
    how: How
    rivals: Batch | None = None


class OpenCalls:
    """The calls of one lane that still wait for something (an execution, or a result in a prompt).

    They are told apart from the first time that any is asked for, by id, and by tool and turn, from the first time that
    this is: a format that records executions and no prompts never asks. Every operation is constant, so that a thousand
    open calls cost what one costs.
    """

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._by_id: dict[str, dict[int, Batch]] | None = None
        self._waiting: dict[int, None] | None = None
        self._added = array("i")
        self._placed: dict[tuple[str, bool], dict[int, Batch]] | None = None

    def add(self, call: int) -> None:
        """A call begins to wait."""
        if self._waiting is None:
            self._added.append(call)
            return
        if call not in self._waiting:
            self._added.append(call)
        self._waiting[call] = None
        if self._by_id is not None:
            self._identify(self._by_id, call)
        if self._placed is not None:
            self._place(self._placed, call)

    def add_all(self, calls: Sequence[int]) -> None:
        """Several calls begin to wait."""
        if self._waiting is None:
            self._added.extend(calls)
            return
        for call in calls:
            self.add(call)

    @property
    def _open(self) -> dict[int, None]:
        """The open calls, in the order in which they were added."""
        if self._waiting is None:
            self._waiting = dict.fromkeys(self._added)
            self._added = array("i", self._waiting)
        return self._waiting

    def remove(self, call: int) -> None:
        """A call waits no longer. Its id and turn must be those that it was added with."""
        self._open.pop(call, None)
        turn = self._calls.turn(call)
        recorded_id = None if self._by_id is None else self._calls.recorded_id(call)
        if recorded_id and self._by_id is not None:
            _drop(self._by_id, recorded_id, turn, call)
        if self._placed is not None:
            for key in _places(self._calls[call]):
                _drop(self._placed, key, turn, call)

    def __iter__(self) -> Iterator[int]:
        """The open calls, in the order in which they were added."""
        return iter(tuple(self._open))

    def added(self) -> list[int]:
        """The open calls that were added since this was asked for last, in the order in which they were added."""
        waiting = self._open
        latest = [*dict.fromkeys(reversed(self._added))][::-1]
        self._added = array("i")
        return [call for call in latest if call in waiting]

    def with_id(self, recorded_id: str) -> Batch | None:
        """The open calls of the latest turn with that id."""
        return _latest(self._by_ids().get(recorded_id))

    def only(self, recorded_id: str) -> int:
        """The one open call with that id; -1 where none is or several are."""
        held = self.with_id(recorded_id)
        return held.first() if held is not None and len(held.calls) == 1 else NOWHERE

    def holds_any(self, recorded_ids: Iterable[str]) -> bool:
        """Whether a call with one of these ids is open."""
        return not self._by_ids().keys().isdisjoint(recorded_ids)

    def latest(self, tool: str = "", *, without_id: bool = False) -> Batch | None:
        """The open calls of the latest turn that has any for that tool (any tool: ""), perhaps only those without an
        id.
        """
        if self._placed is None:
            self._placed = {}
            for call in self._open:
                self._place(self._placed, call)
        return _latest(self._placed.get((tool, without_id)))

    def _by_ids(self) -> dict[str, dict[int, Batch]]:
        if self._by_id is None:
            self._by_id = {}
            for call in self._open:
                self._identify(self._by_id, call)
        return self._by_id

    def _identify(self, by_id: dict[str, dict[int, Batch]], call: int) -> None:
        recorded_id = self._calls.recorded_id(call)
        if recorded_id:
            _put(by_id, recorded_id, self._calls.turn(call), call)

    def _place(self, placed: dict[tuple[str, bool], dict[int, Batch]], call: int) -> None:
        one = self._calls[call]
        for key in _places(one):
            _put(placed, key, one.turn, call)


def _places(call: Call) -> tuple[tuple[str, bool], ...]:
    """Under which tool (or any, "") and among which calls (all, or those without an id) a call is found."""
    if call.recorded_id:
        return ((call.tool, False), ("", False))
    return ((call.tool, False), ("", False), (call.tool, True), ("", True))


def _put(table: dict[Any, dict[int, Batch]], key: Any, turn: int, call: int) -> None:
    batch = table.setdefault(key, {}).setdefault(turn, Batch())
    batch.calls[call] = None
    batch.fresh.append(call)


def _drop(table: dict[Any, dict[int, Batch]], key: Any, turn: int, call: int) -> None:
    turns = table.get(key, {})
    batch = turns.get(turn)
    if batch is None:
        return
    batch.calls.pop(call, None)
    if not batch.calls:
        del turns[turn]
        if not turns:
            del table[key]


def _latest(turns: dict[int, Batch] | None) -> Batch | None:
    return turns[next(reversed(turns))] if turns else None


def find_answered(
    calls: Calls, waiting: OpenCalls, recorded_id: str | None, tool: str, result: Payload | None
) -> Match | None:
    """The call that a result answers, or None for an orphan."""
    if recorded_id:
        held = waiting.with_id(recorded_id)
        if held is not None:
            return Match(held.first(), How.ID, held if len(held.calls) > 1 else None)
    return _by_place(calls, waiting.latest(tool, without_id=bool(recorded_id)), How.NAME if tool else How.ORDER, result)


def _by_place(calls: Calls, batch: Batch | None, how: How, result: Payload | None) -> Match | None:
    if batch is None:
        return None
    first = batch.first()
    if len(batch.calls) == 1:
        return Match(first, how)
    if len(batch.calls) <= COMPARED and _echoes(calls, batch, result):
        return Match(first, How.ECHO)
    return Match(first, How.ORDER, batch)


COMPARED = 64
"""Calls of one batch up to which a result is compared with each; a larger batch without ids is ambiguous anyway."""


def _echoes(calls: Calls, batch: Batch, result: Payload | None) -> bool:
    """Whether what the result repeats of the arguments fits the first call of the batch and no other."""
    fits = [_fit(calls[call], result) for call in batch.calls]
    return fits[0] > 0 and all(fit < 0 for fit in fits[1:])


_SEPARATED = late(r"[^0-9a-z]+")


def same_tool(one: str, other: str) -> bool:
    """Whether two names may be one tool's: the same words, perhaps behind a prefix (`mcp__server__read`, `ns.read`)."""
    a, b = (_SEPARATED.sub(" ", name.lower()).strip() for name in (one, other))
    return a == b or a.endswith(f" {b}") or b.endswith(f" {a}")


def _fit(call: Call, result: Payload | None) -> int:
    """How a result's repeated arguments fit a call: 1 they agree, -1 one differs, 0 it repeats none."""
    if result is None or call.arguments is None:
        return 0
    asked, got = value_of(call.arguments), value_of(result)
    if not isinstance(asked, dict) or not isinstance(got, dict):
        return 0
    shared = [k for k in asked if k in got]
    if not shared:
        return 0
    return 1 if all(equal_values(asked[k], got[k]) for k in shared) else -1
