"""What did the recorded model say here? Its answers served in order, each lane its own, to the prompts that they
answer.

A recorded answer belongs to its question. Where the plan changes the prompt, the answer is served all the same and the
result says that the change had no effect; where a prompt differs and nothing was declared, it is a miss.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

import msgspec

from forensics.core.renaming import Renaming
from forensics.core.trace import StepKind
from forensics.errors import InjectionMissError
from forensics.replay.asked_prompts import Prompted, parting, prompted, recorded_prompt
from forensics.replay.ports import AskedCall, ModelAnswer

if TYPE_CHECKING:
    from forensics.core.differences import Difference
    from forensics.replay.plan import Modifications
    from forensics.replay.ports import ModelRequest
    from forensics.replay.script import RecordedTurn, Script


class PromptDiffersError(InjectionMissError):
    """The model is asked something else than the recorded one was, and the plan declares no such change."""

    def __init__(self, message: str, turn: RecordedTurn, difference: Difference) -> None:
        super().__init__(message)
        self.turn = turn
        self.difference = difference


class RecordedAnswers:
    """The turns of a script as an answerer. `given` holds what stood in for recorded results, by the step of the
    result; `without_effect` collects the declared changes that a recorded answer can't heed. `turn` is the last one
    served.
    """

    def __init__(self, script: Script, modifications: Modifications, fork_turn: int = 0) -> None:
        self.given: dict[int, Any] = {}
        self.without_effect: dict[str, int] = {}
        self.turn: RecordedTurn | None = None
        self.renaming = Renaming(lambda _key: False)  # the session shares its own
        self.left = deque(script.turns)
        self._modifications = modifications
        told = any(one.kind is StepKind.SYSTEM for turn in script.turns for one in turn.shown)
        self._knows_system = told or modifications.prompt is not None
        self._lanes = frozenset(turn.lane for turn in script.turns)
        self._until_changed = fork_turn
        self._forks = fork_turn > 0

    def answer(self, request: ModelRequest) -> ModelAnswer:
        """The next recorded answer of the lane. Raises InjectionMissError where there is none, or where the prompt is
        another one.
        """
        turn = self._next(request.lane)
        if turn is None:
            raise InjectionMissError(
                "every recorded answer of the model has been given: here the recorded run ended, and the rerun asks on"
            )
        if turn.silent:
            raise InjectionMissError(f"what the model said in turn {turn.number} was not captured")
        changes_here = self._first and self._forks and self._modifications.names()
        if request.messages is not None and not changes_here:
            self._check(turn, request)
        self._note_changes(turn)
        self.left.remove(turn)
        self.turn = turn
        self._until_changed -= 1
        calls = tuple(AskedCall(name, arguments, call_id) for name, arguments, call_id in turn.calls)
        return ModelAnswer(text=turn.text, calls=calls, model=turn.model or None)

    @property
    def _first(self) -> bool:
        """Whether the next turn is the first one at which the plan's changes count."""
        return self._until_changed == 0

    def _next(self, lane: str | None) -> RecordedTurn | None:
        """The next turn of that lane; of any where the request names none, or where only one agent is recorded."""
        if lane is None or len(self._lanes) == 1:
            return self.left[0] if self.left else None
        return next((turn for turn in self.left if turn.lane == lane), None)

    def _check(self, turn: RecordedTurn, request: ModelRequest) -> None:
        messages = request.messages or ()
        asked = prompted(self.renaming.leftward(list(messages[request.new :])))
        found = parting(self._expected(turn), asked, knows_system=self._knows_system)
        if found is not None and not self._is_as_recorded(turn, asked):
            where = found.pointer or "the whole prompt"
            message = f"the model is asked something else in turn {turn.number}, first at {where}"
            raise PromptDiffersError(message, turn, found)

    def _is_as_recorded(self, turn: RecordedTurn, asked: Prompted) -> bool:
        """Whether the agent asks what was recorded, and has not taken what the plan changes."""
        if not self._first or not self._modifications.names():
            return False
        return parting(recorded_prompt(turn.shown), asked, knows_system=self._knows_system) is None

    def _expected(self, turn: RecordedTurn) -> Prompted:
        """What a turn was shown, with the declared changes."""
        shown = [
            msgspec.structs.replace(s, value=self.given[s.step]) if s.step in self.given else s for s in turn.shown
        ]
        told = recorded_prompt(shown)
        return msgspec.structs.replace(told, said=tuple(self._changed(list(told.said)))) if self._first else told

    def _changed(self, said: list[tuple[StepKind, Any]]) -> list[tuple[StepKind, Any]]:
        for kind, value in ((StepKind.SYSTEM, self._modifications.prompt), (StepKind.USER, self._modifications.input)):
            if value is None:
                continue
            places = [n for n, one in enumerate(said) if one[0] is kind]
            if places:
                said[places[-1 if kind is StepKind.USER else 0]] = (kind, value)
            elif kind is StepKind.SYSTEM:
                said.insert(0, (kind, value))
        return said

    def _note_changes(self, turn: RecordedTurn) -> None:
        """Which declared changes this answer can't heed."""
        if self._first:
            for name in self._modifications.names():
                self.without_effect.setdefault(name, turn.step)
        for one in turn.shown:
            if one.step in self.given:
                self.without_effect.setdefault("the result of a tool", turn.step)
