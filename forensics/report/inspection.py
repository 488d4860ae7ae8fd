"""What does every step say, and which tuples are there? The static inspection, which always works."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any

from forensics.core.jsonvalue import spell_surrogates, strict_value, text_of, value_of
from forensics.core.trace import StepKind
from forensics.report.call_rows import decision
from forensics.report.compose import Numbering, audit_document, place
from forensics.report.documents import INSPECTION, InspectionDocument, Place, PromptRow, StepRow, TupleRow
from forensics.report.written import moment, preview

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forensics.analysis.run import TraceAnalysis
    from forensics.core.policy import Policy
    from forensics.core.trace import Call, Payload, Trace
    from forensics.report.compose import Examined

_VALUES = frozenset({StepKind.TOOL_CALL, StepKind.TOOL_RESULT, StepKind.APPROVAL, StepKind.APPROVAL_REQUEST})


def inspection_document(examined: Sequence[Examined], policy: Policy, rules_digest: str) -> InspectionDocument:
    """The inspection document of these evidences."""
    audit = audit_document(examined, policy, rules_digest)
    numbering = Numbering(examined)
    analyses = [a for one in examined for a in one.analyses]
    tuples: list[TupleRow] = []
    for analysis in analyses:
        tuples.extend(_tuples(analysis, len(tuples)))
    return InspectionDocument(
        schema=INSPECTION,
        tool=audit.tool,
        policy=audit.policy,
        rules=audit.rules,
        evidence=audit.evidence,
        counts=audit.counts,
        traces=audit.traces,
        findings=audit.findings,
        steps=[row for a in analyses for row in _steps(a, numbering.first(a))],
        tuples=tuples,
    )


def _steps(analysis: TraceAnalysis, first: int) -> list[StepRow]:
    trace = analysis.trace
    parents = _parents(trace)
    return [_step(analysis, row, first, [first + p for p in parents[row]]) for row in range(len(trace))]


def _parents(trace: Trace) -> list[list[int]]:
    """The steps that a step follows from: a call its turn, a result its call, a turn what it was shown since the last
    turn of its agent; the causal graph holds the rest.
    """
    turns = {trace.turn[r]: r for r in range(len(trace)) if trace.kind[r] == StepKind.MODEL}
    waiting: dict[int, list[int]] = {}
    out: list[list[int]] = []
    for row in range(len(trace)):
        kind, agent = trace.kind[row], trace.agent[row]
        if kind == StepKind.MODEL:
            out.append(waiting.pop(agent, []))
            continue
        if kind == StepKind.TOOL_CALL:
            out.append([turns[trace.turn[row]]] if trace.turn[row] in turns else [])
            continue
        answered = kind == StepKind.TOOL_RESULT and trace.call[row] >= 0
        out.append([trace.calls[trace.call[row]].step] if answered else [])
        waiting.setdefault(agent, []).append(row)
    return out


def _step(analysis: TraceAnalysis, row: int, first: int, parents: list[int]) -> StepRow:
    trace = analysis.trace
    step = trace.step(row)
    structured = step.kind in _VALUES and step.payload is not None
    where = place(step.locator)
    base: dict[str, Any] = {} if step.call is None else _call_fields(analysis, step.call, first)
    return StepRow(
        index=first + row,
        trace=spell_surrogates(trace.id),
        kind=step.kind.label,
        agent=spell_surrogates(step.agent),
        name=spell_surrogates(step.name),
        at=moment(trace.when(row)),
        locator=where or Place(evidence=0),
        parents=parents,
        text=None if structured or step.payload is None else spell_surrogates(text_of(step.payload)),
        value=strict_value(value_of(step.payload)) if structured and step.payload is not None else None,
        **base,
    )


def _call_fields(analysis: TraceAnalysis, row: int, first: int) -> dict[str, Any]:
    call, classified = analysis.trace.calls[row], analysis.calls[row]
    return {
        "occurrence": call.occurrence,
        "call": first + call.step,
        "result": None if call.result_step < 0 else first + call.result_step,
        "class_": classified.tool_class.value,
        "decision": decision(call),
    }


# tuples --------------------------------------------------------------------------------------------------------------


class _Shown:
    """Everything that an agent's model has been shown so far: a running digest and the last words."""

    def __init__(self) -> None:
        self.digest = sha256()
        self.last = ""

    def add(self, payload: Payload) -> None:
        data = bytes(payload)
        self.digest.update(len(data).to_bytes(8, "big") + data)
        self.last = preview(payload)

    def row(self) -> PromptRow:
        return PromptRow(digest=f"sha256:{self.digest.hexdigest()}", preview=self.last)


_EMPTY = _Shown()


def _tuples(analysis: TraceAnalysis, start: int) -> list[TupleRow]:
    """One tuple a call, in the order of the calls; what a branch executed once more stands with the first result."""
    trace = analysis.trace
    prompts, outputs = _turns(trace)
    out: list[TupleRow] = []
    again = _results_again(trace)
    for row, call in enumerate(trace.calls):
        if call.again_of >= 0:
            continue
        arguments = call.arguments
        out.append(
            TupleRow(
                index=start + len(out),
                trace=spell_surrogates(trace.id),
                occurrence=call.occurrence,
                prompt=prompts.get(call.turn, _EMPTY.row()),
                output=outputs.get(call.turn),
                call={
                    "tool": spell_surrogates(call.tool),
                    "id": None if call.recorded_id is None else spell_surrogates(call.recorded_id),
                    "arguments": None if arguments is None else strict_value(value_of(arguments)),
                },
                result=_result(call) | ({"again": again[row]} if row in again else {}),
            )
        )
    return out


def _result(call: Call) -> dict[str, Any]:
    result = call.result
    return {"outcome": call.outcome.value, "value": None if result is None else strict_value(value_of(result))}


def _results_again(trace: Trace) -> dict[int, list[dict[str, Any]]]:
    """By call, what it returned when branches executed it once more."""
    found: dict[int, list[dict[str, Any]]] = {}
    for call in trace.calls:
        if call.again_of >= 0:
            found.setdefault(call.again_of, []).append(_result(call))
    return found


def _turns(trace: Trace) -> tuple[dict[int, PromptRow], dict[int, str | None]]:
    """The prompt that each turn was given, and the text that it said."""
    shown: dict[int, _Shown] = {}
    prompts: dict[int, PromptRow] = {}
    outputs: dict[int, str | None] = {}
    for row in range(len(trace)):
        payload = trace.payload[row]
        lane = shown.setdefault(trace.agent[row], _Shown())
        if trace.kind[row] == StepKind.MODEL:
            prompts[trace.turn[row]] = lane.row()
            outputs[trace.turn[row]] = None if payload is None else spell_surrogates(text_of(payload))
        if payload is not None:
            lane.add(payload)
    return prompts, outputs
