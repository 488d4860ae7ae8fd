"""What was found, in what, who approved what, and what has been run again? Four parts of the report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.core.sanitise import one_line
from forensics.report.html.parts import (
    FULL,
    brief_row,
    brief_table,
    facts,
    folded,
    places,
    row,
    section,
    share,
    shares,
    statement,
    table,
    unread,
)
from forensics.report.html.words import known, named, steps, tool
from forensics.report.markup import Markup, el, join, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.report.incident.documents import (
        ApprovalRow,
        FindingRule,
        Findings,
        Quality,
        RecordedRerun,
        ReportDocument,
        ReportFinding,
    )

_FINDINGS = ("Severity", "Finding", "What was found", "How it is known", "Steps", "Where")
_FURTHER = ("Severity", "Finding", "What was found", "Steps")
_SHORT, _STEPS = 160, 4
_QUALITY = ("Code", "What it means", "How often", "May hide a call", "Severity", "Where")
_APPROVALS = ("Approval", "Asked in", "Decided in", "Decision", "Shown", "What ran", "Ran in", "How it is known")
_REPEATED = ("Step", "Tool", "What the rerun did", "It returned", "Recorded before")


# findings ------------------------------------------------------------------------------------------------------------


def findings(document: ReportDocument) -> Markup:
    """Each finding, then what its code means."""
    part = document.findings
    counted = ", ".join(f"{one.count:,} {one.what}" for one in part.by_severity if one.count)
    many = f"{len(part.rows):,} finding{'' if len(part.rows) == 1 else 's'}"
    return section(
        "findings",
        "Findings",
        el("p", f"{many}: {counted}." if part.rows else "Nothing was found in what was read."),
        unread(document),
        *_compared(part),
        table("Findings", _FINDINGS, (_finding(document, one) for one in part.rows[:FULL])) if part.rows else None,
        brief_table("Further findings", _FURTHER, part.rows[FULL:], _further),
        el("h3", "What the codes mean") if part.rules else None,
        *map(_rule, part.rules),
    )


def _further(one: ReportFinding) -> Markup:
    message = join(quoted(one_line(one.message, _SHORT)), *_status(one))
    return brief_row(one.severity, one.code, message, join(*steps(one.steps, _STEPS)), name=f"f{one.index}")


def _compared(part: Findings) -> Iterator[Markup]:
    if part.baseline is not None:
        gone = ", ".join(dict.fromkeys(part.baseline.gone_codes)) or "none"
        against = f"Beside the earlier report {part.baseline.digest[:19]}: {share(part.baseline.new)}; gone: {gone}."
        yield el("p", against)
    if part.suppressions is not None:
        one = part.suppressions
        over = f" Expired entries: {', '.join(map(named, one.expired))}." if one.expired else ""
        idle = f" Entries that cover nothing: {', '.join(map(named, one.unused))}." if one.unused else ""
        yield el("p", f"Suppressions as of {one.as_of}: {share(one.covered)}.{over}{idle}")


def _finding(document: ReportDocument, one: ReportFinding) -> Markup:
    return row(
        _FINDINGS,
        el("span", one.severity, class_=f"chip {one.severity}"),
        join(el("code", one.code), *(el("span", f" {tag}", class_="quiet small") for tag in one.tags)),
        join(quoted(one.message), *_status(one), *_not_proved(one)),
        join(known(one.basis), f" {one.confidence} confidence"),
        join(*steps(one.steps)),
        places(one.locators, document.custody.inputs),
        id=f"f{one.index}",
    )


def _status(one: ReportFinding) -> Iterator[Markup]:
    if one.new:
        yield el("span", " new since the earlier report", class_="chip medium")
    if one.suppressed is not None:
        until = f" until {one.suppressed.until}" if one.suppressed.until else ""
        yield el("div", f"Suppressed by {named(one.suppressed.by)}{until}: {named(one.suppressed.because)}")


def _not_proved(one: ReportFinding) -> Iterator[Markup]:
    if one.alternatives:
        yield el("div", f"But {'; '.join(one.alternatives)}.", class_="quiet")


def _rule(one: FindingRule) -> Markup:
    return folded(
        f"{one.code}: {one.findings:,} here",
        facts(
            ("What it means", one.means),
            ("Why it matters", one.matters),
            ("What it does not prove", one.does_not_prove),
            ("What to do", one.do),
            ("Belongs to", "; ".join(one.tags)) if one.tags else None,
        ),
    )


# oversight -----------------------------------------------------------------------------------------------------------


def oversight(document: ReportDocument) -> Markup:
    """Who approved what, as far as the record tells."""
    part = document.oversight
    rows = (_approval(one) for one in part.approvals)
    return section(
        "oversight",
        "Approvals",
        el("p", statement(part.statement)),
        unread(document),
        table("Approvals", _APPROVALS, rows) if part.approvals else None,
    )


def _approval(one: ApprovalRow) -> Markup:
    return row(
        _APPROVALS,
        quoted(named(one.name)),
        join(*steps(one.requests)),
        join(*steps(one.decisions)),
        join(one.decided, f" ({one.note})" if one.note else None),
        None if one.shown is None else el("code", quoted(one.shown)),
        None if one.executed is None else el("code", quoted(one.executed)),
        join(*steps(one.calls)),
        join(known(one.basis), *(el("a", f" finding {number}", href=f"#f{number}") for number in one.findings)),
    )


# data quality --------------------------------------------------------------------------------------------------------


def quality(document: ReportDocument) -> Markup:
    """How far the record carries."""
    part = document.quality
    counts = part.counts
    return section(
        "quality",
        "How good the record is",
        el("p", statement(part.statement)),
        facts(
            ("Read", share(part.records)),
            ("Steps with a time", share(document.timeline.timed)),
            ("Steps with edges", share(document.timeline.edged)),
            (
                "Calls and results",
                f"{counts.tool_calls:,} calls, {counts.tool_results:,} results, {counts.paired:,} paired",
            ),
            ("Without an answer", ", ".join(map(named, counts.unanswered[:20])) or None),
            ("Results of no call", ", ".join(map(named, counts.orphan_results[:20])) or None),
            ("Missing spans", ", ".join(map(named, counts.missing_spans[:20])) or None),
            ("Lines not read", ", ".join(map(str, counts.bad_lines[:20])) or None),
        ),
        table("Damage and oddities", _QUALITY, (_quality(document, one) for one in part.rows)) if part.rows else None,
        folded("What each call's record holds of the six facts of an audit log", shares(part.completeness)),
    )


def _quality(document: ReportDocument, one: Quality) -> Markup:
    return row(
        _QUALITY,
        el("code", one.code),
        join(quoted(one.means), " ", known(one.basis)),
        f"{one.count:,}",
        "yes" if one.hides else "no",
        el("span", one.severity, class_=f"chip {one.severity}"),
        places(one.locators, document.custody.inputs),
    )


# reruns --------------------------------------------------------------------------------------------------------------


def replay(document: ReportDocument) -> Markup:
    """What has been run again: nothing by us, and what others did."""
    part = document.replay
    told = (_rerun(document, one) for one in part.recorded)
    return section("replay", "What was run again", el("p", statement(part.statement)), *told)


def _rerun(document: ReportDocument, one: RecordedRerun) -> Markup:
    name = named(document.traces[one.trace].id)
    rows = (
        row(
            _REPEATED,
            join(*steps([call.step])),
            tool(call.tool),
            el("span", call.did, class_="chip high" if call.executed else "chip"),
            el("code", quoted(call.result)),
            el("code", quoted(call.original)),
        )
        for call in one.calls
    )
    title = el("h3", quoted(name), " repeats ", quoted(named(one.of)), " ", known(one.basis))
    return join(title, table(f"What the rerun {name} did", _REPEATED, rows))
