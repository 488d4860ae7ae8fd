"""What does the side that holds the record answer to an agent? Each message goes to what answers its kind.

Nothing here runs, asks or contacts anything: a result comes from the record or from a stand-in of the plan, a model's
words from the answerer. The first request that nothing answers ends the rerun, before anything else is answered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from forensics.replay import frames
from forensics.replay.guard_answers import GuardAnswers
from forensics.replay.minting import Mint
from forensics.replay.setting import Course
from forensics.replay.stops import fault
from forensics.replay.tool_answers import ToolAnswers
from forensics.replay.turn_answers import Answers, TurnAnswers

if TYPE_CHECKING:
    from collections.abc import Callable

    from forensics.core.trace import Call
    from forensics.replay.log import Entry
    from forensics.replay.ports import Answerer
    from forensics.replay.recorded_answers import RecordedAnswers
    from forensics.replay.setting import Setting
    from forensics.replay.stops import Stopped

_NANO = 1e9


class Session:
    """One rerun, as the side that holds the record sees it."""

    def __init__(self, setting: Setting, answerer: Answerer, recorded: RecordedAnswers) -> None:
        self.course = Course(setting.rules)
        self._recorded = recorded
        recorded.renaming = self.course.renaming
        started = setting.analysis.trace.started
        self._mint = Mint(setting.plan.minted, started / _NANO if started >= 0 else None)
        self._inputs = list(setting.later)
        self.tools = ToolAnswers(setting, self.course, self._heed)
        guards = GuardAnswers(setting, self.course)
        self._turns = TurnAnswers(setting, self.course, Answers(answerer, recorded), guards)
        self._answers: dict[type, Callable[[Any], frames.FromParent]] = {
            frames.CallTool: self.tools.call,
            frames.Ran: self.tools.has_run,
            frames.AskModel: self._turns.ask,
            frames.Guard: guards.ask,
            frames.Mint: self._minted,
            frames.NextInput: self._next_input,
        }

    @property
    def log(self) -> list[Entry]:
        """What has happened so far."""
        return self.course.log

    @property
    def stopped(self) -> Stopped | None:
        """Why it has ended before its agent, if it has."""
        return self.course.stopped

    def reply(self, said: frames.FromChild) -> frames.FromParent | None:
        """The reply to one message of the agent; None where it waits for none."""
        answer = self._answers.get(type(said))
        if answer is None:
            return None
        stopped = self.course.stopped
        return answer(said) if stopped is None else frames.Stop(stopped.message)

    def finish(self, *, blocked: bool = False) -> None:
        """The agent has ended, by itself or `blocked` by a guardrail."""
        if self.course.stopped is None:
            self._turns.finish(blocked=blocked)

    def _heed(self, call: Call, told: Any) -> None:
        """A result is not the recorded one: a recorded model can't heed that, and its next prompt is expected so."""
        self._recorded.given[call.result_step] = told

    def _minted(self, said: frames.Mint) -> frames.FromParent:
        try:
            given = self._mint.give(said.what)
        except KeyError:
            return self.course.stop(fault("the agent asks for a value that no port gives"))
        self.course.log.append(given)
        return frames.Given(given.value)

    def _next_input(self, _said: frames.NextInput) -> frames.Given:
        return frames.Given(self._inputs.pop(0) if self._inputs else None)
