"""What does a code-scanning service read of a report? SARIF 2.1.0: rules, results with their bytes, flows and prints.

A finding's place is a byte range (and a line, where the format has lines) of the evidence; its steps are a code flow.
The fingerprint is that of the report, so that records in another order don't make an alert new. What goes beyond the
limits of GitHub (25,000 results, 1,000 locations, 1,000 steps of a flow) is left out, quietest first, and counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from forensics.core.sanitise import sarif_text
from forensics.report.code_pages import severity_of
from forensics.report.documents import Place
from forensics.report.incident.documents import Event
from forensics.report.jsonout import json_bytes
from forensics.report.terminal_page import short

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from forensics.report.documents import EvidenceRow
    from forensics.report.incident.documents import FindingRule, ReportDocument, ReportFinding

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
FINGERPRINT = "forensics/finding/v1"
RESULTS, LOCATIONS = 25_000, 1_000  # of a run; of a result, and steps of a flow
_ALL_LOCATIONS = 100_000  # of a run: its file is then well below 10 MB when it is packed
_LEVELS = {"info": "note", "low": "note", "medium": "warning", "high": "error", "critical": "error"}
_SCORES = {"low": "3.0", "medium": "5.5", "high": "8.0", "critical": "9.5"}
_PRECISION = {"recorded": "very-high", "derived": "high", "inferred": "medium"}
_TEXT = 1_000

Json = dict[str, Any]


def sarif(document: ReportDocument) -> bytes:
    """The report as a SARIF log with one run."""
    rows = document.findings.rows[:RESULTS]
    rules = {rule.code: index for index, rule in enumerate(document.findings.rules)}
    events = {event.index: event for event in document.timeline.events if event.findings}
    most = min(LOCATIONS, max(1, _ALL_LOCATIONS // max(len(rows), 1)))
    run: Json = {
        "tool": {"driver": _driver(document)},
        "artifacts": [_artifact(row) for row in document.custody.inputs],
        "invocations": [_invocation(document, left_out=len(document.findings.rows) - len(rows))],
        "results": [_result(document, row, rules[row.code], _places(row, events, most)) for row in rows],
        "columnKind": "unicodeCodePoints",
        "properties": {
            "verdict": [
                {"trace": document.traces[one.trace].id, "level": one.level, "cleared": one.cleared}
                for one in document.verdict.traces
            ],
            "coverage": {"read": document.verdict.coverage.count, "of": document.verdict.coverage.of},
            "policy": document.policy.digest,
            "rules": document.rules.digest,
        },
    }
    return json_bytes({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})


def _driver(document: ReportDocument) -> Json:
    return {
        "name": document.tool.name,
        "version": document.tool.version,
        "rules": [_rule(rule) for rule in document.findings.rules],
    }


def _rule(rule: FindingRule) -> Json:
    help_ = f"{rule.means} {rule.matters} It does not prove: {rule.does_not_prove} What to do: {rule.do}"
    severity = severity_of(rule.code) or rule.severity
    properties: Json = {"tags": ["security", "forensics", rule.group, *(tag.split()[0] for tag in rule.tags)]}
    if severity in _SCORES:
        properties["security-severity"] = _SCORES[severity]
    return {
        "id": rule.code,
        "shortDescription": {"text": sarif_text(rule.code.replace("_", " "))},
        "fullDescription": {"text": sarif_text(rule.means)},
        "help": {"text": sarif_text(help_)},
        "defaultConfiguration": {"level": _LEVELS[severity]},
        "properties": properties,
    }


def _artifact(row: EvidenceRow) -> Json:
    return {
        "location": {"uri": _uri(row.name)},
        "length": row.size if row.sha256 else -1,
        **({"hashes": {"sha-256": row.sha256}} if row.sha256 else {}),
        "roles": ["analysisTarget"],
    }


def _uri(name: str) -> str:
    """A relative reference (RFC 3986): no text of a name can be a scheme, a query or a step upwards."""
    return "/".join(quote(part, safe="").replace("~", "%7E") for part in name.split("/") if part not in ("", ".", ".."))


def _invocation(document: ReportDocument, *, left_out: int) -> Json:
    notes = [{"level": "note", "message": {"text": sarif_text(document.verdict.statement.text)}}]
    for row in document.custody.inputs:
        if row.error is not None:
            text = f"{row.name} was not read: {row.error.message}"
            notes.append({"level": "error", "message": {"text": sarif_text(text)}})
    if left_out:
        text = f"{left_out} of {len(document.findings.rows)} findings, the quietest, are left out"
        notes.append({"level": "warning", "message": {"text": text}})
    return {
        "executionSuccessful": not any(row.error for row in document.custody.inputs) and bool(document.traces),
        "toolExecutionNotifications": notes,
    }


def _result(document: ReportDocument, row: ReportFinding, rule: int, places: Sequence[Event | Place]) -> Json:
    found: Json = {
        "ruleId": row.code,
        "ruleIndex": rule,
        "level": _LEVELS[row.severity],
        "message": {"text": sarif_text(short(row.message, _TEXT))},
        "locations": [_at(document, place) for place in places],
        "partialFingerprints": {FINGERPRINT: row.fingerprint},
        "properties": {
            "severity": row.severity,
            "confidence": row.confidence,
            "basis": row.basis,
            "precision": _PRECISION[row.basis],
            "tags": row.tags[:20],
        },
    }
    steps = [place for place in places if isinstance(place, Event)]
    if len(steps) > 1:
        found["codeFlows"] = [_flow(document, row, steps)]
    if row.new is not None:
        found["baselineState"] = "new" if row.new else "unchanged"
    if row.suppressed is not None:
        held = row.suppressed
        text = f"{held.because} ({held.by}, until {held.until})"
        found["suppressions"] = [{"kind": "external", "status": "accepted", "justification": sarif_text(text)}]
    return found


def _places(row: ReportFinding, events: Mapping[int, Event], most: int) -> list[Event | Place]:
    """The steps of a finding, else its places; at most so many."""
    steps = [events[step] for step in dict.fromkeys(row.steps) if step in events]
    return [*steps[:most]] if steps else [*row.locators[:most]]


def _flow(document: ReportDocument, row: ReportFinding, steps: Sequence[Event]) -> Json:
    ordered = sorted(steps, key=lambda event: event.index)
    locations = [
        {"location": _at(document, event), "executionOrder": order, "importance": "essential"}
        for order, event in enumerate(ordered, 1)
    ]
    text = sarif_text(f"steps of {row.code}, in causal order")
    return {"message": {"text": text}, "threadFlows": [{"locations": locations}]}


def _at(document: ReportDocument, place: Event | Place) -> Json:
    return _location(document, place, None) if isinstance(place, Place) else _location(document, place.locator, place)


def _location(document: ReportDocument, at: Place, event: Event | None) -> Json:
    row = document.custody.inputs[at.evidence]
    artifact: Json = {"uri": _uri(row.name), "index": at.evidence}
    physical: Json = {"artifactLocation": artifact}
    region = _region(at, row)
    if region:
        physical["region"] = region
    found: Json = {"physicalLocation": physical, "logicalLocations": [_logical(document, at, event)]}
    if event is not None:
        name = f" {short(event.name, 80)}" if event.name else ""
        found["message"] = {"text": sarif_text(f"step {event.index}: {event.kind.replace('_', ' ')}{name}")}
    return found


def _region(at: Place, row: EvidenceRow) -> Json:
    """The line and bytes of a place. A database row, a member of an archive and what was packed have no bytes in the
    file.
    """
    region: Json = {}
    if at.line is not None:
        region["startLine"] = at.line
    if at.offset is not None and at.member is None and at.table is None and row.compression is None:
        region["byteOffset"] = at.offset
        region["byteLength"] = at.length or 0
    return region


def _logical(document: ReportDocument, at: Place, event: Event | None) -> Json:
    """The place inside the evidence: the trace and step, or the member, row or pointer."""
    inside = [at.member, None if at.table is None else f"{at.table}/{at.row}", at.pointer]
    place = "#".join(part for part in inside if part)
    if event is None:
        return {"fullyQualifiedName": sarif_text(place or "evidence"), "kind": "object"}
    trace = document.traces[event.trace].id
    said: Json = {"name": f"step {event.index}", "kind": "function" if event.call is not None else "object"}
    return {**said, "fullyQualifiedName": sarif_text(f"{trace}/{event.index}" + (f"#{place}" if place else ""))}
