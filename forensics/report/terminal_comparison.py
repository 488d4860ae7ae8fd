"""Where do two runs part, said to a person? The result, the causing step with both sides, and what follows from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.report.comparison_words import CAUSES, result_sentence, result_word
from forensics.report.terminal_evidence import sources
from forensics.report.terminal_findings import findings
from forensics.report.terminal_page import Span, name, plural, short

if TYPE_CHECKING:
    from forensics.report.documents import ComparisonDocument, DivergenceRow
    from forensics.report.terminal_page import Page

_ROWS, _ROWS_VERBOSE = 20, 1_000
_HANDLES = 10
_SIDE = 200
_COLUMN = 14
_STYLES = {"diverged": "refused", "not_comparable": "unknown"}


def comparison(page: Page, document: ComparisonDocument) -> None:
    """Lay out a comparison."""
    _result(page, document)
    if document.first_divergence is not None:
        _first(page, document.first_divergence)
    if page.detail >= 0:
        _following(page, document)
        _handles(page, document)
        _not_compared(page, document)
        findings(page, document.findings, "Findings")
        sources(page, document.evidence)


def _result(page: Page, document: ComparisonDocument) -> None:
    page.line(Span(result_word(document), _STYLES.get(document.result, "cleared")), result_sentence(document))
    for side, trace in (("left", document.traces.left), ("right", document.traces.right)):
        row = document.evidence[0 if side == "left" else 1]
        counts = f"{plural(trace.steps, 'step')}, {plural(trace.calls, 'call')}"
        page.field(side, f"{name(row.name)}, trace {name(trace.id)} ({trace.format}): {counts}")


def _first(page: Page, row: DivergenceRow) -> None:
    page.title("Where they part")
    page.field("what", f"{short(row.what, 120)}: {row.kind}")
    if row.pointer:
        page.field("at", short(row.pointer, 200))
    page.field("left", *_side(row.left, row.left_step), column=_COLUMN)
    page.field("right", *_side(row.right, row.right_step), column=_COLUMN)
    page.field("cause", f"{row.cause}: {CAUSES[row.cause]}")
    if row.because:
        page.field("", short(row.because, 300))


def _side(text: str | None, step: int | None) -> tuple[Span | str, ...]:
    at = "" if step is None else f"step {step}: "
    return (at, Span("(nothing)" if text is None else short(text, _SIDE), "quote"))


def _following(page: Page, document: ComparisonDocument) -> None:
    rest = list(enumerate(document.divergences))[1:]
    if not rest:
        return
    page.title("Further differences")
    most = _ROWS_VERBOSE if page.detail > 0 else _ROWS
    for number, row in rest[:most]:
        by = row.explained_by
        why = row.cause if by is None else "explained by the first" if by == 0 else f"explained by {by}"
        page.line(f"{number:>4}  step {row.index}, {short(row.what, 80)}: {row.kind} ({why})", first="", rest="      ")
        for label, side in (("left", row.left), ("right", row.right)):
            page.field("", f"{label:<6}", Span("(nothing)" if side is None else short(side, _SIDE), "dim"), column=6)
    page.more(len(rest) - most)


def _handles(page: Page, document: ComparisonDocument) -> None:
    if not document.handles:
        return
    page.title("Handles")
    most = _ROWS_VERBOSE if page.detail > 0 else _HANDLES
    for row in document.handles[:most]:
        page.line(
            f"{name(row.left)} is {name(row.right)}  ({row.kind}, from {name(row.tool)})", first="  ", rest="    "
        )
    page.more(len(document.handles) - most)


def _not_compared(page: Page, document: ComparisonDocument) -> None:
    if not document.not_compared:
        return
    page.title("Not compared")
    most = _ROWS_VERBOSE if page.detail > 0 else _ROWS
    for row in document.not_compared[:most]:
        page.line(f"{short(row.what, 120)}: {short(row.why, 300)}", first="  ", rest="    ")
    page.more(len(document.not_compared) - most)
