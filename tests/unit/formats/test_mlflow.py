"""Is an MLflow trace read in both schemas, whichever SDK's requests and responses stand in it?"""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import pytest

from forensics.core.jsonvalue import text_of, value_of
from forensics.core.trace import Boundary, Outcome, StepKind
from tests.unit.formats.conftest import read_evidence

if TYPE_CHECKING:
    from pathlib import Path

    from forensics.core.reading import Reading
    from forensics.core.trace import Trace

Fields = dict[str, Any]


def coded(number: int, size: int = 8) -> str:
    return base64.b64encode(number.to_bytes(size, "big")).decode()


def span(
    number: int, kind: str, inputs: Any = None, outputs: Any = None, parent: int | None = 1, **more: Any
) -> Fields:
    told = {"mlflow.spanType": kind, "mlflow.spanInputs": inputs, "mlflow.spanOutputs": outputs,
            "mlflow.traceRequestId": "tr-1", **more.pop("attributes", {})}  # fmt: skip
    return {
        "trace_id": coded(1, 16),
        "span_id": coded(number),
        "parent_span_id": None if parent is None else coded(parent),
        "name": f"span {number}",
        "start_time_unix_nano": 1795984823988377760 + number * 10,
        "end_time_unix_nano": 1795984823988377761 + number * 10,
        "status": {"code": "STATUS_CODE_OK", "message": ""},
        "attributes": {name: json.dumps(value) for name, value in told.items() if value is not None},
        "events": [],
        **more,
    }


ROOT = span(1, "AGENT", {"q": "weather?"}, "done", None)
CALL = {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Rome"}'}}
ASKED = {"role": "assistant", "content": None, "tool_calls": [CALL]}
USER = {"role": "user", "content": "weather?"}


def trace(*spans: Fields, **info: Any) -> Fields:
    return {"info": {"trace_id": "tr-1", "state": "OK", **info}, "data": {"spans": [ROOT, *spans]}}


def read(tmp_path: Path, content: object) -> Reading:
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return read_evidence(path)


def trace_of(tmp_path: Path, *spans: Fields) -> Trace:
    return read(tmp_path, trace(*spans)).traces[0]


def model(number: int, outputs: Any, inputs: Any = None, **more: Any) -> Fields:
    return span(number, "CHAT_MODEL", inputs or {"model": "gpt", "messages": [USER]}, outputs, **more)


def tool(number: int, outputs: Any = "sunny", **more: Any) -> Fields:
    return span(
        number, "TOOL", {"city": "Rome"}, outputs, attributes={"mlflow.spanFunctionName": "get_weather"}, **more
    )


def test_request_execution_and_shown_result_are_one_call(tmp_path: Path) -> None:
    shown = {"role": "tool", "tool_call_id": "c1", "content": "sunny"}
    told = trace_of(tmp_path, model(2, {"choices": [{"message": ASKED, "finish_reason": "tool_calls"}]}), tool(3),
                    model(4, {"choices": [{"message": {"role": "assistant", "content": "sun"}}]},
                          {"messages": [USER, ASKED, shown]}))  # fmt: skip
    (call,) = told.calls
    assert (told.id, call.occurrence, call.tool, call.outcome) == ("tr-1", "0.0", "get_weather", Outcome.RECORDED)
    assert None not in (call.requested, call.executed, call.shown)
    assert told.locator(call.result_step).pointer == "/data/spans/2/attributes/mlflow.spanOutputs"
    assert (told.gaps, told.findings) == ((), [])


def test_a_caught_failure_stands_in_its_own_span(tmp_path: Path) -> None:
    failed = {"status": {"code": "STATUS_CODE_ERROR", "message": "ValueError: gateway down"},
              "events": [{"name": "exception", "attributes": {"exception.type": "ValueError"}}]}  # fmt: skip
    told = trace_of(tmp_path, tool(2, None, **failed))
    assert told.calls[0].outcome is Outcome.FAILED
    assert told.calls[0].result is not None
    assert text_of(told.calls[0].result) == "ValueError: gateway down"


GEMINI = {"candidates": [{"content": {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {"a": 1}}}]}}]}
ANSWERS: dict[str, Any] = {
    "openai": {"choices": [{"message": {"tool_calls": [{"id": "x",
                                                        "function": {"name": "f", "arguments": '{"a": 1}'}}]}}]},
    "responses": {"output": [{"type": "function_call", "call_id": "x", "name": "f", "arguments": '{"a": 1}'}]},
    "anthropic": {"role": "assistant", "content": [{"type": "tool_use", "id": "x", "name": "f", "input": {"a": 1}}]},
    "gemini": GEMINI,
    "langchain": {"generations": [[{"text": "", "message": {"type": "ai", "content": "",
                                   "tool_calls": [{"id": "x", "name": "f", "args": {"a": 1}}]}}]]},
    "ollama": {"message": {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": {"a": 1}}}]}},
    "list": [{"type": "ai", "content": "", "tool_calls": [{"id": "x", "name": "f", "args": {"a": 1}}]}],
}  # fmt: skip


@pytest.mark.parametrize("sdk", ANSWERS)
def test_the_answers_of_every_sdk_ask_for_the_call(tmp_path: Path, sdk: str) -> None:
    told = trace_of(tmp_path, model(2, ANSWERS[sdk]))
    assert [(c.tool, value_of(c.arguments)) for c in told.calls if c.arguments] == [("f", {"a": 1})]


@pytest.mark.parametrize(
    "inputs",
    [
        {"messages": [USER]},
        {"messages": [[{"type": "human", "content": "weather?"}]]},
        [[{"type": "human", "content": "weather?"}]],
        {"contents": [{"role": "user", "parts": [{"text": "weather?"}]}]},
        {"input": "weather?"},
        {"prompts": ["weather?"]},
        "weather?",
    ],
)
def test_the_prompts_of_every_sdk_are_what_the_user_said(tmp_path: Path, inputs: Any) -> None:
    told = trace_of(tmp_path, model(2, "sunny", inputs))
    assert [text_of(p) for row in told.rows(StepKind.USER) if (p := told.payload[row])][1:] == ["weather?"]
    assert told.turns == 1


def test_instructions_beside_the_messages_are_the_system_prompt(tmp_path: Path) -> None:
    told = trace_of(tmp_path, model(2, "sunny", {"system": "Be brief.", "messages": [USER]}))
    assert [text_of(p) for row in told.rows(StepKind.SYSTEM) if (p := told.payload[row])] == ["Be brief."]


def test_the_tools_of_a_request_stand_beside_the_trace(tmp_path: Path) -> None:
    offered = [{"type": "function", "function": {"name": "f", "description": "Reads."}}]
    told = trace_of(tmp_path, model(2, "ok", attributes={"mlflow.chat.tools": offered}))
    assert told.facts["f"].description == "Reads."


@pytest.mark.parametrize(
    ("outputs", "events"), [({"strange": 1}, []), ([1, 2], []), (None, [{"name": "mlflow.chunk.item.0"}])]
)
def test_an_answer_that_is_not_read_is_a_gap(tmp_path: Path, outputs: Any, events: list[Fields]) -> None:
    assert any(g.hides for g in trace_of(tmp_path, model(2, outputs, events=events)).gaps)


def test_a_function_without_a_kind_may_be_anything(tmp_path: Path) -> None:
    assert any(g.hides for g in trace_of(tmp_path, span(2, "UNKNOWN", {"x": 1}, 2)).gaps)
    inner = trace_of(tmp_path, model(2, "hm"), span(3, "UNKNOWN"), tool(4, parent=3))
    assert ([c.tool for c in inner.calls], inner.gaps) == (["get_weather"], ())


def test_a_retriever_is_a_boundary_call(tmp_path: Path) -> None:
    told = trace_of(tmp_path, span(2, "RETRIEVER", {"query": "x"}, [{"page_content": "y"}]))
    assert [(c.boundary, c.outcome) for c in told.calls] == [(Boundary.RETRIEVER, Outcome.RECORDED)]


def test_a_trace_that_goes_on_is_a_gap(tmp_path: Path) -> None:
    assert any(g.hides for g in read(tmp_path, trace(tool(2), state="IN_PROGRESS")).gaps)


def older() -> Fields:
    attributes = {"mlflow.spanType": '"TOOL"', "mlflow.spanInputs": '{"city": "Rome"}', "mlflow.spanOutputs": '"sunny"',
                  "mlflow.traceRequestId": '"r1"'}  # fmt: skip
    return {"name": "get_weather", "context": {"span_id": "0x0a", "trace_id": "0x0b"}, "parent_id": None,
            "start_time": 1795984823988377760, "end_time": 1795984823988377761, "status_code": "OK",
            "attributes": attributes, "events": []}  # fmt: skip


@pytest.mark.parametrize(
    "content",
    [
        {"info": {"request_id": "r1", "status": "OK"}, "data": {"spans": [older()]}},
        {"spans": [older()]},
        [{"info": {"request_id": "r1"}, "data": {"spans": [older()]}}],
    ],
)
def test_older_schemas_and_artefact_files_are_read(tmp_path: Path, content: object) -> None:
    reading = read(tmp_path, content)
    assert reading.evidence.format == "mlflow"
    assert [(c.tool, c.outcome) for t in reading.traces for c in t.calls] == [("get_weather", Outcome.RECORDED)]


def test_one_trace_a_line(tmp_path: Path) -> None:
    path = tmp_path / "traces.jsonl"
    lines = (json.dumps(trace(tool(2))), json.dumps(trace(tool(2), trace_id="tr-2")), "no JSON")
    path.write_text("\n".join(lines), encoding="utf-8")
    reading = read_evidence(path)
    assert [(t.id, len(t.calls)) for t in reading.traces] == [("tr-1", 1), ("tr-2", 1)]
    assert reading.counts.bad_lines == [3]


def test_a_document_that_breaks_off_keeps_the_spans_before(tmp_path: Path) -> None:
    whole = json.dumps(trace(tool(2), tool(3)))
    path = tmp_path / "cut.json"
    path.write_text(whole[: whole.rindex('"attributes"')], encoding="utf-8")
    reading = read_evidence(path)
    assert [c.tool for t in reading.traces for c in t.calls][:1] == ["get_weather"]
    assert "container_truncated" in [g.code for g in reading.gaps]
