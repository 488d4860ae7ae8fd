"""Which call of the model's does the agent make now? The calls that the latest turn asked for, each made once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.core.jsonvalue import same_value

if TYPE_CHECKING:
    from forensics.replay.frames import CallTool
    from forensics.replay.ports import AskedCall, ModelAnswer


class Waiting:
    """The calls of the latest turn that were not made yet, how many turns there were, and how many calls no turn asked
    for.
    """

    def __init__(self) -> None:
        self._calls: list[tuple[int, int, AskedCall]] = []
        self.turns = self._loose = 0

    def turn(self, answer: ModelAnswer) -> None:
        """The model has answered: what it asked for before is asked for no more."""
        self._calls = [(self.turns, index, call) for index, call in enumerate(answer.calls)]
        self.turns += 1

    def aside(self) -> None:
        """Another model has answered, a guardrail's: that is a turn of the log, and asks for no call."""
        self.turns += 1

    def take(self, said: CallTool) -> tuple[int, int]:
        """Turn and index of a call: by its id, else by what it says, else by its tool; -1 and a number of its own for
        one that no turn asked for.
        """
        for fits in (_by_id, _by_arguments, _by_tool):
            for place, (turn, index, call) in enumerate(self._calls):
                if call.name == said.name and fits(call, said):
                    self._calls.pop(place)
                    return turn, index
        self._loose += 1
        return -1, self._loose - 1


def _by_id(call: AskedCall, said: CallTool) -> bool:
    return said.call_id is not None and call.id == said.call_id


def _by_arguments(call: AskedCall, said: CallTool) -> bool:
    return same_value(call.arguments, said.arguments)


def _by_tool(_call: AskedCall, _said: CallTool) -> bool:
    return True
