"""Which handles were used when they no longer held? A call that names a value of this trace and is told that what it
stands for is gone: expired, closed, deleted, used up, not found.
"""

from __future__ import annotations

import re
from itertools import compress
from typing import TYPE_CHECKING

from forensics.core.evidence import Basis
from forensics.core.findings import Finding, finding
from forensics.core.jsonvalue import text_of, value_of
from forensics.core.late import late
from forensics.core.leaves import leaves_of
from forensics.core.sanitise import one_line
from forensics.core.trace import Call, Outcome, Trace

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from forensics.core.handles import Handle

_HEAD = 2_000
_GONE = late(
    r"\b(?:(?:has|have|is|was|already) (?:been )?(?:expired|closed|deleted|removed|revoked|invalidated|consumed|used)"
    r"|expired|no longer (?:exists?|valid|available|active|open)|stale|410 gone)\b",
    re.IGNORECASE,
)
_NOT_FOUND = late(r"\b(?:not[ _-]found|does(?: not|n't) exist|no such|unknown|invalid|404)\b", re.IGNORECASE)


def stale_handles(trace: Trace, handles: Sequence[Handle], failed: bytes) -> Iterator[Finding]:
    """One finding for each value that a failed call named and was told to be gone; `failed` says which calls failed by
    their words.
    """
    calls = trace.calls
    rows = sorted((*compress(range(len(failed)), failed), *(c.row for c in calls.that_ended(Outcome.FAILED))))
    answers: dict[int, str] = {calls[row].step: _answer(calls[row]) for row in rows}
    if not answers:
        return
    named = _named(handles, answers)
    for handle in handles:
        used = [use.step for use in handle.uses if use.step in answers and use.role == "argument"]
        gone = next((step for step in used if _is_gone(handle.value, answers[step], alone=named[step] == 1)), None)
        if gone is not None and _is_argument(trace, gone, handle.value):
            yield _finding(trace, handle, gone, answers[gone])


def _answer(call: Call) -> str:
    return "" if call.result is None else text_of(call.result)[:_HEAD]


def _named(handles: Sequence[Handle], answers: dict[int, str]) -> dict[int, int]:
    """How many values of this trace each failed call names."""
    count = dict.fromkeys(answers, 0)
    for handle in handles:
        for step in {use.step for use in handle.uses if use.step in count and use.role == "argument"}:
            count[step] += 1
    return count


def _is_gone(value: str, answer: str, *, alone: bool) -> bool:
    """Whether an answer says that this value is gone: it names the value, or the call names no other."""
    if value in answer:
        return bool(_GONE.search(answer) or _NOT_FOUND.search(answer))
    return alone and _GONE.search(answer) is not None


def _is_argument(trace: Trace, step: int, value: str) -> bool:
    """Whether the value is an argument as a whole, and no part of a text."""
    arguments = trace.calls[trace.call[step]].arguments
    return arguments is not None and any(str(item) == value for *_, item in leaves_of(value_of(arguments)))


def _finding(trace: Trace, handle: Handle, step: int, answer: str) -> Finding:
    tool, said = one_line(trace.calls[trace.call[step]].tool, 60), one_line(answer, 100)
    message = f"{one_line(handle.value, 60)} was gone when {tool} named it: {said}"
    locators = (trace.locator(step),)
    return finding("stale_handle", message, steps=(handle.step, step), locators=locators, basis=Basis.INFERRED)
