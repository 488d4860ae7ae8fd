"""Is a cassette read as runs of a model, tool calls and other requests, whichever library recorded it?"""

from __future__ import annotations

import base64
import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from forensics.api import examine
from forensics.core.jsonvalue import value_of
from forensics.core.trace import Boundary, Outcome, StepKind
from forensics.errors import CorruptEvidenceError
from tests.unit.formats.conftest import read_evidence
from tests.unit.formats.test_streams import CHAT, CONVERSE, sse

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from forensics.core.reading import Reading
    from forensics.core.trace import Call

Fields = dict[str, Any]
MODEL = "https://llm.example/v1/chat/completions"
ASK = {"role": "user", "content": "Who is on call?"}
CALL = {"id": "c1", "type": "function", "function": {"name": "roster", "arguments": '{"team": "core"}'}}
ASKED = {"role": "assistant", "content": None, "tool_calls": [CALL]}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "ann"}
TOOLS = [{"type": "function", "function": {"name": "roster", "description": "Reads the roster."}}]


def exchange(
    request: Any, response: Any, *, uri: str = MODEL, method: str = "POST", status: int = 200, **headers: str
) -> Fields:
    told = response if isinstance(response, (bytes, str)) or response is None else json.dumps(response)
    named = {name.replace("_", "-"): [value] for name, value in headers.items()}
    return {
        "request": {
            "method": method,
            "uri": uri,
            "headers": {},
            "body": request if request is None else dumps(request),
        },
        "response": {"status": {"code": status, "message": ""}, "headers": named, "body": {"string": told}},
    }


def dumps(value: Any) -> Any:
    return value if isinstance(value, (bytes, str)) else json.dumps(value)


def prompt(*messages: Fields) -> Fields:
    return {"model": "m", "messages": list(messages), "tools": TOOLS}


def answer(message: Fields, finish: str = "stop") -> Fields:
    return {"model": "m", "choices": [{"index": 0, "message": message, "finish_reason": finish}]}


RUN = (
    exchange(prompt(ASK), answer(ASKED, "tool_calls")),
    exchange(prompt(ASK, ASKED, RESULT), answer({"role": "assistant", "content": "ann"})),
)


@pytest.fixture
def cassette(tmp_path: Path) -> Callable[..., Reading]:
    def read(*exchanges: Fields, name: str = "interactions") -> Reading:
        return read_evidence(write(tmp_path, *exchanges, name=name))

    return read


def write(tmp_path: Path, *exchanges: Fields, name: str = "interactions") -> Path:
    path = tmp_path / "cassette.yaml"
    path.write_text(yaml.safe_dump({name: list(exchanges), "version": 1}), "utf-8")
    return path


def calls(reading: Reading) -> list[Call]:
    return [call for trace in reading.traces for call in trace.calls]


def test_a_run_is_its_turns_with_the_results_that_later_prompts_show(cassette: Callable[..., Reading]) -> None:
    found = cassette(*RUN)
    (call,) = calls(found)
    assert (call.tool, call.occurrence, call.outcome) == ("roster", "0.0", Outcome.RECORDED)
    assert found.counts.model_calls == 2
    assert found.traces[0].facts["roster"].description == "Reads the roster."
    assert not found.gaps


def test_locators_lead_through_the_body_to_the_message(cassette: Callable[..., Reading]) -> None:
    found = cassette(*RUN)
    (trace,) = found.traces
    shown = trace.locator(calls(found)[0].result_step)
    assert shown.pointer == "/interactions/1/request/body/messages/2/content"
    asked = trace.locator(calls(found)[0].step)
    assert asked.pointer == "/interactions/0/response/body/string/choices/0/message/tool_calls/0"
    assert (asked.line, shown.line) != (None, asked.line)
    assert trace.facts["roster"].locator is not None
    assert trace.facts["roster"].locator.pointer == "/interactions/0/request/body/tools"


def test_several_runs_in_one_cassette_are_told_apart(cassette: Callable[..., Reading]) -> None:
    other = {"role": "user", "content": "And who is off?"}
    done = {"role": "assistant", "content": "bob"}
    found = cassette(RUN[0], exchange(prompt(other), answer(done)), RUN[1], exchange(prompt(other), answer(done)))
    assert [len(t.calls) for t in found.traces] == [1, 0, 0]


def test_a_retry_is_the_same_run(cassette: Callable[..., Reading]) -> None:
    limited = exchange(prompt(ASK), {"error": {"message": "slow down"}}, status=429)
    found = cassette(limited, limited, *RUN)
    (trace,) = found.traces
    assert len(trace.rows(StepKind.ERROR)) == 2
    assert len(trace.calls) == 1
    assert not found.findings


@pytest.mark.parametrize("packed", [gzip.compress(json.dumps(answer(ASKED)).encode(), mtime=0)])
def test_calls_in_a_gzip_body_are_seen(cassette: Callable[..., Reading], packed: bytes) -> None:
    found = cassette(exchange(prompt(ASK), packed, content_encoding="gzip"), RUN[1])
    assert [c.tool for c in calls(found)] == ["roster"]
    assert not found.gaps


def test_calls_in_a_stream_are_seen(cassette: Callable[..., Reading]) -> None:
    stream = sse(*CHAT, "[DONE]").decode()
    found = cassette(exchange(prompt(ASK), stream, content_type="text/event-stream; charset=utf-8"))
    assert [(c.tool, value_of(c.arguments)) for c in calls(found) if c.arguments] == [
        ("page", {"who": "ann"}), ("look", {}),
    ]  # fmt: skip
    assert not found.gaps


def test_calls_in_frames_are_seen(cassette: Callable[..., Reading]) -> None:
    frames = b"".join(CONVERSE)
    found = cassette(exchange(prompt(ASK), frames, content_type="application/vnd.amazon.eventstream"))
    assert [c.tool for c in calls(found)] == ["page"]
    assert not found.gaps


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (sse(*CHAT[:3]).decode(), {"content_type": "text/event-stream"}),
        (gzip.compress(b'{"choices": []}', mtime=0)[:-9], {"content_encoding": "gzip"}),
        (b"\x0b\x02\x80\xff\xfe", {"content_encoding": "br"}),
        (None, {}),
        ("<html>", {}),
        ({"choices": []}, {}),
    ],
)
def test_an_answer_that_is_not_whole_or_not_read_is_a_gap(
    cassette: Callable[..., Reading], body: object, headers: dict[str, Any]
) -> None:
    found = cassette(exchange(prompt(ASK), body, **headers))
    assert any(g.hides for g in found.gaps)


def test_the_same_request_with_different_answers(cassette: Callable[..., Reading], tmp_path: Path) -> None:
    two = (exchange(prompt(ASK), answer({"content": said})) for said in ("look", "done"))
    found = cassette(*two)
    assert [(one.code, len(one.locators)) for one in found.findings] == [
        ("same_request_different_answers", 2),
        ("multiple_traces", 2),
    ]
    assert "same_request_different_answers" in {f.code for f in examine(tmp_path / "cassette.yaml").audit().findings}


def test_the_same_answer_under_another_id_is_no_different_answer(cassette: Callable[..., Reading]) -> None:
    again = {**ASKED, "tool_calls": [{**CALL, "id": "c2"}]}
    reordered = json.dumps(prompt(ASK), sort_keys=True, indent=1)
    found = cassette(RUN[0], exchange(reordered, {**answer(again, "tool_calls"), "id": "x"}))
    assert [one.code for one in found.findings] == ["multiple_traces"]


# other requests ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "status", "outcome"),
    [
        ("POST", 200, Outcome.RECORDED),
        ("POST", 404, Outcome.FAILED),
        ("POST", 504, Outcome.INDETERMINATE),
        ("GET", 504, Outcome.FAILED),
        ("POST", 0, Outcome.ABSENT),
    ],
)
def test_another_request_is_a_boundary_call(
    cassette: Callable[..., Reading], method: str, status: int, outcome: Outcome
) -> None:
    page = exchange(
        {"team": "core"}, {"id": "pg_1"}, uri="https://pager.example/page?x=1", method=method, status=status
    )
    if not status:
        page["response"] = None
    (call,) = calls(cassette(page))
    assert (call.tool, call.boundary) == (f"{method} https://pager.example/page", Boundary.HTTP)
    assert call.outcome is outcome
    assert call.arguments is not None
    assert value_of(call.arguments)["body"] == {"team": "core"}


def test_another_request_belongs_to_the_run_it_stands_in(cassette: Callable[..., Reading]) -> None:
    found = cassette(RUN[0], exchange(None, "ann", uri="https://roster.example/core", method="GET"), RUN[1])
    (trace,) = found.traces
    assert [c.occurrence for c in trace.calls] == ["0.0", "-.0"]


def test_an_embedding_is_no_boundary_call_and_a_disguised_request_is_one(cassette: Callable[..., Reading]) -> None:
    asked = {"input": ["a"], "model": "e", "encoding_format": "float"}
    honest = exchange(asked, {"data": []}, uri="https://llm.example/v1/embeddings")
    disguised = exchange({**asked, "delete": True}, {"data": []}, uri="https://llm.example/v1/embeddings")
    assert [c.boundary for c in calls(cassette(honest, disguised))] == [Boundary.HTTP]


def test_a_call_over_mcp_is_a_call_of_its_tool(cassette: Callable[..., Reading]) -> None:
    def rpc(method: str, result: Fields, **params: Any) -> Fields:
        stream = sse({"jsonrpc": "2.0", "id": 1, "result": result}).decode()
        asked = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return exchange(asked, stream, uri="https://mcp.example/mcp", content_type="text/event-stream")

    listed = rpc("tools/list", {"tools": [{"name": "wipe", "annotations": {"readOnlyHint": True}}]})
    failed = rpc("tools/call", {"content": [], "isError": True}, name="wipe", arguments={"all": True})
    (call,) = calls(found := cassette(listed, failed))
    assert (call.tool, call.server, call.outcome) == ("wipe", "mcp.example", Outcome.FAILED)
    assert found.traces[0].facts["wipe"].hints == {"readOnlyHint": True}


@pytest.mark.parametrize(("code", "outcome"), [(-32602, Outcome.FAILED), (-32603, Outcome.INDETERMINATE)])
def test_an_error_over_mcp_says_how_the_call_ended(
    cassette: Callable[..., Reading], code: int, outcome: Outcome
) -> None:
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "wipe", "arguments": {}}}
    told = {"jsonrpc": "2.0", "id": 1, "error": {"code": code, "message": "no"}}
    (call,) = calls(cassette(exchange(asked, told, uri="https://mcp.example/mcp")))
    assert call.outcome is outcome


# recorders -----------------------------------------------------------------------------------------------------------


def reshaped(shape: str) -> Fields:
    """The run as other libraries record it."""
    out = []
    for one in RUN:
        asked, told = json.loads(one["request"]["body"]), json.loads(one["response"]["body"]["string"])
        request, response = dict(one["request"]), dict(one["response"])
        if shape == "parsed_body":
            del request["body"], response["body"]
            request["parsed_body"], response["parsed_body"] = asked, told
        elif shape == "httpx stub":
            response = {"status_code": 200, "headers": {}, "http_version": "HTTP/1.1", "content": json.dumps(told)}
        elif shape == "ruby":
            request["body"] = {"encoding": "UTF-8", "string": json.dumps(asked)}
            response["body"] = {"encoding": "UTF-8", "string": json.dumps(told)}
        elif shape == "go-vcr":
            request = {"url": request["uri"], "method": "POST", "body": json.dumps(asked)}
            response = {"body": json.dumps(told), "status": "200 OK", "code": 200}
        elif shape == "har":
            request["postData"] = {"mimeType": "application/json", "text": request.pop("body")}
            request["url"] = request.pop("uri")
            packed = base64.b64encode(json.dumps(told).encode()).decode()
            named = [{"name": "Date", "value": "Sun, 29 Nov 2026 20:27:53 GMT"}]
            response = {"status": 200, "headers": named, "content": {"text": packed, "encoding": "base64"}}
        elif shape == "base64":
            response["body"] = {"base64_string": base64.b64encode(json.dumps(told).encode()).decode()}
        out.append({"request": request, "response": response})
    if shape == "har":
        return {"log": {"version": "1.2", "entries": out}}
    return {"http_interactions" if shape == "ruby" else "interactions": out}


@pytest.mark.parametrize("shape", ["plain", "parsed_body", "httpx stub", "ruby", "go-vcr", "base64", "har"])
@pytest.mark.parametrize("as_json", [False, True])
def test_every_recorder_tells_the_same_run(tmp_path: Path, shape: str, *, as_json: bool) -> None:
    whole = reshaped(shape)
    path = tmp_path / "x"
    path.write_text(json.dumps(whole) if as_json or shape == "har" else yaml.safe_dump(whole), "utf-8")
    found = read_evidence(path)
    assert found.evidence.format == "vcr-cassette"
    (call,) = calls(found)
    assert (call.tool, call.outcome, found.counts.model_calls) == ("roster", Outcome.RECORDED, 2)
    assert not found.gaps


# damage --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("as_json", [False, True])
def test_what_stands_before_a_cut_is_read(tmp_path: Path, *, as_json: bool) -> None:
    whole = json.loads(json.dumps({"interactions": [*RUN, *RUN]}))
    text = json.dumps(whole) if as_json else yaml.safe_dump(whole)
    path = tmp_path / "x"
    path.write_text(text[: len(text) * 4 // 5] + ("" if as_json else '\n  - "'), "utf-8")
    found = read_evidence(path)
    assert found.counts.records >= 3
    assert any(g.code == "container_truncated" and g.hides for g in found.gaps)


def test_a_key_that_stands_twice_taints_the_cassette(tmp_path: Path) -> None:
    path = write(tmp_path, *RUN)
    path.write_text(
        path.read_text("utf-8").replace("    method: POST\n", "    method: POST\n    method: GET\n", 1), "utf-8"
    )
    (call,) = calls(found := read_evidence(path))
    assert "duplicate_key" in {f.code for f in found.findings}
    assert [b.code for b in call.blocks] == ["duplicate_key"]


def test_a_key_that_stands_twice_in_a_body_taints_its_calls(cassette: Callable[..., Reading]) -> None:
    body = json.dumps(answer(ASKED, "tool_calls")).replace('"content": null', '"content": "a", "content": null')
    (call,) = calls(found := cassette(exchange(prompt(ASK), body), RUN[1]))
    assert "duplicate_key" in {f.code for f in found.findings}
    assert [b.code for b in call.blocks] == ["duplicate_key"]


def test_nothing_to_read_is_corrupt(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("interactions: []\n", "utf-8")
    with pytest.raises(CorruptEvidenceError):
        read_evidence(path, "vcr-cassette")


COUNTED = {  # calls that the agent's models asked for, as counted elsewhere; 4 of the last are run by the provider
    "pydantic-ai__tests_models_bedrock_cassettes_test_cache_test_bedrock_single_tool_choice_preserves_cache_nova_": 2,
    "pydantic-ai__tests_cassettes_test_tool_search_test_tool_search_eval_anthropic_": 7,
    "opentelemetry-python-con___opentelemetry-instrumentation-openai-v2_tests_cassettes_"
    "test_async_chat_completion_tool_calls_no_content": 2,
    "langsmith-sdk__python_cassettes__runner": 15,
    "pydantic-ai__tests_models_cassettes_test_openrouter_test_openrouter_errors_raised": 0,
    "openllmetry__packages_opentelemetry-instrumentation-agno_tests_cassettes_test_agent_test_agent_arun_basic": 0,
    "pydantic-ai__tests_models_cassettes_test_anthropic_test_anthropic_text_parts_ahead_of_built_in_tool_call": 4,
}


@pytest.mark.parametrize("name", COUNTED)
def test_real_cassettes_have_the_calls_that_were_counted(cases: Path, name: str) -> None:
    found = read_evidence(cases / "traces" / "vcr-cassette" / f"{name}.yaml")
    assert found.evidence.format == "vcr-cassette"
    assert sum(c.boundary is not Boundary.HTTP for c in calls(found)) == COUNTED[name]
    assert not any(g.hides for g in found.gaps)


def test_a_gap_belongs_to_the_run_that_it_stands_in(cassette: Callable[..., Reading]) -> None:
    other = {"role": "user", "content": "And who is off?"}
    cut = sse(*CHAT[:3]).decode()
    found = cassette(*RUN, exchange(prompt(other), cut, content_type="text/event-stream"))
    assert [bool(t.gaps) for t in found.traces] == [False, True]
