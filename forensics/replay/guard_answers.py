"""Does this pass the guardrails in a rerun? Those that are data run again; of any other its recorded decision counts.

A guardrail that is code and of which no decision is recorded did not act in the recorded run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from forensics.core.jsonvalue import decode
from forensics.core.trace import StepKind
from forensics.replay import frames
from forensics.replay.guards import Guard, passes, says_passed
from forensics.replay.log import Entry, GuardedBy, Told, Turned
from forensics.replay.ports import ModelAnswer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.replay.setting import Course, Setting


_JUDGE = "guardrail "  # before a guardrail's name, where it is the lane of its model


class GuardAnswers:
    """The guardrails of one rerun, and the recorded decisions that were not given yet."""

    def __init__(self, setting: Setting, course: Course) -> None:
        self._setting = setting
        self._course = course
        self._trace = trace = setting.analysis.trace
        self._decided: dict[str, list[int]] = {}
        for row in trace.rows(StepKind.GUARDRAIL):
            self._decided.setdefault(trace.strings[trace.name[row]], []).append(row)
        script = setting.script
        self._judged = {} if script is None else {lane: list(steps) for lane, steps in script.judged.items()}

    def ask(self, said: frames.Guard) -> frames.Given:
        """The guardrails of a position, one by one; the first that lets it not pass ends them."""
        for guard in self._setting.guards:
            if guard.position == said.position and not self._lets_pass(guard, said.says):
                return frames.Given(f"blocked by the guardrail {guard.name}", failed=True)
        return frames.Given()

    def take(self, name: str, step: int) -> bool:
        """Take a recorded decision, so that it is given once; whether it was still there."""
        waiting = self._decided.get(name, [])
        if step not in waiting:
            return False
        waiting.remove(step)
        return True

    def _lets_pass(self, guard: Guard, says: Any) -> bool:
        decided = passes(guard, says)
        recorded = self._decided.get(guard.name, [])
        step = recorded.pop(0) if recorded else None
        if decided is None and step is None:
            return True
        again = decided is not None
        passed = decided if decided is not None else says_passed(self._trace.payload[step or 0]) is not False
        self._course.log.append(GuardedBy(guard.name, self._setting.lane, passed, again, step))
        if step is not None:
            self._course.log.extend(self._judged_after(guard.name, step))
        return passed

    def _judged_after(self, name: str, step: int) -> Iterator[Entry]:
        """What the guardrail's own model was shown and said for a recorded decision: answers of its own, which no turn
        of the agent is given.
        """
        lane = next((lane for lane in self._judged if lane.removeprefix(_JUDGE) == name), None)
        following = next((other for other in self._decided.get(name, []) if other > step), len(self._trace))
        while lane is not None and self._judged[lane] and step < self._judged[lane][0] < following:
            one = self._trace.step(self._judged[lane].pop(0))
            said = None if one.payload is None else decode(one.payload).value
            if one.kind is StepKind.MODEL:
                self._course.waiting.aside()
                yield Turned(agent=one.agent, answer=ModelAnswer(text=said, model=one.name or None), step=one.index)
            elif one.kind is not StepKind.ERROR:
                yield Told(one.kind, one.agent, said)
