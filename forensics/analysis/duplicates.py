"""What was done twice in one trace? Calls of one tool with the same arguments, told apart by what is known of their
effect: that each adds to the world, or no more than that they run a text.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING

import msgspec

from forensics.analysis.dry_runs import dry_run_claimed
from forensics.analysis.ends import NOTHING_DONE, End
from forensics.analysis.idempotency import changed_keys, idempotency_keys, is_idempotency_key
from forensics.analysis.outcomes import ADDS, end_by_its_words, is_unanswered
from forensics.analysis.same_acts import acts_asked
from forensics.analysis.shown_effects import shows_an_effect
from forensics.core.evidence import Basis
from forensics.core.findings import Finding, finding
from forensics.core.jsonvalue import value_of
from forensics.core.sanitise import one_line
from forensics.core.trace import Call, Outcome, StepKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from forensics.analysis.anomalies import Acts
    from forensics.core.trace import Calls

_POSSIBLE, _MAY_HAVE = "possible_duplicate_side_effect", "may have taken effect more than once"
_OTHER_KEY = ", under another idempotency key each,"
_VALUES = 4  # of those that the calls minted, that are shown
_TYPED = frozenset({"chars", "keys", "keystrokes", "stdin"})


def twice(acts: Acts) -> Iterator[Finding]:
    """A finding for each group of calls that did, may have done, or ran the same thing more than once."""
    groups: dict[tuple[str, str, int], list[int]] = {}
    adds = bytes(acts.calls.each(lambda kind: kind.effect in ADDS))
    yield from changed_keys(acts.trace.calls, adds)
    asked = acts_asked(acts.trace.calls, adds, acts.arguments)
    for row in _alike(asked):
        call = acts.trace.calls[row]
        if adds[row] and call.arguments is not None and call.again_of < 0:
            groups.setdefault((call.agent, call.tool, asked[row]), []).append(row)
    several = [rows for rows in groups.values() if len(rows) > 1 and not _types_nothing(acts.trace.calls[rows[0]])]
    errors = acts.trace.rows(StepKind.ERROR) if several else []
    for rows in several:
        shown = all(shows_an_effect(acts.calls[row], acts.rules) for row in rows)
        yield from _repeated(acts, rows, errors) if shown else _run_again(acts, rows)


def _alike(numbers: Sequence[int]) -> Iterator[int]:
    """The calls that do not stand alone with their number, in order."""
    counts = Counter(numbers)
    return (row for row, number in enumerate(numbers) if counts[number] > 1)


def _types_nothing(call: Call) -> bool:
    """Whether a call sends no key to a program that waits for some: that is how its output is asked for."""
    arguments = value_of(call.arguments or msgspec.Raw(b"null"))
    return isinstance(arguments, dict) and any(arguments.get(key) == "" for key in _TYPED)


def _run_again(acts: Acts, rows: list[int]) -> Iterator[Finding]:
    """The same text run more than once, of which nothing shows that it adds something each time."""
    calls = [acts.trace.calls[row] for row in rows]
    what = f"ran the same text {len(rows)} times; nothing shows that it adds something each time"
    message = f"{one_line(calls[0].tool, 60)} {what}"
    yield finding("repeated_call", message, steps=tuple(c.step for c in calls), basis=Basis.DERIVED)


def _repeated(acts: Acts, rows: list[int], errors: list[int]) -> Iterator[Finding]:
    took, doubtful = _parted(acts.trace.calls, rows)
    if len(took) > 1 and _keys_differ(acts, took):
        yield _twice_finding(_POSSIBLE, acts, sorted((*took, *doubtful)), _MAY_HAVE + _OTHER_KEY, errors)
    elif len(took) > 1 and not _same_key_same_answer(acts, took):
        if dry_run_claimed([acts.trace.calls[row] for row in took]):
            yield _twice_finding(_POSSIBLE, acts, sorted((*took, *doubtful)), _MAY_HAVE, errors)
            return
        what = f"took effect {len(took)} times in this trace"
        yield _twice_finding("duplicate_side_effect", acts, took, what, errors)
    elif took and doubtful:
        yield _twice_finding(_POSSIBLE, acts, sorted((*took, *doubtful)), _MAY_HAVE, errors)
    elif len(doubtful) > 1:
        yield _twice_finding(_POSSIBLE, acts, doubtful, _MAY_HAVE, errors)


def _parted(calls: Calls, rows: list[int]) -> tuple[list[int], list[int]]:
    """Of these calls those that took effect, and those that may have. The others did nothing: they were refused, or
    their results say so.
    """
    took, doubtful = list[int](), list[int]()
    for row in rows:
        call = calls[row]
        end = end_by_its_words(call)
        if call.outcome is Outcome.INDETERMINATE or end is End.DOUBTFUL or is_unanswered(call):
            doubtful.append(row)
        elif call.outcome is Outcome.RECORDED and end not in NOTHING_DONE:
            took.append(row)
    return took, doubtful


def _keys_differ(acts: Acts, rows: Sequence[int]) -> bool:
    """Whether the calls have different idempotency keys: two acts that somebody wanted, or one that was made twice."""
    return len({idempotency_keys(acts.trace.calls[row].arguments or b"null") for row in rows}) > 1


def _same_key_same_answer(acts: Acts, rows: Sequence[int]) -> bool:
    """Whether the calls carry one idempotency key and got one answer: the server may have done it once."""
    arguments = value_of(acts.trace.calls[rows[0]].arguments or msgspec.Raw(b"null"))
    keyed = isinstance(arguments, dict) and any(map(is_idempotency_key, arguments))
    answers = {bytes(acts.trace.calls[r].result or b"") for r in rows}
    return keyed and len(answers) == 1


def _twice_finding(code: str, acts: Acts, rows: list[int], what: str, errors: list[int]) -> Finding:
    calls = [acts.trace.calls[r] for r in rows]
    minted = list(islice((value for row in rows for value in acts.handles.minted_by(row)), _VALUES))
    shown = f" ({', '.join(one_line(v, 40) for v in minted)})" if minted else ""
    cause = _cause(errors, calls)
    claimed = dry_run_claimed(calls) if code == _POSSIBLE else ""
    message = f"{one_line(calls[0].tool, 60)} {what} with the same arguments{shown}{claimed}{cause}"
    return finding(code, message, steps=tuple(c.step for c in calls), basis=Basis.DERIVED)


def _cause(errors: list[int], calls: list[Call]) -> str:
    """What stands between the two calls: an error after the effect is the retry that this kind of fault is made of."""
    first = bisect_right(errors, calls[0].step)
    if first < bisect_left(errors, calls[1].step):
        return "; an error event stands between them, after the first had its result: a retry from the top"
    return ""
