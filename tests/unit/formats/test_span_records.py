"""Is one span the same span, whoever wrote it down? Containers and spellings of records, Jaeger and Tempo."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import pytest

from forensics.core.trace import Boundary, Outcome
from forensics.errors import EvidenceError
from forensics.formats import registry
from forensics.formats.shared.source import open_source

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from forensics.core.reading import Reading

    Read = Callable[..., Reading]

TRACE, ROOT, TURN, TOOL = "0af7651916cd43dd8448eb211c80319c", "00000000000000a1", "00000000000000b2", "00000000000000c3"
START = 1_790_000_000_000_000_000
ANSWER = [{"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "look_up", "arguments": {"q": 1}}]}]
SPANS: list[tuple[str, str, str, dict[str, str]]] = [
    (ROOT, "", "invoke_agent guide", {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "guide"}),
    (TURN, ROOT, "chat", {"gen_ai.operation.name": "chat", "gen_ai.output.messages": json.dumps(ANSWER)}),
    (
        TOOL,
        ROOT,
        "execute_tool look_up",
        {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "look_up",
            "gen_ai.tool.call.id": "c1",
            "gen_ai.tool.call.arguments": '{"q": 1}',
            "gen_ai.tool.call.result": "found",
        },
    ),
]


def _times(number: int) -> tuple[int, int]:
    return START + number * 1_000_000, START + number * 1_000_000 + (9_000_000 if number == 0 else 1_000)


def flat() -> list[dict[str, Any]]:
    """Snake case, numbers of nanoseconds, a parent that is an empty text at the root."""
    return [
        {
            "trace_id": TRACE,
            "span_id": own,
            "parent_span_id": parent,
            "name": name,
            "start_time": _times(n)[0],
            "end_time": _times(n)[1],
            "attributes": attributes,
            "status": {"code": "OK"},
            "span_events": [],
        }
        for n, (own, parent, name, attributes) in enumerate(SPANS)
    ]


def console() -> list[dict[str, Any]]:
    """What the console exporter of Python's SDK prints."""
    return [
        {
            "name": name,
            "context": {"trace_id": f"0x{TRACE}", "span_id": f"0x{own}", "trace_state": "[]"},
            "kind": "SpanKind.INTERNAL",
            "parent_id": f"0x{parent}" if parent else None,
            "start_time": f"2026-09-21T14:13:20.{n:03d}000Z",
            "end_time": f"2026-09-21T14:13:20.{n + 1 if n else 9:03d}000Z",
            "status": {"status_code": "UNSET"},
            "attributes": attributes,
            "events": [],
            "links": [],
            "resource": {"attributes": {"service.name": "demo"}, "schema_url": ""},
        }
        for n, (own, parent, name, attributes) in enumerate(SPANS)
    ]


def javascript() -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "kind": 0,
            "spanContext": {"traceId": TRACE, "spanId": own},
            "parentSpanContext": {"traceId": TRACE, "spanId": parent} if parent else None,
            "status": {"code": 0},
            "startTime": [_times(n)[0] // 10**9, _times(n)[0] % 10**9],
            "endTime": [_times(n)[1] // 10**9, _times(n)[1] % 10**9],
            "attributes": attributes,
            "events": [],
        }
        for n, (own, parent, name, attributes) in enumerate(SPANS)
    ]


def otlp_spans() -> list[dict[str, Any]]:
    """Spans of OTLP without anything around them."""
    return [
        {
            "traceId": TRACE,
            "spanId": own,
            **({"parentSpanId": parent} if parent else {}),
            "name": name,
            "kind": 1,
            "startTimeUnixNano": str(_times(n)[0]),
            "endTimeUnixNano": str(_times(n)[1]),
            "attributes": [{"key": key, "value": {"stringValue": told}} for key, told in attributes.items()],
        }
        for n, (own, parent, name, attributes) in enumerate(SPANS)
    ]


def phoenix() -> list[dict[str, Any]]:
    """Phoenix nests attributes, and tells the kind beside them."""
    kinds = ("AGENT", "LLM", "TOOL")
    asked = {"id": "c1", "function": {"name": "look_up", "arguments": '{"q": 1}'}}
    told: list[dict[str, Any]] = [
        {"agent": {"name": "guide"}},
        {"llm": {"output_messages": [{"message": {"role": "assistant", "tool_calls": [{"tool_call": asked}]}}]}},
        {"tool": {"name": "look_up"}, "input": {"value": '{"q": 1}'}, "output": {"value": "found"}},
    ]
    return [
        {
            "id": f"U3Bhbjo{n}",
            "name": name,
            "context": {"trace_id": TRACE, "span_id": own},
            "span_kind": kinds[n],
            "parent_id": parent or None,
            "start_time": f"2026-09-21T14:13:20.{n:03d}000+00:00",
            "end_time": f"2026-09-21T14:13:20.{n + 1 if n else 9:03d}000+00:00",
            "status_code": "OK",
            "status_message": "",
            "attributes": told[n],
            "events": [],
        }
        for n, (own, parent, name, _) in enumerate(SPANS)
    ]


def columns() -> list[dict[str, Any]]:
    """Rows of a data frame: one column an attribute."""
    return [
        {
            "context.trace_id": TRACE,
            "context.span_id": own,
            "parent_id": parent or None,
            "name": name,
            "start_time": _times(n)[0] // 10**6,
            "end_time": _times(n)[1] // 10**6,
            "status_code": "OK",
            **{f"attributes.{key}": told for key, told in attributes.items()},
        }
        for n, (own, parent, name, attributes) in enumerate(SPANS)
    ]


def jaeger() -> dict[str, Any]:
    spans = [
        {
            "traceID": TRACE,
            "spanID": own,
            "operationName": name,
            "references": [{"refType": "CHILD_OF", "traceID": TRACE, "spanID": parent}] if parent else [],
            "startTime": _times(n)[0] // 1000,
            "duration": (_times(n)[1] - _times(n)[0]) // 1000,
            "tags": [{"key": key, "type": "string", "value": told} for key, told in attributes.items()],
            "logs": [],
            "processID": "p1",
        }
        for n, (own, parent, name, attributes) in enumerate(SPANS)
    ]
    return {"data": [{"traceID": TRACE, "spans": spans, "processes": {"p1": {"serviceName": "demo"}}}], "errors": None}


def tempo(*, second: bool = False) -> dict[str, Any]:
    spans = otlp_spans()
    for one in spans:
        for name in ("traceId", "spanId", "parentSpanId"):
            if name in one:
                one[name] = base64.b64encode(bytes.fromhex(one[name])).decode()
    batch = {"resource": {"attributes": []}, "instrumentationLibrarySpans": [{"spans": spans}]}
    return {"trace": {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}} if second else {"batches": [batch]}


RECORDS = {
    "flat": flat,
    "console": console,
    "javascript": javascript,
    "otlp": otlp_spans,
    "phoenix": phoenix,
    "columns": columns,
}
WRITTEN: dict[str, Callable[[list[Any]], str]] = {
    "list": json.dumps,
    "lines": lambda spans: "\n".join(json.dumps(one) for one in spans),
    "printed": lambda spans: "\n".join(json.dumps(one, indent=4) for one in spans) + "\n",
    "held": lambda spans: json.dumps({"session_id": "s", "span_count": len(spans), "spans": spans}),
    "page": lambda spans: json.dumps({"data": spans, "next_cursor": None}),
}


def check(reading: Reading) -> None:
    assert reading.counts.spans == 3
    (trace,) = reading.traces
    assert trace.id == TRACE
    assert trace.agents == ["guide"]
    (call,) = trace.calls
    assert (call.tool, call.turn, call.outcome) == ("look_up", 0, Outcome.RECORDED)
    assert call.executed is not None
    assert call.start > 0
    assert [g.message for g in trace.gaps if g.hides] == []
    assert trace.findings == []


@pytest.mark.parametrize("records", RECORDS)
@pytest.mark.parametrize("written", WRITTEN)
def test_every_spelling_in_every_container(tmp_path: Path, read: Read, records: str, written: str) -> None:
    path = tmp_path / "evidence"
    path.write_text(WRITTEN[written](RECORDS[records]()), encoding="utf-8")
    check(read(path))


@pytest.mark.parametrize(
    ("document", "name"),
    [(jaeger(), "jaeger"), (jaeger()["data"][0], "jaeger"), (tempo(), "otlp"), (tempo(second=True), "otlp")],
)
def test_jaeger_and_tempo(tmp_path: Path, read: Read, document: dict[str, Any], name: str) -> None:
    path = tmp_path / "evidence"
    path.write_text(json.dumps(document), encoding="utf-8")
    with open_source(str(path)) as source:
        assert name == registry.recognise(source).NAME
    check(read(path))


def test_text_between_printed_records_is_a_bad_line_and_nothing_else_is_lost(tmp_path: Path, read: Read) -> None:
    printed = [json.dumps(one, indent=4) for one in console()]
    path = tmp_path / "evidence"
    path.write_text("\n".join([printed[0], "Tool says: done", *printed[1:]]), encoding="utf-8")
    reading = read(path)
    assert reading.counts.spans == 3
    assert len(reading.counts.bad_lines) == 1
    assert [f.code for f in reading.findings] == ["malformed_line"]


def test_a_page_of_several_is_a_gap(tmp_path: Path, read: Read) -> None:
    path = tmp_path / "evidence"
    path.write_text(json.dumps({"data": phoenix(), "next_cursor": "U3Bhbjo5"}), encoding="utf-8")
    assert any("one page of several" in g.message for g in read(path).gaps if g.hides)


def test_an_export_that_holds_fewer_spans_than_it_says_is_a_gap(tmp_path: Path, read: Read) -> None:
    path = tmp_path / "evidence"
    path.write_text(json.dumps({"span_count": 9, "spans": flat()}), encoding="utf-8")
    assert any("9 spans and holds 3" in g.message for g in read(path).gaps if g.hides)


def test_a_failed_span_of_jaeger_is_a_failed_call(tmp_path: Path, read: Read) -> None:
    document = jaeger()
    tags = document["data"][0]["spans"][2]["tags"]
    tags[:] = [tag for tag in tags if not tag["key"].endswith("result")]
    tags.append({"key": "error", "type": "bool", "value": True})
    fields = [{"key": "event", "value": "exception"}, {"key": "exception.message", "value": "no such thing"}]
    document["data"][0]["spans"][2]["logs"] = [{"timestamp": 1, "fields": fields}]
    path = tmp_path / "evidence"
    path.write_text(json.dumps(document), encoding="utf-8")
    (call,) = read(path).traces[0].calls
    assert (call.outcome, bytes(call.error or b"")) == (Outcome.FAILED, b'"no such thing"')


def test_a_client_span_of_jaeger_leaves_the_agent(tmp_path: Path, read: Read) -> None:
    document = jaeger()
    tags = [{"key": "span.kind", "value": "client"}, {"key": "http.method", "value": "POST"}]
    tags.append({"key": "http.url", "value": "https://api.example.com/v1/pay"})
    own = {"traceID": TRACE, "spanID": "00000000000000d4", "operationName": "POST", "tags": tags}
    above = [{"refType": "CHILD_OF", "spanID": ROOT}]
    document["data"][0]["spans"].append({**own, "references": above, "startTime": START // 1000 + 5, "duration": 1})
    path = tmp_path / "evidence"
    path.write_text(json.dumps(document), encoding="utf-8")
    assert Boundary.HTTP in [call.boundary for call in read(path).traces[0].calls]


def test_the_kind_of_javascript_counts_from_zero(tmp_path: Path, read: Read) -> None:
    spans = javascript()
    spans.append(
        {**spans[1], "spanContext": {"traceId": TRACE, "spanId": "00000000000000d4"}, "name": "POST", "kind": 2}
    )
    spans[-1]["attributes"] = {"http.request.method": "POST", "url.full": "https://api.example.com/pay"}
    path = tmp_path / "evidence"
    path.write_text(json.dumps(spans), encoding="utf-8")
    assert Boundary.HTTP in [call.boundary for call in read(path).traces[0].calls]


def test_messages_in_log_records_beside_the_spans(tmp_path: Path, read: Read) -> None:
    spans = flat()
    spans[1]["attributes"] = {"gen_ai.operation.name": "chat"}
    asked = {"role": "assistant", "content": json.dumps([{"type": "text", "text": "I look it up."}])}
    body = {"input": {"messages": [{"role": "user", "content": "Find it."}]}, "output": {"messages": [asked]}}
    log = {"traceId": TRACE, "spanId": TURN, "timeUnixNano": START, "body": body, "attributes": {"event.name": "x"}}
    path = tmp_path / "evidence"
    path.write_text("\n".join(json.dumps(one) for one in (*spans, log)), encoding="utf-8")
    reading = read(path)
    (trace,) = reading.traces
    assert [s.kind.label for s in trace.steps()][:2] == ["user", "model"]
    assert trace.place_of(0) != trace.place_of(2)
    assert trace.silent_turns == []


def test_a_log_record_that_names_no_span_is_a_gap(tmp_path: Path, read: Read) -> None:
    body = {"input": {"messages": [{"role": "user", "content": "Find it."}]}}
    log = {"traceId": TRACE, "spanId": "00000000000000ff", "timeUnixNano": START, "body": body}
    path = tmp_path / "evidence"
    path.write_text("\n".join(json.dumps(one) for one in (*flat(), log)), encoding="utf-8")
    assert any("log records" in g.message for g in read(path).gaps if g.hides)


def test_the_attributes_of_one_span_alone(tmp_path: Path, read: Read) -> None:
    path = tmp_path / "evidence"
    path.write_text(json.dumps({"openinference.span.kind": "LLM", "input.value": "Hello", "output.value": "Hi"}))
    (trace,) = read(path).traces
    assert [s.kind.label for s in trace.steps()] == ["user", "model"]


@pytest.mark.parametrize(
    ("content", "seen"),
    [
        (b"PAR1\x00\x00\x00", "Parquet"),
        (b"context.span_id,context.trace_id,name\n1,2,x\n", "CSV"),
    ],
)
def test_tables_are_named_and_not_read(tmp_path: Path, content: bytes, seen: str) -> None:
    path = tmp_path / "evidence"
    path.write_bytes(content)
    with open_source(str(path)) as source, pytest.raises(EvidenceError, match=seen):
        registry.recognise(source)


@pytest.mark.parametrize("write", ["list", "held", "page"])
def test_a_cut_document_is_read_up_to_its_last_whole_span(tmp_path: Path, read: Read, write: str) -> None:
    spans = flat()
    whole = WRITTEN[write](spans)
    path = tmp_path / "evidence"
    path.write_text(whole[: whole.index(json.dumps(spans[-1])) + 40], encoding="utf-8")
    reading = read(path)
    assert (reading.evidence.format, reading.counts.spans) == ("otel-spans", len(spans) - 1)
    assert [g.code for g in reading.gaps if g.hides and g.code == "container_truncated"]


def test_a_cut_export_of_jaeger_is_read_up_to_its_last_whole_span(tmp_path: Path, read: Read) -> None:
    document = jaeger()
    whole = json.dumps(document)
    path = tmp_path / "evidence"
    path.write_text(whole[: whole.index(json.dumps(document["data"][0]["spans"][-1])) + 40], encoding="utf-8")
    reading = read(path)
    assert (reading.evidence.format, reading.counts.spans) == ("jaeger", len(document["data"][0]["spans"]) - 1)
    assert [f.code for f in reading.findings] == ["container_truncated"]


@pytest.mark.parametrize("records", RECORDS)
def test_cut_evidence_is_read_up_to_the_cut(tmp_path: Path, read: Read, records: str) -> None:
    whole = WRITTEN["lines"](RECORDS[records]())
    path = tmp_path / "evidence"
    path.write_text(whole[:-40], encoding="utf-8")
    reading = read(path, "otel-spans")
    assert reading.counts.spans == 2
    assert len(reading.counts.bad_lines) == 1


@pytest.mark.parametrize(
    "strange",
    [
        {"span_id": 7, "trace_id": [1], "start_time": {}, "attributes": 5},
        {"span_id": "a", "attributes": "not json", "events": {"a": 1}, "status": []},
        {"span_id": "a", "attributes": [1, {"key": 3}, {"value": 1}], "references": [5], "parent": 7},
        {"span_id": "a", "startTime": [1, 2, 3], "endTime": ["x", {}], "resource": "r", "kind": {}},
        {
            "span_id": "a",
            "attributes": {"llm": {"input_messages": {"x": [[[[1]]]]}}, "span.type": 5, "entity.1.type": 2},
        },
        {"span_id": "a", "attributes": {"span.type": "inference"}, "events": [{"name": "data.input", "attributes": 1}]},
    ],
)
def test_strange_records_end_in_no_traceback(tmp_path: Path, read: Read, strange: dict[str, Any]) -> None:
    path = tmp_path / "evidence"
    path.write_text(json.dumps([*flat(), strange]), encoding="utf-8")
    assert read(path).counts.spans == 4


@pytest.mark.parametrize("make", [flat, console])
@pytest.mark.parametrize(
    ("held", "hides"), [(None, True), ([{"a": 1}], True), ("nonsense", True), (7, True), ({}, False), ([], False)]
)
def test_a_span_whose_attributes_can_not_be_read_may_be_a_call(
    tmp_path: Path,
    read: Read,
    make: Callable[[], list[dict[str, Any]]],
    held: Any,
    hides: bool,  # noqa: FBT001
) -> None:
    """One that says itself that it has none is a span of no interest; `held` null stands for the member missing too."""
    spans = make()
    spans.append({**spans[-1], "name": "wipe", "attributes": held})
    for key, holder in (("span_id", spans[-1]), ("span_id", spans[-1].get("context", {}))):
        if key in holder:
            fresh = {**holder, key: str(holder[key]).replace("c3", "d4")}
            spans[-1] = fresh if holder is spans[-1] else {**spans[-1], "context": fresh}
    path = tmp_path / "evidence"
    path.write_text(json.dumps(spans), encoding="utf-8")
    (trace,) = read(path).traces
    assert [gap.code for gap in trace.gaps if gap.hides] == (["evidence_gap"] if hides else [])
