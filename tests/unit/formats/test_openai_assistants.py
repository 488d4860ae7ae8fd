"""Are messages, runs and run steps of a thread read as one run, in whatever order and container they were kept?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from forensics.core.jsonvalue import text_of, value_of
from forensics.core.trace import StepKind
from tests.unit.formats.conftest import hiding, outcomes, read_evidence, read_records, read_value

Fields = dict[str, Any]
SAMPLE = Path(__file__).resolve().parents[2] / "contract" / "samples" / "openai-assistants.jsonl"
OBJECTS: list[Fields] = [json.loads(line) for line in SAMPLE.read_text(encoding="utf-8").splitlines()]
ASKED, RUN, CODED, PAGED, WROTE, SAID = OBJECTS
RAN = [
    ("0.0", "code_interpreter", [{"type": "logs", "logs": "Ida"}], "recorded"),
    ("1.0", "page", {"page_id": "pg_3d90"}, "recorded"),
]


def listed(*objects: Fields) -> Fields:
    return {"object": "list", "data": list(objects)[::-1], "has_more": False}


def test_a_thread_one_object_a_line() -> None:
    reading = read_evidence(SAMPLE)
    (trace,) = reading.traces
    assert (reading.evidence.format, trace.id) == ("openai-assistants", "thread_1")
    assert outcomes(reading) == RAN
    assert [call.boundary.value for call in trace.calls] == ["provider_tool", "tool"]
    assert trace.facts["page"].description == "Pages a person"
    said = [text_of(raw) for row in trace.rows(StepKind.MODEL) if (raw := trace.payload[row]) is not None]
    assert said == ["Ida was paged: pg_3d90."]
    assert (reading.counts.input_tokens, reading.counts.output_tokens) == (120, 27)
    assert not hiding(reading)


def test_every_container_tells_the_same(tmp_path: Path) -> None:
    apart = {"messages": listed(ASKED, SAID), "run": RUN, "run_steps": listed(CODED, PAGED, WROTE)}
    begun = {"event": "thread.run.step.created", "data": {**PAGED, "status": "in_progress", "step_details": {}}}
    stream = [begun, *({"event": f"{one['object']}.completed", "data": one} for one in OBJECTS)]
    ended = {"event": "done", "data": "[DONE]"}
    for reading in (
        read_value(tmp_path, listed(*OBJECTS)),
        read_value(tmp_path, apart),
        read_records(tmp_path, *stream, ended),
    ):
        assert (outcomes(reading), hiding(reading)) == (RAN, [])


def test_steps_alone_say_that_the_words_are_missing(tmp_path: Path) -> None:
    reading = read_value(tmp_path, listed(CODED, PAGED, WROTE))
    assert outcomes(reading) == RAN
    assert hiding(reading) == ["a message that the model wrote is not in the evidence"]


def test_messages_alone_say_that_the_calls_are_missing(tmp_path: Path) -> None:
    assert hiding(read_value(tmp_path, listed(ASKED, SAID))) == [
        "the steps of a run are not in the evidence: what it called is not told"
    ]


@pytest.mark.parametrize(
    ("kind", "held", "expected"),
    [
        (
            "openapi",
            {"function": {"name": "get_order", "arguments": "{}", "output": "late"}},
            ("get_order", "recorded"),
        ),
        ("mcp", {"name": "search", "arguments": "{}", "server_label": "docs", "output": "x"}, ("search", "recorded")),
        ("bing_grounding", {"bing_grounding": {"requesturl": "https://x.test"}}, ("bing_grounding", "absent")),
        ("file_search", {"file_search": {"ranking_options": {}}}, ("file_search", "absent")),
    ],
)
def test_a_tool_that_the_provider_ran(tmp_path: Path, kind: str, held: Fields, expected: tuple[str, str]) -> None:
    call = {"id": "call_9", "type": kind, **held}
    ran = {**PAGED, "step_details": {"type": "tool_calls", "tool_calls": [call]}}
    (trace,) = read_records(tmp_path, ASKED, ran, WROTE, SAID).traces
    (one,) = trace.calls
    assert (one.tool, one.outcome.value) == expected
    assert one.boundary.value == "provider_tool"


def test_a_step_that_failed(tmp_path: Path) -> None:
    call = {**PAGED["step_details"]["tool_calls"][0], "function": {"name": "page", "arguments": "{}", "output": None}}
    failed = {**PAGED, "status": "failed", "last_error": {"code": "server_error", "message": "no pager"}}
    failed["step_details"] = {"type": "tool_calls", "tool_calls": [call]}
    assert outcomes(read_records(tmp_path, ASKED, failed))[0][2:] == ("no pager", "failed")


def test_a_call_that_a_run_waits_for(tmp_path: Path) -> None:
    call = {"id": "call_5", "type": "function", "function": {"name": "page", "arguments": '{"person": "Ida"}'}}
    wanted = {"type": "submit_tool_outputs", "submit_tool_outputs": {"tool_calls": [call]}}
    (trace,) = read_records(tmp_path, ASKED, {**RUN, "status": "requires_action", "required_action": wanted}).traces
    (one,) = trace.calls
    assert (one.recorded_id, value_of(one.arguments or b""), one.result) == ("call_5", {"person": "Ida"}, None)


def test_a_run_that_failed_is_an_error(tmp_path: Path) -> None:
    failed = {**RUN, "status": "failed", "last_error": {"code": "rate_limit_exceeded", "message": "slow down"}}
    (trace,) = read_records(tmp_path, ASKED, failed, CODED).traces
    assert StepKind.ERROR in {step.kind for step in trace.steps()}


def test_a_piece_of_a_stream_without_its_whole_is_a_gap(tmp_path: Path) -> None:
    piece = {"id": "step_9", "object": "thread.run.step.delta", "delta": {"step_details": {}}}
    assert hiding(read_records(tmp_path, *OBJECTS, piece))


def test_a_line_that_is_no_object_of_a_thread_is_a_gap(tmp_path: Path) -> None:
    assert hiding(read_records(tmp_path, *OBJECTS, {"note": "x"}))
