"""What does the clock of a rerun show, and what does it draw by chance? The plan's values first, then made ones.

Made values come from the plan's seed alone: the same plan gives the same values, whatever the time and the machine.
"""

from __future__ import annotations

import random
from collections import deque
from typing import TYPE_CHECKING, Any

from forensics.replay.log import Minted

if TYPE_CHECKING:
    from collections.abc import Callable

    from forensics.replay import plan

_STARTED = 1_000_000_000.0  # seconds since the epoch, where neither plan nor record knows a time
_ID_BITS = 64


class Mint:
    """The values of one rerun."""

    def __init__(self, planned: plan.Minted, started: float | None = None) -> None:
        self._planned: dict[str, deque[Any]] = {
            "time": deque(planned.times),
            "random": deque(planned.randoms),
            "id": deque(planned.ids),
        }
        self._chance = random.Random(planned.seed)  # noqa: S311 - it must be repeatable, and is no secret
        self._time = _STARTED if started is None else started
        self._make: dict[str, Callable[[], Any]] = {
            "time": self._tick,
            "random": self._chance.random,
            "id": lambda: f"{self._chance.getrandbits(_ID_BITS):016x}",
        }

    def give(self, what: str) -> Minted:
        """The next value of that kind (time, random, id). Raises KeyError for a kind that there is not."""
        planned = self._planned[what]
        if planned:
            return Minted(what, planned.popleft(), planned=True)
        return Minted(what, self._make[what](), planned=False)

    def _tick(self) -> float:
        self._time += 1.0
        return self._time
