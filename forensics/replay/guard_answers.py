"""Does this pass the guardrails in a rerun? Those that are data run again; of any other its recorded decision counts.

A guardrail that is code and of which no decision is recorded did not act in the recorded run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from forensics.core.trace import StepKind
from forensics.replay import frames
from forensics.replay.guards import Guard, passes, says_passed
from forensics.replay.log import GuardedBy

if TYPE_CHECKING:
    from forensics.replay.setting import Course, Setting


class GuardAnswers:
    """The guardrails of one rerun, and the recorded decisions that were not given yet."""

    def __init__(self, setting: Setting, course: Course) -> None:
        self._setting = setting
        self._course = course
        self._trace = trace = setting.analysis.trace
        self._decided: dict[str, list[int]] = {}
        for row in trace.rows(StepKind.GUARDRAIL):
            self._decided.setdefault(trace.strings[trace.name[row]], []).append(row)

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
        return passed
