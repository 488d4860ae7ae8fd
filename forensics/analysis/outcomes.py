"""How did calls end that a record does not tell, or tells wrongly? Outcomes that are unknown, and failures that are
masked: a call that its record marks as ended well, and whose result says that it failed.
"""

from __future__ import annotations

from itertools import compress
from typing import TYPE_CHECKING

from forensics.analysis.inband import says_it_failed
from forensics.core.classes import Classes, Effect
from forensics.core.evidence import Basis
from forensics.core.findings import Finding, finding
from forensics.core.jsonvalue import short_json, value_of
from forensics.core.sanitise import one_line
from forensics.core.trace import Absence, Call, Outcome, Trace

if TYPE_CHECKING:
    from collections.abc import Iterator


def is_unanswered(call: Call) -> bool:
    """Whether nothing tells how a call ended; an execution that ended without captured content is answered."""
    return call.outcome is Outcome.ABSENT and call.absence is Absence.UNANSWERED


def failed_by_its_words(call: Call) -> bool:
    """Whether a call counts as answered and its result is the envelope of an error."""
    return call.outcome is Outcome.RECORDED and call.result is not None and says_it_failed(value_of(call.result))


def unknown_outcomes(trace: Trace, classes: Classes) -> Iterator[Finding]:
    """Calls that may have had an effect, and of which it is not known whether they had it."""
    for call in trace.calls.that_ended(Outcome.INDETERMINATE, Outcome.ABSENT):
        effect = classes[call.row].effect
        if effect is Effect.NONE or not (call.outcome is Outcome.INDETERMINATE or is_unanswered(call)):
            continue
        what = "may have an effect" if effect is Effect.UNKNOWN else "has an effect"
        how = "its end is not recorded" if is_unanswered(call) else "its record does not tell how it ended"
        message = f"{one_line(call.tool, 60)} {what} and {how}: it may or may not have happened"
        yield finding("unknown_outcome", message, steps=(call.step,), basis=Basis.DERIVED)


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
