"""May the trace be rerun? The reasons to refuse, under both policies, from its calls, its gaps and its values.

Nothing here weighs: every reason refuses, and strict refuses whatever inject refuses (CONTRACT: policy, what refuses).
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from forensics.core.classes import Classes, Classification, RestsOn, ToolClass
from forensics.core.jsonvalue import short_json, value_of
from forensics.core.sanitise import one_line
from forensics.core.trace import Absence, Call, Outcome, Trace
from forensics.core.verdict import Reason, Verdict, deciding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.core.policy import Policy

_INJECTABLE = frozenset({Outcome.RECORDED, Outcome.FAILED, Outcome.DENIED})
_NOT_INJECTABLE = tuple(outcome for outcome in Outcome if outcome not in _INJECTABLE)


class Case(msgspec.Struct, frozen=True):
    """What a verdict rests on: a trace with its gaps, the class of each of its calls, and the values of the agent's own
    making that came back (value, step that made it, step where it came back).
    """

    trace: Trace
    calls: Classes
    own_values: tuple[tuple[str, int, int], ...]


def decide(case: Case, policy: Policy, digests: tuple[str, ...] = ()) -> Verdict:
    """The verdict under both policies; the digests are those of evidence, rules and policy."""
    inject = tuple(_inject_reasons(case))
    strict = (*_class_reasons(case), *inject)
    return Verdict(case.trace.id, policy.base, strict, inject, digests)


# inject --------------------------------------------------------------------------------------------------------------


def _inject_reasons(case: Case) -> Iterator[Reason]:
    calls = case.trace.calls
    ended = (call.row for call in calls.that_ended(*_NOT_INJECTABLE))
    untold = (row for row, step in enumerate(calls.column("result_step")) if step < 0)
    for row in sorted({*calls.rare("blocks"), *ended, *untold}):
        yield from not_injectable(case.trace, calls[row])
    yield from _gap_reasons(case)
    yield from _own_value_reasons(case)


def not_injectable(trace: Trace, call: Call) -> Iterator[Reason]:
    """Every reason why the recorded result of a call can't stand in for a rerun's; a call that ended the run needs
    none.
    """
    tool = one_line(call.tool, 60)
    for block in call.blocks:
        yield _reason(trace, call, block.code, block.message)
    if call.blocks or call.absence is Absence.NOT_DUE:
        return
    if call.outcome is Outcome.ABSENT:
        why = (call.absence or Absence.NOT_CAPTURED).value
        yield _reason(trace, call, "result_missing", f"the result of {tool} is not in the evidence ({why})")
    elif call.outcome in _INJECTABLE and call.result is None:
        yield _reason(trace, call, "result_missing", f"the evidence says how {tool} ended, and not what it returned")
    elif call.outcome not in _INJECTABLE and call.result is None:
        message = f"{tool} may have taken effect, and what the agent was given is not recorded"
        yield _reason(trace, call, "unknown_outcome", message)


def _gap_reasons(case: Case) -> Iterator[Reason]:
    for gap in case.trace.gaps:
        if gap.hides:
            told = gap.message if gap.code == "evidence_gap" else f"{gap.code}: {gap.message}"
            yield Reason("evidence_gap", told, locator=gap.locator)
    if not case.trace.calls and not _is_whole(case):
        where = case.trace.locator(0) if len(case.trace) else None
        yield Reason("evidence_gap", "no call was read, and this format may hide calls in text", locator=where)


def _is_whole(case: Case) -> bool:
    """Whether a trace without calls really has none: its format records calls, and every turn of it is there."""
    return case.trace.records_calls and bool(case.trace.turns) and not case.trace.silent_turns


def _own_value_reasons(case: Case) -> Iterator[Reason]:
    for value, made, back in case.own_values:
        message = (
            f"{one_line(value, 60)} is a value of the agent's own making (step {made}) that comes back in step {back}: "
            "a rerun would make another one"
        )
        yield Reason("handle_branch", message, step=back, locator=case.trace.locator(back))


# strict --------------------------------------------------------------------------------------------------------------


def _class_reasons(case: Case) -> Iterator[Reason]:
    """One reason a tool and kind, at the first call that gives it."""
    calls, codes = case.trace.calls, [*map(class_code, case.calls.kinds)]
    told: Counter[tuple[str, str]] = Counter()
    firsts: dict[tuple[str, str], int] = {}
    for name, number, row, count in calls.by_tool(case.calls.numbers):
        code = codes[number]
        if code is not None:
            firsts.setdefault((name, code), row)
            told[name, code] += count
    for (name, code), row in firsts.items():
        call = calls[row]
        yield _reason(case.trace, call, code, _class_message(call, case.calls[row], told[name, code]))


def class_code(classified: Classification) -> str | None:
    """`not_idempotent`, `unvouched` or None for a call that strict clears."""
    if classified.tool_class is not ToolClass.IDEMPOTENT:
        return "not_idempotent"
    return None if classified.vouched else "unvouched"


_RESTS = {
    RestsOn.WORDS: "only its own words say that it reads",
    RestsOn.PACK: "only a shipped rule that the policy does not trust by name says that it reads",
    RestsOn.NONE: "nothing says that it reads",
}


def _class_message(call: Call, classified: Classification, count: int) -> str:
    tool, times = one_line(call.tool, 60), f" ({count} calls)" if count > 1 else ""
    if class_code(classified) == "unvouched":
        return f"{tool} is read as having no effect, and nobody vouched for it: {_RESTS[classified.rests_on]}{times}"
    labels = " and ".join(label for label in classified.labels if label != "volatile")
    effect = "unknown effect" if classified.effect.name == "UNKNOWN" else f"effect {classified.effect.name.lower()}"
    result = call.result
    shown = "" if result is None else f"; it returned {one_line(short_json(value_of(result), 60), 60)}"
    return f"{tool} is {labels}, {effect}{shown}{times}"


def _reason(trace: Trace, call: Call, code: str, message: str) -> Reason:
    return Reason(code, message, call.step, call.tool, trace.locator(call.step))


# the guard of the source -------------------------------------------------------------------------------------------


def refusal(first: Reason, verdict: Verdict) -> str:
    """The message of a refusal: the deciding step, its tool, the recorded result, and what to do."""
    where = "" if first.step is None else f"step {first.step}: "
    others = len(verdict.reasons) - 1
    more = f" (and {others} more reason{'s' if others > 1 else ''})" if others else ""
    return f"{where}{first.message}{more}. {advice(verdict)}"


def decided_by(trace: Trace, calls: Classes, verdict: Verdict) -> Reason:
    """The reason that a refusal names first; `calls` are the classes of the trace's calls."""

    def effect_at(step: int) -> str | None:
        row = trace.call[step]
        return calls[row].effect.name.lower() if row >= 0 and trace.calls[row].step == step else None

    return deciding(verdict.inject, verdict.reasons, effect_at)


_INJECTED = "a rerun that injects the recorded results (forensics replay --policy inject)"


def advice(verdict: Verdict) -> str:
    """What a person can do after a refusal."""
    if verdict.inject:
        return "The trace can be read only: static inspection of its tuples (forensics inspect)."
    if any(r.code == "not_idempotent" for r in verdict.strict):
        return f"Use static inspection (forensics inspect), or {_INJECTED}."
    return f"Vouch for the tools in a policy file (forensics policy draft), or use {_INJECTED}."
