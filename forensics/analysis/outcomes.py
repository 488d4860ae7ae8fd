"""How did calls end that a record does not tell, or tells wrongly? Outcomes that are unknown, calls that did nothing as
their results say, and failures that are masked: a call that its record marks as ended well, and whose result says that
it failed.
"""

from __future__ import annotations

from itertools import compress
from typing import TYPE_CHECKING

from forensics.analysis.ends import NOTHING_DONE, End, end_said
from forensics.analysis.inband import says_it_failed
from forensics.core.classes import Classes, Effect
from forensics.core.evidence import Basis
from forensics.core.findings import Finding, finding
from forensics.core.jsonvalue import short_json, value_of
from forensics.core.sanitise import one_line
from forensics.core.trace import Absence, Call, Outcome, Trace

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


ADDS = frozenset({Effect.REPEATING, Effect.IRREVERSIBLE})
"""The effects that add something each time."""


def is_unanswered(call: Call) -> bool:
    """Whether nothing tells how a call ended; an execution that ended without captured content is answered."""
    return call.outcome is Outcome.ABSENT and call.absence is Absence.UNANSWERED


def failed_by_its_words(call: Call) -> bool:
    """Whether a call counts as answered and its result is the envelope of an error."""
    return call.outcome is Outcome.RECORDED and call.result is not None and says_it_failed(value_of(call.result))


def end_by_its_words(call: Call) -> End | None:
    """What the result of a call that counts as answered says of its end."""
    return end_said(value_of(call.result)) if call.outcome is Outcome.RECORDED and call.result is not None else None


def did_nothing_by_its_words(call: Call) -> bool:
    """Whether a call counts as answered and its result is nothing but an error, or says that it was done before."""
    return end_by_its_words(call) in NOTHING_DONE


def unknown_outcomes(trace: Trace, classes: Classes, doubtful: Sequence[int] = ()) -> Iterator[Finding]:
    """Calls that may have had an effect, and of which it is not known whether they had it. `doubtful` are those in
    whose results an answer is missed among other things: in what a tool of unknown effect returned it may be a report.
    """
    ended = (call.row for call in trace.calls.that_ended(Outcome.INDETERMINATE, Outcome.ABSENT))
    doubted = frozenset(row for row in doubtful if classes[row].effect in ADDS)
    for row in sorted({*ended, *doubted}):
        call, effect = trace.calls[row], classes[row].effect
        known = row not in doubted and call.outcome is not Outcome.INDETERMINATE and not is_unanswered(call)
        if effect is Effect.NONE or known:
            continue
        what = "may have an effect" if effect is Effect.UNKNOWN else "has an effect"
        message = f"{one_line(call.tool, 60)} {what} and {_not_told(call)}: it may or may not have happened"
        yield finding("unknown_outcome", message, steps=(call.step,), basis=Basis.DERIVED)


def _not_told(call: Call) -> str:
    if is_unanswered(call):
        return "its end is not recorded"
    if call.outcome is Outcome.INDETERMINATE and call.marked is None:
        return "its record does not tell how it ended"
    said = "" if call.result is None else one_line(short_json(value_of(call.result), 100), 100)
    return f"its result leaves open how it ended ({said})"


def masked_failures(trace: Trace, failed: bytes) -> Iterator[Finding]:
    """Executions that are recorded as ended well, with a result that says the opposite. A format that has no mark for
    errors masks nothing, so only the record of an execution counts. `failed` says which calls failed by their words.
    """
    for call in map(trace.calls.__getitem__, compress(range(len(failed)), failed)):
        if call.executed is None or call.result is None:
            continue
        said = one_line(short_json(value_of(call.result), 100), 100)
        message = f"{one_line(call.tool, 60)} is recorded as ended well, and its result says that it failed: {said}"
        steps = tuple(step for step in (call.step, call.result_step) if step >= 0)
        yield finding("masked_failure", message, steps=steps, basis=Basis.DERIVED)
