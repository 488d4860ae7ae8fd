"""How does an audited corpus read? First how many runs may be repeated, then what stands in the way of the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.report.terminal_evidence import policy_warnings
from forensics.report.terminal_page import Span, name, plural, short

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forensics.report.corpus_documents import CorpusDocument, CorpusToolRow, Tally
    from forensics.report.terminal_page import Page

_ROWS, _ROWS_VERBOSE = 15, 200
_HANG = " " * 22  # of what is left of a long name: below its class


def corpus(page: Page, document: CorpusDocument) -> None:
    """Lay out the sums over a corpus."""
    counts = document.counts
    cleared = Span(f"{counts.cleared} of {plural(counts.traces, 'trace')} cleared", "title")
    page.line(cleared, f" under {name(document.policy.name)}; {plural(counts.files, 'file')}")
    policy_warnings(page, document.policy)
    read = f"{counts.read} read, {counts.partial} in part, {counts.refused} not at all; {counts.records} records"
    page.field("read", f"{read}, {counts.bytes} bytes")
    page.field("runs", f"{counts.calls} calls in {counts.steps} steps")
    if counts.together:
        page.field("together", f"{plural(counts.together, 'file')} that tell of one run with another file")
    if counts.apart:
        page.field("apart", f"{plural(counts.apart, 'file')} tell of one run with too many others: not compared")
    if counts.trusted:
        page.field("trusted", f"{plural(counts.trusted, 'file')} not read in this run: size and time are as they were")
    if page.detail < 0:
        return
    most = _ROWS_VERBOSE if page.detail > 0 else _ROWS
    _tallies(page, "Levels", document.levels, "trace", most)
    _tallies(page, "Reasons to refuse", document.reasons, "trace", most)
    _tools(page, document.tools, most)
    _findings(page, document, most)
    _tallies(page, "Files that could not be read", document.errors, "file", most)
    if document.errors:
        page.line(Span("which, and why: forensics query RESULTS --question unread", "dim"), first="  ")
    page.field("rows", ", ".join([*document.rows, *document.found]))


def _tallies(page: Page, title: str, rows: Sequence[Tally], what: str, most: int) -> None:
    if not rows:
        return
    page.title(title)
    for row in rows[:most]:
        of = f" ({plural(row.files, 'file')})" if what == "trace" else ""
        page.row(f"{short(row.name, 60)}{of}", first=_number(row.count))
    page.more(len(rows) - most)


def _tools(page: Page, rows: Sequence[CorpusToolRow], most: int) -> None:
    if not rows:
        return
    page.title("Tools, those first that stand in most refused traces")
    page.row(f"{'class':<16}  tool", first=f"  {'refused':>8}{'calls':>8}  ")
    for row in rows[:most]:
        of = f" of {name(row.server)}" if row.server else ""
        told = f"{row.class_:<16}  {name(row.name)}{of} ({row.rests_on})"
        page.line(told, first=_number(row.refused, row.calls), rest=_HANG)
    page.more(len(rows) - most)


def _findings(page: Page, document: CorpusDocument, most: int) -> None:
    if not document.findings:
        return
    page.title("Findings")
    for row in document.findings[:most]:
        page.row(f"{row.severity:<8}  {row.code} ({plural(row.files, 'file')})", first=_number(row.count))
    page.more(len(document.findings) - most)


def _number(*counts: int) -> str:
    return "  " + "".join(f"{count:>8}" for count in counts) + "  "
