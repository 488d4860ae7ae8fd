"""Which call does this result answer? The nearest preceding unanswered call with that id, then name, then order.

What stays ambiguous is said to be so and never guessed: it makes the calls not injectable (CONTRACT: injectable).
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

import msgspec

from forensics.core.jsonvalue import equal_values, value_of

if TYPE_CHECKING:
    from forensics.core.trace import Call, Payload


class How(StrEnum):
    """By what a result was paired with its call."""

    ID = "id"
    NAME = "name"
    ORDER = "order"
    ECHO = "order, and the arguments that the result repeats"


class Match(msgspec.Struct, frozen=True, gc=False):
    """The call that a result answers (a row of the trace's calls), and the others that it might answer as well."""

    call: int
    how: How
    rivals: tuple[int, ...] = ()


class OpenCalls:
    """The calls of one lane that still wait for something (an execution, or a result in a prompt), by id and in order."""

    def __init__(self, calls: list[Call]) -> None:
        self._calls = calls
        self._by_id: dict[str, list[int]] = {}
        self._turns: dict[int, list[int]] = {}

    def add(self, call: int) -> None:
        one = self._calls[call]
        if one.recorded_id:
            self._by_id.setdefault(one.recorded_id, []).append(call)
        self._turns.setdefault(one.turn, []).append(call)

    def remove(self, call: int) -> None:
        one = self._calls[call]
        if one.recorded_id:
            _drop(self._by_id, one.recorded_id, call)
        _drop(self._turns, one.turn, call)

    def holds(self, recorded_id: str) -> tuple[int, ...]:
        """The open calls with that id, oldest first."""
        return tuple(self._by_id.get(recorded_id, ()))

    def latest(self, tool: str = "", *, without_id: bool = False) -> tuple[int, ...]:
        """The open calls of the latest turn that has any for that tool (any tool: ""), in order of request."""
        for turn in reversed(self._turns):
            found = tuple(c for c in self._turns[turn] if self._fits(c, tool, without_id))
            if found:
                return found
        return ()

    def _fits(self, call: int, tool: str, without_id: bool) -> bool:
        one = self._calls[call]
        return (not tool or one.tool == tool) and not (without_id and one.recorded_id)


def _drop(table: dict[Any, list[int]], key: Any, call: int) -> None:
    rest = table.get(key)
    if rest is None or call not in rest:
        return
    rest.remove(call)
    if not rest:
        del table[key]


def find_answered(calls: list[Call], waiting: OpenCalls, recorded_id: str | None, tool: str, result: Payload | None) -> Match | None:
    """The call that a result answers, or None for an orphan."""
    if recorded_id:
        return _by_id(calls, waiting.holds(recorded_id)) or _by_place(calls, waiting, tool, result, without_id=True)
    return _by_place(calls, waiting, tool, result, without_id=False)


def _by_id(calls: list[Call], holders: tuple[int, ...]) -> Match | None:
    if not holders:
        return None
    if len(holders) == 1:
        return Match(holders[0], How.ID)
    nearest = calls[holders[-1]].turn
    batch = tuple(c for c in holders if calls[c].turn == nearest)
    return Match(batch[0], How.ID, batch[1:])


def _by_place(calls: list[Call], waiting: OpenCalls, tool: str, result: Payload | None, *, without_id: bool) -> Match | None:
    batch = waiting.latest(tool, without_id=without_id) if tool else waiting.latest(without_id=without_id)
    if not batch:
        return None
    how = How.NAME if tool else How.ORDER
    if len(batch) == 1:
        return Match(batch[0], how)
    return _by_echo(calls, batch, result)


def _by_echo(calls: list[Call], batch: tuple[int, ...], result: Payload | None) -> Match:
    """Several calls without an id: the first by order, certain only if what the result repeats fits it and no other."""
    fits = [_fit(calls[c], result) for c in batch]
    if fits[0] > 0 and all(f < 0 for f in fits[1:]):
        return Match(batch[0], How.ECHO)
    return Match(batch[0], How.ORDER, batch[1:])


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
