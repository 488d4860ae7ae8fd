"""Spans of a large evidence are rows until their trace is told: they say the same, and cost little meanwhile."""

from __future__ import annotations

import gc
import json
import tracemalloc
from collections import Counter
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.core.again import several_times
from forensics.core.evidence import Evidence
from forensics.core.reading import EvidenceBuilder
from forensics.formats import otlp
from forensics.formats.shared.source import Source
from forensics.formats.shared.span_joins import parents_of
from forensics.formats.shared.span_rows import TraceSpans
from forensics.formats.shared.spans import Shape, Span
from tests.property.told import of_trace

if TYPE_CHECKING:
    from forensics.core.reading import Reading

JOINS = "forensics.formats.shared.span_joins"
START = 1_790_000_000_000_000_000


def attribute(key: str, told: str) -> dict[str, Any]:
    return {"key": key, "value": {"stringValue": told}}


def turn(number: int) -> list[dict[str, Any]]:
    """A turn that asks for a call, and the tool that ran it."""
    call = {"type": "tool_call", "id": f"c{number}", "name": "get", "arguments": {"n": number}}
    said = [{"role": "assistant", "parts": [{"type": "text", "content": "on " * 40}, call]}]
    chat = [attribute("gen_ai.operation.name", "chat"), attribute("gen_ai.output.messages", json.dumps(said))]
    ran = [
        attribute("gen_ai.operation.name", "execute_tool"),
        attribute("gen_ai.tool.name", "get"),
        attribute("gen_ai.tool.call.id", f"c{number}"),
        attribute("gen_ai.tool.call.result", f"h_{number} " * 60),
    ]
    return [span(2 * number, 1, "chat m1", chat), span(2 * number + 1, 2 * number, "execute_tool get", ran)]


def span(number: int, parent: int, name: str, told: list[dict[str, Any]]) -> dict[str, Any]:
    start = START + number * 1_000_000
    return {
        "traceId": "a" * 32, "spanId": f"{number:016x}", "parentSpanId": f"{parent:016x}", "name": name,
        "startTimeUnixNano": str(start), "endTimeUnixNano": str(start + 1000), "attributes": told,
    }  # fmt: skip


def document(spans: list[dict[str, Any]], parts: int = 1) -> bytes:
    scopes = [{"scope": {"name": "x" * 200 * part}, "spans": spans[part::parts]} for part in range(parts)]
    return json.dumps({"resourceSpans": [{"scopeSpans": scopes}]}, separators=(",", ":")).encode()


def read(data: bytes, small: int = 0) -> Reading:
    source = Source("spans", memoryview(data), "")
    evidence = Evidence(0, source.name, source.sha256, source.size, otlp.NAME)
    build = EvidenceBuilder(evidence, records_calls=otlp.RECORDS_CALLS, text=source.data)
    with mock.patch("forensics.formats.otlp._SMALL", small):
        otlp.read(source, build)
    return build.finish()


def spans_of(turns: int) -> list[dict[str, Any]]:
    return [one for number in range(1, turns + 1) for one in turn(number)]


@pytest.mark.parametrize("parts", [1, 3, 200])
@pytest.mark.parametrize("shuffled", [False, True])
def test_rows_say_what_spans_say_that_are_kept(parts: int, *, shuffled: bool) -> None:
    spans = spans_of(300)
    spans = [*spans[1::2], *spans[::2]] if shuffled else spans
    spans[7]["status"] = {"code": 2, "message": "broke"}
    spans += [spans[3], {**spans[5], "traceId": "b" * 32}]
    data = document(spans, parts)
    kept, rows = read(data, len(data)), read(data)
    assert (rows.findings, rows.gaps, rows.counts) == (kept.findings, kept.gaps, kept.counts)
    assert [of_trace(trace) for trace in rows.traces] == [of_trace(trace) for trace in kept.traces]


def test_a_span_costs_little_until_its_trace_is_told() -> None:
    few, many = (_most(spans_of(turns)) for turns in (1500, 6000))
    assert (many - few) / (2 * 4500) < 420


def _most(spans: list[dict[str, Any]]) -> int:
    """The most memory that is held at once while these spans are read, beside their text."""
    data = document(spans)
    spans.clear()
    gc.collect()
    tracemalloc.start()
    try:
        read(data)
        return tracemalloc.get_traced_memory()[1] - len(data)
    finally:
        tracemalloc.stop()


ids = st.sampled_from(["", "a", "b", "c", "d", "e"])


@given(st.lists(ids, max_size=12), st.sampled_from([1, 23]))
def test_ids_that_stand_several_times_are_told(told: list[str], marks: int) -> None:
    counts = Counter(one for one in told if one)
    with mock.patch("forensics.core.again._MARKS", marks):
        found = several_times(len(told), lambda: told)
    assert found == {one: number for one, number in counts.items() if number > 1}


@given(st.lists(ids, unique=True, max_size=6), st.data(), st.sampled_from([0, 8192]))
def test_parents_are_found_near_and_far(own: list[str], data: st.DataObject, near: int) -> None:
    above = [data.draw(ids) for _ in own]
    failed, nothing = False, Shape({}, ())
    spans = TraceSpans.of(
        Span("t", one, parent, "", 0, 0, 0, failed, None, nothing, (), (), 0, "")
        for one, parent in zip(own, above, strict=True)
    )
    with mock.patch(f"{JOINS}._NEAR", near), mock.patch("forensics.formats.shared.span_rows._LINKED", 1):
        found, missing = parents_of(spans)
    assert list(found) == [own.index(one) if one and one in own else -1 for one in above]
    rows = {one: [row for row, other in enumerate(above) if other == one] for one in above}
    assert {one: list(of) for one, of in missing.items()} == {
        one: of for one, of in rows.items() if not one or one not in own
    }
