"""Which calls of a trace ended otherwise than their record marks, or may have? What their results say of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from forensics.analysis.ends import (
    NOTHING_DONE,
    End,
    end_said,
    may_say_how,
    says_only_a_state,
    states_of,
    text_may_say_how,
)
from forensics.core.trace import Outcome
from forensics.rules.memory import keep

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.core.keyed import Keyed
    from forensics.core.trace import Trace

_REMEMBERED = 4096
_MARKED = frozenset({Outcome.RECORDED, Outcome.FAILED})


class Endings:
    """Reads the results of a trace in their order. A call whose answer never came, as its result says, is
    `indeterminate` from then on, whatever the record marks; what it marks is kept as `Call.marked`.
    """

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._silent: dict[tuple[str, ...], bool] = {}
        self._said: dict[tuple[object, bool], End | None] = {}
        self._by_state: dict[tuple[str, ...], bool] = {}
        self.doubtful: list[int] = []
        self.did_nothing: list[int] = []

    def read(self, rows: range, results: Keyed) -> None:
        """Note what the results of the next calls say of their ends."""
        outcomes = list(self._trace.calls.each("outcome", rows))
        for at in self._telling(results):
            outcome = outcomes[at]
            end = self._end(results.values[at], failed=outcome is Outcome.FAILED) if outcome in _MARKED else None
            if end is End.OPEN:
                call = self._trace.calls[rows[at]]
                call.outcome, call.marked = Outcome.INDETERMINATE, outcome
            elif end is End.DOUBTFUL:
                self.doubtful.append(rows[at])
            elif end in NOTHING_DONE and outcome is Outcome.RECORDED:
                self.did_nothing.append(rows[at])

    def _end(self, result: Any, *, failed: bool) -> End | None:
        """What a result says; many calls are answered by the same few words, or in the same few states."""
        words = result if isinstance(result, str) else self._state(result) if isinstance(result, dict) else None
        if words is None or failed:
            return end_said(result, failed=failed)
        key = words, failed
        if key not in self._said:
            keep(self._said, key, end_said(result, failed=failed), _REMEMBERED)
        return self._said[key]

    def _state(self, result: dict[str, Any]) -> tuple[object, ...] | None:
        """The members of an object with the states in it, where nothing else in it can say how the call ended."""
        members = tuple(result)
        alone = self._by_state.get(members)
        if alone is None:
            alone = says_only_a_state(members)
            keep(self._by_state, members, alone, _REMEMBERED)
        states = states_of(result) if alone else ()
        known = alone and all(isinstance(state, (str, int)) for state in states)
        return (members, *((type(state), state) for state in states)) if known else None

    def _telling(self, results: Keyed) -> Iterator[int]:
        """The places of results that may say how their calls ended, in order."""
        told = [at for group in results.groups if not self._is_silent(group.keys) for at in group.places]
        told += [at for at, value in enumerate(results.values) if _may_say_how(value)]
        yield from sorted(told)

    def _is_silent(self, members: tuple[str, ...]) -> bool:
        silent = self._silent.get(members)
        if silent is None:
            silent = not may_say_how(members)
            keep(self._silent, members, silent, _REMEMBERED)
        return silent


def _may_say_how(value: Any) -> bool:
    """Whether what is no object may say how its call ended."""
    return text_may_say_how(value) if isinstance(value, str) else isinstance(value, list)
