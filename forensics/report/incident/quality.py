"""How far does the record carry? What could not be read, what contradicts itself, and what each call lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.core.evidence import Severity
from forensics.core.findings import GROUP_OF
from forensics.report.compose import place
from forensics.report.documents import Place
from forensics.report.incident.documents import DataQuality, Quality
from forensics.report.incident.effects import target_of
from forensics.report.incident.material import means
from forensics.report.incident.statements import derived, share
from forensics.report.incident.verdicts import records_of
from forensics.report.terminal_page import plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from forensics.core.evidence import Gap
    from forensics.report.incident.documents import ReportFinding, Share, Statement
    from forensics.report.incident.material import Material

_GROUPS = frozenset({"reading", "structure", "pairing"})
_PLACES = 5
_SETTLED = frozenset({"recorded", "failed", "denied"})


def quality(material: Material, findings: Sequence[ReportFinding]) -> DataQuality:
    """The part of a report about the quality of the data."""
    rows = _rows(material, findings)
    return DataQuality(
        records=share("records read", *records_of(material)),
        counts=material.audit.counts,
        completeness=_completeness(material),
        rows=rows,
        statement=_statement(rows, material),
    )


def _statement(rows: Sequence[Quality], material: Material) -> Statement:
    rule = "gaps that may hide a call, a result or a turn refuse every rerun"
    hiding = [row.code for row in rows if row.hides]
    inputs = material.audit.evidence
    unread = sum(row.status == "refused" for row in inputs)
    told = []
    if unread:
        told.append(f"{unread} of {plural(len(inputs), 'input')} could not be read: nothing is known of what is in it.")
    if hiding:
        told.append(f"Calls, results or turns may be missing from the record: {', '.join(hiding)}.")
    elif unread < len(inputs):
        told.append("Nothing that was found suggests that a call, a result or a turn is missing from the record.")
    places = [at for row in rows if row.hides for at in row.locators][:_PLACES]
    return derived(" ".join(told), rule, locators=places)


class _Seen(msgspec.Struct):
    """What was seen of one code."""

    findings: int = 0
    gaps: int = 0
    hides: bool = False
    basis: str = "recorded"
    severity: Severity = Severity.INFO
    places: list[Place] = []


def _rows(material: Material, findings: Sequence[ReportFinding]) -> list[Quality]:
    """One row a code, the loudest first. A gap that is a finding as well is counted once."""
    seen: dict[str, _Seen] = {}
    for finding in findings:
        if GROUP_OF.get(finding.code) in _GROUPS:
            _note_finding(seen.setdefault(finding.code, _Seen()), finding)
    for gap in _gaps(material):
        _note_gap(seen.setdefault(gap.code, _Seen()), gap)
    rows = [_row(code, one) for code, one in seen.items()]
    return sorted(rows, key=lambda row: (not row.hides, -Severity(row.severity).rank))


def _note_finding(one: _Seen, finding: ReportFinding) -> None:
    one.findings += 1
    one.basis = finding.basis
    one.severity = max(one.severity, Severity(finding.severity), key=lambda severity: severity.rank)
    one.places = [*one.places, *finding.locators][:_PLACES]


def _note_gap(one: _Seen, gap: Gap) -> None:
    one.gaps += 1
    one.hides = one.hides or gap.hides
    one.severity = max(one.severity, gap.severity or Severity.INFO, key=lambda severity: severity.rank)
    at = place(gap.locator)
    if at is not None and at not in one.places:
        one.places = [*one.places, at][:_PLACES]


def _row(code: str, one: _Seen) -> Quality:
    return Quality(
        code=code,
        means=means(code),
        count=max(one.findings, one.gaps),
        hides=one.hides,
        basis=one.basis,
        severity=one.severity.value,
        locators=one.places,
    )


def _gaps(material: Material) -> Iterator[Gap]:
    return (gap for one in material.examined if one.reading is not None for gap in one.reading.gaps)


def _completeness(material: Material) -> list[Share]:
    """The six facts of an audit record (PCI DSS v4.0.1, requirement 10.2.2) over all calls."""
    calls = [call for trace in material.traces for call in trace.executions]
    held = [call for analysis in material.analyses for call in analysis.trace.calls]
    of = len(calls)
    return [
        share("calls with the agent that made them", sum(bool(call.agent) for call in calls), of),
        share("calls with the kind of event (the tool)", sum(bool(call.tool) for call in calls), of),
        share("calls with a date and time", sum(call.at is not None for call in calls), of),
        share("calls with success or failure", sum(call.outcome in _SETTLED for call in calls), of),
        share("calls with an origin (server or service)", sum(call.server is not None for call in held), of),
        share("calls that name what they act on (inferred)", sum(target_of(call) is not None for call in held), of),
    ]
