"""Are the events of a Realtime session read as what was said, asked for and given back, each told once?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from forensics.core.jsonvalue import text_of, value_of
from forensics.core.trace import StepKind
from tests.unit.formats.conftest import hiding, outcomes, read_evidence, read_records, read_value

Fields = dict[str, Any]
SAMPLE = Path(__file__).resolve().parents[2] / "contract" / "samples" / "openai-realtime.jsonl"
EVENTS: list[Fields] = [json.loads(line) for line in SAMPLE.read_text(encoding="utf-8").splitlines()]
PAGED = [("0.0", "page", {"page_id": "pg_3d90"}, "recorded")]


def without(*kinds: str) -> list[Fields]:
    return [one for one in EVENTS if one["type"] not in kinds]


def test_the_events_of_a_session() -> None:
    reading = read_evidence(SAMPLE)
    (trace,) = reading.traces
    assert reading.evidence.format == "openai-realtime"
    assert outcomes(reading) == PAGED
    assert [value_of(call.arguments or b"") for call in trace.calls] == [{"person": "Ida"}]
    assert [step.kind for step in trace.steps()] == [
        StepKind.USER,
        StepKind.MODEL,
        StepKind.TOOL_CALL,
        StepKind.TOOL_RESULT,
        StepKind.MODEL,
    ]
    said = [text_of(step.payload) for step in trace.steps() if step.payload and step.kind < StepKind.TOOL_CALL]
    assert said == ["Page whoever is on call.", "Ida was paged: pg_3d90."]
    assert trace.facts["page"].description == "Pages a person"
    assert (reading.counts.input_tokens, reading.counts.output_tokens) == (100, 17)
    assert not hiding(reading)


def test_a_list_of_events_tells_the_same(tmp_path: Path) -> None:
    reading = read_value(tmp_path, EVENTS)
    assert (outcomes(reading), hiding(reading)) == (PAGED, [])


@pytest.mark.parametrize(
    "left_out",
    [("conversation.item.create",), ("response.output_item.added", "response.output_item.done")],
)
def test_one_of_the_events_that_tell_of_an_item_is_enough(tmp_path: Path, left_out: tuple[str, ...]) -> None:
    reading = read_records(tmp_path, *without(*left_out))
    assert (outcomes(reading), hiding(reading)) == (PAGED, [])


def test_what_the_client_sent_alone(tmp_path: Path) -> None:
    kept = [one for one in EVENTS if one["type"] != "conversation.item.added" or one["item"]["id"] == "item_1"]
    assert outcomes(read_records(tmp_path, *kept)) == PAGED


def test_a_call_that_was_never_done_is_not_whole(tmp_path: Path) -> None:
    begun = without("response.done", "response.output_item.done", "response.function_call_arguments.done")
    (trace,) = read_records(tmp_path, *begun).traces
    assert "truncated_payload" in {block.code for call in trace.calls for block in call.blocks}


def test_a_log_without_the_begin_of_its_session_is_a_gap(tmp_path: Path) -> None:
    assert hiding(read_records(tmp_path, *without("session.created", "session.updated")))


def test_a_response_that_failed_is_a_gap(tmp_path: Path) -> None:
    failed = {"type": "response.done", "event_id": "e", "response": {"id": "resp_3", "status": "failed", "output": []}}
    assert hiding(read_records(tmp_path, *EVENTS, failed)) == ["a response that ended before it was whole (failed)"]


def test_an_error_is_told(tmp_path: Path) -> None:
    error = {"type": "error", "event_id": "e", "error": {"type": "invalid_request_error", "message": "no such item"}}
    (trace,) = read_records(tmp_path, *EVENTS, error).traces
    assert [text_of(step.payload or b"") for step in trace.steps() if step.kind is StepKind.ERROR] == ["no such item"]


def test_what_is_no_event_is_a_gap(tmp_path: Path) -> None:
    assert hiding(read_records(tmp_path, *EVENTS, {"type": "tool", "name": "x"}))
