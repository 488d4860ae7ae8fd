"""Is what stands in a place that no table knows, or twice in two ways, a gap in the reader that meets it?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from forensics.api import examine
from tests.unit.formats.conftest import hiding, read_records, read_value

if TYPE_CHECKING:
    from pathlib import Path

    from forensics.core.reading import Reading

Fields = dict[str, Any]


# messages ------------------------------------------------------------------------------------------------------------

ASKED: Fields = {
    "role": "assistant",
    "tool_calls": [{"id": "c1", "function": {"name": "look", "arguments": '{"at": "core"}'}}],
}
CHAT = [{"role": "user", "content": "go"}, ASKED, {"role": "tool", "tool_call_id": "c1", "content": "ok"}]
USE = {"type": "tool_use", "id": "t2", "name": "pay", "input": {"to": "bob"}}
OTHER = {"id": "c2", "function": {"name": "pay", "arguments": "{}"}}


@pytest.mark.parametrize(
    "content",
    [
        {"value": [USE]},
        {"payload": {"tool_calls": [OTHER]}},
        [{"type": "text", "text": "hm", "calls": [OTHER]}],
        [{"text": "hm", "more": [{"functionCall": {"name": "pay", "args": {}}}]}],
    ],
)
def test_calls_inside_or_beside_what_a_message_says(tmp_path: Path, content: object) -> None:
    assert hiding(read_value(tmp_path, [*CHAT, {"role": "assistant", "content": "done"}])) == []
    assert len(hiding(read_value(tmp_path, [*CHAT, {"role": "assistant", "content": content}]))) == 1


def test_parts_that_are_no_list(tmp_path: Path) -> None:
    ran = {"executableCode": {"language": "PYTHON", "code": "pay()"}}
    call = {"role": "model", "parts": [{"functionCall": {"name": "look", "args": {}}}]}
    result = {"role": "user", "parts": [{"functionResponse": {"name": "look", "response": {"at": 1}}}]}
    start = [{"role": "user", "parts": [{"text": "go"}]}, call, result]
    assert hiding(read_value(tmp_path, [*start, {"role": "model", "parts": {"text": "done"}}])) == []
    assert hiding(read_value(tmp_path, [*start, {"role": "model", "parts": {"value": [ran]}}])) == [
        "parts that are no list"
    ]


@pytest.mark.parametrize("name", ["ARGUMENTS", "arguments_", "argument", "tool_input", "params"])
def test_arguments_under_another_spelling(tmp_path: Path, name: str) -> None:
    asked = {**ASKED, "tool_calls": [{"id": "c1", "function": {"name": "look", name: {"at": "core"}}}]}
    chat = [CHAT[0], asked, CHAT[2], {"role": "assistant", "content": "done"}]
    assert hiding(read_value(tmp_path, chat)) == ["arguments of look in a member that is not read"]
    asked = {**ASKED, "tool_calls": [{"id": "c1", "function": {"name": "look", name: {}}}]}
    assert hiding(read_value(tmp_path, [CHAT[0], asked, *chat[2:]])) == []


@pytest.mark.parametrize("told", [{}, {"Content": "ok"}, {"content": None}, {"body": {"said": "ok"}}])
def test_a_message_of_a_tool_whose_content_is_elsewhere(tmp_path: Path, told: Fields) -> None:
    chat = [CHAT[0], ASKED, {"role": "tool", "tool_call_id": "c1", **told}, {"role": "assistant", "content": "done"}]
    assert hiding(read_value(tmp_path, chat)) == ["a message of a tool that shows no result that is read"]
    chat[2] = {"role": "tool", "tool_call_id": "c1", "content": ""}
    assert hiding(read_value(tmp_path, chat)) == []


# MCP -----------------------------------------------------------------------------------------------------------------


def ask(identity: object, method: object = "tools/call", **members: Any) -> Fields:
    params = {"name": "get_item", "arguments": {"item": 1}}
    return {"jsonrpc": "2.0", "id": identity, "method": method, "params": params, **members}


def says(identity: object, **members: Any) -> Fields:
    return {"jsonrpc": "2.0", "id": identity, **(members or {"result": {"content": []}})}


@pytest.mark.parametrize(
    "more",
    [
        [ask(None), says(9, error={"code": -32603, "message": "no"})],
        [ask(None)],
        [ask(2, {"name": "tools/call"}), says(2)],
        [ask(2, '"tools/call"'), says(2)],
        [says(2, error={"code": -32603, "message": "timed out"})],
        [says(2, result={"resultType": "complete"})],
        [{"message": {"id": 2, "METHOD": "tools/call"}}],
    ],
)
def test_a_message_of_mcp_that_may_be_a_call(tmp_path: Path, more: list[Fields]) -> None:
    assert hiding(read_records(tmp_path, ask(1), says(1), *more))


@pytest.mark.parametrize(
    "more",
    [
        [ask(2, "prompts/get"), says(2, result={"messages": []})],
        [says(2, result={"tools": []})],
        [says(2, result={})],
        [says(None, error={"code": -32700, "message": "Parse error"})],
        [{"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progress": 1}}],
    ],
)
def test_a_message_of_mcp_that_is_none(tmp_path: Path, more: list[Fields]) -> None:
    assert hiding(read_records(tmp_path, ask(1), says(1), *more)) == []


# OpenCode, mini-swe-agent, OpenHands ---------------------------------------------------------------------------------


def opencode(tmp_path: Path, parts: object) -> Reading:
    info = {"id": "m1", "sessionID": "ses_1", "role": "assistant", "time": {"created": 1790000000000}}
    return read_value(tmp_path, {"info": {"id": "ses_1"}, "messages": [{"info": info, "parts": parts}]})


def tool_part(call: str, tool: str) -> Fields:
    state = {"status": "completed", "input": {}, "output": "ok"}
    return {"id": "p1", "type": "tool", "callID": call, "tool": tool, "state": state}


def test_parts_of_opencode_that_are_no_list_or_share_an_id(tmp_path: Path) -> None:
    assert hiding(opencode(tmp_path, [tool_part("c1", "look"), tool_part("c1", "look")])) == []
    for parts in ("", {"0": tool_part("c1", "pay")}, [tool_part("c0", "pay"), tool_part("c1", "look")]):
        assert hiding(opencode(tmp_path, parts))


def test_a_turn_of_mini_swe_agent_that_is_no_words(tmp_path: Path) -> None:
    command = "hm\n\n```bash\n%s\n```"
    run = [
        {"role": "system", "content": "act"},
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": command % "ls"},
        {"role": "user", "content": "<returncode>0</returncode>\n<output>\na\n</output>"},
        {"role": "assistant", "content": {"said": command % "rm a"}},
    ]
    assert hiding(read_value(tmp_path, run[:4])) == []
    assert len(hiding(read_value(tmp_path, run))) == 1


RUN = {"id": 1, "source": "agent", "action": "run", "args": {"command": "ls", "thought": ""}}


@pytest.mark.parametrize(
    "strange",
    [
        {"id": 4, "source": "agent", "observation": "run", "content": "b", "extras": {}, "cause": 3},
        {"id": 4, "source": "agent", "action": {"name": "run"}, "args": {"command": "rm"}},
    ],
)
def test_an_event_of_openhands_whose_action_is_not_read(tmp_path: Path, strange: Fields) -> None:
    task = {"id": 0, "source": "user", "action": "message", "args": {"content": "go"}}
    seen = {"id": 2, "source": "agent", "observation": "run", "content": "a", "extras": {}, "cause": 1}
    assert hiding(read_value(tmp_path, [task, RUN, seen])) == []
    assert hiding(read_value(tmp_path, [task, RUN, seen, strange]))


# spans and what services record --------------------------------------------------------------------------------------


def span(number: int, **members: Any) -> Fields:
    context = {"trace_id": "0x1", "span_id": f"0x{number}"}
    times = {"start_time": f"2026-01-01T00:00:0{number}Z", "end_time": f"2026-01-01T00:00:0{number}Z"}
    return {"name": "s", "context": context, "parent_id": None, **times, **members}


def of_two(reading: Reading) -> list[str]:
    return [message for message in hiding(reading) if message.startswith("two ")]


def failed_tool(said: str) -> Fields:
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "look",
        "gen_ai.tool.call.arguments": "{}",
    }
    events = [{"name": "exception", "attributes": {"exception.message": said}}]
    return span(1, attributes=attributes, events=events, status={"status_code": "ERROR"})


def test_one_span_with_two_errors_is_no_repetition(tmp_path: Path) -> None:
    assert of_two(read_value(tmp_path, [failed_tool("no such page"), failed_tool("no such page")])) == []
    [told] = of_two(read_value(tmp_path, [failed_tool("no such page"), failed_tool("timed out")]))
    assert told.startswith("two different spans carry the id")


def test_the_event_of_a_whole_request_tells_what_went_in_and_what_came_out(tmp_path: Path) -> None:
    def asked(call: str, tool: str) -> Fields:
        return {"type": "tool_call", "id": call, "name": tool, "arguments": {"at": tool}}

    told = {
        "gen_ai.input.messages": [{"role": "user", "parts": [{"type": "text", "content": "go"}]}],
        "gen_ai.output.messages": [{"role": "assistant", "parts": [asked("c1", "look"), asked("c2", "pay")]}],
    }
    event = {"event_name": "gen_ai.client.inference.operation.details", "attributes": told}
    model = span(1, attributes={"gen_ai.operation.name": "chat"}, span_events=[event])
    ran = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look", "gen_ai.tool.call.id": "c1",
           "gen_ai.tool.call.arguments": '{"at": "look"}', "gen_ai.tool.call.result": "ok"}  # fmt: skip
    reading = read_value(tmp_path, [model, span(2, attributes=ran)])
    [trace] = reading.traces
    assert [(call.tool, call.turn, call.recorded_id) for call in trace.calls] == [("look", 0, "c1"), ("pay", 0, "c2")]
    assert trace.locator(trace.calls[1].step).pointer == (
        "/0/span_events/0/attributes/gen_ai.output.messages/0/parts/1"
    )
    assert [reason.code for reason in examine(tmp_path / "evidence.json").analyses[0].verdict.inject] == [
        "unanswered_call"
    ]


@pytest.mark.parametrize("name", ["gen_ai.input.messages", "gen_ai.output.messages"])
def test_two_events_that_tell_one_request_in_two_ways(tmp_path: Path, name: str) -> None:
    def read(*tools: str) -> list[str]:
        events = [
            {
                "event_name": "gen_ai.client.inference.operation.details",
                "attributes": {
                    name: [{"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": one}]}]
                },
            }
            for one in tools
        ]
        return hiding(read_value(tmp_path, [span(1, attributes={"gen_ai.operation.name": "chat"}, span_events=events)]))

    assert read("look", "look", "look") == read("look")
    more = [one for one in read("look", "pay") if one not in read("look")]
    assert more == [f"two events tell of one request, and not the same under {name}"]


def weave_call(output: object) -> Fields:
    return {
        "project_id": "p", "id": "call-1", "op_name": "weave:///p/op/look:1", "trace_id": "t", "parent_id": None,
        "started_at": "2026-11-30T18:00:00Z", "ended_at": "2026-11-30T18:00:01Z", "inputs": {"at": 1},
        "attributes": {"weave": {"kind": "tool"}}, "output": output,
    }  # fmt: skip


def test_two_records_of_one_call_of_a_service_with_two_results(tmp_path: Path) -> None:
    assert of_two(read_records(tmp_path, weave_call({"page": 1}), weave_call({"page": 1}))) == []
    assert of_two(read_records(tmp_path, weave_call(None), weave_call({"page": 1}))) == []
    assert of_two(read_records(tmp_path, weave_call({"page": 1}), weave_call({"page": 2}))) == [
        "two records of the call call-1 tell of two values as its output"
    ]


# results -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("output", "codes"), [({"output": "gone"}, []), ({}, ["result_missing"])])
def test_a_call_of_which_only_the_end_is_told_is_not_injectable(
    tmp_path: Path, output: Fields, codes: list[str]
) -> None:
    at = "2026-11-02T09:00:01Z"
    ran = {"role": "bashExecution", "command": "rm x", "exitCode": 1, "cancelled": False, **output}
    said = {"role": "assistant", "content": [{"type": "text", "text": "done"}], "stopReason": "stop"}
    read_records(
        tmp_path,
        {"type": "session", "version": 3, "id": "s", "timestamp": at, "cwd": "/w"},
        {"type": "message", "id": "a", "parentId": None, "timestamp": at, "message": ran},
        {"type": "message", "id": "b", "parentId": "a", "timestamp": at, "message": said},
    )
    verdict = examine(tmp_path / "evidence.jsonl").analyses[0].verdict
    assert [reason.code for reason in verdict.inject] == codes


@pytest.mark.parametrize(("again", "gaps"), [("done", []), ("paid", ["the span chat can be read in two ways"])])
def test_a_model_span_that_names_an_attribute_twice(tmp_path: Path, again: str, gaps: list[str]) -> None:
    def attribute(name: str, value: str) -> Fields:
        return {"key": name, "value": {"stringValue": value}}

    asked = '[{"role": "user", "content": "go"}]'
    told = [attribute("gen_ai.operation.name", "chat"), attribute("gen_ai.input.messages", asked)]
    said = [
        attribute("gen_ai.output.messages", f'[{{"role": "assistant", "content": "{w}"}}]') for w in ("done", again)
    ]
    one = {"traceId": "a" * 32, "spanId": "b" * 16, "name": "chat", "startTimeUnixNano": "1", "endTimeUnixNano": "2"}
    spans = [{**one, "attributes": [*told, *said]}]
    assert hiding(read_value(tmp_path, {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]})) == gaps
