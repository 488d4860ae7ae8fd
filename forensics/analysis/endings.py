"""Which calls of a trace ended otherwise than their record marks, or may have? What their results say of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from forensics.analysis.ends import NOTHING_DONE, End, end_said, may_say_how, text_may_say_how
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
        self._said: dict[tuple[str, bool], End | None] = {}
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

    def _end(self, result: object, *, failed: bool) -> End | None:
        """What a result says; many calls are answered by the same few words."""
        if not isinstance(result, str):
            return end_said(result, failed=failed)
        key = result, failed
        if key not in self._said:
            keep(self._said, key, end_said(result, failed=failed), _REMEMBERED)
        return self._said[key]

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
