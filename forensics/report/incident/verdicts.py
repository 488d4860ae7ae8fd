"""May the run be repeated, and what decides that? The box that a reader sees first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.report.compose import records_read
from forensics.report.incident.documents import Decider, TraceVerdict, VerdictBox
from forensics.report.incident.material import means
from forensics.report.incident.statements import derived, share
from forensics.report.terminal_page import plural, short
from forensics.report.terminal_verdict import deciding

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forensics.report.documents import CallRow, ReasonRow, TraceRow
    from forensics.report.incident.content import Content
    from forensics.report.incident.documents import Statement
    from forensics.report.incident.material import Material

_LEVELS = {
    "static": "it may be read and nothing of it may be run again",
    "inject": "only one that takes every result from the record and runs no tool is possible",
    "dynamic": "running its tools again adds no effect, as far as the evidence and the policy tell",
}


def verdict_box(material: Material, exit_code: int) -> VerdictBox:
    """The part of a report about the verdict."""
    traces = material.traces
    cleared = sum(trace.verdict.cleared for trace in traces)
    return VerdictBox(
        statement=_over_all(material, cleared),
        exit_code=exit_code,
        cleared=share(f"traces cleared under {material.audit.policy.base}", cleared, len(traces)),
        coverage=share("records read", *records_of(material)),
        traces=[_of_trace(material, index) for index in range(len(traces))],
    )


def records_of(material: Material) -> tuple[int, int]:
    """How many records were read, of how many."""
    readings = [records_read(one.reading) for one in material.examined if one.reading is not None]
    return sum(count for count, _ in readings), sum(whole for _, whole in readings)


def _over_all(material: Material, cleared: int) -> Statement:
    traces, policy = material.traces, material.audit.policy
    rule = f"policy {short(policy.name, 80)}"
    if not traces:
        evidences = len(material.examined)
        return derived(f"Nothing could be told: no trace could be read in {plural(evidences, 'evidence')}.", rule)
    if len(traces) == 1:
        return _of_trace(material, 0).statement
    refused = len(traces) - cleared
    word = f"refused for {refused}" if refused else f"cleared for {len(traces)}"
    return derived(
        f"A rerun is {word} of {len(traces)} runs, under {policy.base}.",
        rule,
        steps=[trace.first_step for trace in traces[:20]],
    )


def _of_trace(material: Material, index: int) -> TraceVerdict:
    trace = material.traces[index]
    row = trace.verdict
    word = "cleared" if row.cleared else "refused"
    text = f"A rerun is {word} under {row.policy}, level {row.level}: {_LEVELS[row.level]}."
    decider = None if row.cleared else _decider(material, index)
    step = [] if decider is None or decider.step is None else [decider.step]
    said = material.content
    return TraceVerdict(
        trace=index,
        level=row.level,
        policy=row.policy,
        cleared=row.cleared,
        statement=derived(text, f"policy {short(material.audit.policy.name, 80)}", steps=step),
        decided_by=decider,
        strict=_reasons(row.policies.strict.reasons, said),
        inject=_reasons(row.policies.inject.reasons, said),
        advice=row.advice,
    )


def _reasons(reasons: Sequence[ReasonRow], content: Content) -> list[ReasonRow]:
    return [msgspec.structs.replace(one, message=content.said(one.message, means(one.code))) for one in reasons]


def _decider(material: Material, index: int) -> Decider:
    trace, content = material.traces[index], material.content
    reason = deciding(trace)
    call = _call_at(trace, reason.step)
    minted = [] if call is None else call.minted
    return Decider(
        code=reason.code,
        message=content.said(reason.message, means(reason.code)),
        step=reason.step,
        tool=reason.tool,
        locator=reason.locator,
        returned=None if call is None or call.result_preview is None else content.text(short(call.result_preview, 200)),
        handles=[material.value(index, value) for value in minted],
        more=len(trace.verdict.reasons) - 1,
    )


def _call_at(trace: TraceRow, step: int | None) -> CallRow | None:
    return next((call for call in trace.executions if call.step == step), None)
