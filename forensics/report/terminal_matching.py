"""How does a dry run of the gate read? First whether all is served, then where it stops and what is nearest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.report.terminal_evidence import place, sources
from forensics.report.terminal_findings import findings
from forensics.report.terminal_page import Span, name, plural, short, value

if TYPE_CHECKING:
    from forensics.report.documents import MatchedRow, MatchingDocument, NearRow
    from forensics.report.terminal_page import Page

_ROWS, _ROWS_VERBOSE = 20, 1_000
_ASKED = 60
_COLUMN = 14


def matching(page: Page, document: MatchingDocument) -> None:
    """Lay out a dry run."""
    _verdict(page, document)
    if document.stopped_at is not None:
        _stop(page, document.requests[document.stopped_at])
    if page.detail >= 0:
        _requests(page, document)
        findings(page, document.findings, "Findings")
        sources(page, document.evidence)


def _verdict(page: Page, document: MatchingDocument) -> None:
    counts = document.counts
    every = plural(counts.requests, "request")
    if document.stopped_at is None:
        page.line(Span("SERVED", "cleared"), f" {every}, all from the record")
    else:
        rest = f", {counts.not_reached} not reached" if counts.not_reached else ""
        where = f" at request {document.stopped_at} of {every}, {document.result}: {counts.served} served{rest}"
        page.line(Span("STOPPED", "refused"), where)
    of = "" if document.trace is None else f", trace {name(document.trace)}"
    page.field("recording", f"{name(document.evidence[0].name)}: {plural(counts.recordings, 'recording')}{of}")
    page.field("unused", str(counts.unused))


def _stop(page: Page, row: MatchedRow) -> None:
    page.title(f"Request {row.index}: {row.status}")
    page.field("asked", _kind(row), Span(value(row.asked, 300), "quote"))
    page.field("why", short(row.because or "", 300))
    for near in row.nearest:
        _near(page, near)


def _kind(row: MatchedRow) -> str:
    lane = "" if row.lane is None else f"{name(row.lane)}, "
    return f"{lane}{name(row.kind)}: " if row.kind else lane


def _near(page: Page, near: NearRow) -> None:
    step = "" if near.step is None else f" (step {near.step})"
    step = step or ("" if near.locator is None else f" ({place(near.locator)})")
    page.field("nearest", f"recording {near.recorded}{step}: {short(near.because, 300)}")
    if near.pointer is None:
        return
    page.field("", f"differs at {short(near.pointer, 100) or 'the whole request'}", column=_COLUMN)
    page.field("", "recorded  ", Span(_told(near.left), "quote"), column=_COLUMN + 2)
    page.field("", "asked     ", Span(_told(near.right), "quote"), column=_COLUMN + 2)


def _told(text: str | None) -> str:
    return "(nothing)" if text is None else short(text, 200)


def _requests(page: Page, document: MatchingDocument) -> None:
    page.title("Requests")
    most = _ROWS_VERBOSE if page.detail > 0 else _ROWS
    for row in document.requests[:most]:
        page.row(f"{row.index:>4}  {_outcome(row)}", Span(f"{_kind(row)}{value(row.asked, _ASKED)}", "dim"))
    page.more(len(document.requests) - most)


def _outcome(row: MatchedRow) -> str:
    if row.recorded is None:
        return f"{row.status:<28}"
    rung = "" if row.rung in {None, "bytes"} else f", {row.rung}"
    return f"{f'recording {row.recorded}{rung}':<28}"
