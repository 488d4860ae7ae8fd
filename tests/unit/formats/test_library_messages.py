"""Are the messages that a library keeps in a shape of its own read as the calls and results that they hold?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from forensics.core.jsonvalue import value_of
from forensics.core.trace import Outcome, StepKind
from tests.unit.formats.conftest import hiding, read_records, read_value

if TYPE_CHECKING:
    from pathlib import Path

    from forensics.core.reading import Reading

ARGUMENTS = {"to": "bob"}


def haystack(role: str, *content: Any) -> dict[str, Any]:
    return {"role": role, "meta": {}, "name": None, "content": list(content)}


ORIGIN = {"tool_name": "pay", "arguments": ARGUMENTS, "id": "call_a", "extra": None}
OTHER = {"tool_name": "pay", "arguments": ARGUMENTS, "id": "call_b", "extra": None}
HAYSTACK = [
    haystack("user", {"text": "pay bob"}),
    haystack("assistant", {"text": "twice"}, {"tool_call": ORIGIN}, {"tool_call": OTHER}),
    haystack("tool", {"tool_call_result": {"result": "no", "origin": OTHER, "error": True}}),
    haystack("tool", {"tool_call_result": {"result": "tx_12", "origin": ORIGIN, "error": False}}),
    haystack("assistant", {"text": "paid tx_12"}),
]


def block(text: str) -> dict[str, Any]:
    return {"block_type": "text", "text": text}


def index(role: str, *blocks: Any, **more: Any) -> dict[str, Any]:
    return {"role": role, "additional_kwargs": more, "blocks": list(blocks)}


ASKED = {
    "index": 0,
    "id": "call_a",
    "type": "function",
    "function": {"name": "pay", "arguments": json.dumps(ARGUMENTS)},
}
ASKED_IN_A_BLOCK = {"block_type": "tool_call", "tool_call_id": "call_a", "tool_name": "pay", "tool_kwargs": ARGUMENTS}
LLAMA_INDEX = [
    index("user", block("pay bob")),
    index("assistant", block("I pay"), ASKED_IN_A_BLOCK),
    index("tool", block("tx_12"), tool_call_id="call_a", name="pay"),
    index("assistant", block("paid tx_12")),
]
LLAMA_INDEX_TWICE = [
    LLAMA_INDEX[0],
    index("assistant", block("I pay"), {**ASKED_IN_A_BLOCK, "tool_kwargs": json.dumps(ARGUMENTS)}, tool_calls=[ASKED]),
    *LLAMA_INDEX[2:],
]


def kernel(role: str, *items: Any) -> dict[str, Any]:
    return {"metadata": {}, "content_type": "message", "role": role, "items": list(items)}


CALLED = {"content_type": "function_call", "id": "call_a", "name": "pay", "arguments": json.dumps(ARGUMENTS)}
SEMANTIC_KERNEL = {
    "messages": [
        kernel("user", {"content_type": "text", "text": "pay bob"}),
        kernel("assistant", {"content_type": "text", "text": "I pay"}, CALLED),
        kernel("tool", {"content_type": "function_result", "id": "call_a", "name": "pay", "result": "tx_12"}),
        kernel("assistant", {"content_type": "text", "text": "paid tx_12"}),
    ]
}
INVOKED = {"state": "result", "toolCallId": "call_a", "toolName": "pay", "args": ARGUMENTS, "result": "tx_12"}


def mastra(role: str, *parts: Any) -> dict[str, Any]:
    return {"id": "m", "role": role, "threadId": "t", "type": "text", "content": {"format": 2, "parts": list(parts)}}


MASTRA = [
    mastra("user", {"type": "text", "text": "pay bob"}),
    mastra("assistant", {"type": "step-start"}, {"type": "tool-invocation", "toolInvocation": INVOKED}),
]


def chain(kind: str, content: str, **more: Any) -> dict[str, Any]:
    return {"content": content, "additional_kwargs": {}, "response_metadata": {}, "type": kind, "name": None, **more}


LANGCHAIN = [
    chain("system", "be kind"),
    chain("human", "pay bob"),
    chain("ai", "I pay", tool_calls=[{"name": "pay", "args": ARGUMENTS, "id": "call_a", "type": "tool_call"}]),
    chain("tool", "tx_12", tool_call_id="call_a", status="success"),
    chain("ai", "paid tx_12"),
]
LANGCHAIN_DICTS = [{"type": one["type"], "data": one} for one in LANGCHAIN]


@pytest.mark.parametrize(
    "messages",
    [HAYSTACK, LLAMA_INDEX, LLAMA_INDEX_TWICE, SEMANTIC_KERNEL, MASTRA, LANGCHAIN, LANGCHAIN_DICTS],
    ids=["haystack", "llama-index", "llama-index-twice", "semantic-kernel", "mastra", "langchain", "langchain-dicts"],
)
def test_a_call_and_its_result(tmp_path: Path, messages: Any) -> None:
    reading = read_value(tmp_path, messages)
    (trace,) = reading.traces
    call = trace.calls[0]
    assert (call.tool, call.recorded_id, call.boundary.value, call.outcome) == (
        "pay",
        "call_a",
        "tool",
        Outcome.RECORDED,
    )
    assert call.arguments is not None
    assert value_of(call.arguments) in (ARGUMENTS, json.dumps(ARGUMENTS))
    assert b"tx_12" in bytes(call.result or b"")
    assert hiding(reading) == []


def test_a_failed_call_of_haystack_is_told_apart_by_its_id(tmp_path: Path) -> None:
    (trace,) = read_value(tmp_path, HAYSTACK).traces
    assert [(call.recorded_id, call.outcome) for call in trace.calls] == [
        ("call_a", Outcome.RECORDED),
        ("call_b", Outcome.FAILED),
    ]


def test_messages_of_langchain_one_a_line(tmp_path: Path) -> None:
    (trace,) = read_records(tmp_path, *LANGCHAIN_DICTS).traces
    assert [call.outcome for call in trace.calls] == [Outcome.RECORDED]


def test_runs_that_agno_keeps(tmp_path: Path) -> None:
    asked = {"role": "assistant", "content": "I pay", "tool_calls": [ASKED]}
    told = {
        "role": "tool",
        "content": "no account",
        "tool_call_id": "call_a",
        "tool_name": "pay",
        "tool_call_error": True,
    }
    run = {"run_id": "r", "status": "COMPLETED", "messages": [{"role": "user", "content": "pay bob"}, asked, told]}
    for held in (run, [{"run_id": "r", "run_type": "agent", "run_data": run}]):
        (trace,) = read_value(tmp_path, held).traces
        assert [(call.recorded_id, call.outcome) for call in trace.calls] == [("call_a", Outcome.FAILED)]


# pydantic ai ---------------------------------------------------------------------------------------------------------


def request(*parts: Any, **more: Any) -> dict[str, Any]:
    return {"parts": list(parts), "kind": "request", "conversation_id": "v", **more}


def response(*parts: Any, **more: Any) -> dict[str, Any]:
    return {"parts": list(parts), "kind": "response", "conversation_id": "v", "state": "complete", **more}


PROMPT = {"content": "pay bob", "part_kind": "user-prompt"}
CALL = {"tool_name": "pay", "args": ARGUMENTS, "tool_call_id": "call_a", "part_kind": "tool-call"}


def returned(outcome: str) -> dict[str, Any]:
    told = {"tool_name": "pay", "content": "tx_12", "tool_call_id": "call_a", "part_kind": "tool-return"}
    return {**told, "outcome": outcome}


@pytest.mark.parametrize(
    ("told", "outcome"),
    [
        (returned("success"), Outcome.RECORDED),
        (returned("failed"), Outcome.FAILED),
        (returned("retried"), Outcome.FAILED),
        (returned("denied"), Outcome.DENIED),
        (returned("interrupted"), Outcome.INDETERMINATE),
        ({**returned("success"), "part_kind": "retry-prompt"}, Outcome.FAILED),
    ],
)
def test_how_a_call_of_pydantic_ai_ended(tmp_path: Path, told: dict[str, Any], outcome: Outcome) -> None:
    reading = read_value(tmp_path, [request(PROMPT), response(CALL), request(told)])
    assert reading.evidence.format == "pydantic-ai"
    (call,) = reading.traces[0].calls
    assert (call.tool, call.recorded_id, call.outcome) == ("pay", "call_a", outcome)


def test_a_request_is_as_many_messages_as_it_has_speakers(tmp_path: Path) -> None:
    system = {"content": "be kind", "part_kind": "system-prompt"}
    again = {"content": "that is no answer", "part_kind": "retry-prompt", "tool_name": None, "tool_call_id": "x"}
    reading = read_value(
        tmp_path, [request(system, PROMPT), response(CALL), request(returned("success"), {**PROMPT}, again)]
    )
    (trace,) = reading.traces
    assert [step.kind for step in trace.steps()] == [
        StepKind.SYSTEM,
        StepKind.USER,
        StepKind.MODEL,
        StepKind.TOOL_CALL,
        StepKind.TOOL_RESULT,
        StepKind.USER,
    ]


def test_instructions_that_every_request_carries_are_told_once(tmp_path: Path) -> None:
    told = {"instructions": "be kind"}
    lines = [request(PROMPT, **told), response(CALL), request(returned("success"), **told)]
    (trace,) = read_value(tmp_path, lines).traces
    assert [step.kind for step in trace.steps()].count(StepKind.SYSTEM) == 1


def test_a_tool_that_the_provider_ran(tmp_path: Path) -> None:
    asked = {**CALL, "part_kind": "builtin-tool-call", "tool_name": "web_search"}
    gave = {**returned("success"), "part_kind": "builtin-tool-return", "tool_name": "web_search"}
    (trace,) = read_value(tmp_path, [request(PROMPT), response(asked, gave)]).traces
    (call,) = trace.calls
    assert (call.tool, call.boundary.value, call.outcome) == ("web_search", "provider_tool", Outcome.RECORDED)


def test_what_pydantic_ai_says_was_broken_off_is_a_gap(tmp_path: Path) -> None:
    said = {"content": "I will", "part_kind": "text"}
    reading = read_value(tmp_path, [request(PROMPT), response(said, state="interrupted")])
    assert hiding(reading)


def test_the_place_of_a_part_is_its_own(tmp_path: Path) -> None:
    system = {"content": "be kind", "part_kind": "system-prompt"}
    reading = read_value(tmp_path, [request(PROMPT), response(CALL), request(system, returned("success"))])
    (trace,) = reading.traces
    step = next(step for step in trace.steps() if step.kind is StepKind.TOOL_RESULT)
    assert step.locator.pointer == "/2/parts/1"


# batches and gateways ------------------------------------------------------------------------------------------------

ANSWER = {
    "object": "chat.completion",
    "choices": [
        {"finish_reason": "tool_calls", "message": {"role": "assistant", "content": None, "tool_calls": [ASKED]}}
    ],
}
CLAUDE = {
    "type": "message",
    "role": "assistant",
    "stop_reason": "tool_use",
    "content": [{"type": "tool_use", "id": "call_a", "name": "pay", "input": ARGUMENTS}],
}
ASKING = {"role": "user", "content": [{"text": "pay bob"}]}
CONVERSED = {
    "output": {
        "message": {
            "role": "assistant",
            "content": [{"toolUse": {"toolUseId": "call_a", "name": "pay", "input": ARGUMENTS}}],
        }
    },
    "stopReason": "tool_use",
}
HELD: list[tuple[dict[str, Any], str]] = [
    ({"id": "b", "custom_id": "1", "response": {"status_code": 200, "body": ANSWER}, "error": None}, "openai-chat"),
    ({"custom_id": "1", "result": {"type": "succeeded", "message": CLAUDE}}, "anthropic-messages"),
    ({"request_body": {"messages": [{"role": "user", "content": "pay"}]}, "response_body": ANSWER}, "openai-chat"),
    (
        {
            "schemaType": "ModelInvocationLog",
            "input": {"inputBodyJson": {"messages": [ASKING]}},
            "output": {"outputBodyJson": CONVERSED},
        },
        "openai-chat",
    ),
]


@pytest.mark.parametrize(("line", "name"), HELD, ids=["openai-batch", "anthropic-batch", "gateway", "bedrock-log"])
def test_the_call_in_a_line_of_a_batch_or_log(tmp_path: Path, line: dict[str, Any], name: str) -> None:
    reading: Reading = read_records(tmp_path, line)
    assert reading.evidence.format == name
    assert [call.recorded_id for trace in reading.traces for call in trace.calls] == ["call_a"]


def test_a_line_of_a_batch_without_an_answer_is_a_gap(tmp_path: Path) -> None:
    held = HELD[1][0]
    failed = {"custom_id": "2", "result": {"type": "errored", "error": {"type": "overloaded_error"}}}
    reading = read_records(tmp_path, held, failed, {"custom_id": "3", "result": {"type": "expired"}})
    assert hiding(reading) == ["a line of a batch that holds no answer"]
    assert [step.kind for trace in reading.traces for step in trace.steps()].count(StepKind.ERROR) == 1


# letta ---------------------------------------------------------------------------------------------------------------


def letta(at: int, kind: str, **members: Any) -> dict[str, Any]:
    return {
        "id": f"message-{at}",
        "date": f"2026-11-02T09:00:0{at}+00:00",
        "message_type": f"{kind}_message",
        **members,
    }


NAMED = {"name": "pay", "arguments": json.dumps(ARGUMENTS), "tool_call_id": "call_a"}
LETTA = [
    letta(1, "user", content="pay bob"),
    letta(2, "reasoning", reasoning="whom?"),
    letta(2, "tool_call", tool_call=NAMED),
    letta(3, "tool_return", tool_call_id="call_a", status="success", tool_return="tx_12"),
    letta(4, "assistant", content="paid tx_12"),
]


@pytest.mark.parametrize("held", [LETTA, LETTA[::-1], {"messages": LETTA, "usage": {}}], ids=["list", "latest", "body"])
def test_messages_of_letta_in_either_order(tmp_path: Path, held: Any) -> None:
    reading = read_value(tmp_path, held)
    (trace,) = reading.traces
    assert reading.evidence.format == "letta"
    assert [step.kind for step in trace.steps()] == [
        StepKind.USER,
        StepKind.MODEL,
        StepKind.TOOL_CALL,
        StepKind.TOOL_RESULT,
        StepKind.MODEL,
    ]
    assert [(call.tool, call.recorded_id, call.outcome) for call in trace.calls] == [
        ("pay", "call_a", Outcome.RECORDED)
    ]
    assert not hiding(reading)


def test_a_call_of_letta_that_failed_and_one_that_was_refused(tmp_path: Path) -> None:
    failed = letta(3, "tool_return", tool_call_id="call_a", status="error", tool_return="no such account")
    (call,) = read_value(tmp_path, [*LETTA[:3], failed]).traces[0].calls
    assert call.outcome is Outcome.FAILED
    asked = letta(2, "approval_request", tool_call=NAMED)
    refusal = {"type": "approval", "tool_call_id": "call_a", "approve": False, "reason": "not today"}
    answer = letta(3, "approval_response", approve=False, approvals=[refusal])
    (call,) = read_value(tmp_path, [LETTA[0], asked, answer]).traces[0].calls
    assert call.outcome is Outcome.DENIED


def test_a_message_of_letta_of_another_type_is_a_gap(tmp_path: Path) -> None:
    assert hiding(read_value(tmp_path, [*LETTA, letta(5, "teleport", content="x")]))


# interactions --------------------------------------------------------------------------------------------------------

PUT_IN = {"type": "user_input", "content": [{"type": "text", "text": "pay bob"}]}
THOUGHT = {"type": "thought", "signature": "x", "summary": [{"type": "text", "text": "whom?"}]}
ASKED_FOR = {"type": "function_call", "id": "call_a", "name": "pay", "arguments": ARGUMENTS}
GAVE = {"type": "function_result", "call_id": "call_a", "name": "pay", "result": {"tx": "tx_12"}, "is_error": False}
PUT_OUT = {"type": "model_output", "content": [{"type": "text", "text": "paid tx_12"}]}
SEARCHED = {"type": "google_search_call", "id": "s1", "arguments": {"queries": ["bob"]}}
FOUND = {"type": "google_search_result", "call_id": "s1", "result": [{"title": "Bob"}]}


@pytest.mark.parametrize(
    "held",
    [
        [PUT_IN, THOUGHT, ASKED_FOR, GAVE, PUT_OUT],
        {"id": "i1", "object": "interaction", "status": "completed", "steps": [PUT_IN, ASKED_FOR, GAVE, PUT_OUT]},
        {
            "request": {"model": "m", "input": [PUT_IN, THOUGHT, ASKED_FOR, GAVE]},
            "response": {"id": "i2", "status": "completed", "outputs": [{"type": "text", "text": "paid tx_12"}]},
        },
    ],
    ids=["steps", "interaction", "request-and-response"],
)
def test_the_steps_of_an_interaction(tmp_path: Path, held: Any) -> None:
    reading = read_value(tmp_path, held)
    (trace,) = reading.traces
    (call,) = trace.calls
    assert (reading.evidence.format, call.tool, call.recorded_id, call.outcome) == (
        "gemini",
        "pay",
        "call_a",
        Outcome.RECORDED,
    )
    assert value_of(call.result or b"") == {"tx": "tx_12"}
    kinds = [step.kind for step in trace.steps()]
    assert (kinds[0], kinds.count(StepKind.MODEL)) == (StepKind.USER, 2)
    assert not hiding(reading)


def test_a_search_that_ran_in_an_interaction(tmp_path: Path) -> None:
    usage = {"total_input_tokens": 5, "total_output_tokens": 3}
    interaction = {"id": "i1", "status": "completed", "steps": [PUT_IN, SEARCHED, FOUND, PUT_OUT], "usage": usage}
    reading = read_value(tmp_path, interaction)
    (call,) = reading.traces[0].calls
    assert (call.tool, call.boundary.value, call.outcome) == ("google_search", "provider_tool", Outcome.RECORDED)
    assert (reading.counts.input_tokens, reading.counts.output_tokens) == (5, 3)
