"""Does a span say the same in whichever vocabulary it is written, and does nothing in another one hide a call?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from forensics.core.jsonvalue import value_of
from forensics.core.trace import Outcome, StepKind

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from forensics.core.reading import Reading
    from forensics.core.trace import Trace

    ReadOtlp = Callable[..., Reading]

TRACE = "0af7651916cd43dd8448eb211c80319c"
EPOCH = 1_790_000_000_000_000_000
ARGUMENTS = {"city": "Paris"}
SAID = "rainy, 57 F"


def span(number: int, parent: int | None, name: str, attributes: dict[str, Any], *, failed: bool = False) -> Any:
    """A span as OTLP writes it, a microsecond after the one before it."""
    told = [{"key": key, "value": any_value(of)} for key, of in attributes.items()]
    found: dict[str, Any] = {
        "traceId": TRACE,
        "spanId": f"{number:016x}",
        "name": name,
        "startTimeUnixNano": str(EPOCH + number * 1_000_000),
        "endTimeUnixNano": str(EPOCH + number * 1_000_000 + 1_000),
        "attributes": told,
    }
    if parent is not None:
        found["parentSpanId"] = f"{parent:016x}"
        found["endTimeUnixNano"] = str(EPOCH + number * 1_000_000 + 500)
    if failed:
        found["status"] = {"code": 2}
    return found


def any_value(of: object) -> dict[str, Any]:
    if isinstance(of, int):
        return {"intValue": str(of)}
    if isinstance(of, list):
        return {"arrayValue": {"values": [any_value(one) for one in of]}}
    return {"stringValue": of}


def openinference(*, repeat: bool = True) -> list[Any]:
    """A run in OpenInference: a turn that asks, the tool, a turn that was shown the result."""
    asked = {
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.tool_calls.0.tool_call.id": "call_1",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "get_weather",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": json.dumps(ARGUMENTS),
    }
    first = {"llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": "Weather in Paris?"}
    history = {
        "llm.input_messages.1.message.role": "assistant",
        "llm.input_messages.1.message.tool_calls.0.tool_call.id": "call_1",
        "llm.input_messages.1.message.tool_calls.0.tool_call.function.name": "get_weather",
        "llm.input_messages.1.message.tool_calls.0.tool_call.function.arguments": json.dumps(ARGUMENTS),
        "llm.input_messages.2.message.role": "tool",
        "llm.input_messages.2.message.tool_call_id": "call_1",
        "llm.input_messages.2.message.content": SAID,
    }
    kind = "openinference.span.kind"
    done = {"llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.content": "It rains."}
    tool = {kind: "TOOL", "tool.name": "get_weather", "input.value": json.dumps(ARGUMENTS), "output.value": SAID}
    schema = json.dumps({"type": "function", "function": {"name": "get_weather", "description": "Looks it up."}})
    return [
        span(1, None, "run", {kind: "AGENT", "agent.name": "guide"}),
        span(2, 1, "ChatModel", {kind: "LLM", **first, **asked, "llm.tools.0.tool.json_schema": schema}),
        span(3, 1, "get_weather", tool),
        span(4, 1, "ChatModel", {kind: "LLM", **first, **(history if repeat else {}), **done}),
    ]


def openllmetry() -> list[Any]:
    asked = {
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.finish_reason": "tool_calls",
        "gen_ai.completion.0.tool_calls.0.id": "call_1",
        "gen_ai.completion.0.tool_calls.0.name": "get_weather",
        "gen_ai.completion.0.tool_calls.0.arguments": json.dumps(ARGUMENTS),
    }
    first = {"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "Weather in Paris?"}
    history = {
        "gen_ai.prompt.1.role": "assistant",
        "gen_ai.prompt.1.tool_calls.0.id": "call_1",
        "gen_ai.prompt.1.tool_calls.0.name": "get_weather",
        "gen_ai.prompt.1.tool_calls.0.arguments": json.dumps(ARGUMENTS),
        "gen_ai.prompt.2.role": "tool",
        "gen_ai.prompt.2.tool_call_id": "call_1",
        "gen_ai.prompt.2.content": SAID,
    }
    wrapped = json.dumps({"args": [], "kwargs": ARGUMENTS})
    tool = {
        "traceloop.span.kind": "tool",
        "traceloop.entity.name": "get_weather",
        "traceloop.entity.input": wrapped,
        "traceloop.entity.output": json.dumps(SAID),
    }
    functions = {"llm.request.functions.0.name": "get_weather", "llm.request.functions.0.description": "Looks it up."}
    done = {"gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.content": "It rains."}
    return [
        span(1, None, "guide.agent", {"traceloop.span.kind": "agent", "traceloop.entity.name": "guide"}),
        span(2, 1, "openai.chat", {"llm.request.type": "chat", **first, **asked, **functions}),
        span(3, 1, "get_weather.tool", tool),
        span(4, 1, "openai.chat", {"llm.request.type": "chat", **first, **history, **done}),
    ]


def vercel() -> list[Any]:
    call = {"toolCallId": "call_1", "toolName": "get_weather", "input": json.dumps(ARGUMENTS)}
    user = {"role": "user", "content": [{"type": "text", "text": "Weather in Paris?"}]}
    asking = {"type": "tool-call", "toolCallId": "call_1", "toolName": "get_weather", "input": ARGUMENTS}
    answer = {
        "type": "tool-result",
        "toolCallId": "call_1",
        "toolName": "get_weather",
        "output": {"type": "text", "value": SAID},
    }
    history = [user, {"role": "assistant", "content": [asking]}, {"role": "tool", "content": [answer]}]
    kind = "ai.operationId"
    step = "ai.generateText.doGenerate"
    tool = {
        kind: "ai.toolCall",
        "ai.toolCall.name": "get_weather",
        "ai.toolCall.id": "call_1",
        "ai.toolCall.args": json.dumps(ARGUMENTS),
        "ai.toolCall.result": json.dumps(SAID),
    }
    asked = {"ai.response.toolCalls": json.dumps([call]), "ai.response.finishReason": "tool-calls"}
    tools = {
        "ai.prompt.tools": [json.dumps({"type": "function", "name": "get_weather", "description": "Looks it up."})]
    }
    return [
        span(1, None, "ai.generateText", {kind: "ai.generateText", "ai.telemetry.functionId": "guide"}),
        span(2, 1, step, {kind: step, "ai.prompt.messages": json.dumps([user]), **asked, **tools}),
        span(3, 1, "ai.toolCall", tool),
        span(4, 1, step, {kind: step, "ai.prompt.messages": json.dumps(history), "ai.response.text": "It rains."}),
    ]


def adk() -> list[Any]:
    user = {"role": "user", "parts": [{"text": "Weather in Paris?"}]}
    call = {"function_call": {"id": "call_1", "name": "get_weather", "args": ARGUMENTS}}
    result = {"function_response": {"id": "call_1", "name": "get_weather", "response": {"result": SAID}}}
    history = [user, {"role": "model", "parts": [call]}, {"role": "user", "parts": [result]}]
    request, response = "gcp.vertex.agent.llm_request", "gcp.vertex.agent.llm_response"
    asked = json.dumps({"content": {"parts": [call], "role": "model"}})
    done = json.dumps({"content": {"parts": [{"text": "It rains."}], "role": "model"}})
    tool = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "get_weather",
        "gen_ai.tool.call.id": "call_1",
        "gcp.vertex.agent.tool_call_args": json.dumps(ARGUMENTS),
        "gcp.vertex.agent.tool_response": json.dumps({"result": SAID}),
    }
    return [
        span(1, None, "invoke_agent guide", {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "guide"}),
        span(2, 1, "call_llm", {request: json.dumps({"contents": [user]}), response: asked}),
        span(3, 1, "execute_tool get_weather", {**tool, "gen_ai.tool.description": "Looks it up."}),
        span(4, 1, "call_llm", {request: json.dumps({"contents": history}), response: done}),
    ]


VOCABULARIES = {"openinference": openinference, "openllmetry": openllmetry, "vercel": vercel, "adk": adk}


def only_trace(reading: Reading) -> Trace:
    (trace,) = reading.traces
    return trace


@pytest.mark.parametrize("vocabulary", VOCABULARIES)
def test_every_vocabulary_tells_the_same_run(read_otlp: ReadOtlp, vocabulary: str) -> None:
    trace = only_trace(read_otlp(*VOCABULARIES[vocabulary]()))
    (call,) = trace.calls
    assert (call.tool, call.recorded_id, call.turn, call.outcome) == ("get_weather", "call_1", 0, Outcome.RECORDED)
    assert (call.requested, call.executed, call.shown) != (None, None, None)
    assert call.arguments is not None
    asked = value_of(call.arguments)
    assert (asked if isinstance(asked, dict) else json.loads(asked)) == ARGUMENTS
    assert trace.agents == ["guide"]
    assert trace.turns == 2
    assert [g.message for g in trace.gaps if g.hides] == []
    assert trace.findings == []
    assert trace.facts["get_weather"].description == "Looks it up."


@pytest.mark.parametrize("vocabulary", VOCABULARIES)
def test_every_step_stands_where_its_locator_says(read_otlp: ReadOtlp, vocabulary: str) -> None:
    spans = VOCABULARIES[vocabulary]()
    document = {"resourceSpans": [{"resource": {}, "scopeSpans": [{"spans": spans}]}]}
    trace = only_trace(read_otlp(*spans))
    for step in trace.steps():
        held: Any = document
        inside = False
        for token in (step.locator.pointer or "").split("/")[1:]:
            if isinstance(held, str):
                inside = True
                break
            held = held[int(token)] if isinstance(held, list) else held[token.replace("~1", "/").replace("~0", "~")]
        assert held is not document
        assert inside or held


def test_a_history_that_is_repeated_is_told_once(read_otlp: ReadOtlp) -> None:
    trace = only_trace(read_otlp(*openinference()))
    kinds = [StepKind(kind) for kind in trace.kind]
    assert kinds.count(StepKind.USER) == 1
    assert kinds.count(StepKind.TOOL_CALL) == 1


def test_two_vocabularies_in_one_trace(read_otlp: ReadOtlp) -> None:
    one, other = openinference(), openllmetry()
    trace = only_trace(read_otlp(one[0], one[1], other[2], one[3]))
    (call,) = trace.calls
    assert (call.turn, call.outcome) == (0, Outcome.RECORDED)
    assert [g for g in trace.gaps if g.hides] == []


def test_two_vocabularies_on_one_span_must_agree(read_otlp: ReadOtlp) -> None:
    spans = openinference()
    attributes = spans[2]["attributes"]
    attributes.append({"key": "gen_ai.tool.call.arguments", "value": {"stringValue": '{"city": "Rome"}'}})
    trace = only_trace(read_otlp(*spans))
    assert "inconsistent_tuple" in [f.code for f in trace.findings]


def test_two_vocabularies_that_ask_for_other_calls(read_otlp: ReadOtlp) -> None:
    spans = openinference()
    told = [{"role": "assistant", "parts": [{"type": "tool_call", "id": "call_9", "name": "book_flight"}]}]
    spans[1]["attributes"].append({"key": "gen_ai.output.messages", "value": {"stringValue": json.dumps(told)}})
    trace = only_trace(read_otlp(*spans))
    assert "inconsistent_tuple" in [g.code for g in trace.gaps if g.hides]


def test_numbers_in_names_are_sorted_as_numbers(read_otlp: ReadOtlp) -> None:
    prompt = {}
    for number in range(12):
        prompt[f"llm.input_messages.{number}.message.role"] = "user"
        prompt[f"llm.input_messages.{number}.message.content"] = f"message {number}"
    shuffled = dict(sorted(prompt.items()))
    trace = only_trace(read_otlp(span(1, None, "llm", {"openinference.span.kind": "LLM", **shuffled})))
    said = [value_of(s.payload) for s in trace.steps() if s.kind is StepKind.USER and s.payload is not None]
    assert said == [f"message {number}" for number in range(12)]


@pytest.mark.parametrize(
    "left_out",
    ["llm.input_messages.1.message", "llm.output_messages.0.message.tool_calls.0"],
)
def test_a_number_that_is_missing_is_a_cut_text(read_otlp: ReadOtlp, left_out: str) -> None:
    spans = openinference()
    for one in spans:
        one["attributes"] = [a for a in one["attributes"] if not a["key"].startswith(left_out)]
    spans[1]["attributes"].append(
        {"key": "llm.output_messages.0.message.tool_calls.1.tool_call.id", "value": {"stringValue": "call_2"}}
    )
    gaps = [g for g in only_trace(read_otlp(*spans)).gaps if g.hides]
    assert gaps


@pytest.mark.parametrize(
    ("vocabulary", "kind"),
    [
        ("openinference.span.kind", "SOMETHING"),
        ("traceloop.span.kind", "something"),
        ("ai.operationId", "ai.something.doIt"),
    ],
)
def test_a_kind_that_is_not_known_is_a_gap(read_otlp: ReadOtlp, vocabulary: str, kind: str) -> None:
    reading = read_otlp(*openinference(), span(9, 1, "strange", {vocabulary: kind, "input.value": "{}"}))
    gaps = [g.message for g in only_trace(reading).gaps if g.hides]
    assert any(vocabulary in message or "without a kind" in message for message in gaps)


def test_inputs_without_a_kind_are_a_gap(read_otlp: ReadOtlp) -> None:
    trace = only_trace(read_otlp(*openinference(), span(9, 1, "odd", {"input.value": "{}", "output.value": "x"})))
    assert any("without a kind" in g.message for g in trace.gaps if g.hides)


def test_a_handoff_is_no_tool(read_otlp: ReadOtlp) -> None:
    handed = {"openinference.span.kind": "TOOL", "input.value": "guide", "output.value": "expert"}
    trace = only_trace(read_otlp(*openinference(), span(9, 1, "handoff to expert", handed)))
    assert [call.tool for call in trace.calls] == ["get_weather"]
    assert StepKind.HANDOFF in [StepKind(kind) for kind in trace.kind]


def test_a_failed_tool_message_is_a_failed_call(read_otlp: ReadOtlp) -> None:
    spans = openinference(repeat=False)
    message = {"content": "no such city", "tool_call_id": "call_1", "status": "error"}
    spans[2]["attributes"][3]["value"]["stringValue"] = json.dumps({"type": "tool", "data": message})
    (call,) = only_trace(read_otlp(*spans)).calls
    assert (call.recorded_id, call.outcome) == ("call_1", Outcome.FAILED)
    assert call.result is not None
    assert value_of(call.result) == "no such city"


@pytest.mark.parametrize(
    "recorded",
    [
        "{'city': 'Paris'}",
        '{"args": [], "kwargs": {"city": "Paris"}, "sanitize_inputs_outputs": false}',
        '{"input_str": "{\'city\': \'Paris\'}", "tags": [], "metadata": {}, "kwargs": {}}',
        "Paris",
    ],
)
def test_arguments_in_their_wrapping_agree_with_the_request(read_otlp: ReadOtlp, recorded: str) -> None:
    spans = openinference()
    spans[2]["attributes"][2]["value"]["stringValue"] = recorded
    trace = only_trace(read_otlp(*spans))
    (call,) = trace.calls
    assert trace.findings == []
    assert call.arguments is not None
    asked = value_of(call.arguments)
    assert (asked if isinstance(asked, dict) else json.loads(asked)) == ARGUMENTS


def test_what_an_instrumentation_masked_is_no_value(read_otlp: ReadOtlp) -> None:
    spans = openinference(repeat=False)
    spans[2]["attributes"][2]["value"]["stringValue"] = "__REDACTED__"
    spans[2]["attributes"][3]["value"]["stringValue"] = "__REDACTED__"
    trace = only_trace(read_otlp(*spans))
    (call,) = trace.calls
    assert (call.outcome, call.result) == (Outcome.ABSENT, None)
    assert "redaction_damage" in [block.code for block in call.blocks]


def test_a_schema_is_not_taken_for_arguments(read_otlp: ReadOtlp) -> None:
    spans = openinference(repeat=False)
    schema = {"city": {"type": "string", "description": "Where."}}
    spans[2]["attributes"][2] = {"key": "tool.parameters", "value": {"stringValue": json.dumps(schema)}}
    trace = only_trace(read_otlp(*spans))
    (call,) = trace.calls
    assert call.executed is not None
    assert call.executed.payload is None
    assert "inconsistent_tuple" not in [f.code for f in trace.findings]


def test_a_conversation_that_another_agent_takes_over_is_not_told_again(read_otlp: ReadOtlp) -> None:
    spans = openinference()
    last = spans[3]
    spans.insert(3, span(5, None, "expert", {"openinference.span.kind": "AGENT", "agent.name": "expert"}))
    spans[3]["parentSpanId"] = f"{1:016x}"
    last["parentSpanId"] = f"{5:016x}"
    last["spanId"] = f"{6:016x}"
    last["startTimeUnixNano"] = str(EPOCH + 6_000_000)
    last["endTimeUnixNano"] = str(EPOCH + 6_000_500)
    trace = only_trace(read_otlp(*spans))
    assert [(call.tool, call.outcome) for call in trace.calls] == [("get_weather", Outcome.RECORDED)]
    assert [f.code for f in trace.findings] == []


def test_a_call_that_the_history_shows_by_another_id_is_one_call(read_otlp: ReadOtlp) -> None:
    spans = openinference()
    for attribute in spans[3]["attributes"]:
        if attribute["key"] == "llm.input_messages.1.message.tool_calls.0.tool_call.id":
            attribute["value"]["stringValue"] = "fc_77"
    trace = only_trace(read_otlp(*spans))
    assert [(call.recorded_id, call.outcome) for call in trace.calls] == [("call_1", Outcome.RECORDED)]


def test_another_call_in_the_history_stays_another_call(read_otlp: ReadOtlp) -> None:
    spans = openinference()
    for attribute in spans[3]["attributes"]:
        if attribute["key"].startswith("llm.input_messages.1.message.tool_calls.0.tool_call.id"):
            attribute["value"]["stringValue"] = "fc_77"
        if attribute["key"].endswith("1.message.tool_calls.0.tool_call.function.arguments"):
            attribute["value"]["stringValue"] = '{"city": "Rome"}'
    assert len(only_trace(read_otlp(*spans)).calls) == 2


def test_a_block_that_looks_like_a_call_and_is_not_known_is_a_gap(read_otlp: ReadOtlp) -> None:
    block = json.dumps([{"type": "novel_thing", "name": "book", "arguments": {}}])
    answer = {"gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.content": block}
    trace = only_trace(read_otlp(span(1, None, "openai.chat", {"llm.request.type": "chat", **answer})))
    assert any("looks like a call" in g.message for g in trace.gaps if g.hides)


@pytest.mark.parametrize(
    "name",
    [
        "llm.input_messages.0" + ".a" * 4_000,
        "llm.input_messages.99999999999999999999.message.role",
        "llm.input_messages.0.message",
        "llm.output_messages.0",
        "gen_ai.prompt.0.tool_calls",
        "llm.tools.0.tool.json_schema",
    ],
)
def test_names_that_spell_no_item_end_in_a_gap_or_a_text(read_otlp: ReadOtlp, name: str) -> None:
    spans = openinference()
    spans[1]["attributes"].append({"key": name, "value": {"stringValue": "[{{"}})
    assert only_trace(read_otlp(*spans)).calls[0].tool == "get_weather"


@pytest.mark.parametrize(
    ("folder", "name", "calls"),
    [
        ("monocle", "monocle__apptrace_tests_integration_test_adk_multi_agent.json", 2),
        ("monocle", "monocle__apptrace_tests_integration_test_crewai_multi_agent.json", 2),
        ("monocle", "monocle__apptrace_tests_integration_test_langgraph_multi_agent.json", 7),
        ("monocle", "monocle__apptrace_tests_integration_test_ms_framework_single_agent.json", 1),
        ("otel-otlp-json", "agent-prism__packages_demo-app_src_data_rag_earnings_agent.json", 2),
        ("otel-otlp-json", "agent-prism__packages_demo-app_src_data_smol_deep_research_agent.json", 2),
        ("otel-span-list", "evals__tests_strands_evals_mappers_fixtures_openai_agents_genai_live_spans.json", 5),
        (
            "otel-span-list",
            "evals__tests_strands_evals_mappers_fixtures_openai_agents_openinference_adot_spans.json",
            3,
        ),
        (
            "otel-span-list",
            "evals__tests_strands_evals_mappers_fixtures_smolagents_live_spans.json",
            3,
        ),  # the code that ran, too
        ("otel-span-list", "evals__tests_strands_evals_mappers_fixtures_openinference_live_spans.json", 2),
        ("otel-jaeger", "agentevals__samples_k8s.json", 17),
    ],
)
def test_real_files(cases: Any, read: Any, folder: str, name: str, calls: int) -> None:
    reading = read(cases / "traces" / folder / name)
    assert sum(len(trace.calls) for trace in reading.traces) == calls
    assert [f for f in reading.findings if f.code == "malformed_line"] == []


def monocle(number: int, kind: str, parent: int, given: Any, returned: Any, **entities: str) -> dict[str, Any]:
    """A span of Monocle; times follow the numbers."""
    return {
        "name": kind,
        "context": {"trace_id": "0x" + "7" * 32, "span_id": f"0x{number:016x}"},
        "parent_id": f"0x{parent:016x}" if parent else None,
        "start_time": f"2026-11-30T02:00:{number:02}.000000Z",
        "end_time": f"2026-11-30T02:00:{number:02}.500000Z",
        "status": {"status_code": "OK"},
        "attributes": {"span.type": kind, **{f"entity.1.{name}": value for name, value in entities.items()}},
        "events": [
            {"name": "data.input", "attributes": {"input": given}},
            {"name": "data.output", "attributes": {"response": returned}},
        ],
    }


def test_an_agent_that_is_a_span_a_turn_has_one_conversation_though_its_prompts_drop_the_ids(
    read: Any, tmp_path: Path
) -> None:
    asked = {"tool_id": "call_9", "tool_name": "open_ticket", "tool_arguments": '{"title": "disk"}'}
    again = json.dumps({"tool_function": "open_ticket", "tool_arguments": '{"title": "disk"}'})
    first, later = [json.dumps({"user": "the disk is full"})], [json.dumps({"assistant": [again]}),
                                                              json.dumps({"tool": "T-31"})]  # fmt: skip
    agent = {"name": "desk", "type": "agent.openai_agents"}
    spans = [
        monocle(1, "workflow", 0, [], "", name="desk", type="workflow.openai"),
        monocle(2, "agentic.invocation", 1, [], "", **agent),
        monocle(3, "inference", 2, first, json.dumps({"assistant": [asked]}), type="inference.openai"),
        monocle(4, "agentic.tool.invocation", 2, '{"title": "disk"}', "T-31", name="open_ticket", type="tool.x"),
        monocle(5, "agentic.invocation", 1, [], "", **agent),
        monocle(6, "inference", 5, first + later, json.dumps({"assistant": "T-31 is open"}), type="inference.openai"),
    ]
    path = tmp_path / "spans.json"
    path.write_text(json.dumps(spans), "utf-8")
    reading = read(path)
    (call,) = reading.traces[0].calls
    assert (call.tool, call.recorded_id, call.outcome) == ("open_ticket", "call_9", Outcome.RECORDED)
    assert not reading.gaps


def langfuse(kind: str, given: Any, returned: Any, **more: str) -> dict[str, str]:
    """What Langfuse writes into a span of that kind."""
    head = "langfuse.observation."
    told = {"type": kind, "input": json.dumps(given), "output": json.dumps(returned), **more}
    return {head + name: value for name, value in told.items()}


OFFERED = [{"type": "function", "function": {"name": "get_weather", "description": "Look up the weather."}}]
ASKED = {"role": "user", "content": "rain?"}
CALLED = {
    "role": "assistant",
    "tool_calls": [{"id": "call_1", "function": {"name": "get_weather", "arguments": json.dumps(ARGUMENTS)}}],
}


def observations(**ended: str) -> list[Any]:
    """A run as Langfuse's SDK exports it: agent, generation, tool, generation."""
    later = [ASKED, CALLED, {"role": "tool", "tool_call_id": "call_1", "content": SAID}]
    used = json.dumps({"prompt_tokens": 11, "completion_tokens": 7})
    tokens = {"usage_details": used}
    answer = {"role": "assistant", "content": "Yes."}
    return [
        span(1, None, "desk", langfuse("agent", "rain?", "Yes.")),
        span(2, 1, "OpenAI-generation",
             langfuse("generation", {"tools": OFFERED, "messages": [ASKED]}, CALLED, **tokens)),
        span(3, 1, "get_weather", langfuse("tool", ARGUMENTS, SAID, **ended)),
        span(4, 1, "OpenAI-generation", langfuse("generation", {"messages": later}, answer, **tokens)),
    ]  # fmt: skip


def test_observations_of_langfuse_are_turns_calls_and_results(read_otlp: ReadOtlp) -> None:
    reading = read_otlp(*observations())
    trace = only_trace(reading)
    (call,) = trace.calls
    assert (call.tool, call.recorded_id, call.agent, call.outcome) == (
        "get_weather",
        "call_1",
        "desk",
        Outcome.RECORDED,
    )
    assert call.arguments is not None
    assert value_of(call.arguments) == ARGUMENTS
    assert trace.facts["get_weather"].description == "Look up the weather."
    assert (reading.counts.input_tokens, reading.counts.output_tokens) == (22, 14)
    assert not trace.gaps


def test_an_observation_of_langfuse_that_failed_says_so(read_otlp: ReadOtlp) -> None:
    (call,) = only_trace(read_otlp(*observations(level="ERROR", status_message="no route"))).calls
    assert call.outcome is Outcome.FAILED


def test_a_kind_of_observation_that_is_not_known_is_a_gap(read_otlp: ReadOtlp) -> None:
    trace = only_trace(read_otlp(span(1, None, "odd", langfuse("novelty", {}, {}))))
    assert any("langfuse" in gap.message for gap in trace.gaps if gap.hides)
