"""Are the steps of the Vercel AI SDK read as one run, in every container and release, whatever they leave out?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from forensics.core.trace import StepKind
from tests.unit.formats.conftest import hiding, outcomes, read_evidence, read_records, read_value

Fields = dict[str, Any]
SAMPLE = Path(__file__).resolve().parents[2] / "contract" / "samples" / "vercel-ai.json"
STEPS: list[Fields] = json.loads(SAMPLE.read_text(encoding="utf-8"))["steps"]
PAGED = [("0.0", "page", {"page_id": "pg_3d90"}, "recorded"), ("0.1", "note", "no such board", "failed")]


def without(step: Fields, *names: str) -> Fields:
    return {name: held for name, held in step.items() if name not in names}


def release_4(step: Fields, kind: str) -> Fields:
    """A step as release 4 keeps it, without its messages: text, calls and results apart."""
    parts = step["content"]
    calls = [{**without(p, "input"), "args": p["input"]} for p in parts if p["type"] == "tool-call"]
    results = [{**without(p, "output"), "result": p["output"]} for p in parts if p["type"] == "tool-result"]
    said = "".join(p["text"] for p in parts if p["type"] == "text")
    told = {"stepType": kind, "text": said, "toolCalls": calls, "toolResults": results}
    return {**told, "finishReason": step["finishReason"], "usage": {"promptTokens": 4, "completionTokens": 3}}


def test_a_result_with_its_steps() -> None:
    reading = read_evidence(SAMPLE)
    (trace,) = reading.traces
    assert reading.evidence.format == "vercel-ai"
    assert outcomes(reading) == PAGED
    assert [step.kind for step in trace.steps()] == [
        StepKind.SYSTEM,
        StepKind.USER,
        StepKind.MODEL,
        StepKind.TOOL_CALL,
        StepKind.TOOL_CALL,
        StepKind.TOOL_RESULT,
        StepKind.TOOL_RESULT,
        StepKind.MODEL,
    ]
    assert trace.facts["page"].description == "Pages a person"
    assert (reading.counts.input_tokens, reading.counts.output_tokens) == (100, 17)
    assert not hiding(reading)


def test_every_container_tells_the_same(tmp_path: Path) -> None:
    for reading in (
        read_value(tmp_path, STEPS),
        read_records(tmp_path, *STEPS),
        read_value(tmp_path, [{"steps": STEPS}]),
    ):
        assert reading.evidence.format == "vercel-ai"
        assert (len(reading.traces), outcomes(reading)) == (1, PAGED)


def test_a_step_stands_where_it_says(tmp_path: Path) -> None:
    (trace,) = read_value(tmp_path, {"steps": STEPS}).traces
    call = next(step for step in trace.steps() if step.kind is StepKind.TOOL_CALL)
    assert call.locator.pointer == "/steps/0/response/messages/0/content/1"


def test_steps_without_their_messages_are_read_from_their_parts(tmp_path: Path) -> None:
    reading = read_records(tmp_path, *(without(step, "response") for step in STEPS))
    assert [(one[1], one[3]) for one in outcomes(reading)] == [("page", "recorded"), ("note", "failed")]


def test_steps_of_release_4(tmp_path: Path) -> None:
    (trace,) = read_value(tmp_path, [release_4(STEPS[0], "initial"), release_4(STEPS[1], "tool-result")]).traces
    assert [(call.tool, call.recorded_id, call.outcome.value) for call in trace.calls] == [
        ("page", "c1", "recorded"),
        ("note", "c2", "absent"),
    ]


@pytest.mark.parametrize("first", [{"stepNumber": 0}, {}], ids=["numbered", "unnumbered"])
def test_two_runs_in_one_log_are_two_traces(tmp_path: Path, first: Fields) -> None:
    run = [{**STEPS[0], **first}, STEPS[1]]
    reading = read_records(tmp_path, *run, *run)
    assert [len(trace.calls) for trace in reading.traces] == [2, 2]


def test_a_step_that_was_cut_is_a_gap(tmp_path: Path) -> None:
    assert hiding(read_value(tmp_path, {"steps": [STEPS[0], {**STEPS[1], "finishReason": "length"}]}))


def test_a_call_that_only_the_parts_tell_is_a_gap(tmp_path: Path) -> None:
    other = {"type": "tool-call", "toolCallId": "c9", "toolName": "refund", "input": {}}
    steps = [STEPS[0], {**STEPS[1], "content": [*STEPS[1]["content"], other]}]
    assert hiding(read_value(tmp_path, {"steps": steps})) == ["a step tells calls that its messages do not"]


def test_what_is_no_step_is_a_gap(tmp_path: Path) -> None:
    assert hiding(read_records(tmp_path, *STEPS, {"note": "not a step"})) == ["a record that is no step of a run"]
