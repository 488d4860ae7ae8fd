"""What does the report on a corpus look like as a page? What stands in the way comes first, drawn and in words.

The page runs nothing, loads nothing and leads nowhere; it reads alike in light and dark, on a narrow screen and on
paper.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.report import corpus_words as words
from forensics.report import markup
from forensics.report.html.charts import bar, columns, legend, stacked
from forensics.report.html.page import asset
from forensics.report.html.parts import brief_row, brief_table, facts, folded, row, section, table
from forensics.report.html.words import known, named, tool
from forensics.report.markup import Markup, el, join, quoted
from forensics.report.terminal_page import plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from forensics.report.corpus_documents import CorpusBasis, Tally
    from forensics.report.corpus_report_documents import (
        BlockingTool,
        CorpusReportDocument,
        FindingTally,
        HandleWays,
        PeriodRow,
        UnreadRow,
    )

ROWS = 1_000  # of one table; the form .json has every one
_TOOLS = ("Tool", "Traces that it is named in", "Alone", "Class", "Reasons", "Evidence for its class")
_REASONS = ("Reason", "Traces", "Tools it names most")
_WAYS = ("Minted by", "Values", "Carried on in traces", "Held later", "Into arguments of", "Shown to a turn")
_FINDINGS = ("Severity", "Code", "Findings", "Files", "The first of them")
_PERIODS = ("Began in", "Traces", "Cleared", "Dynamic", "Inject", "Static", "High findings")
_FORMATS = ("Format", "Traces", "Dynamic", "Inject", "Static")
_UNREAD = ("Evidence", "Code", "Why")
_LABELS = 8  # under as many columns each has its own
_OPEN = 12  # rows of the table below them that are not folded up
_PARTS = {
    "tools": "Tools in the way",
    "reasons": "Reasons to refuse",
    "handles": "Handles that leak into decisions",
    "findings": "Findings",
    "trend": "Over time",
    "formats": "Formats",
    "coverage": "What was read",
}


def corpus_html(document: CorpusReportDocument) -> bytes:
    """The page as one self-contained HTML file."""
    drawn = (_tools, _reasons, _handles, _findings, _trend, _formats, _coverage)
    links = (el("li", el("a", said, href=f"#{name}")) for name, said in _PARTS.items())
    body = (
        el("a", "Skip to the verdict", class_="skip", href="#verdict"),
        el("header", el("h1", quoted(named(document.title))), el("p", words.read(document), class_="quiet")),
        el("nav", el("ol", *links), class_="parts", aria_label="Parts of this report"),
        el("main", _verdict(document), *(part(document) for part in drawn)),
        _footer(document),
    )
    style = asset("page.css") + asset("corpus.css")
    return markup.page(named(document.title), style, *body).html.encode("utf-8", "backslashreplace")


# the answer ----------------------------------------------------------------------------------------------------------


def _verdict(document: CorpusReportDocument) -> Markup:
    counts = document.counts
    look = "cleared" if counts.traces and counts.cleared == counts.traces else "refused"
    levels = {one.name: one.count for one in document.levels}
    ordered = {name: levels[name] for name in words.LEVELS if name in levels}
    said = {name: f"{count:,} {name}: {words.LEVELS[name]}" for name, count in ordered.items()}
    return section(
        "verdict",
        "How many of the traces may be rerun?",
        el(
            "div",
            el("p", words.cleared(document), class_="word"),
            *_warnings(document),
            *_worst(document),
            class_=f"verdict {look}",
        ),
        el("figure", stacked(ordered), legend(said), el("figcaption", "Traces by level")) if ordered else None,
    )


def _warnings(document: CorpusReportDocument) -> Iterator[Markup]:
    for warning in document.policy.warnings[:ROWS]:
        yield el("p", "Warning: policy ", quoted(warning))


def _worst(document: CorpusReportDocument) -> Iterator[Markup]:
    if document.reasons:
        first = document.reasons[0]
        yield el(
            "p", "Most often for ", el("code", first.code), f": {first.traces:,} of {document.counts.traces:,} traces."
        )
    alone = max(document.tools, key=lambda one: one.alone, default=None)
    if alone is not None and alone.alone:
        yield el("p", "In ", f"{plural(alone.alone, 'trace')} nothing but ", tool(alone.name), " stands in the way.")
    if document.coverage.refused:
        yield el(
            "p", el("a", f"{plural(document.coverage.refused, 'evidence')} could not be read", href="#coverage"), "."
        )


# what stands in the way ----------------------------------------------------------------------------------------------


def _tools(document: CorpusReportDocument) -> Markup:
    if not document.tools:
        return _part("tools", el("p", "No reason to refuse names a tool."))
    told = "Traces in which a reason to refuse names the tool. Alone: nothing else is in the way there."
    rows = (_tool(one, document.counts.traces) for one in document.tools[:ROWS])
    return _part("tools", el("p", told), table("Tools", _TOOLS, rows), _beyond(len(document.tools)))


def _tool(one: BlockingTool, traces: int) -> Markup:
    kind = el("span", one.class_, class_=f"chip {one.class_}")
    return row(
        _TOOLS,
        join(tool(one.name), join(" of ", quoted(named(one.server))) if one.server else None),
        join(f"{one.traces:,}", bar(one.traces, traces)),
        f"{one.alone:,}",
        join(kind, el("div", words.footing(one), class_="quiet small")),
        _tallies(one.reasons),
        _basis(one.basis),
    )


def _basis(basis: Sequence[CorpusBasis]) -> Markup:
    if not basis:
        return el("span", "nothing says what it does", class_="quiet")
    rows = (
        el("li", quoted(one.says), el("span", f" ({one.rule})", class_="quiet") if one.rule else None) for one in basis
    )
    return el("ul", *rows, class_="small")


def _reasons(document: CorpusReportDocument) -> Markup:
    if not document.reasons:
        return _part("reasons", el("p", "No trace is refused."))
    traces = document.counts.traces
    rows = (
        row(_REASONS, el("code", one.code), join(f"{one.traces:,}", bar(one.traces, traces)), _tallies(one.tools))
        for one in document.reasons
    )
    return _part("reasons", table("Reasons to refuse", _REASONS, rows))


def _handles(document: CorpusReportDocument) -> Markup:
    told = join(
        "Values that calls minted. Where they stand later is ", known("recorded"), "; that a turn that was shown"
    )
    body = [el("p", told, " one branched on it is ", known("inferred"), ".")]
    if document.handles:
        body.append(table("Handles", _WAYS, map(_way, document.handles[:ROWS])))
    else:
        body.append(el("p", "No call minted a value that was followed."))
    found = document.references
    if found:
        body.append(
            folded(f"Values that calls found ({len(found):,})", table("References", _WAYS, map(_way, found[:ROWS])))
        )
    return _part("handles", *body, _beyond(max(len(document.handles), len(found))))


def _way(one: HandleWays) -> Markup:
    return row(
        _WAYS,
        join(tool(one.tool), el("div", one.kind, class_="quiet small")),
        f"{one.number:,}",
        join(f"{one.carried:,} of {one.traces:,}", bar(one.carried, one.traces, "some")),
        words.way(one),
        _tallies(one.into_tools),
        f"{one.shown:,}",
    )


def _findings(document: CorpusReportDocument) -> Markup:
    if not document.findings:
        return _part("findings", el("p", "Nothing was found in what was read."))
    return _part("findings", table("Findings", _FINDINGS, map(_finding, document.findings)))


def _finding(one: FindingTally) -> Markup:
    return row(
        _FINDINGS,
        el("span", one.severity, class_=f"chip {one.severity}"),
        el("code", one.code),
        f"{one.count:,}",
        f"{one.files:,}",
        join(quoted(one.example), el("div", quoted(named(one.example_file)), class_="where quiet")),
    )


# over time, and what was read ----------------------------------------------------------------------------------------


def _trend(document: CorpusReportDocument) -> Markup:
    trend = document.trend
    if not trend.periods:
        return _part("trend", el("p", words.dated(trend)))
    most = max(one.traces for one in trend.periods)
    drawn = columns([{"static": one.static, "inject": one.inject, "dynamic": one.dynamic} for one in trend.periods])
    starts = [one.start for one in trend.periods]
    ends = starts if len(starts) <= _LABELS else [starts[0], starts[-1]]
    figure = el(
        "figure",
        el("figcaption", f"Traces a {trend.unit}, by level; the highest column is {most:,}"),
        drawn,
        el("div", *(el("span", end) for end in ends), class_="ends each" if ends is starts else "ends"),
        legend({"static": "static", "inject": "inject", "dynamic": "dynamic"}),
    )
    rows = [_period(one) for one in trend.periods if one.traces]
    numbers = table(f"Traces a {trend.unit}", _PERIODS, rows)
    shown = folded("The same in numbers", numbers, is_open=len(rows) <= _OPEN)
    return _part("trend", el("p", words.dated(trend)), figure, shown)


def _period(one: PeriodRow) -> Markup:
    counted = (one.traces, one.cleared, one.dynamic, one.inject, one.static, one.high)
    return row(_PERIODS, one.start, *(f"{count:,}" for count in counted))


def _formats(document: CorpusReportDocument) -> Markup:
    rows = (
        row(_FORMATS, one.name, *(f"{count:,}" for count in (one.traces, one.dynamic, one.inject, one.static)))
        for one in document.formats
    )
    return _part("formats", table("Formats", _FORMATS, rows) if document.formats else el("p", "No trace was read."))


def _coverage(document: CorpusReportDocument) -> Markup:
    part, counts = document.coverage, document.counts
    shares = {"read": part.read, "partial": part.partial, "refused": part.refused}
    said = {"read": f"{part.read:,} whole", "partial": f"{part.partial:,} in part", "refused": f"{part.refused:,} not"}
    compared = words.compared(document)
    return _part(
        "coverage",
        el("p", words.read(document)),
        el("figure", stacked(shares), legend(said)),
        facts(
            ("Records", f"{counts.records:,} in {counts.bytes:,} bytes"),
            ("Traces", f"{counts.calls:,} calls in {counts.steps:,} steps"),
            None if compared is None else ("One run", compared),
            ("Errors", _tallies(part.errors)) if part.errors else None,
        ),
        brief_table("Evidences that could not be read", _UNREAD, part.unread, _unread),
        el("p", f"{part.refused - len(part.unread):,} more are not in this page.")
        if part.refused > len(part.unread)
        else None,
    )


def _unread(one: UnreadRow) -> Markup:
    return brief_row(quoted(named(one.name)), el("code", one.code), quoted(one.message))


def _footer(document: CorpusReportDocument) -> Markup:
    by = f"Written by {document.tool.name} {document.tool.version}, schema {document.schema}. Nothing was run."
    return el(
        "footer",
        el("p", by, class_="quiet"),
        facts(
            ("Policy", join(quoted(named(document.policy.name)), f" {document.policy.digest}")),
            ("Rules", document.rules.digest),
        ),
    )


# pieces --------------------------------------------------------------------------------------------------------------


def _part(name: str, *content: Markup | None) -> Markup:
    return section(name, _PARTS[name], *content)


def _beyond(count: int) -> Markup | None:
    told = f"{count - ROWS:,} more are not in this page; the form .json of the report has every one."
    return el("p", told) if count > ROWS else None


def _tallies(tallies: Sequence[Tally]) -> Markup | None:
    rows = (el("li", el("code", quoted(named(one.name))), f" {one.count:,}") for one in tallies)
    return el("ul", *rows, class_="small") if tallies else None
