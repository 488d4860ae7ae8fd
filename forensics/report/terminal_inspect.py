"""How does an inspection read? The head of an audit, then every step and every tuple."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from forensics.report.terminal_audit import audit
from forensics.report.terminal_effects import mark, moment
from forensics.report.terminal_evidence import place
from forensics.report.terminal_findings import where
from forensics.report.terminal_page import Span, name, short, value
from forensics.report.terminal_verdict import flow

if TYPE_CHECKING:
    from forensics.report.documents import InspectionDocument, StepRow, TraceRow, TupleRow
    from forensics.report.terminal_page import Page

_TUPLES = 200
_STEPS = 2_000
_FEW = 20  # steps and tuples where something else is what was asked for
_TEXT = 2_000
_EXCERPT = 300


def inspection(page: Page, document: InspectionDocument, *, few: bool = False) -> None:
    """Lay out an inspection: of everything, or of one step (the only row then, with its bytes). With `few` only the
    first steps and tuples, and the command that shows the others.
    """
    if len(document.steps) == 1 and document.steps[0].bytes is not None:
        _one_step(page, document, document.steps[0])
        return
    audit(page, document)
    if page.detail < 0:
        return
    steps, tuples = (_FEW, _FEW) if few else (_STEPS, _TUPLES)
    page.title("Steps")
    several = len(document.traces) > 1
    for row in document.steps[:steps]:
        _step(page, row, several=several, most=_EXCERPT if few else _TEXT)
    _more(page, len(document.steps) - steps, few=few)
    page.title("Tuples")
    for pair in document.tuples[:tuples]:
        _tuple(page, pair)
    _more(page, len(document.tuples) - tuples, few=few)


def _more(page: Page, count: int, *, few: bool) -> None:
    if few and count > 0:
        page.line(Span(f"… {count} more: forensics inspect", "dim"), first="  ")
    elif not few:
        page.more(count)


def _step(page: Page, row: StepRow, *, several: bool, most: int) -> None:
    words = [row.kind]
    if row.name:
        words.append(name(row.name))
    if row.agent:
        words.append(f"agent {name(row.agent)}")
    if several:
        words.append(f"trace {name(row.trace, 12)}")
    if row.at is not None:
        words.append(moment(row.at))
    if row.kind == "tool_call" and row.class_ is not None:
        words.append(f"[{row.occurrence}] {row.class_}, {row.decision}")
    page.line(Span(f"{row.index:>4}", "dim"), "  " + "  ".join(words), first="", rest="        ")
    said = _said(row)
    if said:
        page.quote(said, indent=6, limit=most)


def _said(row: StepRow) -> str:
    if row.text is not None:
        return row.text
    if row.value is None:
        return ""
    return row.value if isinstance(row.value, str) else _json(row.value)


def _json(something: object) -> str:
    return json.dumps(something, ensure_ascii=False, default=str)


def _tuple(page: Page, row: TupleRow) -> None:
    call, result = row.call, row.result
    number = Span(f"{row.index:>4}", "dim")
    page.line(number, f"  [{row.occurrence}]  ", Span(name(call["tool"]), "title"), rest="        ")
    said = Span("(no text)", "dim") if row.output is None else Span(short(row.output, _EXCERPT), "quote")
    page.field("prompt", Span(short(row.prompt.preview, _EXCERPT), "quote"), indent=6)
    page.field("output", said, indent=6)
    page.field("call", Span(value(call["arguments"], _EXCERPT), "quote"), indent=6)
    page.field("result", f"{result['outcome']}: ", Span(value(result["value"], _EXCERPT), "quote"), indent=6)


# one step ------------------------------------------------------------------------------------------------------------


def _one_step(page: Page, document: InspectionDocument, row: StepRow) -> None:
    trace = document.traces[0]
    page.line(Span(f"Step {row.index}", "title"), f": {row.kind} {name(row.name) if row.name else ''}", rest="  ")
    page.field("trace", f"{name(row.trace)} in {name(document.evidence[row.locator.evidence].name)}")
    if row.agent:
        page.field("agent", name(row.agent))
    if row.at is not None:
        page.field("at", moment(row.at))
    page.field("stands at", place(row.locator))
    page.field("follows", ", ".join(f"step {p}" for p in row.parents) or "nothing in the record")
    _call_of(page, trace, row)
    said = _said(row)
    if said:
        page.title("Says")
        page.quote(said, indent=2, limit=20_000)
    _around(page, document, trace, row)
    page.title("Bytes in the evidence")
    page.line(f"{row.bytes_length} bytes", first="  ")
    page.line(Span(f"sha256 {row.bytes_sha256}", "dim"), first="  ")
    page.quote(row.bytes or "", indent=2, limit=20_000)
    if page.detail >= 0:
        evidence = document.evidence[row.locator.evidence]
        page.title("Evidence")
        page.line(f"{name(evidence.name)}: {evidence.format}, {evidence.coverage}", first="  ", rest="    ")
        page.line(Span(f"sha256 {evidence.sha256}", "dim"), first="    ")


def _call_of(page: Page, trace: TraceRow, row: StepRow) -> None:
    call = next((c for c in trace.executions if row.call is not None and c.step == row.call), None)
    if call is None:
        return
    tool = next(t for t in trace.tools if t.name == call.tool)
    result = "no result" if call.result_step is None else f"result in step {call.result_step}"
    page.field("call", f"{name(call.tool)} [{call.occurrence}], asked in step {call.step}, {result}")
    axes = f"effect {call.effect}, result {call.result}"
    page.field("class", f"{mark(tool.labels)} {call.class_}, {axes}; a rerun would {call.decision} it")
    outcome = call.outcome + (f" ({call.absence})" if call.absence else "")
    agreed = f"; records agree: {call.agreement}" if call.agreement else ""
    page.field("outcome", f"{outcome}; paired: {call.pairing}{agreed}")
    if call.added:
        page.field("added", f"by the harness: {', '.join(short(a) for a in call.added)}")
    if call.blocks:
        page.field("blocked by", ", ".join(call.blocks))


def _around(page: Page, document: InspectionDocument, trace: TraceRow, row: StepRow) -> None:
    """Handles, findings and reasons that touch the step."""
    touching = [h for h in trace.handles if h.minted.step == row.index or any(u.step == row.index for u in h.uses)]
    if touching:
        page.title("Handles")
        for handle in touching:
            page.line(*flow(trace, handle), first="  ", rest="    ")
    if document.findings:
        page.title("Findings")
        for found in document.findings:
            page.line(
                f"{found.severity}  {found.code}: {short(found.message, 600)}{where(found)}", first="  ", rest="    "
            )
    reasons = [r for r in trace.verdict.policies.strict.reasons if r.step == row.index]
    if reasons:
        page.title("Reasons")
        for reason in reasons:
            page.line(f"{reason.code}: {short(reason.message, 600)}", first="  ", rest="    ")
