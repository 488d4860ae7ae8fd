"""What does the model answer in a rerun, and what was it shown? The answerer's words, and the turn for the log.

A rebuilt agent is given what stands beside its turns in the record: the approvals of people, and the decisions of
guardrails that only their results tell of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from forensics.core.differences import shown
from forensics.core.jsonvalue import decode
from forensics.core.trace import StepKind
from forensics.errors import ReplayFault
from forensics.replay import frames
from forensics.replay.asked_prompts import content_of, is_own, kind_of
from forensics.replay.fresh import Fresh
from forensics.replay.guards import says_passed
from forensics.replay.log import Earlier, Entry, GuardedBy, Told, Turned
from forensics.replay.nearest import Near
from forensics.replay.ports import ModelRequest
from forensics.replay.recorded_answers import PromptDiffersError
from forensics.replay.stops import Stopped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from forensics.core.trace import Step
    from forensics.replay.guard_answers import GuardAnswers
    from forensics.replay.ports import Answerer, ModelAnswer
    from forensics.replay.recorded_answers import RecordedAnswers
    from forensics.replay.script import RecordedTurn, Shown
    from forensics.replay.setting import Course, Setting

_SHOWN_ELSEWHERE = frozenset({StepKind.TOOL_RESULT, StepKind.MODEL})


class Answers(NamedTuple):
    """What answers the model, and the recorded answers, which may be the same."""

    answerer: Answerer
    recorded: RecordedAnswers


class TurnAnswers:
    """The model of one rerun."""

    def __init__(self, setting: Setting, course: Course, answers: Answers, guards: GuardAnswers) -> None:
        self._setting = setting
        self._course = course
        self._answerer, self._recorded = answers
        self._guards = guards
        self._fresh = Fresh(setting.rules, {})
        self._messages: dict[str | None, list[dict[str, Any]]] = {}
        self._again: list[dict[str, Any]] = []

    def ask(self, said: frames.AskModel) -> frames.FromParent:
        """The answer to a request."""
        request, lane = self._request(said), said.lane or self._setting.lane
        try:
            answer = self._answerer.answer(request)
        except PromptDiffersError as other:
            self._course.log.extend(self._shown(request, lane, None))
            return self._course.stop(self._other_prompt(other, _new(request)))
        except ReplayFault as fault:
            asked = None if request.messages is None else _new(request)
            return self._course.stop(Stopped(code=fault.code, message=fault.message, hint=fault.hint, asked=asked))
        self._course.waiting.turn(answer, self._log(request, lane, answer))
        return _answered(answer)

    def finish(self, *, blocked: bool) -> None:
        """The agent is done: what stands beside its last turn in the record, and where it was blocked as it was there,
        the error that tells of it.
        """
        script, trace = self._setting.script, self._setting.analysis.trace
        if script is None or self._recorded.left:
            return
        left = [(one.step, Told(one.kind, self._setting.lane, one.value)) for one in script.shown_after]
        placed = sorted((*left, *self._beside(script.after, last=True)), key=lambda one: one[0])
        self._course.log.extend(entry for _, entry in placed)
        for step in script.after if blocked else ():
            one = trace.step(step)
            if one.kind is StepKind.ERROR:
                self._course.log.append(Told(one.kind, one.agent, _said(one)))

    def _request(self, said: frames.AskModel) -> ModelRequest:
        """The whole request: what is new behind what the lane has said before."""
        if said.messages is None:
            return ModelRequest(tools=said.tools, settings=said.settings, lane=said.lane)
        held = self._messages.setdefault(said.lane, [])
        keep = min(said.keep, len(held))
        self._again = held[keep:]
        del held[keep:]
        held.extend(said.messages)
        return ModelRequest(messages=held, new=keep, tools=said.tools, settings=said.settings, lane=said.lane)

    def _other_prompt(self, other: PromptDiffersError, asked: list[Any]) -> Stopped:
        """A prompt that differs where no change was declared, named as what it is."""
        found = other.difference
        left, right = shown(found)
        own = self._fresh.is_own(found.pointer, found.left, found.right, self._course.given())
        why = "it is shown another value of the run's own making" if own else "it is shown something else"
        return Stopped(
            code="generated_id_differs" if own else "replay_miss",
            message=f"{other.message}: recorded {left or 'nothing'}, asked {right or 'nothing'}",
            near=(Near(other.turn.step, why, found.pointer, left, right),),
            step=other.turn.step,
            asked=asked,
            hint="declare a change of the prompt (--set-prompt, --set-input), or ask a model with --mode live",
        )

    # the log ---------------------------------------------------------------------------------------------------------

    def _log(self, request: ModelRequest, lane: str, answer: ModelAnswer) -> str:
        """Note a turn; the lane that it belongs to."""
        recorded = None if answer.live else self._recorded.turn
        self._course.log.extend(self._shown(request, lane, recorded))
        turned = Turned(
            agent=lane if recorded is None else recorded.lane,
            answer=answer,
            step=None if recorded is None else recorded.step,
            new=None if request.messages is None else len(request.messages) - request.new,
        )
        self._course.log.append(turned)
        return turned.agent

    def _shown(self, request: ModelRequest, lane: str, recorded: RecordedTurn | None) -> list[Entry]:
        """What a turn was newly shown beside results; of a rebuilt agent in the order of the record."""
        told: list[Entry] = [
            Told(kind_of(message), lane, content_of(message))
            for number, message in enumerate(_new(request))
            if not (number < len(self._again) and self._again[number] == message)
            and not is_own(message)
            and kind_of(message) is not StepKind.TOOL_RESULT
        ]
        if recorded is None or self._setting.script is None:
            return told
        steps = [one.step for one in recorded.shown if one.kind not in _SHOWN_ELSEWHERE]
        placed = list(zip(steps if len(steps) == len(told) else [-1] * len(told), told, strict=True))
        before = [(one.step, self._earlier(one)) for one in recorded.shown if one.earlier]
        return [
            entry for _, entry in sorted((*placed, *before, *self._beside(recorded.beside)), key=lambda one: one[0])
        ]

    def _earlier(self, one: Shown) -> Earlier:
        """What was said or returned before the run."""
        trace = self._setting.analysis.trace
        row = trace.step(one.step).call if one.kind is StepKind.TOOL_RESULT else None
        call = None if row is None else trace.calls[row]
        return Earlier(
            one.step,
            one.kind,
            self._setting.lane,
            one.value,
            one.calls,
            "" if call is None else call.tool,
            None if call is None else call.recorded_id,
        )

    def _beside(self, steps: Sequence[int], *, last: bool = False) -> Iterator[tuple[int, Entry]]:
        """What the record holds beside a turn and no port gives, each with its step: approvals, decisions of
        guardrails, and errors that the run got over.
        """
        for step in steps:
            one = self._setting.analysis.trace.step(step)
            if one.kind is StepKind.GUARDRAIL and self._guards.take(one.name, step):
                passed = says_passed(one.payload) is not False
                yield step, GuardedBy(one.name, one.agent, passed, again=False, step=step)
            elif one.kind is StepKind.APPROVAL_REQUEST or (one.kind is StepKind.ERROR and not last):
                yield step, Told(one.kind, one.agent, _said(one))


def _said(step: Step) -> Any:
    return None if step.payload is None else decode(step.payload).value


def _new(request: ModelRequest) -> list[dict[str, Any]]:
    return [] if request.messages is None else list(request.messages[request.new :])


def _answered(answer: ModelAnswer) -> frames.Answered:
    return frames.Answered(
        text=answer.text,
        calls=tuple((call.name, call.arguments, call.id) for call in answer.calls),
        finish=answer.finish,
        model=answer.model,
        usage=answer.usage,
        ignored=answer.ignored,
        live=answer.live,
    )
