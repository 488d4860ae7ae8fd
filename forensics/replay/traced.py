"""What did the run of a trace ask, and what was it answered? Its model turns and boundary calls as recordings.

A turn's request is what the model had been shown since its last turn, with a digest of all that came before: equal
requests are those with equal histories, and a long trace stays as small as it is. Lanes are agents: a trace does not
say to which of two conversations of one agent a step belongs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from forensics.analysis.decide import not_injectable
from forensics.core.jsonvalue import canonical, value_of
from forensics.core.trace import Absence, Boundary, Outcome, StepKind
from forensics.replay.prompts import Prompts
from forensics.replay.recordings import MODEL, TOOL, Record, Recording, Request

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.core.trace import Call, Payload, Step, Trace

_SHOWN = frozenset(
    {StepKind.SYSTEM, StepKind.USER, StepKind.TOOL_RESULT, StepKind.APPROVAL, StepKind.MEMORY, StepKind.HANDOFF}
)
_UNSETTLED = frozenset({Outcome.ABSENT, Outcome.INDETERMINATE})
_SILENT = "what the model said was not captured"
_UNASKED = "what the model was shown is not recorded"
_FAILED = frozenset({Outcome.FAILED, Outcome.DENIED})


def trace_record(trace: Trace) -> Record:
    """The recordings of a trace, in causal order. A gap that may hide a call puts all of them in doubt, as it refuses
    every rerun; tools that the model's provider ran are part of its answer and asked for by nobody.
    """
    gap = _hiding(trace)
    doubt = f"a gap may hide an equal request ({gap})" if gap else ""
    return Record(recordings=tuple(_recordings(trace, doubt)), findings=tuple(trace.findings))


def trace_requests(trace: Trace) -> tuple[Request, ...]:
    """The requests of a trace alone, in the order in which its run made them; in doubt where a gap may hide one."""
    gap = _hiding(trace)
    doubt = f"a gap may hide a request ({gap})" if gap else ""
    requests = (recording.request for recording in _recordings(trace, ""))
    return tuple(msgspec.structs.replace(one, doubt=one.doubt or doubt) for one in requests)


def _hiding(trace: Trace) -> str:
    """The first gap that may hide a call or a turn, in words; "" where there is none."""
    return next((f"{gap.code}: {gap.message}" for gap in trace.gaps if gap.hides), "")


def _recordings(trace: Trace, doubt: str) -> Iterator[Recording]:
    shown = Prompts()
    asked = _calls_by_turn(trace)
    silent = set(trace.silent_turns)
    for step in trace.steps():
        if step.kind is StepKind.MODEL and step.turn is not None:
            answer = _answer(step, asked.get(step.turn, []))
            yield _turn(
                step, shown.request(step.agent, step.name), answer, _SILENT if step.turn in silent else "", doubt
            )
            shown.said(step.agent, answer)
        elif step.kind is StepKind.TOOL_CALL and step.call is not None:
            call = trace.calls[step.call]
            if call.step == step.index and call.again_of < 0 and _is_answered_by_somebody(call):
                yield _call(trace, call, step, doubt)
        elif step.kind in _SHOWN:
            shown.take(step.agent, {"kind": step.kind.label, "says": _value(step.payload)})


def _is_answered_by_somebody(call: Call) -> bool:
    """Whether the agent's side answers such a call: not the model's provider, and not the end of the run."""
    return call.boundary is not Boundary.PROVIDER_TOOL and call.absence is not Absence.NOT_DUE


def _calls_by_turn(trace: Trace) -> dict[int, list[Call]]:
    found: dict[int, list[Call]] = {}
    for call in trace.calls:
        if call.turn >= 0:
            found.setdefault(call.turn, []).append(call)
    return found


def _answer(step: Step, calls: list[Call]) -> dict[str, Any]:
    said = [{"tool": call.tool, "arguments": _value(call.requested.payload)} for call in calls if call.requested]
    return {"text": _value(step.payload), "calls": said}


def _turn(step: Step, asked: dict[str, Any], answer: Any, missing: str, doubt: str) -> Recording:
    known = bool(asked["shown"] or asked["before"])
    request = Request(
        kind=MODEL,
        value=asked,
        locator=step.locator,
        lane=step.agent or None,
        doubt="" if known else _UNASKED,
        step=step.index,
    )
    return Recording(request=request, answer=answer, missing=missing, doubt=request.doubt or doubt)


def _call(trace: Trace, call: Call, step: Step, doubt: str) -> Recording:
    request = Request(
        kind=TOOL,
        value={"tool": call.tool, "arguments": _value(call.arguments)},
        locator=step.locator,
        lane=call.agent or None,
        recorded_id=call.recorded_id,
        spelled=b"" if call.arguments is None else canonical(call.tool) + bytes(call.arguments),
        step=step.index,
    )
    missing, blocked = _withheld(trace, call)
    return Recording(
        request=request,
        answer=None if call.result is None else value_of(call.result),
        missing=missing,
        doubt=blocked or doubt,
        batch=call.turn if call.turn >= 0 else None,
        failed=(call.marked or call.outcome) in _FAILED,
    )


def _withheld(trace: Trace, call: Call) -> tuple[str, str]:
    """Why the call has no result to give, and why the one it has can't be given; "" where neither holds."""
    reason = next(not_injectable(trace, call), None) if call.blocks or call.outcome in _UNSETTLED else None
    if reason is not None:
        return (reason.message, "") if call.result is None else ("", reason.message)
    return "" if call.result is not None else "its result is not in the evidence", ""


def _value(payload: Payload | None) -> Any:
    return None if payload is None else value_of(payload)
