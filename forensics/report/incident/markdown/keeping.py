"""What was rerun, on what does the report rest, and what must people add? The last parts of a ticket."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.core.sanitise import markdown_code, markdown_text
from forensics.report.incident.markdown.acts import withheld
from forensics.report.incident.markdown.words import blank, cell, more, said, share, steps, table
from forensics.report.incident.statements import COMMANDS, WITH_AGENT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.report.documents import EvidenceRow
    from forensics.report.incident.documents import Blank, Obligation
    from forensics.report.incident.markdown.words import Ticket

_WHY = 400  # characters of why an evidence was not read
_HERE = {"evidence": "evidence", "partly": "partly", "not_in_a_trace": "not in a trace"}


def replay(ticket: Ticket) -> Iterator[str]:
    """What was run again."""
    document = ticket.document
    part = document.replay
    yield from ("## Replay log", "", said(part.statement), "")
    for rerun in part.recorded[: ticket.most]:
        yield f"- {cell(document.traces[rerun.trace].id)} is a rerun of {cell(rerun.of)} ({rerun.basis})"
        yield from (f"  - step {one.step}: {cell(one.tool)} {cell(one.did)}" for one in rerun.calls[: ticket.most])
        if len(rerun.calls) > ticket.most:
            yield f"  - … and {len(rerun.calls) - ticket.most} more of {len(rerun.calls)} calls"
    yield from more(ticket.most, len(part.recorded))
    yield ""


def custody(ticket: Ticket) -> Iterator[str]:
    """On which evidence it rests."""
    document = ticket.document
    part = document.custody
    yield from ("## Evidence and custody", "", said(part.unchanged), "")
    head = ("evidence", "size", "format", "read", "SHA-256")
    yield from table(ticket.most, head, (_input(row) for row in part.inputs), len(part.inputs))
    yield f"- policy {markdown_code(document.policy.name)} {markdown_code(document.policy.digest)}"
    for expired in document.policy.expired:
        yield f"  - expired as of {document.policy.as_of}: {markdown_code(expired)}"
    yield from (f"  - warning: {markdown_text(warning)}" for warning in document.policy.warnings[: ticket.most])
    yield f"- rules {markdown_code(document.rules.digest)}"
    yield from ("- check: the SHA-256 of each file as it was handed over, by any other program", "")


def _input(row: EvidenceRow) -> tuple[str, ...]:
    read = row.coverage or row.status
    if row.error is not None:
        why = "; ".join(filter(None, (row.error.message, row.error.hint)))
        read = f"not read: {row.error.code}: {cell(why, _WHY)}"
    return (cell(row.name), f"{row.size} bytes", row.format or "", read, f"`{row.sha256}`" if row.sha256 else "")


def privacy(ticket: Ticket) -> Iterator[str]:
    """Secrets and personal data."""
    document = ticket.document
    part = document.privacy
    yield from ("## Privacy", "", said(part.statement), "")
    yield from (f"- {share(part.searched)}", f"- {_withheld(ticket)}")
    for one in part.secrets[: ticket.most]:
        at = steps(one.steps) if one.steps else "no step shows it"
        yield f"- {one.group} {cell(one.kind)} {cell(one.fingerprint)}: {at}"
    yield from more(ticket.most, len(part.secrets))
    yield ""


def _withheld(ticket: Ticket) -> str:
    """How many texts are left out or cut here and, where these are more, in the report itself."""
    whole, here = ticket.document.privacy.withheld, withheld(ticket)
    said = share(msgspec.structs.replace(whole, count=here))
    return said if here == whole.count else f"{said} here, {whole.count} in the JSON report"


def obligations(ticket: Ticket) -> Iterator[str]:
    """The duties that it is evidence for."""
    document = ticket.document
    yield from (
        "## Evidence for duties",
        "",
        "What this report is evidence for; whether a duty is met, people judge.",
        "",
    )
    head = ("source", "asks for", "here", "in the parts", "also needed", "as of")
    rows = (_obligation(one) for one in document.obligations)
    yield from table(ticket.most, head, rows, len(document.obligations))


def _obligation(one: Obligation) -> tuple[str, ...]:
    return (
        f"{one.source}, {one.reference}",
        one.needs,
        _HERE[one.here],
        ", ".join(one.parts),
        one.also_needed,
        one.as_of,
    )


def blanks(ticket: Ticket) -> Iterator[str]:
    """What people fill in."""
    document = ticket.document
    yield from ("## To be filled in by people", "", "No trace shows these.", "")
    yield from (_question(one) for one in document.blanks)
    yield ""


def _question(one: Blank) -> str:
    return f"- [ ] {one.question} ({one.asked_by}): {blank(one.value)}"


def regression(ticket: Ticket) -> Iterator[str]:
    """How the run is kept as a test."""
    document = ticket.document
    part = document.regression
    yield from ("## Regression", "")
    if part.commands or part.with_agent:
        yield from (COMMANDS, "")
    yield f"- saved case: {blank(part.case_id)}"
    yield from (f"- {markdown_code(command)}" for command in part.commands)
    if part.with_agent:
        yield f"- {WITH_AGENT}"
        yield from (f"  - {markdown_code(command)}" for command in part.with_agent)
    yield ""
