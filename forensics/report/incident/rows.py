"""What is one event of a timeline, by itself, with its evidence? The row of which CSV and JSON lines are made."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.report.incident.documents import Event, ReportDocument


class TimelineRow(msgspec.Struct, frozen=True, kw_only=True, rename={"class_": "class"}, omit_defaults=True, gc=False):
    """One event. `at` is UTC, RFC 3339, as it was recorded (of a call, when it began or else when it was asked for, of
    its result, when it ended); the order of the rows is causal. `said` is the text as far as the report holds it,
    `size` the bytes of the whole; `findings` are codes. What follows `evidence` is the place in it: a line (from 1), a
    byte offset and length, a member of an archive, a database row, a JSON Pointer.
    """

    step: int
    at: str | None = None
    trace: str
    lane: str
    agent: str = ""
    kind: str
    name: str = ""
    occurrence: str | None = None
    call_id: str | None = None
    call: int | None = None
    result: int | None = None
    class_: str | None = None
    effect: str | None = None
    outcome: str | None = None
    decision: str | None = None
    said: str | None = None
    size: int = 0
    findings: list[str] = []
    evidence: str
    sha256: str
    line: int | None = None
    offset: int | None = None
    length: int | None = None
    member: str | None = None
    table: str | None = None
    row: int | str | None = None
    pointer: str | None = None


def timeline_rows(document: ReportDocument) -> Iterator[TimelineRow]:
    """Every event of a report, in order."""
    return (_row(document, event) for event in document.timeline.events)


def _row(document: ReportDocument, event: Event) -> TimelineRow:
    evidence = document.custody.inputs[event.locator.evidence]
    at = event.locator
    return TimelineRow(
        step=event.index,
        at=event.at,
        trace=document.traces[event.trace].id,
        lane=document.timeline.lanes[event.lane].kind,
        agent=event.agent,
        kind=event.kind,
        name=event.name,
        occurrence=event.occurrence,
        call_id=event.call_id,
        call=event.call,
        result=event.result,
        class_=event.class_,
        effect=event.effect,
        outcome=event.outcome,
        decision=event.decision,
        said=event.said,
        size=event.size,
        findings=list(dict.fromkeys(document.findings.rows[index].code for index in event.findings)),
        evidence=evidence.name,
        sha256=evidence.sha256,
        line=at.line,
        offset=at.offset,
        length=at.length,
        member=at.member,
        table=at.table,
        row=at.row,
        pointer=at.pointer,
    )
