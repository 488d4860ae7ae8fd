"""Are the records of Qwen Code read as what its messages and its harness say, and kept apart from Claude Code's?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from forensics.core.jsonvalue import text_of
from forensics.core.trace import Boundary, Outcome, StepKind
from tests.unit.formats.conftest import outcomes, read_evidence

if TYPE_CHECKING:
    from forensics.core.reading import Reading

Fields = dict[str, Any]
SAMPLE = Path(__file__).resolve().parents[2] / "contract" / "samples" / "qwen-code.jsonl"
SESSION = "s-1"


def chained(*records: Fields) -> list[Fields]:
    """The records, each following the one before it."""
    told = []
    for number, one in enumerate(records):
        before = f"u{number - 1}" if number else None
        told.append({"uuid": f"u{number}", "parentUuid": before, "sessionId": SESSION, "cwd": "/work", **one})
    return told


def says(role: str, *parts: Fields, **members: Any) -> Fields:
    kind = {"user": "user", "model": "assistant"}[role]
    return {"type": kind, "message": {"role": role, "parts": list(parts)}, **members}


def asks(call: str = "c1", name: str = "page", **arguments: Any) -> Fields:
    return says("model", {"functionCall": {"id": call, "name": name, "args": arguments}})


def gives(call: str = "c1", status: str = "success", said: str = "ok", **ended: Any) -> Fields:
    response = {"functionResponse": {"id": call, "name": "page", "response": {"output": said}}}
    ends = {"callId": call, "status": status, **ended}
    return {"type": "tool_result", "message": {"role": "user", "parts": [response]}, "toolCallResult": ends}


def note(subtype: str, **payload: Any) -> Fields:
    return {"type": "system", "subtype": subtype, "systemPayload": payload}


def ran(name: str = "page", prompt: str = "p1", **arguments: Any) -> Fields:
    told = {"event.name": "qwen-code.tool_call", "function_name": name, "function_args": arguments, "prompt_id": prompt}
    return note("ui_telemetry", uiEvent={**told, "status": "success"})


GO = says("user", {"text": "go"})
RUN = [GO, asks(), ran(), gives(), says("model", {"text": "done"})]


def read(tmp_path: Path, *records: Fields) -> Reading:
    path = tmp_path / "session.jsonl"
    path.write_text("".join(f"{json.dumps(one)}\n" for one in records), encoding="utf-8")
    return read_evidence(path)


def test_a_session() -> None:
    reading = read_evidence(SAMPLE)
    (trace,) = reading.traces
    assert reading.evidence.format == "qwen-code"
    assert outcomes(reading) == [
        ("0.0", "read_file", {"output": "checkout: Ida"}, "recorded"),
        ("1.0", "mcp__pager__page", {"output": "pg_8812"}, "recorded"),
    ]
    assert [call.server for call in trace.calls] == [None, "pager"]
    said = [text_of(raw) for row in trace.rows(StepKind.MODEL) if (raw := trace.payload[row]) is not None]
    assert said == ["The roster first.", "Paged Ida: pg_8812."]
    assert (reading.counts.records, reading.counts.input_tokens, reading.counts.output_tokens) == (9, 300, 27)
    assert not reading.gaps


@pytest.mark.parametrize("first", [GO, note("attribution_snapshot", snapshot={})])
def test_a_session_is_not_taken_for_claude_codes(tmp_path: Path, first: Fields) -> None:
    assert read(tmp_path, *chained(first, *RUN)).evidence.format == "qwen-code"


def test_claude_codes_records_are_not_taken_for_these(tmp_path: Path) -> None:
    said = {"type": "user", "message": {"role": "user", "content": "go"}}
    assert read(tmp_path, *chained(said)).evidence.format == "claude-code"


@pytest.mark.parametrize(
    ("result", "outcome"),
    [
        (gives(), Outcome.RECORDED),
        (gives(status="error"), Outcome.FAILED),
        (gives(status="error", said="permission denied: /etc/x"), Outcome.FAILED),
        (gives(status="error", errorType="execution_denied"), Outcome.DENIED),
        (gives(status="cancelled", said="[Operation Cancelled] User did not allow tool call"), Outcome.DENIED),
        (gives(status="cancelled", said="[Operation Cancelled] aborted"), Outcome.INDETERMINATE),
    ],
)
def test_the_status_tells_how_a_call_ended(tmp_path: Path, result: Fields, outcome: Outcome) -> None:
    (call,) = read(tmp_path, *chained(GO, asks(), result)).traces[0].calls
    assert call.outcome is outcome


def test_what_a_sub_agent_ran_is_told_by_the_events_alone(tmp_path: Path) -> None:
    ended = gives(resultDisplay={"type": "task_execution", "subagentName": "explore"})
    reading = read(tmp_path, *chained(GO, asks(), ran("look", "s-1#explore-7#0", at="x"), ran(), ended))
    (asked, inner) = reading.traces[0].calls
    assert (asked.boundary, asked.outcome) == (Boundary.SUB_AGENT, Outcome.RECORDED)
    assert (inner.tool, inner.agent, inner.outcome) == ("look", "explore-7", Outcome.ABSENT)
    assert not reading.gaps


@pytest.mark.parametrize(("events", "hides"), [((), True), ((ran("look", "s-1#explore-7#0", at="x"),), False)])
def test_a_call_that_a_sub_agents_result_shows_is_told_by_an_event(
    tmp_path: Path, events: tuple[Fields, ...], hides: Any
) -> None:
    shown = [{"callId": "i1", "name": "look", "args": {"at": "x"}, "status": "success"}]
    ended = gives(resultDisplay={"type": "task_execution", "subagentName": "explore", "toolCalls": shown})
    reading = read(tmp_path, *chained(GO, asks(), *events, ran(), ended))
    assert [gap.hides for gap in reading.gaps] == [True] * hides


def test_the_records_of_a_sub_agents_own_file(tmp_path: Path) -> None:
    told = [{**one, "agentId": "explore-7", "agentName": "Explore", "isSidechain": True} for one in RUN]
    reading = read(tmp_path, *chained(*told))
    assert [call.agent for call in reading.traces[0].calls] == ["Explore"]
    assert not reading.gaps


def test_a_summary_and_a_way_back_are_told(tmp_path: Path) -> None:
    kept = [GO["message"], asks()["message"]]
    told = [*RUN, note("chat_compression", info={}, compressedHistory=kept), note("rewind", truncatedCount=2), GO]
    reading = read(tmp_path, *chained(*told))
    assert [one.code for one in reading.traces[0].findings] == ["compacted_history"] * 2
    assert not reading.gaps


def test_a_branch_and_a_record_that_stands_again(tmp_path: Path) -> None:
    rows = chained(*RUN)
    reading = read(tmp_path, *rows, rows[-1], {**says("user", {"text": "else"}), "uuid": "u9", "parentUuid": "u0"})
    assert (reading.counts.branches, reading.counts.duplicate_records, len(reading.traces[0].calls)) == (2, 1, 1)


@pytest.mark.parametrize(
    "odd",
    [
        ran("rm", path="/"),
        ran(path="/"),  # with other arguments than those that were asked for
        {"type": "assistant"},
        {"type": "tool_result", "toolCallResult": {"callId": "c1", "status": "success"}},
        {"type": "strange", "message": {"role": "user", "parts": [{"text": "hm"}]}},
        note("managed_session_event_v1", record=asks()),
        note("tool_call", tool_name="rm"),
        note("ui_telemetry", uiEvent={"event.name": "qwen-code.other", "function_name": "rm", "args": {}}),
        note("agent_bootstrap", history=[asks()["message"]]),
        note("chat_compression", compressedHistory=[asks("c9")["message"]]),
        {**GO, "more": {"tool": "rm", "arguments": {}}},
        {**GO, "message": {**GO["message"], "pending": [{"functionCall": {"name": "rm", "args": {}}}]}},
        note("ui_telemetry", uiEvent={"event.name": "q.tool_call_v2", "function_name": "rm", "function_args": {}}),
        note("ui_telemetry", uiEvent={"event.name": "q.api"}, more=[{"function_name": "rm", "function_args": {}}]),
        note("steps", done=[{"callId": "c9", "name": "rm", "args": {}}]),
        note("chat_compression", compressedHistory=[], history=[asks("c9")["message"]]),
        note("rewind", truncatedCount=1, dropped=[asks("c9")["message"]]),
        {**GO, "parentUuid": "lost"},
    ],
)
def test_what_may_hide_a_call_is_a_gap(tmp_path: Path, odd: Fields) -> None:
    reading = read(tmp_path, *chained(*RUN, odd))
    assert any(gap.hides for gap in reading.gaps)
    assert reading.traces[0].calls[0].outcome is Outcome.RECORDED


def test_what_the_harness_keeps_is_no_gap(tmp_path: Path) -> None:
    kept = [note("custom_title", customTitle="t"), note("slash_command", phase="result", rawCommand="/about")]
    failed = note("ui_telemetry", uiEvent={"event.name": "qwen-code.api_error", "error": "rate limit"})
    reading = read(tmp_path, *chained(*RUN, *kept, failed))
    assert StepKind(reading.traces[0].kind[-1]) is StepKind.ERROR
    assert not reading.gaps


@pytest.mark.parametrize("records", [[GO], [GO, says("model", {"text": "done"})], [GO, asks()]])
def test_a_session_that_holds_messages_alone_is_one(records: list[Fields], tmp_path: Path) -> None:
    assert read(tmp_path, *chained(*records)).evidence.format == "qwen-code"


def test_one_message_in_parts_makes_no_session_of_claude_code_one_of_these(tmp_path: Path) -> None:
    said = {"type": "user", "message": {"role": "user", "content": "go"}}
    reading = read(tmp_path, *chained(said, says("model", {"text": "done"})))
    assert reading.evidence.format == "claude-code"
    assert any(gap.hides for gap in reading.gaps)
