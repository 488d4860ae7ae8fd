"""What was found, what are the tools, who approved what, and how far does the record carry?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.core.sanitise import markdown_code, markdown_text
from forensics.report.incident.markdown.words import cell, said, share, table, where
from forensics.report.terminal_page import plural

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.report.incident.documents import ReportDocument, ReportFinding
    from forensics.report.incident.markdown.words import Ticket


def findings(ticket: Ticket) -> Iterator[str]:
    """What was found, and the rule behind each code."""
    document = ticket.document
    part = document.findings
    yield from ("## Findings", "")
    yield from (", ".join(f"{one.count} of {one.of} {one.what}" for one in part.by_severity) + ".", "")
    if part.baseline is not None:
        base = part.baseline
        new = f"{base.new.count} of {base.new.of} findings are new since the baseline"
        yield from (f"{new}; {len(base.gone)} of the baseline's are gone.", "")
        yield from (f"- baseline: {markdown_code(base.digest)}", "")
    if part.suppressions is not None:
        held = part.suppressions
        yield f"{share(held.covered)} as of {held.as_of} ({markdown_code(held.digest)})."
        yield from (f"- expired: {markdown_text(one)}" for one in held.expired)
        yield from (f"- covers nothing: {markdown_text(one)}" for one in held.unused)
        yield ""
    head = ("severity", "code", "what", "known", "steps", "place", "state")
    if part.rows:
        yield from table(ticket.most, head, (_finding(document, row) for row in part.rows), len(part.rows))
    for rule in part.rules:
        yield f"- `{rule.code}` ({plural(rule.findings, 'finding')}): {rule.means}"
        yield f"  - it does not prove: {rule.does_not_prove}"
        yield f"  - to do: {rule.do}"
        if rule.tags:
            yield f"  - belongs to: {'; '.join(rule.tags)}"
    yield ""


def _finding(document: ReportDocument, row: ReportFinding) -> tuple[str, ...]:
    held = row.suppressed
    state = "" if held is None else f"suppressed until {held.until} by {held.by}: {held.because}"
    new = "" if row.new is None else "new" if row.new else "known"
    return (
        row.severity,
        f"`{row.code}`",
        cell(row.message, 200),
        f"{row.basis}, confidence {row.confidence}",
        ", ".join(map(str, row.steps[:8])),
        where(document, row.locators[0]) if row.locators else "",
        cell(state, 200) or new,
    )


def tools(ticket: Ticket) -> Iterator[str]:
    """The class of each tool."""
    document = ticket.document
    yield from ("## Tools", "")
    head = ("tool", "calls", "class", "effect", "result", "rests on", "known", "rules")
    rows = sorted(document.tools, key=lambda tool: not tool.calls)
    cells = (
        (
            cell(tool.name + (f" of {tool.server}" if tool.server else "")),
            str(tool.calls),
            tool.class_,
            tool.effect,
            tool.result,
            tool.rests_on,
            tool.statement.basis,
            cell(tool.statement.rule),
        )
        for tool in rows
    )
    yield from table(ticket.most, head, cells, len(rows))


def oversight(ticket: Ticket) -> Iterator[str]:
    """Who approved what."""
    document = ticket.document
    part = document.oversight
    yield from ("## Oversight", "", said(part.statement), "")
    head = ("approval", "decided", "asked", "decided at", "calls", "shown", "ran", "note")
    rows = (
        (
            cell(row.name),
            row.decided,
            ", ".join(map(str, row.requests[:8])),
            ", ".join(map(str, row.decisions[:8])),
            ", ".join(map(str, row.calls[:8])),
            ticket.quoted(row.shown),
            ticket.quoted(row.executed),
            ticket.quoted(row.note),
        )
        for row in part.approvals
    )
    if part.approvals:
        yield from table(ticket.most, head, rows, len(part.approvals))


def quality(ticket: Ticket) -> Iterator[str]:
    """How far the record carries."""
    document = ticket.document
    part = document.quality
    yield from ("## Data quality", "", f"{share(part.records)}. {said(part.statement)}", "")
    yield from (f"- {share(one)}" for one in part.completeness)
    yield ""
    rows = (
        (
            f"`{row.code}`",
            str(row.count),
            "yes" if row.hides else "no",
            row.severity,
            row.basis,
            where(document, row.locators[0]) if row.locators else "",
        )
        for row in part.rows
    )
    if part.rows:
        yield from table(
            ticket.most, ("what", "how often", "may hide a call", "severity", "known", "first"), rows, len(part.rows)
        )
