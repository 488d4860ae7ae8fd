"""Where does a rerun leave the record? At a step: until then the record answers, from there the plan's changes count.

The history is not kept alive anywhere: the rerun walks it again, from the record, and takes another way at the step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.errors import ConfigurationError

if TYPE_CHECKING:
    from forensics.core.trace import Trace
    from forensics.replay.plan import Plan
    from forensics.replay.ports import Answerer, ModelAnswer, ModelRequest
    from forensics.replay.recorded_answers import RecordedAnswers
    from forensics.replay.script import Script


def fork_turn(plan: Plan, trace: Trace, script: Script) -> int:
    """The number of the first turn at which the plan's changes count: 0 without a fork.

    Raises ConfigurationError for a step that the run has not, and for a change that an agent of the user's own takes
    only at its start.
    """
    if plan.fork is None:
        if plan.modifications.state:
            raise ConfigurationError("a changed state needs a step at which it is changed", hint="name it with --fork")
        return 0
    if not 0 <= plan.fork < len(trace):
        message = f"there is no step {plan.fork} to fork at: the steps are 0 to {len(trace) - 1}"
        raise ConfigurationError(message, hint="`forensics inspect` shows them")
    if plan.agent is not None and plan.modifications.names():
        message = "an agent of your own takes another prompt, input or setting at its start, not at a step"
        raise ConfigurationError(message, hint="leave out --agent, or fork with stand-ins for tools alone")
    return sum(turn.step < plan.fork for turn in script.turns)


class ForkedAnswers:
    """Recorded answers up to the fork, and those of a model that is asked from there on."""

    def __init__(self, recorded: RecordedAnswers, then: Answerer, turn: int) -> None:
        self._recorded = recorded
        self._then = then
        self._left = turn

    def answer(self, request: ModelRequest) -> ModelAnswer:
        """The recorded answer before the fork, else the model's."""
        if self._left <= 0:
            return self._then.answer(request)
        self._left -= 1
        return self._recorded.answer(request)
