"""How does an audit read at a terminal? Verdict first, then what decides, what took effect, and what it rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.report.documents import AuditDocument
from forensics.report.terminal_effects import effects, handles, tools
from forensics.report.terminal_evidence import evidence, first_warning, not_read
from forensics.report.terminal_findings import Findings, findings, reasons
from forensics.report.terminal_page import Span, name, plural, short, value
from forensics.report.terminal_verdict import overview, reruns, verdict, verdict_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forensics.report.documents import InspectionDocument, TraceRow
    from forensics.report.terminal_page import Page

    Head = AuditDocument | InspectionDocument

MANY = 10  # traces; beyond it one line a trace, and only the gravest in full
GRAVEST = 3
TUPLES = 20  # of one trace in an audit; the inspection shows them all, with prompt and output
_EXCERPT = 60
_LEVELS = ("static", "inject", "dynamic")


def audit(page: Page, document: Head) -> None:
    """Lay out the head that audit and inspection share."""
    not_read(page, document)
    found = Findings(document)
    runs = [trace for trace in document.traces if trace.rerun_of is None] or document.traces
    again = [] if runs is document.traces else [trace for trace in document.traces if trace.rerun_of is not None]
    if len(document.traces) > MANY:
        overview(page, document)
        runs = _gravest(runs, found)
        again = [trace for trace in again if any(trace.rerun_of and trace.rerun_of.trace == run.id for run in runs)]
    if page.detail < 0:
        for trace in runs if len(document.traces) <= MANY else ():
            verdict_line(page, document, trace)
        if len(document.traces) <= MANY:
            first_warning(page, document.policy)
        return
    if len(document.traces) > MANY:
        page.title(f"The {plural(len(runs), 'trace')} to look at first")
    for trace in runs:
        _trace(page, document, trace, found, _of(trace, again))
    _strays(page, document, runs, again)
    findings(
        page, found.left(), "Findings about the reruns and the evidence" if again else "Findings about the evidence"
    )
    evidence(page, document)


def _gravest(runs: Sequence[TraceRow], found: Findings) -> list[TraceRow]:
    """The traces with the gravest findings, then the lowest level; in the order of the document."""
    order = sorted(range(len(runs)), key=lambda n: (-found.gravest(runs[n]), _LEVELS.index(runs[n].verdict.level), n))
    return [runs[n] for n in sorted(order[:GRAVEST])]


def _of(trace: TraceRow, again: Sequence[TraceRow]) -> list[TraceRow]:
    return [
        other
        for other in again
        if other.rerun_of is not None and other.rerun_of.trace == trace.id and other.evidence == trace.evidence
    ]


def _trace(page: Page, document: Head, trace: TraceRow, found: Findings, again: Sequence[TraceRow]) -> None:
    page.blank()
    verdict(page, document, trace)
    effects(page, trace)
    tools(page, trace)
    if isinstance(document, AuditDocument):
        _tuples(page, trace)
    handles(page, trace)
    findings(page, found.take(trace), "Findings")
    reasons(page, trace)
    reruns(page, trace, again)
    if trace.rerun_of is not None:
        reruns(page, None, [trace])


def _tuples(page: Page, trace: TraceRow) -> None:
    """Each call with what it was given and what came back, a line or two each."""
    calls = trace.executions
    if not calls:
        return
    page.title("Tuples")
    for call in calls[:TUPLES]:
        given = "(not captured)" if call.arguments is None else value(call.arguments, _EXCERPT)
        back = call.result_preview
        came = Span(call.absence or call.outcome, "dim") if back is None else Span(short(back, _EXCERPT), "quote")
        head = f"{call.step:>4}  [{call.occurrence}]  "
        tool = Span(name(call.tool), "title")
        page.line(head, tool, " ", Span(given, "quote"), " -> ", came, first="", rest="        ")
    page.more(len(calls) - TUPLES)
    page.line(Span("prompt and model output: forensics inspect", "dim"), first="  ")


def _strays(page: Page, document: Head, runs: Sequence[TraceRow], again: Sequence[TraceRow]) -> None:
    """Reruns whose original is not in the evidence."""
    for trace in again:
        if trace.rerun_of is not None and not any(trace is other for run in runs for other in _of(run, again)):
            page.blank()
            verdict_line(page, document, trace)
            page.line(Span(f"a rerun of {name(trace.rerun_of.trace)}, which is not in the evidence"), first="  ")
            reruns(page, None, [trace])
