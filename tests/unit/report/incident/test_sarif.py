"""Does the SARIF of a report stay within what code scanning takes, and say what it left out?"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

import forensics
from forensics.report.incident.sarif import LOCATIONS, RESULTS, sarif

if TYPE_CHECKING:
    from forensics.report.incident.documents import ReportDocument

DOUBLE = Path(__file__).resolve().parents[4] / "samples" / "double_charge.chat.json"
PACKED = 10 * 1024 * 1024


def report(*, findings: int, steps: int) -> ReportDocument:
    """A report with so many findings, each of which names so many steps."""
    document = forensics.examine(DOUBLE).report()
    replace = msgspec.structs.replace
    row, event = document.findings.rows[0], document.timeline.events[3]
    rows = [replace(row, index=n, fingerprint=f"{n:032}", steps=list(range(steps))) for n in range(findings)]
    events = [replace(event, index=n, findings=[0]) for n in range(steps)]
    return replace(
        document,
        findings=replace(document.findings, rows=rows),
        timeline=replace(document.timeline, events=events),
    )


def log(*, findings: int, steps: int) -> tuple[bytes, dict[str, Any]]:
    data = sarif(report(findings=findings, steps=steps))
    run: dict[str, Any] = json.loads(data)["runs"][0]
    return data, run


def test_what_is_beyond_the_results_of_a_run_is_counted() -> None:
    data, run = log(findings=RESULTS + 1_000, steps=3)
    assert len(run["results"]) == RESULTS
    notes = [note["message"]["text"] for note in run["invocations"][0]["toolExecutionNotifications"]]
    assert f"1000 of {RESULTS + 1_000} findings, the quietest, are left out" in notes
    assert len(gzip.compress(data)) < PACKED


def test_a_finding_of_many_steps_has_as_many_places_as_are_read() -> None:
    _, run = log(findings=1, steps=3 * LOCATIONS)
    (result,) = run["results"]
    assert len(result["locations"]) == LOCATIONS
    assert len(result["codeFlows"][0]["threadFlows"][0]["locations"]) == LOCATIONS


def test_many_findings_of_many_steps_still_fit() -> None:
    data, run = log(findings=2_000, steps=LOCATIONS)
    assert {len(result["locations"]) for result in run["results"]} == {50}
    assert len(gzip.compress(data)) < PACKED
