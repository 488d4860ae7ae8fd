"""A document of spans tells the same read span by span and read at once, with whatever is odd or damaged in it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from forensics.core.evidence import Evidence
from forensics.core.reading import EvidenceBuilder
from forensics.errors import EvidenceError
from forensics.formats import otlp
from forensics.formats.shared.request_outline import outline_of
from forensics.formats.shared.source import Source
from forensics.formats.shared.span_columns import SpanColumns
from forensics.formats.shared.span_names import OtherNames
from forensics.formats.shared.span_rows import Stand
from tests.property.told import of_trace

if TYPE_CHECKING:
    from forensics.core.reading import Reading

COMPACT: dict[str, Any] = {"separators": (",", ":")}


def span(number: int, said: str, **more: object) -> dict[str, Any]:
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "get", "gen_ai.tool.call.result": said}
    listed = [{"key": key, "value": {"stringValue": text}} for key, text in attributes.items()]
    return {"traceId": "a" * 32, "spanId": f"{number:016x}", "name": "execute_tool get", "attributes": listed} | more


said = st.sampled_from(["ok", '{"id": "pg_1"}', "", "\u2028", "[]"])
more = st.sampled_from(
    [
        {},
        {},
        {"kind": 1},
        {"startTimeUnixNano": "5"},
        {"status": {"code": 2}},
        {"attributes": None},
        {"links": []},
        {"name": 3},
    ]
)
spans = st.builds(lambda number, text, extra: span(number, text, **extra), st.integers(0, 4), said, more)
scopes = st.fixed_dictionaries(
    {"spans": st.lists(spans, max_size=4)}, optional={"scope": st.just({"name": "x"}), "schemaUrl": st.just("u")}
)
resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "demo"}}]}
resources = st.fixed_dictionaries(
    {}, optional={"resource": st.just(resource), "scopeSpans": st.lists(scopes, max_size=2), "batches": st.just([])}
)
members = st.sampled_from(["resourceSpans", "batches"])
documents = st.dictionaries(members, st.lists(resources, max_size=2), max_size=2)
inserted = st.sampled_from(
    [
        '"name":"other",', '"spans":[],', '"key":"k",', '"spanId":"00000000000000ff",', '"extra":{"tool_calls":[1]},',
        f'"deep":{"[" * 600}{"]" * 600},', f'"deep":{"[" * 506}{"]" * 506},', '"n":NaN,', '"t":"\\ud800",', '"":1,',
        '"resourceLogs":[{"a":1}],', '"n":12345678901234567890123456789,', '"q\\u0022":1,', '"stringValue":"two",', "}",
    ]
)  # fmt: skip
edits = st.lists(st.tuples(st.integers(0, 60), inserted), max_size=2)


def edited(text: str, changes: list[tuple[int, str]]) -> str:
    for number, piece in changes:
        braces = [at for at, letter in enumerate(text) if letter == "{"]
        if braces:
            at = braces[number % len(braces)] + 1
            text = text[:at] + piece + text[at:]
    return text


def told_at_once(data: bytes) -> object:
    with mock.patch("forensics.formats.otlp.outline_of", return_value=None):
        return told(data)


def told(data: bytes) -> object:
    try:
        reading = read(data)
    except EvidenceError as error:
        return (error.code, str(error))
    return (reading.gaps, reading.findings, reading.counts, list(map(of_trace, reading.traces)))


def read(data: bytes) -> Reading:
    source = Source("spans", memoryview(data), "")
    evidence = Evidence(0, source.name, source.sha256, source.size, otlp.NAME)
    build = EvidenceBuilder(evidence, records_calls=otlp.RECORDS_CALLS, text=source.data)
    otlp.read(source, build)
    return build.finish()


@settings(deadline=None, max_examples=200)
@given(documents, edits, st.sampled_from([{}, {"indent": 1}, COMPACT, COMPACT]))
@example({"resourceSpans": [{"scopeSpans": [{"spans": [span(1, "ok")]}]}]}, [(0, '"resourceSpans":[],')], COMPACT)
def test_span_by_span_as_at_once(
    document: dict[str, Any], changes: list[tuple[int, str]], spelled: dict[str, Any]
) -> None:
    data = edited(json.dumps(document, **spelled), changes).encode("utf-8", "surrogatepass")
    assert told(data) == told_at_once(data)


PLAIN = json.dumps({"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": [span(1, 'say "x"')] * 3}]}]})


def test_the_spans_of_a_document_as_exporters_write_it() -> None:
    (listed,) = outline_of(memoryview(PLAIN.encode())) or []
    assert listed.above == "/resourceSpans/0/scopeSpans/0/spans/"
    assert [json.loads(bytes(one)) for one in listed.spans] == [span(1, 'say "x"')] * 3


@pytest.mark.parametrize(
    "piece",
    ['"name":"other",', '"extra":1,', f'"links":{"[" * 506}{"]" * 506},', '"n":1e999,', '"schemaUrl":"\\ud800",'],
)
def test_whatever_stands_wherever_in_it_both_ways_read_alike(piece: str) -> None:
    for number in range(PLAIN.count("{")):
        data = edited(PLAIN, [(number, piece)]).encode()
        assert told(data) == told_at_once(data)


IN_REQUEST, IN_RESOURCE, IN_SPAN = 0, 2, 6


@pytest.mark.parametrize(
    ("number", "piece"),
    [
        (IN_REQUEST, '"resourceSpans":[],'),
        (IN_REQUEST, '"resourceLogs":[],'),
        (IN_RESOURCE, '"attributes":[],'),
        (IN_RESOURCE, '"n":1e999,'),
        (IN_RESOURCE, f'"links":{"[" * 506}{"]" * 506},'),
    ],
)
@pytest.mark.parametrize("text", [PLAIN, PLAIN.replace(": ", ":").replace(", ", ",")])
def test_a_document_that_says_more_around_its_spans_has_no_outline(text: str, number: int, piece: str) -> None:
    assert outline_of(memoryview(edited(text, [(number, piece)]).encode())) is None


def in_columns(data: str) -> list[bool] | None:
    """Which of the spans of a document are read in columns; None where one is written in two ways."""
    (listed,) = outline_of(memoryview(data.encode())) or []
    columns = SpanColumns(OtherNames(), otlp.says_more, otlp.kind_of)
    told = columns.read(listed.spans, Stand(0, listed.above, ""), 0)
    return None if told is None else [one is not None for one in told]


TIMES = {"startTimeUnixNano": "1790000000000000000", "endTimeUnixNano": "1790000000000000001"}


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({}, "in columns"),
        ({"kind": 3, "flags": 257, "status": {}, "events": [], "links": [{"traceId": "a"}]}, "in columns"),
        ({"kind": "SPAN_KIND_CLIENT", "status": {"code": 1}, "droppedAttributesCount": 0}, "in columns"),
        ({"parentSpanId": "", "traceState": ""}, "in columns"),
        ({"status": {"code": 2}}, "by itself"),
        ({"status": {"message": "said"}}, "by itself"),
        ({"events": [{"name": "exception"}]}, "by itself"),
        ({"droppedEventsCount": 1}, "by itself"),
        ({"other": 1}, "by itself"),
        ({"kind": 1.5}, "by itself"),
        ({"startTimeUnixNano": 5}, "by itself"),
        ({"spanId": "AAAAAAAAAAE="}, "all by themselves"),
        ({"attributes": [{"key": "gen_ai.operation.name"}]}, "by itself"),
        ({"attributes": [{"key": "gen_ai.operation.name", "value": {"stringValue": 7}}]}, "by itself"),
        (
            {"attributes": [{"key": "gen_ai.operation.name", "value": {"stringValue": "a", "intValue": "1"}}]},
            "by itself",
        ),
    ],
)
def test_which_spans_are_read_in_columns(more: dict[str, Any], told: str) -> None:
    recorded = [span(1, "ok", **TIMES), span(2, "ok", **(TIMES | more))]
    document = {"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": recorded}]}]}
    compact = json.dumps(document, **COMPACT)
    assert in_columns(compact) == [told != "all by themselves", told == "in columns"]
    assert in_columns(json.dumps(document)) == [False, False]


@pytest.mark.parametrize(
    "piece", ['"name":"other",', '"n":1e999,', f'"links":{"[" * 506}{"]" * 506},', '"n":"\\ud800",']
)
def test_a_span_that_is_written_in_two_ways_leaves_nothing_in_columns(piece: str) -> None:
    recorded = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span(1, "ok", **TIMES)]}]}]}, **COMPACT)
    assert in_columns(recorded) == [True]
    if "ud800" in piece:
        assert outline_of(memoryview(edited(recorded, [(3, piece)]).encode())) is None
    else:
        assert in_columns(edited(recorded, [(3, piece)])) is None


@pytest.mark.parametrize("value", ['{"a":"b"\n}', '["b"\n]', '"b"\n', "7"])
def test_what_is_called_a_text_and_is_none_is_looked_at_by_itself(value: str) -> None:
    recorded = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span(1, "ok", **TIMES)]}]}]}, **COMPACT)
    assert in_columns(recorded.replace('"ok"', value)) == [False]
    assert in_columns(recorded.replace('"ok"', '{"a":1,"a":"b"\n}')) is None
