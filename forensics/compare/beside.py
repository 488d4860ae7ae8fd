"""Which step of one run stands beside which of the other? The pairs of a comparison, for whoever draws both runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.compare.events import CALL

if TYPE_CHECKING:
    from collections.abc import Iterable

    from forensics.compare.batches import Batch
    from forensics.compare.script import Row
    from forensics.core.trace import Call, Trace

Steps = tuple[int | None, int | None]


class Beside:
    """Pairs of steps in the order of the walk: an event, then each of its calls with its result. None stands where one
    run has nothing.
    """

    def __init__(self, left: Trace, right: Trace) -> None:
        self.steps: list[Steps] = []
        self._calls = left.calls, right.calls

    def row(self, row: Row) -> None:
        """Two events that belong together, or one alone with its calls."""
        left, right = row.left, row.right
        if CALL not in {event.kind for event in (left, right) if event is not None}:
            self.steps.append((None if left is None else left.step, None if right is None else right.step))
        if right is None and left is not None:
            self._alone((self._calls[0][call] for call in left.calls), right=False)
        elif left is None and right is not None:
            self._alone((self._calls[1][call] for call in right.calls), right=True)

    def batch(self, both: Batch) -> None:
        """The calls of two events, pair by pair, then those that only one of them has."""
        for left, right in both.pairs:
            self.steps.append((left.call.step, right.call.step))
            ended = _ended(left.call), _ended(right.call)
            if ended != (None, None):
                self.steps.append(ended)
        self._alone((made.call for made in both.missing), right=False)
        self._alone((made.call for made in both.extra), right=True)

    def _alone(self, calls: Iterable[Call], *, right: bool) -> None:
        for call in calls:
            for step in (call.step, _ended(call)):
                if step is not None:
                    self.steps.append((None, step) if right else (step, None))


def _ended(call: Call) -> int | None:
    """The step of the call's result; None where it has none of its own."""
    return call.result_step if call.result_step >= 0 and call.result_step != call.step else None
