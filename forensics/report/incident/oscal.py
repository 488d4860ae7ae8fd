"""How does a report read as OSCAL assessment results? Each finding an observation, each that weighs a risk, no verdict.

NIST OSCAL 1.2 (https://pages.nist.gov/OSCAL/): assessment results without an assessment plan, and without OSCAL's own
`findings`, which would say of a control that it is satisfied or not: a trace shows neither. Identifiers are version 5
UUIDs of what they stand for (RFC 9562), and all times are that of the last recorded event: no clock.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from forensics.core.sanitise import one_line
from forensics.report.incident.obligations import controls
from forensics.report.jsonout import json_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.report.documents import EvidenceRow, Place
    from forensics.report.incident.documents import ReportDocument, ReportFinding, Suppressed

VERSION = "1.2.3"
_NAMESPACE = "urn:forensics:oscal:v1"
_TEXT = 2_000
_RISKS = frozenset({"medium", "high", "critical"})
_NO_PLAN = "No assessment plan: this is the examination of an incident, by its trace."
_NO_TIME = "1970-01-01T00:00:00Z"
_TIMES = (
    "Every time here is that of the last event that was recorded (1970-01-01 where none has a time). When this was "
    "written stands in the manifest of a bundle."
)

Part = dict[str, Any]


def oscal(document: ReportDocument) -> bytes:
    """The report as OSCAL assessment results in JSON."""
    return json_bytes(_Writer(document).whole())


class _Writer:
    """One document on its way; `_id` names its parts by what they stand for."""

    def __init__(self, document: ReportDocument) -> None:
        self._document = document
        self._time = max((trace.ended for trace in document.traces if trace.ended), default=_NO_TIME)
        digests = ",".join(row.sha256 for row in document.custody.inputs)
        self._root = uuid.uuid5(uuid.NAMESPACE_URL, f"{_NAMESPACE}:{digests}:{document.rules.digest}")

    def whole(self) -> Part:
        """The document."""
        plan = self._id("plan")
        results = {
            "uuid": str(self._root),
            "metadata": {
                "title": _line(self._document.header.title),
                "last-modified": self._time,
                "version": self._document.header.version or "unversioned",
                "oscal-version": VERSION,
                "remarks": _TIMES,
            },
            "import-ap": {"href": f"#{plan}"},
            "results": [self._result()],
            "back-matter": {"resources": [{"uuid": plan, "description": _NO_PLAN}, *map(self._resource, self._inputs)]},
        }
        return {"assessment-results": results}

    @property
    def _inputs(self) -> list[EvidenceRow]:
        return self._document.custody.inputs

    def _id(self, name: str) -> str:
        return str(uuid.uuid5(self._root, name))

    def _result(self) -> Part:
        rows = self._document.findings.rows
        risks = [self._risk(row) for row in rows if row.severity in _RISKS]
        result = {
            "uuid": self._id("result"),
            "title": "Examination of a recorded run",
            "description": _line(self._document.verdict.statement.text),
            "start": self._time,
            "reviewed-controls": {"control-selections": [_selection()]},
        }
        observations = [self._observation(row) for row in rows]
        more = {"observations": observations, "risks": risks}  # OSCAL allows no empty lists
        return result | {name: held for name, held in more.items() if held}

    def _resource(self, row: EvidenceRow) -> Part:
        return {
            "uuid": self._id(f"evidence {row.sha256}"),
            "title": _line(row.name),
            "rlinks": [
                {"href": "#not-included", "hashes": [{"algorithm": "SHA-256", "value": row.sha256.lower()}]},
            ],
        }

    def _observation(self, row: ReportFinding) -> Part:
        return {
            "uuid": self._id(f"observation {row.index}"),
            "title": row.code,
            "description": _line(row.message),
            "props": [*_props(row)],
            "methods": ["EXAMINE"],
            "types": ["finding"],
            **({"relevant-evidence": held} if (held := [self._evidence(place) for place in row.locators]) else {}),
            "collected": self._time,
        }

    def _evidence(self, place: Place) -> Part:
        row = self._inputs[place.evidence] if place.evidence < len(self._inputs) else None
        href = {} if row is None else {"href": f"#{self._id(f'evidence {row.sha256}')}"}
        return {**href, "description": _line(_where(place))}

    def _risk(self, row: ReportFinding) -> Part:
        rule = next((rule for rule in self._document.findings.rules if rule.code == row.code), None)
        return {
            "uuid": self._id(f"risk {row.index}"),
            "title": row.code,
            "description": _line(row.message),
            "statement": _line(rule.matters if rule else row.message),
            **_status(row.suppressed),
            "related-observations": [{"observation-uuid": self._id(f"observation {row.index}")}],
        }


def _selection() -> Part:
    reviewed = controls().reviewed
    return {
        "description": f"{reviewed.source}, as of {reviewed.as_of}: controls that a trace bears on.",
        "include-controls": [{"control-id": name} for name in reviewed.controls],
    }


def _props(row: ReportFinding) -> Iterator[Part]:
    for name in ("severity", "confidence", "basis", "fingerprint"):
        yield {"name": name, "ns": _NAMESPACE, "value": _line(str(getattr(row, name)))}


def _status(suppressed: Suppressed | None) -> Part:
    if suppressed is None:
        return {"status": "open"}
    said = f"{suppressed.by}, until {suppressed.until or 'further notice'}: {suppressed.because}"
    return {"status": "deviation-approved", "props": [{"name": "accepted", "ns": _NAMESPACE, "value": _line(said)}]}


def _where(place: Place) -> str:
    told = ((name, getattr(place, name)) for name in ("member", "table", "row", "line", "offset", "length", "pointer"))
    return ", ".join(f"{name} {held}" for name, held in told if held is not None) or "the whole evidence"


def _line(text: str) -> str:
    """A value of OSCAL: one line, not empty, without blanks around it."""
    return one_line(text, _TEXT) or "(empty)"
