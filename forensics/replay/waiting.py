"""Which call of the model's does the agent make now? The calls that the latest turn of each lane asked for, each made
once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from forensics.core.jsonvalue import same_value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.replay.frames import CallTool
    from forensics.replay.ports import AskedCall, ModelAnswer


Fits: TypeAlias = Callable[["AskedCall", "CallTool"], bool]


class Place(msgspec.Struct, frozen=True):
    """Where a call was asked for: turn and index (-1 and a number of its own: by no turn), and the lane of the turn
    (None: by none). `sure` says that no other lane waits for a call that fits as well.
    """

    turn: int
    index: int
    lane: str | None = None
    sure: bool = True


class Waiting:
    """The calls of the latest turn of each lane that were not made yet, how many turns there were, and how many calls
    no turn asked for.
    """

    def __init__(self) -> None:
        self._calls: dict[str, list[tuple[Place, AskedCall]]] = {}
        self.turns = self._loose = 0

    def turn(self, answer: ModelAnswer, lane: str) -> None:
        """The model has answered: what it asked for in that lane before is asked for no more."""
        self._calls.pop(lane, None)  # the latest lane stands last
        self._calls[lane] = [(Place(self.turns, index, lane), call) for index, call in enumerate(answer.calls)]
        self.turns += 1

    def aside(self) -> None:
        """Another model has answered, a guardrail's: that is a turn of the log, and asks for no call."""
        self.turns += 1

    def take(self, said: CallTool) -> Place:
        """Where a call was asked for: by its id, else by what it says, else by its tool, in the latest lane first."""
        for fits in (_by_id, _by_arguments, _by_tool):
            found = list(self._fitting(said, fits))
            if found:
                place, call = found[0]
                self._calls[place.lane or ""].remove((place, call))
                return msgspec.structs.replace(place, sure=len(found) == 1)
        self._loose += 1
        return Place(-1, self._loose - 1)

    def _fitting(self, said: CallTool, fits: Fits) -> Iterator[tuple[Place, AskedCall]]:
        """The first call of each lane that fits."""
        for calls in reversed(self._calls.values()):
            yield from [one for one in calls if one[1].name == said.name and fits(one[1], said)][:1]


def _by_id(call: AskedCall, said: CallTool) -> bool:
    return said.call_id is not None and call.id == said.call_id


def _by_arguments(call: AskedCall, said: CallTool) -> bool:
    return same_value(call.arguments, said.arguments)


def _by_tool(_call: AskedCall, _said: CallTool) -> bool:
    return True
