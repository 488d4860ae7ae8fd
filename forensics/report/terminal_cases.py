"""Which regression cases pass, and in what do the others differ? Said to a person: the count, then each that fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.report.terminal_page import Span, name, plural, short, value

if TYPE_CHECKING:
    from forensics.report.case_documents import CaseDifference, CaseDocument, CaseRow, CaseRunDocument
    from forensics.report.terminal_page import Page

_DIFFERENCES = 10
_SIDE = 200
_STYLES = {"passed": "cleared", "failed": "refused", "refused": "refused", "untold": "unknown"}


def case_run(page: Page, document: CaseRunDocument) -> None:
    """Lay out a run of cases."""
    counts = document.counts
    told = [f"{count} {word}" for word, count in _others(document) if count]
    of = f" {counts.passed} of {plural(counts.cases, 'case')} passed{': ' if told else ''}{', '.join(told)}"
    page.line(Span(document.result.upper(), _STYLES[document.result]), of)
    if page.detail < 0:
        return
    for row in document.cases:
        if row.result != "passed" or page.detail > 0:
            case_row(page, row)
    for title, names in (("Mended since the baseline", document.mended), ("Gone since the baseline", document.gone)):
        if names:
            page.title(title)
            for one in names:
                page.line(name(one), first="  ")
    page.blank()
    page.line(
        Span(f"agent: {document.agent}; nothing was run but the agent in its cell, and no model was asked", "dim")
    )


def _others(document: CaseRunDocument) -> list[tuple[str, int]]:
    counts = document.counts
    known = counts.cases - counts.passed - counts.regressions
    return [
        ("failed", counts.failed),
        ("refused", counts.refused),
        ("not told", counts.untold),
        ("of them known from the baseline", known),
    ]


def case_row(page: Page, row: CaseRow) -> None:
    """Lay out one case with its differences."""
    page.blank()
    known = " (as in the baseline)" if row.known else ""
    page.line(Span(name(row.name), "title"), ": ", Span(row.result, _STYLES[row.result]), f"{known}, line {row.line}")
    shown = row.differences if page.detail > 0 else row.differences[:_DIFFERENCES]
    for one in shown:
        _difference(page, one)
    page.more(len(row.differences) - len(shown))


def _difference(page: Page, one: CaseDifference) -> None:
    call = "" if one.tool is None else f"call {one.occurrence}, {name(one.tool)}: "
    at = f" at {name(one.pointer)}" if one.pointer else ""
    page.line(f"{call}{one.what}{at}: {short(one.message, 600)}", first="  ", rest="    ")
    if one.expected is not None or one.got is not None:
        for label, said in (("expected", one.expected), ("got", one.got)):
            page.field(label, Span("(nothing)" if said is None else short(said, _SIDE), "quote"), indent=4, column=14)


def case(page: Page, document: CaseDocument) -> None:
    """What was kept as a case."""
    page.line(Span("SAVED", "cleared"), f" {name(document.name)}: {plural(len(document.expected_tuples), 'tuple')}")
    page.field("input", Span(value(document.input, _SIDE), "quote"))
    page.field("output", Span(value(document.expected_output, _SIDE), "quote"))
    page.field("source", f"{name(document.source.name)}, trace {name(document.source.trace)}")
    page.field("sha256", document.source.sha256)
    if document.overrides:
        page.field("needs", f"code for {', '.join(map(name, document.overrides))} (--tool)")
