"""Which report is this, what may be rerun, and what happened? The parts of a ticket that are read first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.core.sanitise import markdown_code, markdown_text
from forensics.report.incident.markdown.words import LINE, blank, cell, said, share
from forensics.report.terminal_page import plural, short

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.report.incident.documents import ReportDocument, TraceVerdict
    from forensics.report.incident.markdown.words import Ticket

_LEVEL = {
    "static": "static only: nothing of it may be run again",
    "inject": "inject only: results come from the record, no tool runs",
    "dynamic": "dynamic: its tools may run again",
}


def header(ticket: Ticket) -> Iterator[str]:
    """Which report this is."""
    document = ticket.document
    head = document.header
    yield from (f"# {markdown_text(short(head.title, 200))}", "")
    yield f"- case: {blank(head.case_id)}"
    yield f"- author: {blank(head.author)}"
    yield f"- version: {blank(head.version)}"
    yield f"- status (initial, updated, final): {blank(head.status)}"
    secrets = "are redacted" if document.contents.redacted else "are not redacted"
    yield f"- content: {document.contents.level}{_budget(ticket)}; secrets {secrets}"
    yield from (f"- written by {document.tool.name} {document.tool.version}", "")


def _budget(ticket: Ticket) -> str:
    """How much of a text stands here at most."""
    level, budget = ticket.document.contents.level, ticket.document.contents.budget
    limits = [limit for limit in (budget, ticket.width) if limit is not None]
    return f", at most {min(limits)} characters of a text" if limits and level != "none" else ""


def verdict(ticket: Ticket) -> Iterator[str]:
    """What may be rerun, and what decides it."""
    document = ticket.document
    box = document.verdict
    yield from ("## Verdict", "", said(box.statement), "")
    yield f"- {share(box.cleared)}; {share(box.coverage)}; exit code of the audit: {box.exit_code}"
    for one in box.traces[: ticket.most]:
        yield from _of_trace(document, one)
    if len(box.traces) > ticket.most:
        yield f"- … and {len(box.traces) - ticket.most} more of {len(box.traces)} traces"
    yield ""


def _of_trace(document: ReportDocument, one: TraceVerdict) -> Iterator[str]:
    word = "cleared" if one.cleared else "refused"
    run = f"{cell(document.traces[one.trace].id)}{_stands(document, one.trace)}"
    yield f"- {run}: {word} under {one.policy}; {_LEVEL[one.level]}"
    decider = one.decided_by
    if decider is not None:
        at = "" if decider.step is None else f"step {decider.step}{_alone(document, one.trace, decider.step)}, "
        more = f" (and {plural(decider.more, 'more reason')})" if decider.more else ""
        yield f"  - decided by {at}`{decider.code}`: {markdown_text(short(decider.message, LINE))}{more}"
        if decider.returned:
            yield f"  - it returned {markdown_code(decider.returned)}"
        yield f"  - to do: {markdown_text(one.advice)}"


def _stands(document: ReportDocument, index: int) -> str:
    """Where a run stands, in its file and in this report, which numbers the steps over all of them."""
    trace = document.traces[index]
    if len(document.traces) == 1:
        return ""
    last = f" to {trace.first_step + trace.steps - 1}" if trace.steps > 1 else ""
    return (
        f" in {cell(document.custody.inputs[trace.evidence].name)}, step{'s' if last else ''} {trace.first_step}{last}"
    )


def _alone(document: ReportDocument, index: int, step: int) -> str:
    """The number of a step where its file is read by itself, if it is another."""
    evidence = document.traces[index].evidence
    before = min(trace.first_step for trace in document.traces if trace.evidence == evidence)
    return f" (step {step - before} where the file is read by itself)" if before else ""


def happened(ticket: Ticket) -> Iterator[str]:
    """The story."""
    document = ticket.document
    yield from ("## What happened", "")
    yield from (f"{number}. {said(one)}" for number, one in enumerate(document.happened, 1))
    yield ""
