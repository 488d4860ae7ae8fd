"""Is the plain event log read as people write it, line by line, with nothing lost?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from forensics.api import examine, load
from forensics.core.jsonvalue import value_of
from forensics.core.trace import Outcome, StepKind

if TYPE_CHECKING:
    from pathlib import Path

    from forensics.report.documents import AuditDocument

CALL = {"type": "tool_call", "id": "c1", "name": "set_limit", "args": {"user": 7}}
RESULT = {"type": "tool_result", "call_id": "c1", "result": "ok"}


def log(tmp_path: Path, *lines: dict[str, Any] | bytes, end: bytes = b"\n") -> Path:
    path = tmp_path / "log"
    path.write_bytes(b"".join((x if isinstance(x, bytes) else json.dumps(x).encode()) + end for x in lines))
    return path


def audit(path: Path) -> AuditDocument:
    return examine(path).audit()


@pytest.mark.parametrize(
    ("call", "result"),
    [
        (CALL, RESULT),
        (
            {"type": "call", "call_id": "c1", "tool": "set_limit", "arguments": {"user": 7}},
            {"type": "tool", "call": "c1", "output": "ok"},
        ),
        (
            {"kind": "tool_use", "id": "c1", "tool_name": "set_limit", "input": '{"user": 7}'},
            {"kind": "observation", "tool_call_id": "c1", "content": "ok"},
        ),
    ],
)
def test_synonyms_tell_the_same_call(tmp_path: Path, call: dict[str, Any], result: dict[str, Any]) -> None:
    (trace,) = load(log(tmp_path, call, result))
    (one,) = trace.calls
    assert (one.tool, one.recorded_id, one.occurrence, one.outcome) == ("set_limit", "c1", "-.0", Outcome.RECORDED)
    assert one.arguments is not None
    assert value_of(one.arguments) == {"user": 7}
    assert one.result is not None
    assert value_of(one.result) == "ok"


def test_a_model_line_that_names_a_tool_is_a_turn_and_its_call(tmp_path: Path) -> None:
    model = {"kind": "model", "text": "looking", "tool": "get_x", "args": {}, "call": "c9"}
    (trace,) = load(log(tmp_path, model, {"kind": "tool", "tool": "get_x", "result": 1, "call": "c9"}))
    assert [c.occurrence for c in trace.calls] == ["0.0"]
    assert [StepKind(k) for k in trace.kind] == [StepKind.MODEL, StepKind.TOOL_CALL, StepKind.TOOL_RESULT]


def test_a_field_is_known_in_any_spelling(tmp_path: Path) -> None:
    asked = {"type": "toolCall", "toolName": "delete_row", "toolCallId": "c1", "Parameters": {"id": 4}, "runId": "r"}
    for spare in range(6):  # told one by one, and at once
        told = [{"type": "user", "text": "x", "runId": "r"}] * spare
        shown = {"type": "toolResult", "toolCallId": "c1", "Result": "gone", "runId": "r"}
        (trace,) = load(log(tmp_path, *told, asked, shown, *told))
        (call,) = trace.calls
        assert (trace.id, call.tool, call.recorded_id) == ("r", "delete_row", "c1")
        assert [value_of(one) for one in (call.arguments, call.result) if one is not None] == [{"id": 4}, "gone"]


def test_a_trace_field_parts_the_log_into_runs(tmp_path: Path) -> None:
    path = log(
        tmp_path, {**CALL, "run_id": "a"}, {**CALL, "run_id": "b"}, {**RESULT, "run_id": "a"}, {**RESULT, "run_id": "b"}
    )
    document = audit(path)
    assert [t.id for t in document.traces] == ["a", "b"]
    assert [c.id for t in document.traces for c in t.calls] == ["c1#1", "c1#2"]
    assert [c.step for t in document.traces for c in t.calls] == [0, 2]


def test_bom_and_crlf_are_passed_over(tmp_path: Path) -> None:
    path = log(tmp_path, b"\xef\xbb\xbf" + json.dumps(CALL).encode(), RESULT, end=b"\r\n")
    document = audit(path)
    assert (document.counts.lines, document.counts.records, document.counts.bad_lines) == (2, 2, [])
    assert document.traces[0].verdict.level == "inject"


def test_a_line_separator_inside_a_text_cuts_no_line(tmp_path: Path) -> None:
    text = json.dumps({"type": "user", "text": "a\u2028b\u0085c\x0bd"}, ensure_ascii=False).encode()
    document = audit(log(tmp_path, text, CALL, RESULT))
    assert (document.counts.lines, document.counts.bad_lines) == (3, [])


@pytest.mark.parametrize(
    ("damage", "code"),
    [
        (b'{"type": "tool_result", "call_id": "c1", "resu', "malformed_line"),
        (b"\x00" * 40, "nul_padding"),
        (b"[1]", "dialect"),
    ],
)
def test_a_bad_line_is_named_and_the_rest_is_read(tmp_path: Path, damage: bytes, code: str) -> None:
    document = audit(log(tmp_path, CALL, damage, RESULT))
    assert document.counts.bad_lines == [2]
    assert document.counts.records == 2
    assert [f.code for f in document.findings if f.severity == "medium"] == [code]
    assert document.evidence[0].status == "partial"
    assert document.evidence[0].coverage == "2 of 3 records read"
    (trace,) = document.traces
    assert trace.calls[0].outcome == "recorded"
    assert trace.verdict.level == "static"
    assert any(r.locator is not None and r.locator.line == 2 for r in trace.verdict.reasons)


def test_a_key_that_stands_twice_refuses_injection_wherever_it_stands(tmp_path: Path) -> None:
    inside = b'{"type": "tool_call", "id": "c1", "name": "grant", "args": {"role": "a", "role": "b"}}'
    embedded = (
        b'{"type": "tool_call", "id": "c1", "name": "grant", "args": "{\\"role\\": \\"a\\", \\"role\\": \\"b\\"}"}'
    )
    outside = b'{"type": "tool_call", "id": "c1", "name": "grant", "name": "revoke", "args": {}}'
    for line in (inside, embedded, outside):
        document = audit(log(tmp_path, line, RESULT))
        assert "duplicate_key" in {f.code for f in document.findings}, line
        assert document.traces[0].verdict.level == "static", line


def test_compact_and_spaced_lines_with_each_key_once_have_no_fault(tmp_path: Path) -> None:
    compact = json.dumps(CALL, separators=(",", ":")).encode()
    odd = b'{ "type" :"tool_result","call_id":"c1" , "result": "ok" }'
    document = audit(log(tmp_path, compact, odd))
    assert [f.code for f in document.findings if f.severity == "medium"] == []


def test_an_unknown_event_is_a_step_and_not_lost(tmp_path: Path) -> None:
    (trace,) = load(log(tmp_path, CALL, {"type": "heartbeat", "n": 3}, RESULT))
    assert [trace.step(i).name for i in range(3)] == ["set_limit", "heartbeat", "set_limit"]
    payload = trace.payload[1]
    assert payload is not None
    assert value_of(payload) == {"type": "heartbeat", "n": 3}


def level(path: Path) -> str:
    return audit(path).traces[0].verdict.level


def hidden(path: Path) -> list[str]:
    """The codes of the gaps that may hide something."""
    return [gap.code for trace in load(path) for gap in trace.gaps if gap.hides]


def blocks(path: Path) -> list[str]:
    return [block.code for trace in load(path) for call in trace.calls for block in call.blocks]


MODEL = {"type": "model", "text": "done"}


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"tool_call","name":"rm2","name":"set_limit","id":"c1","args":{"a":1},"ts":1,"agent":"a","seq":1}',
        b'{"type": "tool_call", "name": "rm2", "name": "set_limit", "id": "c1", "args": {}, "seq": 1}',
        b'{"type":"tool_call","na\\u006de":"rm2","name":"set_limit","id":"c1","args":{}}',
    ],
)
def test_a_key_that_stands_twice_is_found_whatever_the_lengths(tmp_path: Path, line: bytes) -> None:
    assert blocks(log(tmp_path, line, RESULT)) == ["duplicate_key"]


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"tool_call","id":"c9","name":"pay","args":{},"type":"user","text":"hi"}',
        b'{"type":"heartbeat","n":1,"n":2}',
        b'{"type":"approval","call_id":"c1","decision":{"approved":false,"approved":true}}',
        b'{"type":"model","tool_calls":[{"id":"c7","name":"pay","name":"look","args":{}}]}',
        b'{"type":"model","content":[{"type":"tool_use","id":"c7","name":"pay","name":"look","input":{}}]}',
        b'{"type":"model","tool_calls":[{"id":"c7","name":"pay"}],"tool_calls":[{"id":"c7","name":"look"}]}',
    ],
)
def test_a_record_of_any_kind_that_can_be_read_in_two_ways_is_a_gap(tmp_path: Path, line: bytes) -> None:
    path = log(tmp_path, CALL, RESULT, line, MODEL)
    assert hidden(path) == ["duplicate_key"]
    assert [f.code for f in audit(path).findings].count("duplicate_key") == 1


def test_a_record_that_may_belong_to_two_runs_is_a_gap_in_both(tmp_path: Path) -> None:
    line = b'{"type":"tool_call","id":"c1","name":"pay","args":{},"run":"a","run":"b"}'
    path = log(tmp_path, {**MODEL, "run": "a"}, line, {**RESULT, "run": "b"})
    assert [[gap.code for gap in trace.gaps] for trace in load(path)] == [["duplicate_key"], ["duplicate_key"]]


@pytest.mark.parametrize("spelling", ["tool-call", "toolCall", "ToolCall", "TOOL_CALL", "Tool Call", "mcp_call"])
def test_a_type_is_known_in_any_spelling(tmp_path: Path, spelling: str) -> None:
    (trace,) = load(log(tmp_path, {**CALL, "type": spelling}, {**RESULT, "type": "toolResult"}))
    assert [(call.tool, call.outcome) for call in trace.calls] == [("set_limit", Outcome.RECORDED)]


@pytest.mark.parametrize(
    "record",
    [
        {"name": "pay", "args": {"x": 1}, "id": "c2"},
        {"type": None, "text": "q"},
        {"type": "op", "name": "pay", "arguments": {}},
        {"type": "op", "tool": "pay", "input": {}},
        {"type": "op", "toolCallId": "c2"},
        {"type": "op", "message": {"content": [{"type": "tool_use", "name": "pay"}]}},
        {"type": "agent.tool_invocation", "what": "pay"},
        {"type": "user", "text": "q", "tool_calls": [{"id": "c2", "name": "pay"}]},
        {"type": "user", "content": [{"type": "tool_use", "id": "c2", "name": "pay", "input": {}}]},
        {"type": "model", "name": "pay", "args": {"x": 1}},
        {"type": "model", "text": "x", "actions": [{"tool": "pay", "args": {}}]},
        {"type": "model", "text": "x", "raw": {"content": [{"type": "tool_use", "name": "pay"}]}},
    ],
)
def test_a_record_that_may_be_a_call_and_is_not_read_as_one_is_a_gap(tmp_path: Path, record: dict[str, Any]) -> None:
    path = log(tmp_path, CALL, RESULT, record, MODEL)
    assert hidden(path) == ["evidence_gap"]
    assert level(path) == "static"


@pytest.mark.parametrize(
    "record",
    [
        {"type": "heartbeat", "n": 3},
        {"type": "metric", "name": "latency", "value": 3},
        {"type": "user", "name": "bob", "input": "hello"},
        {"type": "guardrail", "tool": "pay", "input": {}, "verdict": "pass"},
        {"type": "error", "call_id": "c1", "error": "crash"},
        {"type": "handoff", "to": "deployer"},
        {"type": "model", "name": "gpt", "text": "hello", "finish_reason": "stop"},
        {"type": "model", "text": "hello", "usage": {"input": 3}, "tools": [{"name": "pay", "parameters": {}}]},
    ],
)
def test_an_event_that_hides_nothing_is_no_gap(tmp_path: Path, record: dict[str, Any]) -> None:
    assert hidden(log(tmp_path, CALL, RESULT, record, MODEL)) == []


ARGS = '{"user": 7}'
ASKED = {"id": "c1", "name": "set_limit", "args": {"user": 7}}


@pytest.mark.parametrize(
    "record",
    [
        {"type": "model", "tool_calls": [ASKED]},
        {"type": "model", "toolCalls": [ASKED]},
        {"type": "model", "content": [{"type": "tool_use", "id": "c1", "name": "set_limit", "input": {"user": 7}}]},
        {"type": "model", "text": "so", "function_call": {"name": "set_limit", "arguments": '{"user": 7}'}},
        {"type": "model", "message": {"role": "assistant", "content": None, "tool_calls": [ASKED]}},
        {"type": "model", "output": [{**ASKED, "type": "function_call", "arguments": ARGS}]},
        {"type": "model", "response": {"choices": [{"message": {"tool_calls": [ASKED]}}]}},
        {"type": "tool_call", "id": "c1", "function": {"name": "set_limit", "arguments": '{"user": 7}'}},
    ],
)  # fmt: skip
def test_a_call_is_read_wherever_the_record_holds_it(tmp_path: Path, record: dict[str, Any]) -> None:
    path = log(tmp_path, record, {**RESULT, "name": "set_limit"})
    (trace,) = load(path)
    (call,) = trace.calls
    assert (call.tool, call.outcome) == ("set_limit", Outcome.RECORDED)
    assert call.arguments is not None
    assert value_of(call.arguments) == {"user": 7}
    assert hidden(path) == []


def test_results_in_blocks_answer_their_calls(tmp_path: Path) -> None:
    shown = {"type": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "ok"}]}
    (trace,) = load(log(tmp_path, CALL, shown, MODEL))
    assert [call.outcome for call in trace.calls] == [Outcome.RECORDED]


def test_a_memory_event_is_a_boundary_call(tmp_path: Path) -> None:
    def call(**fields: object) -> tuple[str, str, str, Outcome]:
        (trace,) = load(log(tmp_path, {"type": "memory", "operation": "write", "key": "k", **fields}, MODEL))
        (one,) = trace.calls
        assert one.arguments is not None
        assert value_of(one.arguments) == {"operation": "write", "key": "k"}
        return one.tool, one.boundary.value, str(one.absence), one.outcome

    assert call(result="stored") == ("memory.write", "memory", "None", Outcome.RECORDED)
    assert call() == ("memory.write", "memory", "not captured", Outcome.ABSENT)
    assert call(error="full")[3] is Outcome.FAILED


@pytest.mark.parametrize("reason", ["length", "max_tokens", "content_filter", "MAX_TOKENS", "pause_turn"])
@pytest.mark.parametrize("name", ["finish_reason", "stop_reason", "finishReason"])
def test_a_model_output_that_was_cut_is_a_gap(tmp_path: Path, name: str, reason: str) -> None:
    assert hidden(log(tmp_path, CALL, RESULT, {**MODEL, name: reason})) == ["evidence_gap"]


def test_a_turn_that_ended_to_call_tools_may_be_followed_by_its_calls(tmp_path: Path) -> None:
    asks = {"type": "model", "text": "", "finish_reason": "tool_calls"}
    assert hidden(log(tmp_path, asks, CALL, RESULT, MODEL)) == []
    assert hidden(log(tmp_path, CALL, RESULT, asks)) == ["evidence_gap"]


@pytest.mark.parametrize(
    ("call", "result", "code"),
    [
        ({"args": "[REDACTED]"}, {}, "redaction_damage"),
        ({"args": {"token": "***"}}, {}, "redaction_damage"),
        ({"args": '{"user": "<redacted>"}'}, {}, "redaction_damage"),
        ({"args": '{"user": "/et'}, {}, "truncated_payload"),
        ({"truncated": True}, {}, "truncated_payload"),
        ({}, {"result": "[REDACTED]"}, "redaction_damage"),
        ({}, {"result": "hello", "truncated": True}, "truncated_payload"),
        ({}, {"result": "hello", "redacted": True}, "redaction_damage"),
    ],
)
def test_a_payload_that_says_it_is_not_whole_blocks_its_call_once(
    tmp_path: Path, call: dict[str, Any], result: dict[str, Any], code: str
) -> None:
    path = log(tmp_path, {**CALL, **call}, {**RESULT, **result}, MODEL)
    assert blocks(path) == [code]
    assert [f.code for f in audit(path).findings].count(code) == 1


@pytest.mark.parametrize(
    ("call", "result"),
    [
        ({"args": {"command": 'echo "***"'}}, {}),
        ({"args": "[ -f x ] && cat x"}, {}),
        ({"args": '{"user": 7}'}, {"result": "the list ends here [truncated 3000 characters]"}),
        ({}, {"result": {"truncated": True, "items": []}}),
        ({}, {"result": "a line of *** stars"}),
    ],
)
def test_a_payload_that_only_speaks_of_cuts_is_whole(
    tmp_path: Path, call: dict[str, Any], result: dict[str, Any]
) -> None:
    assert blocks(log(tmp_path, {**CALL, **call}, {**RESULT, **result}, MODEL)) == []


def test_a_line_that_a_redaction_broke_says_so(tmp_path: Path) -> None:
    broken = b'{"type":"tool_result","call_id":"c1","output":"old=***REDACTED***,"rc":0}'
    codes = [f.code for f in audit(log(tmp_path, CALL, broken, MODEL)).findings]
    assert "malformed_line" in codes
    assert "redaction_damage" in codes


@pytest.mark.parametrize("status", ["timeout", "pending", "running", "Interrupted"])
def test_a_call_that_may_still_take_effect_is_indeterminate(tmp_path: Path, status: str) -> None:
    (trace,) = load(log(tmp_path, CALL, {**RESULT, "status": status, "error": "?"}))
    assert [call.outcome for call in trace.calls] == [Outcome.INDETERMINATE]


def test_a_key_with_a_lone_surrogate_is_read(tmp_path: Path) -> None:
    path = log(tmp_path, CALL, RESULT, b'{"type":"note","\\ud800":1}', MODEL)
    assert "lone_surrogate" in {f.code for f in audit(path).findings}
    assert hidden(path) == []


def test_a_few_items_of_an_api_make_a_log_no_message_list(tmp_path: Path) -> None:
    (trace,) = load(log(tmp_path, {"type": "user", "text": "q"}, {**CALL, "type": "mcp_call"}, RESULT, MODEL))
    assert trace.format == "event-log"


def test_times_become_utc(tmp_path: Path) -> None:
    path = log(tmp_path, {**CALL, "ts": "2026-11-29T22:00:00+01:00"}, {**RESULT, "ts": 1_795_986_000.5})
    (row,) = audit(path).traces[0].calls
    assert row.at == "2026-11-29T21:00:00.000000Z"


def test_failures_and_denials_are_outcomes(tmp_path: Path) -> None:
    def outcome(**fields: object) -> str:
        return audit(log(tmp_path, CALL, {"type": "tool_result", "call_id": "c1", **fields})).traces[0].calls[0].outcome

    assert outcome(error="503") == "failed"
    assert outcome(result="no", status="denied") == "denied"
    assert outcome(result="x", is_error=True) == "failed"
    assert outcome(result="x", isError=True) == "failed"
    assert outcome(result="x", success=False) == outcome(result="x", ok=False) == "failed"
    assert outcome(result="x", exit_code=2) == outcome(result="x", exitCode=-1) == "failed"
    assert outcome(result="x", success=True, exit_code=0) == outcome(result="x", exit_code=None) == "recorded"
    assert outcome(result=None) == "absent"


TOLD_OTHERWISE = ["tool_started", "tool_call_started", "toolBegin", "skill_run", "tool_call_delta", "executing_tool"]


@pytest.mark.parametrize(
    "kind", [*TOLD_OTHERWISE, "agent_action", "observation_2_execution", "started", "mcp.tool.done"]
)
def test_a_type_that_speaks_of_a_tool_at_work_never_clears(tmp_path: Path, kind: str) -> None:
    said = ({"type": "user", "text": "go"}, {"type": kind, "tool_name": "rm"}, {"type": "model", "text": "done"})
    assert hidden(log(tmp_path, *said)) == ["evidence_gap"]
    assert level(log(tmp_path, *said)) == "static"


@pytest.mark.parametrize(
    "kind", ["budget", "tool_list", "tools_available", "plugin_settings", "retry_policy", "started"]
)
def test_a_type_that_speaks_of_no_tool_at_work_is_no_gap(tmp_path: Path, kind: str) -> None:
    tool = {} if kind == "started" else {"tool_name": "rm"} if kind == "budget" else {"names": ["rm"]}
    said = ({"type": "user", "text": "go"}, {"type": kind, **tool}, {"type": "model", "text": "done"})
    assert not hidden(log(tmp_path, *said))


@pytest.mark.parametrize("member", ["call", "action", "status", "agent", "name", "operation", "id", "next_step"])
def test_a_call_in_any_member_of_a_model_record_never_clears(tmp_path: Path, member: str) -> None:
    hidden = {"type": "model", "text": "on it", member: {"tool": "rm", "args": {"path": "a"}}}
    ended = {"type": "model", "text": "done"}
    assert not audit(log(tmp_path, hidden, ended)).traces[0].verdict.cleared
    plain = {"type": "model", "text": "on it", member: "x"}
    assert audit(log(tmp_path, plain, ended)).traces[0].verdict.cleared


def test_words_of_the_model_that_were_redacted_never_clear(tmp_path: Path) -> None:
    lines = {"type": "model", "text": "[REDACTED]"}, {"type": "model", "text": "done"}
    assert not audit(log(tmp_path, *lines)).traces[0].verdict.cleared


# a rerun that was written as a log -----------------------------------------------------------------------------------


def test_the_head_of_a_rerun_names_the_run_that_it_repeats(tmp_path: Path) -> None:
    head = {"type": "rerun", "trace": "r1", "rerun_of": "t1"}
    told = {**RESULT, "trace": "r1", "disposition": "injected"}
    (trace,) = load(log(tmp_path, head, {**CALL, "trace": "r1"}, told))
    assert (trace.rerun_of, trace.calls[0].disposition) == ("t1", "injected")
    (trace,) = load(log(tmp_path, {"type": "rerun"}, CALL, RESULT))
    assert trace.rerun_of is None


@pytest.mark.parametrize("kind", ["rerun", "final_output"])
def test_a_call_in_the_head_or_the_output_hides_nowhere(tmp_path: Path, kind: str) -> None:
    hidden = {"type": kind, "rerun_of": "t1", "text": {"type": "tool_call", "name": "pay", "arguments": {"n": 1}}}
    (trace,) = load(log(tmp_path, hidden, CALL, RESULT))
    assert any(gap.hides for gap in trace.gaps)


def test_a_final_output_is_no_turn(tmp_path: Path) -> None:
    (trace,) = load(log(tmp_path, CALL, RESULT, {"type": "final_output", "text": "done"}))
    last = trace.step(len(trace) - 1)
    assert (last.kind, last.name) == (StepKind.OTHER, "final output")
    assert last.payload is not None
    assert value_of(last.payload) == "done"
