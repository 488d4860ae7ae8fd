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
from forensics.formats.shared.request_outline import is_written_one_way
from forensics.formats.shared.source import Source
from tests.property.told import of_trace

if TYPE_CHECKING:
    from forensics.core.reading import Reading


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


def told(data: bytes, large: int) -> object:
    """What a document tells if documents from that many bytes on are large."""
    with mock.patch("forensics.formats.otlp._LARGE", large):
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
@given(documents, edits, st.sampled_from([None, 1]))
@example({"resourceSpans": [{"scopeSpans": [{"spans": [span(1, "ok")]}]}]}, [(0, '"resourceSpans":[],')], None)
def test_span_by_span_as_at_once(document: dict[str, Any], changes: list[tuple[int, str]], indent: int | None) -> None:
    data = edited(json.dumps(document, indent=indent), changes).encode("utf-8", "surrogatepass")
    assert told(data, large=0) == told(data, large=1 << 40)


PLAIN = json.dumps({"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": [span(1, 'say "x"')] * 3}]}]})


def test_a_document_as_exporters_write_it_is_written_one_way() -> None:
    assert is_written_one_way(memoryview(PLAIN.encode()))


@pytest.mark.parametrize(
    "piece",
    ['"name":"other",', '"extra":1,', f'"links":{"[" * 506}{"]" * 506},', '"n":1e999,', '"schemaUrl":"\\ud800",'],
)
def test_whatever_stands_wherever_in_it_both_ways_read_alike(piece: str) -> None:
    for number in range(PLAIN.count("{")):
        data = edited(PLAIN, [(number, piece)]).encode()
        assert told(data, large=0) == told(data, large=1 << 40)


IN_REQUEST, IN_SPAN = 0, 6


@pytest.mark.parametrize(
    ("number", "piece"),
    [
        (IN_REQUEST, '"resourceSpans":[],'),
        (IN_REQUEST, '"resourceLogs":[],'),
        (IN_SPAN, '"name":"other",'),
        (IN_SPAN, '"n":1e999,'),
        (IN_SPAN, f'"links":{"[" * 506}{"]" * 506},'),
    ],
)
def test_a_document_with_more_to_say_is_not_written_one_way(number: int, piece: str) -> None:
    assert not is_written_one_way(memoryview(edited(PLAIN, [(number, piece)]).encode()))
