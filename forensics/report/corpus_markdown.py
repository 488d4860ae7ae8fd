"""What does the report on a corpus say in a ticket? Markdown that no text of a trace can add to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.core.sanitise import markdown_cell, markdown_text
from forensics.report import corpus_words as words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from forensics.report.corpus_documents import CorpusBasis, Tally
    from forensics.report.corpus_report_documents import CorpusReportDocument, HandleWays

ROWS = 50  # of one table: a ticket holds 65,536 characters
_MORE = "… {} more: the form .json of the report has every one."


def corpus_markdown(document: CorpusReportDocument) -> bytes:
    """The report in Markdown (CommonMark with tables)."""
    parts = (_head, _tools, _reasons, _handles, _findings, _trend, _formats, _coverage, _foot)
    lines = (line for part in parts for line in part(document))
    return ("\n".join(lines).rstrip("\n") + "\n").encode("utf-8", "backslashreplace")


def _head(document: CorpusReportDocument) -> Iterator[str]:
    yield from (f"# {markdown_text(document.title)}", "", f"**{markdown_text(words.cleared(document))}.** ", "")
    if document.policy.warnings:
        yield from (*(f"- warning: policy {markdown_text(one)}" for one in document.policy.warnings[:ROWS]), "")
    yield from (words.read(document), "")
    if (compared := words.compared(document)) is not None:
        yield from (compared, "")


def _tools(document: CorpusReportDocument) -> Iterator[str]:
    yield from ("## Tools in the way", "")
    if not document.tools:
        yield from ("No reason to refuse names a tool.", "")
        return
    yield from ("Traces in which a reason to refuse names the tool; alone: nothing else is in the way there.", "")
    head = ("tool", "traces", "alone", "class", "axes", "reasons", "evidence for it")
    rows = [
        (
            _named(one.name, one.server),
            f"{one.traces:,}",
            f"{one.alone:,}",
            one.class_,
            words.footing(one),
            _tallies(one.reasons),
            _basis(one.basis),
        )
        for one in document.tools[:ROWS]
    ]
    yield from _table(head, rows, len(document.tools))


def _reasons(document: CorpusReportDocument) -> Iterator[str]:
    if document.reasons:
        yield from ("## Reasons to refuse", "")
        rows = [(f"`{one.code}`", f"{one.traces:,}", _tallies(one.tools)) for one in document.reasons[:ROWS]]
        yield from _table(("reason", "traces", "tools named most"), rows, len(document.reasons))


def _handles(document: CorpusReportDocument) -> Iterator[str]:
    yield from ("## Handles that leak into decisions", "")
    if not document.handles:
        yield from ("No call minted a value that was followed.", "")
    else:
        told = "Values that calls minted. Where they stand later is recorded; that a turn that was shown one branched"
        yield from (f"{told} on it is inferred.", "")
        yield from _ways(document.handles)
    if document.references:
        yield from ("### References: values that calls found", "")
        yield from _ways(document.references)


def _ways(ways: Sequence[HandleWays]) -> Iterator[str]:
    head = ("minted by", "kind", "values", "carried on in traces", "held later", "shown to a turn", "into arguments of")
    rows = [
        (
            markdown_cell(one.tool),
            one.kind,
            f"{one.number:,}",
            f"{one.carried:,} of {one.traces:,}",
            words.way(one),
            f"{one.shown:,}",
            _tallies(one.into_tools),
        )
        for one in ways[:ROWS]
    ]
    yield from _table(head, rows, len(ways))


def _findings(document: CorpusReportDocument) -> Iterator[str]:
    yield from ("## Findings", "")
    if not document.findings:
        yield from ("Nothing was found in what was read.", "")
        return
    rows = [
        (one.severity, f"`{one.code}`", f"{one.count:,}", f"{one.files:,}", markdown_cell(one.example))
        for one in document.findings[:ROWS]
    ]
    yield from _table(("severity", "code", "findings", "files", "the first of them"), rows, len(document.findings))


def _trend(document: CorpusReportDocument) -> Iterator[str]:
    trend = document.trend
    yield from ("## Over time", "", words.dated(trend), "")
    began = [one for one in trend.periods if one.traces]
    rows = [
        tuple(map(str, (one.start, one.traces, one.cleared, one.dynamic, one.inject, one.static, one.high)))
        for one in began[-ROWS:]
    ]
    head = (trend.unit, "traces", "cleared", "dynamic", "inject", "static", "high findings")
    yield from _table(head, rows, len(began))


def _formats(document: CorpusReportDocument) -> Iterator[str]:
    if document.formats:
        yield from ("## Formats", "")
        rows = [
            tuple(map(str, (one.name, one.traces, one.dynamic, one.inject, one.static)))
            for one in document.formats[:ROWS]
        ]
        yield from _table(("format", "traces", "dynamic", "inject", "static"), rows, len(document.formats))


def _coverage(document: CorpusReportDocument) -> Iterator[str]:
    part = document.coverage
    if part.refused:
        yield from ("## Not read", "", f"{words.read(document)}", "")
        rows = [(markdown_cell(one.name), f"`{one.code}`", markdown_cell(one.message)) for one in part.unread[:ROWS]]
        yield from _table(("evidence", "code", "why"), rows, part.refused)


def _foot(document: CorpusReportDocument) -> Iterator[str]:
    policy = f"policy {markdown_text(document.policy.name)} ({document.policy.digest}), rules {document.rules.digest}"
    yield f"Written by {document.tool.name} {document.tool.version}; {policy}."


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], count: int) -> Iterator[str]:
    if not rows:
        return
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"
    if count > len(rows):
        yield from ("", _MORE.format(f"{count - len(rows):,}"))
    yield ""


def _named(name: str, server: str | None) -> str:
    return markdown_cell(name) + (f" of {markdown_cell(server)}" if server else "")


def _tallies(tallies: Sequence[Tally]) -> str:
    return ", ".join(f"{markdown_cell(one.name)} {one.count:,}" for one in tallies)


def _basis(basis: Sequence[CorpusBasis]) -> str:
    return "; ".join(markdown_cell(one.says) for one in basis)
