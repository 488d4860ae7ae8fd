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
        (b"[1]", "malformed_line"),
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
    assert outcome(result=None) == "absent"
