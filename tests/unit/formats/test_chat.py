"""Is every container of every message API read the same way? Lists, requests with responses, one JSON a line."""

from __future__ import annotations

import json
import time
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


OSLO = {"city": "Oslo"}
ALONE: dict[str, tuple[str, dict[str, Any]]] = {
    "anthropic": (
        "anthropic-messages",
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "stop_reason": "tool_use",
            "model": "m",
            "content": [{"type": "tool_use", "id": "t1", "name": "weather", "input": OSLO}],
            "usage": {"input_tokens": 5, "output_tokens": 3},
        },
    ),
    "anthropic, a tool of a server": (
        "anthropic-messages",
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "stop_reason": "end_turn",
            "model": "m",
            "content": [{"type": "mcp_tool_use", "id": "t1", "name": "weather", "input": OSLO, "server_name": "s"}],
            "usage": {"input_tokens": 5, "output_tokens": 3},
        },
    ),
    "gemini": (
        "gemini",
        {
            "candidates": [
                {"content": {"role": "model", "parts": [{"functionCall": {"name": "weather", "args": OSLO}}]}}
            ],
            "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 3},
            "modelVersion": "m",
        },
    ),
    "converse": (
        "openai-chat",
        {
            "output": {
                "message": {
                    "role": "assistant",
                    "content": [{"toolUse": {"toolUseId": "t1", "name": "weather", "input": OSLO}}],
                }
            },
            "stopReason": "tool_use",
            "usage": {"inputTokens": 5, "outputTokens": 3},
        },
    ),
}


@pytest.mark.parametrize(("name", "body"), ALONE.values(), ids=ALONE)
def test_the_body_of_a_response_alone_is_a_turn(tmp_path: Path, name: str, body: dict[str, Any]) -> None:
    document = examine(write(tmp_path, body)).audit()
    (trace,) = load(write(tmp_path, body))
    (call,) = trace.calls
    assert call.arguments is not None
    assert (trace.format, call.tool, value_of(call.arguments)) == (name, "weather", OSLO)
    assert (document.counts.input_tokens, document.counts.output_tokens) == (5, 3)
    assert not document.traces[0].verdict.cleared


def test_an_answer_of_bedrock_that_was_cut_is_a_gap(tmp_path: Path) -> None:
    said = {"message": {"role": "assistant", "content": [{"text": "I will"}]}}
    told = examine(write(tmp_path, {"output": said, "stopReason": "max_tokens"})).audit()
    (trace,) = told.traces
    assert "the model's output is not whole" in " ".join(reason.message for reason in trace.verdict.reasons)


@pytest.mark.parametrize("message", [CHAT_CALL, GEMINI[1], RESPONSES[2], ANTHROPIC[1]])
def test_one_message_alone_is_a_list_of_one(tmp_path: Path, message: dict[str, Any]) -> None:
    (trace,) = load(write(tmp_path, message))
    assert [(call.tool, call.recorded_id) for call in trace.calls] == [("pay", "call_a")]


def test_a_role_beside_its_message_is_one_message(tmp_path: Path) -> None:
    beside = [{"role": one["role"], "message": {"content": one["content"]}} for one in ANTHROPIC]
    (trace,) = load(write_lines(tmp_path, beside))
    assert trace.format == "openai-chat"
    holds_the_payment(trace)
    assert trace.calls[0].requested is not None
    assert trace.calls[0].requested.pointer == "/message/content/0"


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


# what may hide a call, a result or a turn ----------------------------------------------------------------------------

OTHER_CALL = {"id": "c9", "type": "function", "function": {"name": "page", "arguments": "{}"}}
ASKING = {"role": "assistant", "content": None, "tool_calls": [OTHER_CALL]}
ITEMS: list[dict[str, Any]] = [RESPONSES[0], *RESPONSES[2:4]]


def hidden(path: Path) -> list[str]:
    """The codes of the gaps that may hide something."""
    return [gap.code for trace in load(path) for gap in trace.gaps if gap.hides]


def beside_in_blocks(path: Path) -> list[bool]:
    """Of each gap about a member of a block whether it may hide something."""
    return [gap.hides for trace in load(path) for gap in trace.gaps if "member of a block" in gap.message]


def called(path: Path) -> list[str]:
    return [call.tool for trace in load(path) for call in trace.calls]


def blocks(path: Path) -> list[str]:
    return [block.code for trace in load(path) for call in trace.calls for block in call.blocks]


@pytest.mark.parametrize("content", CONTAINERS.values(), ids=CONTAINERS)
def test_a_whole_run_has_no_gap(tmp_path: Path, content: tuple[str, Any]) -> None:
    assert hidden(write(tmp_path, content[1])) == []


@pytest.mark.parametrize(
    "item",
    [
        {"role": "tool_call", "name": "page", "content": "{}"},
        {"foo": "bar", "tool_calls": [OTHER_CALL]},
        None,
        5,
        "a text of nobody",
        ["a list"],
        {"role": "user", "content": "x", "tool_calls": [OTHER_CALL]},
        {"role": "user", "content": [{"type": "tool_use", "id": "c9", "name": "page", "input": {}}]},
        {"role": "assistant", "content": [{"type": "invoke", "name": "page", "input": {}}]},
        {"role": "assistant", "content": [{"callTool": {"name": "page"}, "toolUseId": "c9"}]},
        {"role": "assistant", "content": "x", "invalid_tool_calls": [{"name": "page", "args": "{"}]},
        {"role": "assistant", "content": "x", "toolCalls": [OTHER_CALL]},
        {"role": "assistant", "content": "x", "tool_calls": json.dumps([OTHER_CALL])},
        {"role": "assistant", "content": "x", "finish_reason": ["length"]},
        {"type": "item_reference", "id": "fc_9"},
        {"role": "assistant", "content": "x", "finish_reason": "length"},
        {"role": "assistant", "content": "x", "stop_reason": "tool_use"},
        {"role": "assistant", "content": "x", "response_metadata": {"finish_reason": "content_filter"}},
    ],
)
def test_what_is_not_understood_and_may_hide_something_is_a_gap(tmp_path: Path, item: object) -> None:
    assert hidden(write(tmp_path, [*CHAT[:3], item, CHAT[3]])) == ["evidence_gap"]


def test_a_history_that_was_compacted_is_a_gap(tmp_path: Path) -> None:
    item = {"type": "compaction", "encrypted_content": "x"}
    block = {"role": "assistant", "content": [{"type": "compaction", "content": "we paid"}]}
    assert hidden(write(tmp_path, [item, *ITEMS])) == ["compacted_history"]
    assert hidden(write(tmp_path, [block, *ANTHROPIC])) == ["compacted_history"]


@pytest.mark.parametrize("line", [{"event": "tool", "name": "page", "args": {}}, {"note": "x"}, 5, "text", None])
def test_a_line_that_is_no_message_is_a_gap(tmp_path: Path, line: object) -> None:
    assert hidden(write_lines(tmp_path, [*CHAT, line])) == ["evidence_gap"]
    assert hidden(write_lines(tmp_path, [{"messages": CHAT}, line])) == ["evidence_gap"]


def test_a_line_that_only_heads_the_file_is_no_gap(tmp_path: Path) -> None:
    assert hidden(write_lines(tmp_path, [{"metadata": {"from": "export"}}, {"messages": CHAT}])) == []
    assert hidden(write_lines(tmp_path, [{"tool": "page", "args": {}}, {"messages": CHAT}])) == ["evidence_gap"]


def test_what_follows_a_document_is_a_gap(tmp_path: Path) -> None:
    path = tmp_path / "evidence"
    path.write_text(json.dumps(CHAT) + '\n{"x": 1}', "utf-8")
    assert hidden(path) == ["evidence_gap"]
    path.write_text(json.dumps(CHAT) + '\n{"x": ', "utf-8")
    assert hidden(path) == ["malformed_line"]


def test_an_array_of_conversations_with_something_else_in_it_is_read_with_a_gap(tmp_path: Path) -> None:
    path = write(tmp_path, [{"messages": CHAT}, {"note": "x", "tool_calls": [OTHER_CALL]}])
    assert called(path) == ["pay"]
    assert hidden(path) == ["evidence_gap"]


@pytest.mark.parametrize("blanks", [" " * 80, "\n" * 80])
def test_blanks_before_a_document_change_nothing(tmp_path: Path, blanks: str) -> None:
    path = tmp_path / "evidence"
    path.write_text(blanks + json.dumps(CHAT), "utf-8")
    (trace,) = load(path)
    holds_the_payment(trace)


# answers in every wrapping -------------------------------------------------------------------------------------------

BODY = {"choices": [{"finish_reason": "tool_calls", "message": ASKING}]}


@pytest.mark.parametrize(
    "beside",
    [
        {"response": BODY},
        {"response": {"status_code": 200, "request_id": "r", "body": BODY}, "error": None},
        {"response": {"status_code": 200, "body": json.dumps(BODY)}},
        {"response": json.dumps(BODY)},
        {"response": ASKING},
        {"response": {"tool_calls": [OTHER_CALL]}},
        {"response": [ASKING]},
        {"response": {"message": ASKING, "done_reason": "stop"}},
        {"completion": BODY},
        {"output": ASKING},
        {"result": BODY},
        {"choices": BODY["choices"]},
    ],
)
def test_a_call_is_found_however_the_response_is_wrapped(tmp_path: Path, beside: dict[str, Any]) -> None:
    path = write(tmp_path, {"messages": CHAT[:3], **beside})
    assert called(path) == ["pay", "page"]
    assert hidden(path) == []


@pytest.mark.parametrize(
    "response",
    [
        None,
        'data: {"choices": [{"delta": {}}]}\n\ndata: [DONE]',
        [{"object": "chat.completion.chunk", "choices": [{"delta": {"tool_calls": [OTHER_CALL]}}]}],
        [{"type": "response.output_item.done", "item": {}}],
        [{"candidates": [{"content": GEMINI[-1]}]}],
        {"choices": [{"delta": {"content": "x"}}]},
        {"choices": []},
        {"choices": [None]},
        {"choices": [{"message": CHAT[3]}, {"message": ASKING}]},
        {"something": "else"},
        {"choices": [{"message": CHAT[3], "finish_reason": "length"}]},
        {"choices": [{"message": CHAT[3], "finish_reason": "tool_calls"}]},
        {"candidates": [{"content": GEMINI[-1], "finishReason": "MAX_TOKENS"}]},
        {"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL"}]},
        {**ANTHROPIC_BODY, "stop_reason": "pause_turn"},
        {**RESPONSES_BODY, "status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
        {**RESPONSES_BODY, "status": "in_progress"},
    ],
)
def test_a_response_that_may_hide_a_call_is_a_gap(tmp_path: Path, response: object) -> None:
    assert set(hidden(write(tmp_path, {"messages": CHAT[:3], "response": response}))) == {"evidence_gap"}


@pytest.mark.parametrize(
    "beside",
    [
        {"response": {"error": {"message": "overloaded"}}},
        {"response": {"status_code": 529, "body": {"error": {"message": "overloaded"}}}},
        {"response": None, "error": {"message": "overloaded"}},
    ],
)
def test_an_error_in_place_of_an_answer_is_a_step(tmp_path: Path, beside: dict[str, Any]) -> None:
    path = write(tmp_path, {"messages": CHAT[:3], **beside})
    (trace,) = load(path)
    assert [StepKind(kind) for kind in trace.kind][-1] is StepKind.ERROR
    assert hidden(path) == []


def test_an_answer_in_plain_text_is_a_turn_once(tmp_path: Path) -> None:
    for messages in (CHAT[:3], CHAT):
        (trace,) = load(write(tmp_path, {"messages": messages, "response": "paid tx_12"}))
        holds_the_payment(trace)


@pytest.mark.parametrize(
    "beside", [{"input": [ASKING]}, {"answer": ASKING}, {"responses": [ASKING]}, {"choices": [], "raw_response": BODY}]
)
def test_a_member_that_is_not_read_and_holds_other_calls_is_a_gap(tmp_path: Path, beside: dict[str, Any]) -> None:
    gaps = hidden(write(tmp_path, {"messages": CHAT, **beside}))
    assert set(gaps) == {"evidence_gap"}
    same = {"messages": CHAT, "raw_messages": CHAT, "raw_response": {"choices": [{"message": CHAT_CALL}]}}
    assert hidden(write(tmp_path, same)) == []


def test_a_history_beside_the_messages_comes_first(tmp_path: Path) -> None:
    before = [CHAT[0], ASKING, {"role": "tool", "tool_call_id": "c9", "content": "paged"}]
    assert called(write(tmp_path, {"messages": CHAT, "history": before})) == ["page", "pay"]
    assert called(write(tmp_path, {"messages": CHAT, "history": CHAT[:2]})) == ["pay"]


@pytest.mark.parametrize("member", [{"previous_response_id": "resp_1"}, {"conversation": {"id": "conv_1"}}])
def test_a_history_that_the_provider_holds_is_a_gap(tmp_path: Path, member: dict[str, Any]) -> None:
    assert hidden(write(tmp_path, {"model": "m", "input": ITEMS, "output": [RESPONSES[-1]], **member})) == [
        "evidence_gap"
    ]
    plain = {"model": "m", "input": ITEMS, "output": [RESPONSES[-1]], **dict.fromkeys(member)}
    assert hidden(write(tmp_path, plain)) == []


# calls in every vocabulary -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("item", "tool", "boundary", "outcome"),
    [
        ({"type": "shell_call", "call_id": "s", "action": {"commands": ["ls"]}}, "shell", "tool", "absent"),
        ({"type": "apply_patch_call", "call_id": "s", "operation": {"path": "x"}}, "apply_patch", "tool", "absent"),
        ({"type": "program_call", "id": "s", "code": "x"}, "program", "provider_tool", "absent"),
        ({"type": "web_search_call", "id": "s", "status": "completed"}, "web_search", "provider_tool", "absent"),
        ({"type": "code_interpreter_call", "id": "s", "outputs": []}, "code_interpreter", "provider_tool", "recorded"),
        ({"type": "mcp_call", "id": "s", "name": "go", "error": "no"}, "go", "provider_tool", "failed"),
    ],
)
def test_every_item_that_ends_in_call_is_a_call(
    tmp_path: Path, item: dict[str, Any], tool: str, boundary: str, outcome: str
) -> None:
    (trace,) = load(write(tmp_path, [*ITEMS, item, RESPONSES[-1]]))
    call = trace.calls[-1]
    assert (call.tool, call.boundary.value, call.outcome.value) == (tool, boundary, outcome)


def test_a_provider_tool_that_ended_and_shows_no_result_was_not_captured(tmp_path: Path) -> None:
    item = {"type": "web_search_call", "id": "s", "status": "completed", "action": {"query": "x"}}
    (trace,) = load(write(tmp_path, [*ITEMS, item, RESPONSES[-1]]))
    assert str(trace.calls[-1].absence) == "not captured"


def test_an_output_item_answers_its_call_whatever_their_kind(tmp_path: Path) -> None:
    items = [
        {"type": "new_thing_call", "call_id": "s"},
        {"type": "new_thing_call_output", "call_id": "s", "output": "x"},
    ]
    (trace,) = load(write(tmp_path, [*ITEMS, *items, RESPONSES[-1]]))
    assert trace.calls[-1].outcome is Outcome.RECORDED


def test_approvals_of_provider_tools_are_steps(tmp_path: Path) -> None:
    asked = {"type": "mcp_approval_request", "id": "m", "name": "page", "arguments": "{}", "server_label": "p"}
    given = {"type": "mcp_approval_response", "approval_request_id": "m", "approve": True}
    path = write(tmp_path, [*ITEMS, asked, given, RESPONSES[-1]])
    (trace,) = load(path)
    kinds = [StepKind(kind) for kind in trace.kind]
    assert kinds[-3:] == [StepKind.APPROVAL_REQUEST, StepKind.APPROVAL, StepKind.MODEL]
    assert hidden(path) == []


def test_every_block_that_ends_in_tool_use_is_a_call(tmp_path: Path) -> None:
    blocks_of = [
        {"type": "agent_tool_use", "id": "s", "name": "page", "input": {}},
        {"type": "agent_tool_result", "tool_use_id": "s", "content": "paged"},
    ]
    (trace,) = load(write(tmp_path, [*ANTHROPIC[:3], {"role": "assistant", "content": blocks_of}]))
    call = trace.calls[-1]
    assert (call.tool, call.boundary.value, call.outcome) == ("page", "provider_tool", Outcome.RECORDED)


def test_what_gemini_runs_itself_is_a_call(tmp_path: Path) -> None:
    parts = [
        {"executableCode": {"language": "PYTHON", "code": "print(1)"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
        {"toolCall": {"toolType": "GOOGLE_MAPS", "id": "t", "args": {}}},
        {"toolResponse": {"toolType": "GOOGLE_MAPS", "id": "t", "response": {"x": 1}}},
    ]
    (trace,) = load(write(tmp_path, [*GEMINI[:3], {"role": "model", "parts": parts}]))
    told = [(call.tool, call.boundary.value, call.outcome.value) for call in trace.calls[1:]]
    assert told == [("code_execution", "provider_tool", "recorded"), ("google_maps", "provider_tool", "recorded")]


def test_a_search_that_grounds_an_answer_is_a_call_without_its_result(tmp_path: Path) -> None:
    grounds = {"webSearchQueries": ["rate of the day"]}
    body = {"candidates": [{"content": GEMINI[-1], "finishReason": "STOP", "groundingMetadata": grounds}]}
    (trace,) = load(write(tmp_path, {"contents": GEMINI[:3], "response": body}))
    call = trace.calls[-1]
    assert (call.tool, call.boundary.value, str(call.absence)) == ("google_search", "provider_tool", "not captured")


# records that say they are not whole ---------------------------------------------------------------------------------


def asked_with(arguments: str) -> list[Any]:
    call = {**CHAT_CALL["tool_calls"][0], "function": {"name": "pay", "arguments": arguments}}
    return [CHAT[0], {**CHAT_CALL, "tool_calls": [call]}, *CHAT[2:]]


@pytest.mark.parametrize(
    ("messages", "code"),
    [
        (asked_with('{"to": "bo'), "truncated_payload"),
        (asked_with('{"to": "[REDACTED]"}'), "redaction_damage"),
        (asked_with("***"), "redaction_damage"),
        ([*CHAT[:2], {**CHAT[2], "content": "<redacted>"}, CHAT[3]], "redaction_damage"),
        ([*CHAT[:2], {**CHAT[2], "truncated": True}, CHAT[3]], "truncated_payload"),
        ([RESPONSES[0], {**RESPONSES[2], "status": "incomplete"}, *RESPONSES[3:]], "truncated_payload"),
        ([GEMINI[0], {"role": "model", "parts": [{"functionCall": {"willContinue": True}}]}], "truncated_payload"),
    ],
)  # fmt: skip
def test_a_payload_that_says_it_is_not_whole_blocks_its_call_once(
    tmp_path: Path, messages: list[Any], code: str
) -> None:
    path = write(tmp_path, messages)
    assert code in blocks(path)
    assert [f.code for f in examine(path).audit().findings].count(code) == 1


@pytest.mark.parametrize("content", ["the start of it [output truncated]", "ends with ...", '{"truncated": true}', ""])
def test_a_result_that_was_shown_as_it_is_stays_injectable(tmp_path: Path, content: str) -> None:
    assert blocks(write(tmp_path, [*CHAT[:2], {**CHAT[2], "content": content}, CHAT[3]])) == []


def test_one_message_that_tells_one_call_in_two_ways_contradicts_itself(tmp_path: Path) -> None:
    def codes(content_input: object, *, name: str = "pay") -> list[str]:
        block = {"type": "tool_use", "id": "call_a", "name": name, "input": content_input}
        told = {
            "role": "assistant",
            "content": [block],
            "tool_calls": [{"id": "call_a", "name": "pay", "args": {"to": "bob"}}],
        }
        path = write(tmp_path, [CHAT[0], told, *CHAT[2:]])
        (trace,) = load(path)
        (call,) = trace.calls
        assert call.arguments is not None
        assert content_input or value_of(call.arguments) == {"to": "bob"}
        return [b.code for b in call.blocks]

    assert codes({"to": "bob"}) == []
    assert codes({}) == []
    assert codes({"to": "eve"}) == ["inconsistent_tuple"]
    assert codes({"to": "bob"}, name="page") == ["inconsistent_tuple"]


@pytest.mark.parametrize(
    "line",
    [
        '{"role": "assistant", "tool_calls": [{"id": "c9"}], "role": "user", "tool_calls": null, "content": "x"}',
        '{"role": "user", "content": [{"type": "text", "text": "a", "text": "b"}]}',
    ],
)
def test_a_line_that_can_be_read_in_two_ways_is_a_gap(tmp_path: Path, line: str) -> None:
    path = tmp_path / "evidence"
    path.write_text("".join(f"{json.dumps(m)}\n" for m in CHAT) + line + "\n", "utf-8")
    assert hidden(path) == ["duplicate_key"]
    assert set(blocks(path)) == {"duplicate_key"}
    request = {"request": {"messages": CHAT[:3]}, "response": CHAT_BODY}
    path.write_text(json.dumps(request).replace("{", '{"request": {"messages": []}, ', 1), "utf-8")
    assert hidden(path) == ["duplicate_key"]


def test_a_status_that_leaves_the_outcome_open_is_indeterminate(tmp_path: Path) -> None:
    (trace,) = load(write(tmp_path, [*CHAT[:2], {**CHAT[2], "status": "timeout"}, CHAT[3]]))
    assert trace.calls[0].outcome is Outcome.INDETERMINATE


def test_a_tool_that_a_later_request_describes_otherwise_keeps_its_first_description(tmp_path: Path) -> None:
    def request(description: str) -> dict[str, Any]:
        return {"messages": CHAT, "tools": [{"name": "pay", "description": description}]}

    path = write_lines(tmp_path, [request("Pays."), request("Pays twice."), request("Pays thrice.")])
    (trace,) = load(path)
    assert trace.facts["pay"].description == "Pays."
    assert [f.code for f in trace.findings] == ["dialect"]


def test_many_calls_in_one_message_take_time_in_proportion(tmp_path: Path) -> None:
    def seconds(count: int) -> float:
        calls = [{"id": f"c{n}", "function": {"name": "pay", "arguments": "{}"}} for n in range(count)]
        path = write(tmp_path, [CHAT[0], {"role": "assistant", "tool_calls": calls}])
        began = time.process_time()
        (trace,) = load(path)
        assert len(trace.calls) == count
        return time.process_time() - began

    def least(count: int) -> float:  # what else runs on the machine only ever adds
        return min(seconds(count) for _ in range(3))

    seconds(100)
    assert least(8_000) < 40 * least(800)


@pytest.mark.parametrize(
    ("turn", "hides"),
    [
        ({"content": None}, True),
        ({"contents": [{"type": "tool_use", "name": "pay"}]}, True),
        ({"content": ""}, False),
        ({"content": []}, False),
        ({"content": None, "refusal": "no"}, False),
    ],
)
def test_a_turn_in_which_nothing_is_read_may_hide_a_call(
    tmp_path: Path,
    turn: dict[str, Any],
    hides: bool,  # noqa: FBT001
) -> None:
    path = tmp_path / "messages.json"
    path.write_text(json.dumps([*CHAT, {"role": "user", "content": "more"}, {"role": "assistant", **turn}]), "utf-8")
    (trace,) = load(path)
    assert any("without anything in it" in gap.message for gap in trace.gaps) is hides


@pytest.mark.parametrize(
    ("members", "hides"),
    [
        ({"actions": [{"name": "pay", "args": {}, "id": "c9"}]}, True),
        ({"request": {"function": "pay", "arguments": "{}"}}, True),
        ({"annotations": [{"type": "url_citation", "url": "https://example.org"}]}, False),
        ({"usage": {"input": 3, "output": 2}}, False),
    ],
)
def test_calls_in_a_member_of_another_name_are_a_gap(
    tmp_path: Path,
    members: dict[str, Any],
    hides: bool,  # noqa: FBT001
) -> None:
    path = tmp_path / "messages.json"
    told = [*CHAT, {"role": "user", "content": "more"}, {"role": "assistant", "content": "on it", **members}]
    path.write_text(json.dumps(told), "utf-8")
    (trace,) = load(path)
    assert any("in a member that is not read" in gap.message for gap in trace.gaps) is hides


@pytest.mark.parametrize("where", ["content", "parts"])
@pytest.mark.parametrize(
    "block",
    [
        {"text": "hm", "tool_calls": [{"name": "book", "args": {}}]},
        {"type": "text", "text": "hm", "more": {"name": "book", "arguments": {}}},
        {"type": "thinking", "thinking": "hm", "tool_calls": [{"name": "book", "args": {}}]},
        {"type": "image", "source": {}, "calls": [{"name": "book", "args": {}}]},
        {"type": "odd", "inner": [{"name": "book", "args": {}}]},
        {"some_call": {"name": "book", "args": {}}},
        {"functionCall": {"name": "look", "args": {}}, "functionCalls": [{"name": "book", "args": {}}]},
    ],
)
def test_what_looks_like_a_call_in_a_member_of_a_block_is_a_gap(
    where: str, block: dict[str, Any], tmp_path: Path
) -> None:
    said = [{"role": "user", "content": "go"}, {"role": "model", where: [block]}]
    assert beside_in_blocks(write(tmp_path, said)) == [True]


@pytest.mark.parametrize("member", ["input", "args"])
def test_arguments_that_look_like_a_call_are_those_of_their_own(member: str, tmp_path: Path) -> None:
    asks = {"type": "tool_use", "id": "c1", "name": "proxy", member: {"name": "book", "arguments": {"seat": 4}}}
    gives = {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "ok"}]}
    turns = [("user", "go"), ("assistant", [asks]), ("user", [gives])]
    path = write(tmp_path, [{"role": role, "content": content} for role, content in turns])
    assert called(path) == ["proxy"]
    assert beside_in_blocks(path) == []


def test_a_member_that_repeats_the_calls_of_its_message_is_no_gap(tmp_path: Path) -> None:
    path = tmp_path / "messages.json"
    asks = {**CHAT_CALL, "chunks": [{"id": "call_a", "name": "pay", "args": "{}"}]}
    path.write_text(json.dumps([CHAT[0], asks, *CHAT[2:]]), "utf-8")
    (trace,) = load(path)
    assert not [gap for gap in trace.gaps if gap.hides]


# shapes of libraries -------------------------------------------------------------------------------------------------

UI_STATES: list[tuple[Any, Outcome, tuple[str, ...]]] = [
    ({"state": "output-available", "input": {"to": "bob"}, "output": {"tx": "tx_12"}}, Outcome.RECORDED, ()),
    ({"state": "output-error", "input": {"to": "bob"}, "errorText": "no such account"}, Outcome.FAILED, ()),
    ({"state": "output-denied", "input": {"to": "bob"}, "approval": {"reason": "no"}}, Outcome.DENIED, ()),
    ({"state": "output-denied", "input": {"to": "bob"}}, Outcome.DENIED, ()),
    ({"state": "input-available", "input": {"to": "bob"}}, Outcome.ABSENT, ("unanswered_call",)),
    ({"state": "input-streaming", "input": {"to": "bo"}}, Outcome.ABSENT, ("truncated_payload", "unanswered_call")),
]


@pytest.mark.parametrize("named", ["tool-pay", "dynamic-tool"])
@pytest.mark.parametrize(("told", "outcome", "blocks"), UI_STATES)
def test_a_part_of_the_vercel_ai_sdk_tells_a_call_and_its_end(
    tmp_path: Path, named: str, told: dict[str, Any], outcome: Outcome, blocks: tuple[str, ...]
) -> None:
    part = {"type": named, "toolCallId": "call_a", **({} if named == "tool-pay" else {"toolName": "pay"}), **told}
    messages = [{"role": "user", "parts": [{"type": "text", "text": "pay"}]}, {"role": "assistant", "parts": [part]}]
    (trace,) = load(write(tmp_path, {"id": "c", "messages": messages}))
    (call,) = trace.calls
    assert (trace.format, call.tool, call.recorded_id, call.outcome) == ("openai-chat", "pay", "call_a", outcome)
    assert tuple(block.code for block in call.blocks) == blocks


def test_an_older_part_of_the_vercel_ai_sdk(tmp_path: Path) -> None:
    done = {
        "state": "result",
        "toolCallId": "call_a",
        "toolName": "pay",
        "args": {"to": "bob"},
        "result": {"tx": "tx_12"},
    }
    part = {"type": "tool-invocation", "toolInvocation": done}
    (trace,) = load(write(tmp_path, [{"role": "user", "content": "pay"}, {"role": "assistant", "parts": [part]}]))
    (call,) = trace.calls
    assert call.result is not None
    assert (call.tool, call.recorded_id, value_of(call.result)) == ("pay", "call_a", {"tx": "tx_12"})


def goose(role: str, *content: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "created": 1783590402, "content": list(content)}


ASKED = {"type": "toolRequest", "id": "call_a", "toolCall": {"value": {"name": "pay", "arguments": {"to": "bob"}}}}


@pytest.mark.parametrize(
    ("told", "outcome"),
    [
        ({"status": "success", "value": [{"type": "text", "text": "tx_12"}]}, Outcome.RECORDED),
        (
            {"status": "success", "value": {"content": [{"type": "text", "text": "no"}], "isError": True}},
            Outcome.FAILED,
        ),
        ({"status": "error", "error": "no such account"}, Outcome.FAILED),
        ({"Err": "no such account"}, Outcome.FAILED),
    ],
)
def test_calls_and_results_of_goose(tmp_path: Path, told: dict[str, Any], outcome: Outcome) -> None:
    answer = {"type": "toolResponse", "id": "call_a", "toolResult": told}
    lines = [goose("user", {"type": "text", "text": "pay"}), goose("assistant", ASKED), goose("user", answer)]
    (trace,) = load(write_lines(tmp_path, lines))
    (call,) = trace.calls
    assert (call.tool, call.recorded_id, call.outcome) == ("pay", "call_a", outcome)
    assert call.arguments is not None
    assert value_of(call.arguments) == {"to": "bob"}


def test_a_call_of_goose_that_could_not_be_read_is_a_gap(tmp_path: Path) -> None:
    broken = {"type": "toolRequest", "id": "call_a", "toolCall": {"status": "error", "error": "no JSON"}}
    told = examine(write_lines(tmp_path, [goose("user", {"type": "text", "text": "pay"}), goose("assistant", broken)]))
    (trace,) = told.audit().traces
    assert "could not be read when it was asked for" in " ".join(one.message for one in trace.verdict.reasons)


def test_calls_and_results_in_the_words_of_pi(tmp_path: Path) -> None:
    asked = {"type": "toolCall", "id": "call_a", "name": "pay", "arguments": {"to": "bob"}}
    result = {"role": "toolResult", "toolCallId": "call_a", "toolName": "pay", "content": "no", "isError": True}
    (trace,) = load(
        write(tmp_path, [{"role": "user", "content": "pay"}, {"role": "assistant", "content": [asked]}, result])
    )
    (call,) = trace.calls
    assert (call.tool, call.boundary.value, call.outcome) == ("pay", "tool", Outcome.FAILED)
