"""Spans whose attributes are read by the shape of their names say what they say read one by one."""

from __future__ import annotations

import json
from typing import Any
from unittest import mock

from hypothesis import given, settings
from hypothesis import strategies as st

from forensics.core.evidence import Evidence
from forensics.core.reading import EvidenceBuilder
from forensics.formats import otlp
from forensics.formats.shared.source import Source
from tests.property.told import of_trace

names = st.sampled_from([
    "gen_ai.operation.name", "gen_ai.tool.name", "gen_ai.tool.call.result", "gen_ai.output.messages", "error.type",
    "gen_ai.usage.input_tokens", "gen_ai.response.finish_reasons", "llm.input_messages.0.message.content", "other",
    "openinference.span.kind", "langsmith.kind", "gen_ai.provider.name", "tool.name",
])  # fmt: skip
values = st.sampled_from([
    {"stringValue": "execute_tool"}, {"stringValue": "chat"}, {"stringValue": "h\u00e9"}, {"intValue": "5"}, {},
    {"doubleValue": 0.5}, {"boolValue": True}, {"arrayValue": {"values": [{"stringValue": "stop"}]}}, {"intValue": 5},
    {"stringValue": 7},
    {"kvlistValue": {"values": [{"key": "k", "value": {"intValue": "1"}}]}},
    {"stringValue": '[{"role":"assistant","parts":[{"type":"text","content":"on"}]}]'},
])  # fmt: skip
attributes = st.lists(st.builds(lambda key, value: {"key": key, "value": value}, names, values), max_size=5)
usual_ids = st.sampled_from([f"{number:016x}" for number in range(1, 6)])
odd_ids = st.sampled_from(["ABCDEF0123456789", "0" * 16, "AAAAAAAAAAE=", "x"])
ids = st.one_of(*[usual_ids] * 15, odd_ids)
usual_times = st.sampled_from(["1790000000000000000", "1790000000000000001"])
odd_times = st.sampled_from([1790000000000000002, "0", None, "9" * 19, "5", "soon", "1" * 18 + "\u0661"])
times = st.one_of(*[usual_times] * 15, odd_times)
more = st.sampled_from([
    {}, {}, {"status": {}}, {"status": {"code": 2, "message": "broke"}}, {"status": {"message": "said"}}, {"kind": 3},
    {"kind": "SPAN_KIND_CLIENT"}, {"droppedAttributesCount": 1}, {"events": []}, {"parentSpanId": ""},
    {"events": [{"name": "exception", "attributes": []}]}, {"attributes": None},
])  # fmt: skip
spans = st.builds(
    lambda one, parent, start, end, told, extra: {
        "traceId": "a" * 32, "spanId": one, "parentSpanId": parent, "name": "span", "startTimeUnixNano": start,
        "endTimeUnixNano": end, "attributes": told, **extra,
    },
    ids, st.none() | ids, times, times, attributes, more,
)  # fmt: skip


def told(recorded: list[dict[str, Any]]) -> tuple[object, ...]:
    data = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": recorded}]}]}, separators=(",", ":")).encode()
    source = Source("spans", memoryview(data), "")
    evidence = Evidence(0, source.name, source.sha256, source.size, otlp.NAME)
    build = EvidenceBuilder(evidence, records_calls=otlp.RECORDS_CALLS, text=source.data)
    otlp.read(source, build)
    reading = build.finish()
    traces = [(of_trace(trace), trace.facts, trace.tokens, trace.setups) for trace in reading.traces]
    return (reading.gaps, reading.findings, reading.counts, traces)


@settings(deadline=None, max_examples=400)
@given(st.lists(spans, min_size=1, max_size=6))
def test_spans_of_a_shape_say_what_they_say_one_by_one(recorded: list[dict[str, Any]]) -> None:
    with mock.patch("forensics.formats.otlp.outline_of", return_value=None):
        one_by_one = told(recorded)
    with mock.patch("forensics.formats.otlp._SMALL", 0):
        again = told(recorded)
    assert told(recorded) == one_by_one == again
