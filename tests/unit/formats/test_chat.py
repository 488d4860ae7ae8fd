"""Is every container of every message API read the same way? Lists, requests with responses, one JSON a line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from forensics.api import examine, load
from forensics.core.jsonvalue import value_of
from forensics.core.trace import Outcome, StepKind, Trace
from forensics.errors import EvidenceError

if TYPE_CHECKING:
    from pathlib import Path

CHAT_CALL: dict[str, Any] = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "call_a", "type": "function", "function": {"name": "pay", "arguments": '{"to": "bob"}'}}],
}
CHAT: list[dict[str, Any]] = [
    {"role": "user", "content": "pay bob"},
    CHAT_CALL,
    {"role": "tool", "tool_call_id": "call_a", "content": '{"tx": "tx_12"}'},
    {"role": "assistant", "content": "paid tx_12"},
]
ANTHROPIC: list[dict[str, Any]] = [
    {"role": "user", "content": "pay bob"},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "call_a", "name": "pay", "input": {"to": "bob"}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call_a", "content": '{"tx": "tx_12"}'}]},
    {"role": "assistant", "content": [{"type": "text", "text": "paid tx_12"}]},
]
RESPONSES: list[dict[str, Any]] = [
    {"role": "user", "content": "pay bob"},
    {"type": "reasoning", "id": "rs_1", "summary": []},
    {"type": "function_call", "id": "fc_1", "call_id": "call_a", "name": "pay", "arguments": '{"to": "bob"}'},
    {"type": "function_call_output", "call_id": "call_a", "output": '{"tx": "tx_12"}'},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "paid tx_12"}]},
]
GEMINI: list[dict[str, Any]] = [
    {"role": "user", "parts": [{"text": "pay bob"}]},
    {"role": "model", "parts": [{"functionCall": {"id": "call_a", "name": "pay", "args": {"to": "bob"}}}]},
    {"role": "user", "parts": [{"functionResponse": {"id": "call_a", "name": "pay", "response": {"tx": "tx_12"}}}]},
    {"role": "model", "parts": [{"text": "paid tx_12"}]},
]
CHAT_BODY = {
    "choices": [{"finish_reason": "stop", "message": CHAT[-1]}],
    "usage": {"prompt_tokens": 5, "completion_tokens": 3},
}
ANTHROPIC_BODY = {"type": "message", "usage": {"input_tokens": 5, "output_tokens": 3}, **ANTHROPIC[-1]}
RESPONSES_BODY = {"object": "response", "output": [RESPONSES[-1]], "usage": {"input_tokens": 5, "output_tokens": 3}}
GEMINI_BODY = {
    "candidates": [{"content": GEMINI[-1]}],
    "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 3},
}

CONTAINERS: dict[str, tuple[str, Any]] = {
    "chat list": ("openai-chat", CHAT),
    "chat object": ("openai-chat", {"messages": CHAT}),
    "chat pair": ("openai-chat", {"request": {"messages": CHAT[:-1]}, "response": CHAT_BODY}),
    "anthropic list": ("anthropic-messages", ANTHROPIC),
    "anthropic pair": ("anthropic-messages", {"request": {"messages": ANTHROPIC[:-1]}, "response": ANTHROPIC_BODY}),
    "responses list": ("openai-responses", RESPONSES),
    "responses pair": ("openai-responses", {"request": {"input": RESPONSES[:-1]}, "response": RESPONSES_BODY}),
    "gemini list": ("gemini", GEMINI),
    "gemini object": ("gemini", {"contents": GEMINI}),
    "gemini pair": ("gemini", {"request": {"contents": GEMINI[:-1]}, "response": GEMINI_BODY}),
}


def write(tmp_path: Path, content: object) -> Path:
    path = tmp_path / "evidence"
    path.write_text(json.dumps(content), "utf-8")
    return path


def write_lines(tmp_path: Path, lines: list[Any]) -> Path:
    path = tmp_path / "evidence"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path


def holds_the_payment(trace: Trace) -> None:
    (call,) = trace.calls
    assert (call.tool, call.recorded_id, call.occurrence) == ("pay", "call_a", "0.0")
    assert call.arguments is not None
    assert value_of(call.arguments) == {"to": "bob"}
    assert call.result is not None
    assert value_of(call.result) == {"tx": "tx_12"}
    assert call.outcome is Outcome.RECORDED
    assert call.blocks == ()
    kinds = [StepKind(k) for k in trace.kind]
    assert kinds == [StepKind.USER, StepKind.MODEL, StepKind.TOOL_CALL, StepKind.TOOL_RESULT, StepKind.MODEL]


@pytest.mark.parametrize(("name", "content"), CONTAINERS.values(), ids=CONTAINERS)
def test_every_container_tells_the_same_run(tmp_path: Path, name: str, content: object) -> None:
    (trace,) = load(write(tmp_path, content))
    assert trace.format == name
    holds_the_payment(trace)


@pytest.mark.parametrize("messages", [CHAT, ANTHROPIC, GEMINI], ids=["chat", "anthropic", "gemini"])
def test_one_message_a_line_is_one_run(tmp_path: Path, messages: list[Any]) -> None:
    (trace,) = load(write_lines(tmp_path, messages))
    holds_the_payment(trace)


def test_a_request_log_tells_a_growing_history_once(tmp_path: Path) -> None:
    first = {
        "request": {"messages": CHAT[:1]},
        "response": {"choices": [{"finish_reason": "tool_calls", "message": CHAT_CALL}]},
    }
    second = {"request": {"messages": CHAT[:3]}, "response": CHAT_BODY}
    (trace,) = load(write_lines(tmp_path, [first, second]))
    holds_the_payment(trace)
    counts = examine(write_lines(tmp_path, [first, second])).audit().counts
    assert (counts.lines, counts.records, counts.model_calls, counts.tool_calls) == (2, 2, 2, 1)
    assert (counts.input_tokens, counts.output_tokens) == (5, 3)


def test_a_later_prompt_that_tells_other_arguments_contradicts_the_answer(tmp_path: Path) -> None:
    first = {
        "request": {"messages": CHAT[:1]},
        "response": {"choices": [{"finish_reason": "tool_calls", "message": CHAT_CALL}]},
    }
    edited = json.loads(json.dumps(CHAT[:3]).replace("bob", "eve").replace("pay eve", "pay bob"))
    (trace,) = load(write_lines(tmp_path, [first, {"request": {"messages": edited}, "response": CHAT_BODY}]))
    assert [f.code for f in trace.findings] == ["inconsistent_tuple"]
    assert [b.code for b in trace.calls[0].blocks] == ["inconsistent_tuple"]


def test_a_later_prompt_that_tells_another_result_conflicts(tmp_path: Path) -> None:
    again = json.loads(json.dumps(CHAT_CALL).replace("call_a", "call_b"))
    first = {"request": {"messages": CHAT[:3]}, "response": {"choices": [{"message": again}]}}
    edited = [*CHAT[:2], {**CHAT[2], "content": '{"tx": "tx_99"}'}, again]
    (trace,) = load(write_lines(tmp_path, [first, {"request": {"messages": edited}, "response": CHAT_BODY}]))
    assert "conflicting_results" in {f.code for f in trace.findings}
    assert any(b.code == "conflicting_results" for b in trace.calls[0].blocks)


def test_separate_conversations_are_separate_traces(tmp_path: Path) -> None:
    other = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}]
    traces = load(write_lines(tmp_path, [{"messages": CHAT}, {"messages": other}]))
    assert [t.id for t in traces] == ["trace-0", "trace-1"]
    holds_the_payment(traces[0])


def test_offered_tools_become_facts(tmp_path: Path) -> None:
    tools = [
        {
            "type": "function",
            "function": {"name": "pay", "description": "Pay somebody.", "parameters": {"type": "object"}},
        }
    ]
    (trace,) = load(write(tmp_path, {"messages": CHAT, "tools": tools}))
    facts = trace.facts["pay"]
    assert (facts.description, facts.input_schema) == ("Pay somebody.", {"type": "object"})
    assert facts.locator is not None
    assert facts.locator.pointer == "/tools"


def test_parallel_calls_without_ids_are_paired_only_where_the_results_tell(tmp_path: Path) -> None:
    def run(*orders: int) -> Trace:
        parts = [{"functionCall": {"name": "refund", "args": {"order": n}}} for n in (1, 2)]
        shown = [{"functionResponse": {"name": "refund", "response": {"order": n, "ok": True}}} for n in orders]
        (trace,) = load(
            write(tmp_path, {"contents": [{"role": "model", "parts": parts}, {"role": "user", "parts": shown}]})
        )
        return trace

    assert [c.blocks for c in run(1, 2).calls] == [(), ()]
    assert all(b.code == "ambiguous_pairing" for c in run(2, 1).calls for b in c.blocks)


def test_a_provider_run_tool_is_a_call_with_its_result(tmp_path: Path) -> None:
    items = [
        {"role": "user", "content": "news?"},
        {"type": "mcp_call", "id": "m1", "name": "search", "server_label": "web", "arguments": "{}", "output": "none"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "no news"}]},
    ]
    (trace,) = load(write(tmp_path, items))
    (call,) = trace.calls
    assert (call.tool, call.server, call.boundary.value, call.outcome) == (
        "search",
        "web",
        "provider_tool",
        Outcome.RECORDED,
    )


def test_a_turn_that_ended_to_call_tools_and_shows_none_is_a_gap(tmp_path: Path) -> None:
    body = {"choices": [{"finish_reason": "tool_calls", "message": {"role": "assistant", "content": None}}]}
    examination = examine(write(tmp_path, {"request": {"messages": CHAT[:1]}, "response": body}))
    (trace,) = examination.audit().traces
    assert trace.verdict.level == "static"
    assert "evidence_gap" in {r.code for r in trace.verdict.reasons}


def test_a_list_without_calls_never_clears_because_calls_may_hide_in_text(tmp_path: Path) -> None:
    (trace,) = examine(write(tmp_path, [CHAT[0], CHAT[-1]])).audit().traces
    assert trace.verdict.level == "static"
    assert [r.code for r in trace.verdict.policies.inject.reasons] == ["evidence_gap"]


def test_an_error_result_is_failed_and_a_denial_is_denied(tmp_path: Path) -> None:
    def outcome(text: str) -> Outcome:
        shown = {"type": "tool_result", "tool_use_id": "call_a", "is_error": True, "content": text}
        (trace,) = load(write(tmp_path, [*ANTHROPIC[:2], {"role": "user", "content": [shown]}]))
        return trace.calls[0].outcome

    assert outcome("503 from upstream") is Outcome.FAILED
    assert outcome("The user doesn't want to proceed with this tool use") is Outcome.DENIED


@pytest.mark.parametrize("content", ['{"messages": [', "", "hello", '{"a": 1}', "[1, 2]", "\x00\x01"])
def test_what_is_no_trace_is_said_in_one_error(tmp_path: Path, content: str) -> None:
    path = tmp_path / "evidence"
    path.write_text(content, "utf-8")
    with pytest.raises(EvidenceError) as caught:
        load(path)
    assert caught.value.hint
    assert str(tmp_path) not in caught.value.message
