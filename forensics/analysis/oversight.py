"""Who approved what, and did what was approved happen? Approvals are tied to calls by recorded ids only.

An id that covers several calls with opposite decisions ties nothing; that is said and never decided by order (EU AI
Act Art. 14 asks for evidence of oversight, not for a guess).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from forensics.core.agreement import compare_arguments
from forensics.core.evidence import Basis
from forensics.core.findings import Finding, finding
from forensics.core.jsonvalue import raw, text_in, value_of
from forensics.core.sanitise import one_line
from forensics.core.trace import Call, Outcome, Payload, StepKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.core.trace import Trace

_APPROVED = frozenset(
    {"approve", "approved", "allow", "allowed", "accept", "accepted", "yes", "true", "grant", "granted"}
)
_REJECTED = frozenset(
    {"reject", "rejected", "deny", "denied", "no", "false", "refuse", "refused", "decline", "declined"}
)
_ARGUMENTS = ("args", "arguments", "input", "tool_input", "parameters")
_SHOWN = 4
_REFUSALS = ("rejected", "denied", "refused", "not approved", "declined", "cancelled")


class Decision(msgspec.Struct, frozen=True):
    """One decision about an approval id."""

    step: int
    approved: bool
    note: str


class Shown(msgspec.Struct, frozen=True):
    """Arguments that an approval was asked for, or given with: the step that shows them, and the call that it names."""

    step: int
    call: int
    arguments: Payload


class Approval(msgspec.Struct):
    """One approval id: the calls that asked under it, what was shown of them, and the decisions about it."""

    calls: list[int] = []
    requests: list[int] = []
    shown: list[Shown] = []
    decisions: list[Decision] = []


def oversight(trace: Trace) -> tuple[Finding, ...]:
    """The findings about approvals of one trace."""
    return tuple(f for name, approval in approvals(trace).items() for f in _judge(trace, name, approval))


def approvals(trace: Trace) -> dict[str, Approval]:
    """Every approval of a trace by its id, in the order in which they are first named."""
    found: dict[str, Approval] = {}
    told = sorted((*trace.rows(StepKind.APPROVAL_REQUEST), *trace.rows(StepKind.APPROVAL)))
    calls = trace.calls if told else ()
    by_id: dict[str | None, int] = {call.recorded_id: row for row, call in enumerate(calls) if call.recorded_id}
    for row in told:
        kind, payload = trace.kind[row], trace.payload[row]
        if payload is None:
            continue
        fields = value_of(payload)
        if isinstance(fields, dict):
            _note(found, by_id, row, StepKind(kind), fields)
    return found


def _note(
    found: dict[str, Approval], by_id: dict[str | None, int], row: int, kind: StepKind, fields: dict[str, Any]
) -> None:
    call_id = text_in(fields, "call_id", "tool_call_id", "call")
    name = text_in(fields, "approval_id", "request_id", "approval_request_id", "id") or call_id
    approval = found.setdefault(name, Approval())
    call = by_id.get(call_id)
    if call is not None and call not in approval.calls:
        approval.calls.append(call)
    arguments = next((fields[key] for key in _ARGUMENTS if isinstance(fields.get(key), (dict, str))), None)
    if call is not None and arguments is not None:
        approval.shown.append(Shown(row, call, raw(arguments)))
    if kind is StepKind.APPROVAL_REQUEST:
        approval.requests.append(row)
        return
    approved = _decision(fields)
    if approved is not None:
        approval.decisions.append(Decision(row, approved, text_in(fields, "note", "reason", "comment")))


def _decision(fields: dict[str, Any]) -> bool | None:
    for key in ("decision", "approved", "approve", "status", "result"):
        word = str(fields.get(key, "")).strip().lower()
        if word in _APPROVED:
            return True
        if word in _REJECTED:
            return False
    return None


def _judge(trace: Trace, name: str, approval: Approval) -> Iterator[Finding]:
    decisions = {d.approved for d in approval.decisions}
    steps = tuple(
        sorted(
            {*approval.requests, *(d.step for d in approval.decisions), *(trace.calls[c].step for c in approval.calls)}
        )
    )
    shown = one_line(name, 60)
    if len(approval.calls) > 1 and len(decisions) > 1:
        count = len(approval.calls)
        message = f"approval {shown} covers {count} calls with opposite decisions: which was approved can't be told"
        yield finding("ambiguous_approval", message, steps=steps, basis=Basis.DERIVED)
    elif len(approval.calls) > 1 and len(approval.decisions) == 1:
        message = f"approval {shown} was given once and covers {len(approval.calls)} calls"
        yield finding("approval_reused", message, steps=steps, basis=Basis.DERIVED)
    yield from _contradictions(trace, shown, approval)
    if decisions == {True}:
        yield from _differences(trace, shown, approval)


def _differences(trace: Trace, shown: str, approval: Approval) -> Iterator[Finding]:
    """A call that ran with other arguments than those that were approved: of what was shown, the last counts, because
    whoever approves may have changed them. What the harness added to them is no difference.
    """
    for row in approval.calls:
        call = trace.calls[row]
        told = next((one for one in reversed(approval.shown) if one.call == row), None)
        if told is None or call.arguments is None or not _ran(call):
            continue
        change = compare_arguments(told.arguments, call.arguments)
        if change.contradicts:
            keys = ", ".join(one_line(key, 40) or "the whole" for key in (*change.changed, *change.missing)[:_SHOWN])
            message = f"approval {shown} was given for other arguments of {one_line(call.tool, 60)} than ran: {keys}"
            steps = (told.step, *(d.step for d in approval.decisions), call.step)
            yield finding("executed_differs_from_approved", message, steps=steps, basis=Basis.DERIVED)


def _contradictions(trace: Trace, shown: str, approval: Approval) -> Iterator[Finding]:
    """A call that ran although a decision under its approval says no."""
    rejections = [d for d in approval.decisions if not d.approved]
    ran = [trace.calls[c] for c in approval.calls if _ran(trace.calls[c])]
    if not rejections or not ran:
        return
    certain = not any(d.approved for d in approval.decisions)
    notes = "; ".join(one_line(d.note, 60) for d in rejections if d.note)
    said = f" ({notes})" if notes else ""
    tools = ", ".join(one_line(c.tool, 40) for c in ran)
    message = f"approval {shown} was rejected{said}, and {tools} ran under it"
    steps = (*(d.step for d in rejections), *(c.step for c in ran))
    basis = Basis.DERIVED if certain else Basis.INFERRED
    yield finding(
        "approval_contradicted", message, steps=steps, basis=basis, confidence="high" if certain else "medium"
    )


def _ran(call: Call) -> bool:
    """Whether a call has a result that is no refusal."""
    if call.outcome is not Outcome.RECORDED or call.result is None:
        return False
    said = value_of(call.result)
    return not (isinstance(said, str) and any(word in said[:200].lower() for word in _REFUSALS))
