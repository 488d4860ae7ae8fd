"""Who approved what, on which arguments, and what ran? The record of oversight, without a word on its quality."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.analysis.oversight import approvals
from forensics.core.jsonvalue import spell_surrogates
from forensics.report.incident.documents import ApprovalRow, Oversight
from forensics.report.incident.material import effect_calls
from forensics.report.incident.statements import recorded, share
from forensics.report.terminal_page import plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from forensics.analysis.oversight import Approval
    from forensics.core.trace import Payload, Trace
    from forensics.report.incident.documents import ReportFinding, Statement
    from forensics.report.incident.material import Material


def oversight(material: Material, findings: Sequence[ReportFinding]) -> Oversight:
    """The part of a report about approvals."""
    told: dict[int, list[int]] = {}
    for finding in findings:
        for step in finding.steps:
            told.setdefault(step, []).append(finding.index)
    rows = [row for index in range(len(material.traces)) for row in _rows(material, index, told)]
    approved = {step for row in rows if row.decisions for step in row.calls}
    effects = [call.step for trace in material.traces for call in effect_calls(trace)]
    covered = sum(step in approved for step in effects)
    return Oversight(
        effects_with_approval=share("calls with an effect that a recorded decision covers", covered, len(effects)),
        statement=_statement(rows, covered, len(effects)),
        approvals=rows,
    )


def _statement(rows: Sequence[ApprovalRow], covered: int, effects: int) -> Statement:
    if not rows:
        return recorded(
            f"The record holds no approval: 0 of {plural(effects, 'call')} with an effect have one. "
            "Approvals given elsewhere leave no trace here."
        )
    steps = [step for row in rows for step in (*row.requests, *row.decisions)]
    return recorded(
        f"The record holds {plural(len(rows), 'approval')}; decisions cover {covered} of {plural(effects, 'call')} "
        "with an effect.",
        steps=steps,
    )


def _rows(material: Material, index: int, told: Mapping[int, list[int]]) -> Iterator[ApprovalRow]:
    trace, first = material.analyses[index].trace, material.traces[index].first_step
    for name, approval in approvals(trace).items():
        asked = [first + row for row in approval.requests]
        decided = [first + decision.step for decision in approval.decisions]
        yield ApprovalRow(
            trace=index,
            name=spell_surrogates(name),
            requests=asked,
            decisions=decided,
            decided=_decided(approval),
            note=material.content.text(spell_surrogates(_note(approval))) or "",
            calls=[first + trace.calls[row].step for row in approval.calls],
            shown=material.content.json(approval.shown[-1].arguments if approval.shown else None),
            executed=material.content.json(_executed(trace, approval)),
            basis="recorded",
            findings=sorted({index for step in (*asked, *decided) for index in told.get(step, ())}),
        )


def _decided(approval: Approval) -> str:
    """approved, rejected, both (opposite decisions under one id), or undecided."""
    said = {decision.approved for decision in approval.decisions}
    if len(said) > 1:
        return "both"
    return "undecided" if not said else "approved" if said == {True} else "rejected"


def _note(approval: Approval) -> str:
    return "; ".join(decision.note for decision in approval.decisions if decision.note)


def _executed(trace: Trace, approval: Approval) -> Payload | None:
    return trace.calls[approval.calls[-1]].arguments if approval.calls else None
