"""How does a rerun read? First whether it went through and what it is beside the recorded run, then call by call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.report.comparison_words import CAUSES
from forensics.report.terminal_evidence import first_warning, sources
from forensics.report.terminal_findings import findings
from forensics.report.terminal_inspect import inspection
from forensics.report.terminal_page import Span, name, plural, short, value
from forensics.report.terminal_verdict import deciding

if TYPE_CHECKING:
    from forensics.report.documents import ComparisonDocument, DivergenceRow, ReasonRow
    from forensics.report.rerun_documents import RerunDocument, StopRow
    from forensics.report.terminal_page import Page

_ROWS, _ROWS_VERBOSE = 40, 1_000
_COLUMN = 14
_SAID = 300  # characters of what the agent printed
_STOOD_IN = frozenset({"overridden", "normalised"})
_ABSENT = "absent"
_STYLES = {"diverged": "refused", "not_comparable": "unknown"}
_RESULTS = {
    "identical": "the rerun is the recorded run",
    "equivalent": "the rerun is the recorded run, but for the order of calls that ran side by side",
    "equal_modulo_handles": "the rerun is the recorded run, but for the names of handles",
    "diverged": "the rerun is another run",
    "not_comparable": "whether the rerun is the recorded run can't be told",
}


def rerun(page: Page, document: RerunDocument) -> None:
    """Lay out a rerun, or its refusal with the static inspection."""
    if document.inspection is not None:
        _refused(page, document)
        return
    _result(page, document)
    if document.stopped is not None:
        _stop(page, document.stopped)
    if document.comparison is not None:
        _parting(page, document.comparison, stopped=document.stopped is not None)
    if page.detail >= 0:
        _calls(page, document)
        _questions(page, document)
        findings(page, document.findings, "Findings")
        sources(page, document.evidence)


def _refused(page: Page, document: RerunDocument) -> None:
    page.line(Span("REFUSED", "refused"), f" no rerun of trace {name(document.trace)} under {document.verdict.policy}")
    page.field("policy", f"{document.policy.name}; level {document.verdict.level}")
    if page.detail < 0:  # else the inspection says it
        first_warning(page, document.policy)
    told = _told_by_inspection(page, document)
    reasons = [row for row in document.verdict.reasons if _told_of(row) not in told]
    for reason in reasons[:_ROWS]:
        at = "" if reason.step is None else f"step {reason.step}: "
        page.field("because", f"{at}{reason.code}: {short(reason.message, 400)}")
    page.more(len(reasons) - _ROWS)
    if told:
        page.field("because" if not reasons else "", f"of {plural(len(told), 'reason')} of the verdict, which follows")
    if reasons and document.verdict.advice:
        page.field("to do", short(document.verdict.advice, 300))
    if page.detail >= 0 and document.inspection is not None:
        page.blank()
        inspection(page, document.inspection, few=page.detail == 0)
        _at_last(page, document, reasons)


def _at_last(page: Page, document: RerunDocument, own: list[ReasonRow]) -> None:
    """The reason once more, behind all that was shown of the trace: the end of a long text is what a person sees."""
    judged = document.inspection.traces if document.inspection is not None else []
    first = own[0] if own else next((deciding(trace) for trace in judged if trace.verdict.reasons), None)
    if first is None:
        return
    at = "" if first.step is None else f"step {first.step}: "
    others = len(document.verdict.reasons) - 1
    more = f" (and {plural(others, 'more reason')})" if others else ""
    page.blank()
    page.line(Span("REFUSED", "refused"), f" no rerun: {at}{first.code}: {short(first.message, 400)}{more}", rest="  ")


def _told_by_inspection(page: Page, document: RerunDocument) -> set[tuple[str, int | None, str]]:
    """The reasons that the verdict of the inspection says, which is shown but with -q."""
    if page.detail < 0 or document.inspection is None:
        return set()
    return {_told_of(row) for trace in document.inspection.traces for row in trace.verdict.reasons}


def _told_of(row: ReasonRow) -> tuple[str, int | None, str]:
    return row.code, row.step, row.message


def _result(page: Page, document: RerunDocument) -> None:
    compared = document.comparison
    result = "not_comparable" if compared is None else compared.result
    if document.stopped is not None:
        page.line(Span("STOPPED", "refused"), f" {document.stopped.code}: the rerun ended before its agent did")
    elif document.agent_error is not None:
        page.line(Span("FAILED", "refused"), f" the agent raised {short(document.agent_error, 200)}")
    else:
        words = result.replace("_", " ").upper()
        page.line(Span(words, _STYLES.get(result, "cleared")), f" {_RESULTS[result]}{_with_stand_ins(document)}")
    if document.agent_error_at is not None:
        page.field("at", short(document.agent_error_at, 200))
    agent = document.plan.agent or "the blueprint rebuilt from the trace"
    page.field("rerun", f"{document.mode}, {name(agent, 80)}, policy {name(document.policy.name)}")
    first_warning(page, document.policy)
    page.field("of", f"trace {name(document.trace)}")
    if document.plan.changes:
        page.field("changed", short(", ".join(document.plan.changes), 300))
    page.field("output", "recorded ", Span(value(document.output.original, 200), "quote"))
    page.field("", "rerun    ", Span(value(document.output.new, 200), "quote"))
    page.field("isolation", _isolation(document))
    for label, text in (("printed", document.printed.stdout), ("on stderr", document.printed.stderr)):
        if text.strip():
            page.field(label, Span(value(text.strip(), _SAID), "quote"))
    if not document.reproduction:
        page.field("note", f"this is not a reproduction: {_not_of_the_record(document)}")


def _with_stand_ins(document: RerunDocument) -> str:
    """What a rerun had in place of tools, said in one breath with what it came to."""
    tools = sorted(document.plan.stand_ins)
    return f", with what stood in for {short(', '.join(tools), 120)}" if tools else ""


def _not_of_the_record(document: RerunDocument) -> str:
    """What of a rerun does not come from the record, and what became of the ids that it made."""
    if document.stopped is not None:
        return "it did not come to its end"
    tools = sorted({row.tool for row in document.calls if row.disposition in _STOOD_IN})
    if not tools:
        return "something of it does not come from the record"
    mapped = any(row.renamed for row in document.calls)
    back = "; the ids in it are shown as the recorded ones" if mapped else ""
    return f"what stood in for {short(', '.join(tools), 120)} does not come from the record{back}"


def _isolation(document: RerunDocument) -> str:
    reached = document.isolation
    captured = len(reached.captured) + reached.more
    told = f"{reached.level}: {plural(len(reached.denied), 'act')} denied, {plural(captured, 'change')} captured"
    return told + (f" ({short(reached.missing[0], 120)})" if reached.missing else "")


def _stop(page: Page, stopped: StopRow) -> None:
    page.title("Where it stopped")
    page.field("why", short(stopped.message, 500))
    if stopped.hint:
        page.field("to do", short(stopped.hint, 300))
    if stopped.asked is not None:
        page.field("asked", Span(value(stopped.asked, 300), "quote"))
    for near in stopped.nearest:
        page.field("nearest", f"step {near.step}: {short(near.because, 300)}")
        if near.pointer is not None:
            page.field("", f"differs at {short(near.pointer, 100) or 'the whole'}", column=_COLUMN)
            page.field("", "recorded  ", Span(_told(near.recorded), "quote"), column=_COLUMN + 2)
            page.field("", "asked     ", Span(_told(near.asked), "quote"), column=_COLUMN + 2)


def _told(text: str | None) -> str:
    return "(nothing)" if text is None else short(text, 200)


def _parting(page: Page, compared: ComparisonDocument, *, stopped: bool) -> None:
    row = compared.first_divergence
    if row is None:
        return
    page.title("Where they part")
    page.field("what", f"step {row.index}: {short(row.what, 120)}: {row.kind}")
    if row.pointer:
        page.field("at", short(row.pointer, 200))
    page.field("recorded", Span(_told(row.left), "quote"))
    page.field("rerun", *_of_rerun(row, stopped=stopped))
    page.field("cause", f"{row.cause}: {CAUSES[row.cause]}")


def _of_rerun(row: DivergenceRow, *, stopped: bool) -> tuple[str | Span, ...]:
    """The side of the rerun. Where it stopped, a call without an outcome may be the one at which it did."""
    if row.kind == "outcome" and (row.right or "").startswith(_ABSENT) and stopped:
        return ("the rerun stopped before it was answered",)
    if row.kind == "missing" and row.occurrence is not None and not stopped:
        return ("the call was not made",)
    return (Span(_told(row.right), "quote"),)


def _calls(page: Page, document: RerunDocument) -> None:
    most = _ROWS_VERBOSE if page.detail > 0 else _ROWS
    page.title(f"{plural(len(document.calls), 'call')}, {plural(len(document.model_calls), 'model turn')}")
    for row in document.calls[:most]:
        step = "" if row.recorded_step is None else f"step {row.recorded_step}"
        said = f"{name(row.tool)} {value(row.arguments, 50)} -> {value(row.shown, 50)}"
        page.row(f"{row.disposition:<11} {step:<9}", Span(said, "dim"))
        if row.disposition in _STOOD_IN:
            mapped = f", shown as the recorded {', '.join(map(name, row.renamed))}" if row.renamed else ""
            page.line(f"the stand-in gave {value(row.returned, 100)}{mapped}", first=" " * _COLUMN)
    page.more(len(document.calls) - most)


def _questions(page: Page, document: RerunDocument) -> None:
    page.title("Six questions")
    questions = document.six_questions
    for row in (
        questions.rebuilt_from,
        questions.fixed,
        questions.ran,
        questions.missing_turn,
        questions.touched,
        questions.fix_kept,
    ):
        page.field("?", short(row.question, 200), column=4)
        page.field("", short(row.answer, 300), column=6)
