"""Which traces are reruns of another, what did each do again, and what did a branch of one trace do again?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.core.classes import Effect
from forensics.core.findings import Finding, finding
from forensics.core.jsonvalue import short_json, value_of
from forensics.core.sanitise import one_line
from forensics.core.trace import Call, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from forensics.core.classes import Classification
    from forensics.core.trace import Trace

HELD = frozenset({
    "blocked", "stub", "stubbed", "injected", "mocked", "override",
    "normalised", "overridden", "refused", "missed", "not_reached",
})  # fmt: skip
"""What a harness says of a call that it did not really run."""
NO_RESULT = "no result"
"""What is said of a call of which nobody tells whether it ran: it may have."""


class Repeat(msgspec.Struct, frozen=True):
    """What a rerun did with one call: executed again, held back (blocked, stub), or not known."""

    step: int
    tool: str
    did: str
    result: str
    original: str
    executed: bool


def repeats(rerun: Trace, original: Trace | None) -> tuple[Repeat, ...]:
    """Each call of a rerun beside the call of the original at the same occurrence."""
    theirs = {c.occurrence: c for c in original.calls} if original is not None else {}
    return tuple(_repeat(call, theirs.get(call.occurrence)) for call in rerun.calls)


def _repeat(call: Call, original: Call | None) -> Repeat:
    held = call.disposition in HELD or call.outcome is Outcome.DENIED
    executed = not held and (call.executed is not None or call.outcome is Outcome.RECORDED)
    did = (call.disposition or "held back") if held else "executed again" if executed else NO_RESULT
    return Repeat(call.step, call.tool, did, _shown(call), _shown(original) if original else "", executed)


def _shown(call: Call) -> str:
    return "" if call.result is None else one_line(short_json(value_of(call.result), 80), 80)


def executed_effects(trace: Trace, done: tuple[Repeat, ...], classes: Iterable[Classification]) -> Iterator[Finding]:
    """Side effects that a rerun really executed: the second page of the incident in which this project began."""
    for repeat, classified in zip(done, classes, strict=bool(done)):
        if repeat.executed and classified.effect is not Effect.NONE:
            told = (
                f": {repeat.result} for the recorded {repeat.original}"
                if repeat.original not in ("", repeat.result)
                else ""
            )
            message = (
                f"a rerun of {one_line(trace.rerun_of or '', 40)} executed {one_line(repeat.tool, 60)} again{told}"
            )
            yield finding("replay_executed_side_effect", message, steps=(repeat.step,))


def executed_again(trace: Trace, classes: Sequence[Classification]) -> Iterator[Finding]:
    """Side effects that one trace holds twice: a branch or a resumed run went on from before a call and executed it."""
    for row in sorted(trace.calls.rare("again_of")):
        call = trace.calls[row]
        if call.again_of < 0 or call.outcome is Outcome.DENIED or classes[row].effect is Effect.NONE:
            continue
        first = trace.calls[call.again_of]
        told = f"; {_shown(first)} the first time, {_shown(call)} now" if _shown(first) != _shown(call) else ""
        message = f"{one_line(call.tool, 60)} was executed once more, from a state before it had run{told}"
        yield finding("replay_executed_side_effect", message, steps=(first.step, call.step))
