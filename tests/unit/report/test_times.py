"""Does every document tell the same time of a step?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import forensics
from forensics.report.jsonout import json_bytes

SAMPLES = Path(__file__).resolve().parents[3] / "samples"


def read(document: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json_bytes(document))
    return found


@pytest.mark.parametrize("sample", ["pager.db", "pager.langsmith.json", "pager.agents.json", "mailing.events.jsonl"])
def test_of_a_call_it_is_when_it_began(sample: str) -> None:
    examination = forensics.examine(SAMPLES / sample)
    calls = {call["step"]: call["at"] for trace in read(examination.audit())["traces"] for call in trace["calls"]}
    inspected = {step["index"]: step.get("at") for step in read(examination.inspection())["steps"]}
    report = read(examination.report())
    events = {event["index"]: event.get("at") for event in report["timeline"]["events"]}
    effects = {row["step"]: row["at"] for row in report["effects"]["rows"]}
    assert calls
    assert {step: inspected[step] for step in calls} == calls == {step: events[step] for step in calls}
    assert {step: calls[step] for step in effects} == effects
    assert inspected == events


def test_of_a_result_it_is_when_the_call_ended() -> None:
    (analysis, *_) = forensics.examine(SAMPLES / "pager.db").analyses
    trace = analysis.trace
    for call in trace.calls:
        assert (trace.when(call.step), trace.when(call.result_step)) == (call.start, call.end)
        assert trace.at[call.step] < call.start


def test_a_call_that_does_not_tell_when_it_began_was_when_it_was_asked_for() -> None:
    (analysis, *_) = forensics.examine(SAMPLES / "mailing.events.jsonl").analyses
    trace = analysis.trace
    assert all(trace.when(row) == trace.at[row] for row in range(len(trace)))
