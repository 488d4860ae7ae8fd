"""Does OTLP read alike whoever wrote it, and does nothing in it hide a call?"""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import pytest

from forensics.core.jsonvalue import value_of
from forensics.core.trace import Absence, Boundary, Outcome, StepKind
from forensics.errors import EvidenceError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from forensics.core.reading import Reading
    from forensics.core.trace import Trace

    Read = Callable[..., Reading]

TRACE = "0af7651916cd43dd8448eb211c80319c"
EPOCH = 1_790_000_000_000_000_000


def value(of: object) -> dict[str, Any]:
    """A value as OTLP's AnyValue."""
    if isinstance(of, bool):
        return {"boolValue": of}
    if isinstance(of, int):
        return {"intValue": str(of)}
    if isinstance(of, float):
        return {"doubleValue": of}
    if isinstance(of, list):
        return {"arrayValue": {"values": [value(v) for v in of]}}
    if isinstance(of, dict):
        return {"kvlistValue": {"values": [{"key": k, "value": value(v)} for k, v in of.items()]}}
    return {"stringValue": of}


def otlp(spans: list[dict[str, Any]]) -> dict[str, Any]:
    """One request of these spans."""
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "demo"}}]}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": spans}]}]}


def span(
    number: int, parent: int | None = None, start: int = 0, name: str = "span", /, **attributes: object
) -> dict[str, Any]:
    """A span of 1 µs; attribute names have two underscores for a dot."""
    found: dict[str, Any] = {
        "traceId": TRACE,
        "spanId": f"{number:016x}",
        "name": name,
        "startTimeUnixNano": str(EPOCH + start),
        "endTimeUnixNano": str(EPOCH + start + 1_000),
        "attributes": [{"key": k.replace("__", "."), "value": value(v)} for k, v in attributes.items()],
    }
    if parent is not None:
        found["parentSpanId"] = f"{parent:016x}"
    return found


def agent(number: int, parent: int | None = None, start: int = 0, **more: object) -> dict[str, Any]:
    return span(number, parent, start, "invoke_agent", gen_ai__operation__name="invoke_agent", **more)


def chat(
    number: int, parent: int | None, start: int, prompt: object = None, answer: object = None, **more: object
) -> dict[str, Any]:
    if prompt is not None:
        more["gen_ai__input__messages"] = json.dumps(prompt)
    if answer is not None:
        more["gen_ai__output__messages"] = json.dumps(answer)
    return span(number, parent, start, "chat", gen_ai__operation__name="chat", **more)


def tool(
    number: int, parent: int | None, start: int, name: str, call: str | None = None, **more: object
) -> dict[str, Any]:
    if call:
        more["gen_ai__tool__call__id"] = call
    return span(
        number,
        parent,
        start,
        f"execute_tool {name}",
        gen_ai__operation__name="execute_tool",
        gen_ai__tool__name=name,
        **more,
    )


def says(text: str = "", *calls: tuple[str, str, Any]) -> dict[str, Any]:
    parts: list[dict[str, Any]] = [{"type": "text", "content": text}] if text else []
    parts.extend({"type": "tool_call", "id": i, "name": n, "arguments": a} for i, n, a in calls)
    return {"role": "assistant", "parts": parts}


def asks(text: str) -> dict[str, Any]:
    return {"role": "user", "parts": [{"type": "text", "content": text}]}


def shows(call: str, response: object) -> dict[str, Any]:
    return {"role": "tool", "parts": [{"type": "tool_call_response", "id": call, "response": response}]}


def codes(reading: Reading) -> list[str]:
    return sorted([f.code for f in reading.findings] + [f.code for t in reading.traces for f in t.findings])


def steps(trace: Trace) -> list[tuple[Any, ...]]:
    return [
        (s.kind.label, s.name, s.agent, s.at, None if s.payload is None else bytes(s.payload)) for s in trace.steps()
    ]


def told(reading: Reading) -> tuple[Any, ...]:
    """Everything that must not depend on the order of the file."""
    return (
        [
            (
                t.id,
                steps(t),
                [(c.occurrence, c.tool, c.recorded_id, c.outcome, c.boundary) for c in t.calls],
                [(f.code, f.message, f.steps) for f in t.findings],
            )
            for t in reading.traces
        ],
        reading.counts,
        [(f.code, f.message) for f in reading.findings],
        [(g.code, g.message) for g in reading.gaps],
    )


# the cases of the corpus ---------------------------------------------------------------------------------------------


def test_tools_faster_than_the_clock(cases: Path, read: Read) -> None:
    reading = read(cases / "bugs/27-tools-faster-than-the-clock/otlp.json")
    (trace,) = reading.traces
    assert (reading.counts.spans, reading.counts.roots) == (4, 1)
    assert [(c.recorded_id, c.occurrence, c.outcome) for c in trace.calls] == [
        ("p1", "0.0", Outcome.RECORDED),
        ("p2", "0.1", Outcome.RECORDED),
    ]
    assert codes(reading) == ["time_tie"]
    assert not reading.gaps


def test_a_middle_span_that_was_never_exported(cases: Path, read: Read) -> None:
    reading = read(cases / "bugs/29-middle-span-never-exported/otlp.json")
    assert (reading.counts.spans, reading.counts.roots, reading.counts.missing_spans) == (3, 1, ["00000000000000c2"])
    assert [c.tool for c in reading.traces[0].calls] == ["charge"]
    assert codes(reading) == ["orphan_span"]
    (finding,) = reading.traces[0].findings
    assert len(finding.locators) == 2
    assert [(g.code, g.hides, g.trace) for g in reading.gaps] == [("orphan_span", True, TRACE)]


def test_ids_in_base64(cases: Path, read: Read) -> None:
    reading = read(cases / "bugs/31-ids-in-base64/otlp.json")
    (trace,) = reading.traces
    assert trace.id == TRACE
    assert codes(reading) == ["id_encoding"]
    (call,) = trace.calls
    assert (call.outcome, call.absence, call.blocks) == (Outcome.ABSENT, Absence.NOT_CAPTURED, ())
    assert reading.counts.roots == 1


def test_an_attribute_cut_inside_its_json(cases: Path, read: Read) -> None:
    reading = read(cases / "bugs/33-attribute-cut-inside-json/otlp.json")
    (trace,) = reading.traces
    assert "truncated_payload" in codes(reading)
    assert [c.tool for c in trace.calls] == ["broadcast"]
    assert [b.code for b in trace.calls[0].blocks] == ["truncated_payload"]


def test_pydantic_ai_in_four_versions_tells_one_story(cases: Path, read: Read) -> None:
    reading = read(cases / "generated/otlp/pydantic-ai-agent.jsonl")
    assert (reading.counts.spans, reading.counts.lines, len(reading.traces), reading.counts.model_calls) == (
        40,
        0,
        4,
        16,
    )
    for trace in reading.traces:
        assert trace.agents == ["main_agent", "sub_agent"]
        assert [(c.tool, c.boundary, c.outcome) for c in trace.calls] == [
            ("lookup", Boundary.TOOL, Outcome.RECORDED),
            ("lookup", Boundary.TOOL, Outcome.RECORDED),
            ("delegate", Boundary.SUB_AGENT, Outcome.RECORDED),
            ("flaky", Boundary.TOOL, Outcome.FAILED),
        ]
        assert not trace.findings
        kinds = [(StepKind(trace.kind[i]), trace.strings[trace.agent[i]]) for i in range(len(trace))]
        returned = trace.calls[2].result_step
        assert (StepKind.MODEL, "sub_agent") in kinds[:returned]
    assert not reading.gaps


def test_an_agent_without_any_model_turn_is_a_gap(cases: Path, read: Read) -> None:
    reading = read(cases / "generated/otlp/genai-langchain-agent.jsonl")
    assert [(g.code, g.hides) for g in reading.gaps] == [("evidence_gap", True)] * 2
    calls = [(c.tool, value_of(c.result), c.outcome) for t in reading.traces for c in t.calls if c.result is not None]
    assert calls == [
        ("get_weather", "Paris: 21C", Outcome.RECORDED),
        ("get_weather", "Rome: 21C", Outcome.RECORDED),
        ("refund", "payment gateway down", Outcome.FAILED),
    ]


def test_openai_cassettes(cases: Path, read: Read) -> None:
    reading = read(cases / "generated/otlp/genai-openai-cassettes.jsonl")
    assert [len(t.calls) for t in reading.traces] == [2, 2, 2, 1, 0]
    assert (reading.counts.input_tokens, reading.counts.output_tokens) == (321, 135)
    shown = reading.traces[1]
    assert [c.outcome for c in shown.calls] == [Outcome.RECORDED] * 2
    assert [StepKind(k) for k in reading.traces[4].kind] == [StepKind.USER, StepKind.ERROR]


def test_a_vocabulary_that_is_not_read_is_a_gap(read_otlp: Callable[..., Reading]) -> None:
    reading = read_otlp(span(1), span(2, 1, 10, mlflow__spanInputs="{}"), span(3, 1, 20, mlflow__spanInputs="{}"))
    assert "dialect" in codes(reading)
    assert [g.message for g in reading.gaps if g.hides] == ["2 spans in a vocabulary that is not read: mlflow"]


def test_spans_that_say_nothing_are_a_gap(cases: Path, read: Read) -> None:
    reading = read(cases / "traces/otel-otlp-json/open-agent-traces__test-traces.json")
    assert (reading.counts.lines, reading.counts.spans, len(reading.traces)) == (2, 2, 2)
    assert [g.hides for g in reading.gaps] == [True, True]


@pytest.mark.parametrize(
    "name",
    [
        "generated/otlp/pydantic-ai-agent.jsonl",
        "generated/otlp-pager/pager_otlp.json",
        "generated/otlp/genai-openai-cassettes.jsonl",
        "bugs/27-tools-faster-than-the-clock/otlp.json",
        "bugs/29-middle-span-never-exported/otlp.json",
    ],
)
def test_the_order_of_the_file_changes_nothing(cases: Path, read: Read, tmp_path: Path, name: str) -> None:
    text = (cases / name).read_text()
    documents = [json.loads(text)] if not name.endswith("l") else [json.loads(line) for line in text.splitlines()]
    expected = None
    for seed in range(6):
        for document in documents:
            for resource in document["resourceSpans"]:
                for scope in resource["scopeSpans"]:
                    random.Random(seed).shuffle(scope["spans"])  # noqa: S311 - a shuffle, no secret
        path = tmp_path / f"{seed}.json"
        path.write_text(json.dumps(documents))
        found = told(read(path))
        expected = expected or found
        assert found == expected


# containers ----------------------------------------------------------------------------------------------------------

RUN = [
    agent(1, None, 0),
    chat(2, 1, 10, [asks("pay")], [says("", ("c1", "charge", {"n": 1}))]),
    tool(
        3, 1, 20, "charge", "c1", gen_ai__tool__call__arguments='{"n": 1}', gen_ai__tool__call__result='{"id": "ch_1"}'
    ),
    chat(
        4,
        1,
        5_000,
        [asks("pay"), says("", ("c1", "charge", {"n": 1})), shows("c1", {"id": "ch_1"})],
        [says("paid ch_1")],
    ),
]


def test_every_container_tells_the_same(read: Read, tmp_path: Path) -> None:
    document = otlp(RUN)
    lines = "".join(json.dumps(otlp([s])) + "\n" for s in RUN)
    older = json.loads(json.dumps(document).replace("scopeSpans", "instrumentationLibrarySpans"))
    loose = json.loads(json.dumps(document))
    for one in loose["resourceSpans"][0]["scopeSpans"][0]["spans"]:
        one["startTimeUnixNano"] = int(one["startTimeUnixNano"])
        one["kind"], one["status"] = "SPAN_KIND_INTERNAL", {"code": "STATUS_CODE_UNSET"}
        one["parentSpanId"] = one.get("parentSpanId", "")
    forms = {
        "one.json": json.dumps(document),
        "pretty.json": json.dumps(document, indent=1),
        "list.json": json.dumps([document]),
        "older.json": json.dumps(older),
        "loose.json": json.dumps(loose),
        "lines.jsonl": lines,
        "bom.json": "\ufeff" + json.dumps(document),
        "crlf.jsonl": lines.replace("\n", "\r\n"),
    }
    found = {}
    for name, text in forms.items():
        path = tmp_path / name
        path.write_bytes(text.encode())
        reading = read(path)
        (trace,) = reading.traces
        found[name] = (steps(trace), codes(reading), [g.code for g in reading.gaps])
        assert reading.counts.lines == (4 if name.endswith("l") else 0)
        assert reading.counts.records == 4
    assert {json.dumps(f, default=repr) for f in found.values()} == {json.dumps(found["one.json"], default=repr)}


def test_a_bad_line_is_named_and_the_rest_is_read(read: Read, tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    good = [json.dumps(otlp([s])) for s in RUN]
    path.write_text("\n".join([*good[:2], good[2][:60], *good[3:]]))
    reading = read(path)
    assert reading.counts.bad_lines == [3]
    assert (reading.counts.lines, reading.counts.records) == (4, 3)
    assert [(g.code, g.hides) for g in reading.gaps] == [("malformed_line", True)]


def test_log_records_are_named_and_hide_no_span(read: Read, tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    logs = {"resourceLogs": [{"scopeLogs": [{"logRecords": [{"body": {"stringValue": "x"}}]}]}]}
    path.write_text("\n".join(json.dumps(line) for line in (otlp(RUN), logs)))
    reading = read(path)
    assert codes(reading) == ["dialect"]
    assert (reading.counts.lines, reading.counts.spans) == (2, 4)
    assert not reading.gaps


def test_other_signals_are_counted_and_named(read: Read, tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    logs, metrics = (json.dumps({f"resource{kind}": [{"resource": {}}]}) for kind in ("Logs", "Metrics"))
    path.write_text("\n".join((json.dumps(otlp(RUN)), logs, metrics, logs, "{}")))
    reading = read(path)
    assert [f.message.split(" not read")[0] for f in reading.findings] == [
        "2 requests of log records",
        "a request of metrics",
    ]
    assert not reading.gaps


@pytest.mark.parametrize(
    ("beside", "pointer"),
    [
        ({"groups": [{"scopeSpans": []}]}, None),
        ({**otlp([]), "batches": [1]}, None),
        ({"resource_spans": []}, None),
        ({"foo": 1}, None),
        ({**otlp([]), "groups": [1]}, "/groups"),
        ({"resourceSpans": [{"scope_spans": [{"spans": [RUN[2]]}]}]}, "/resourceSpans/0/scope_spans"),
        ({"resourceSpans": [{"scopeSpans": [{"Spans": [RUN[2]]}]}]}, "/resourceSpans/0/scopeSpans/0/Spans"),
        (17, None),
    ],
)
def test_what_is_no_request_is_a_gap(read: Read, tmp_path: Path, beside: object, pointer: str | None) -> None:
    lines, array = tmp_path / "lines", tmp_path / "array"
    lines.write_text("\n".join(json.dumps(line) for line in (otlp(RUN), beside)))
    array.write_text(json.dumps([otlp(RUN), beside]))
    for path in (lines, array):
        (gap,) = read(path).gaps
        assert (gap.code, gap.hides, gap.trace) == ("malformed_line", True, None)
        assert gap.locator is not None
        assert (gap.locator.pointer or "").endswith(pointer or "")


@pytest.mark.parametrize("name", ["t.json", "t.jsonl", "t.ndjson", "t"])
def test_the_name_of_the_file_decides_nothing(read: Read, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    forms = {
        json.dumps(otlp(RUN), indent=1): (0, 4),
        json.dumps(otlp(RUN)) + "\n": (0, 4),
        "".join(json.dumps(otlp([s])) + "\n" for s in RUN): (4, 4),
    }
    for text, expected in forms.items():
        path.write_text(text)
        counts = read(path).counts
        assert (counts.lines, counts.records) == expected


@pytest.mark.parametrize("moment", [2**63, str(2**63), 99999999999999999999, 1e30, -5, "soon"])
@pytest.mark.parametrize("end", ["startTimeUnixNano", "endTimeUnixNano"])
def test_a_time_that_no_column_holds_is_unknown_and_said(read_otlp: Read, end: str, moment: object) -> None:
    reading = read_otlp(*RUN[:2], {**RUN[2], end: moment}, RUN[3])
    assert codes(reading) == ["large_integer"]
    assert [c.outcome for c in reading.traces[0].calls] == [Outcome.RECORDED]


def test_a_span_of_the_wrong_shape_is_a_gap_and_its_neighbours_are_read(read_otlp: Read) -> None:
    broken = {**RUN[2], "attributes": {"tool": "as an object"}}
    reading = read_otlp(RUN[0], RUN[1], broken, RUN[3])
    assert [(g.code, g.locator.pointer if g.locator else "") for g in reading.gaps] == [
        ("malformed_line", "/resourceSpans/0/scopeSpans/0/spans/2")
    ]
    assert reading.counts.spans == 3
    assert reading.traces[0].calls[0].outcome is Outcome.RECORDED


def test_numbers_that_are_no_json_do_not_hide_the_spans(read: Read, tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text(
        json.dumps(otlp([*RUN, span(9, 1, 30, "x", temperature="T")])).replace(
            '{"stringValue": "T"}', '{"doubleValue": NaN}'
        )
    )
    reading = read(path)
    assert reading.counts.spans == 5
    assert codes(reading) == ["non_finite_number"]


def test_a_key_that_stands_twice_taints_the_call(read: Read, tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text(
        json.dumps(otlp(RUN)).replace('"spanId": "0000000000000003"', '"spanId": "0000000000000003", "name": "y"')
    )
    reading = read(path)
    assert "duplicate_key" in codes(reading)
    assert "duplicate_key" in [b.code for b in reading.traces[0].calls[0].blocks]


def test_an_attribute_that_stands_twice_taints_the_call(read_otlp: Read) -> None:
    twice = json.loads(json.dumps(RUN[2]))
    twice["attributes"].append({"key": "gen_ai.tool.call.result", "value": {"stringValue": "refused"}})
    reading = read_otlp(RUN[0], RUN[1], twice, RUN[3])
    assert "duplicate_key" in codes(reading)
    assert "duplicate_key" in [b.code for b in reading.traces[0].calls[0].blocks]


def test_no_span_at_all_is_an_error(read: Read, tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text('{"resourceSpans": []}')
    with pytest.raises(EvidenceError) as caught:
        read(path)
    assert caught.value.hint


def test_lists_and_maps_in_attributes_are_plain_json(read_otlp: Read) -> None:
    listed = [{"name": "charge", "description": "Charge.", "parameters": {"type": "object"}}]
    reading = read_otlp(agent(1), chat(2, 1, 10, [asks("x")], [says("y")], gen_ai__tool__definitions=listed))
    assert reading.traces[0].facts["charge"].input_schema == {"type": "object"}


# what a span stands for ----------------------------------------------------------------------------------------------


def test_an_edited_result_contradicts_the_prompt(read_otlp: Read) -> None:
    edited = tool(3, 1, 20, "charge", "c1", gen_ai__tool__call__result='{"id": "ch_2"}')
    assert "inconsistent_tuple" in codes(read_otlp(RUN[0], RUN[1], edited, RUN[3]))


def test_a_tool_before_the_turn_that_asked_for_it(read_otlp: Read) -> None:
    early = tool(3, 1, -5, "charge", "c1", gen_ai__tool__call__result='{"id": "ch_1"}')
    reading = read_otlp({**RUN[0], "startTimeUnixNano": str(EPOCH - 50)}, RUN[1], early, RUN[3])
    (trace,) = reading.traces
    assert codes(reading) == ["causality_violation"]
    assert [(c.occurrence, c.outcome) for c in trace.calls] == [("0.0", Outcome.RECORDED)]


def test_a_child_before_its_parent_and_an_end_before_its_start(read_otlp: Read) -> None:
    late = {**RUN[0], "startTimeUnixNano": str(EPOCH + 15), "endTimeUnixNano": str(EPOCH + 3)}
    assert codes(read_otlp(late, *RUN[1:])) == ["causality_violation", "negative_duration"]


def test_a_clock_in_milliseconds_hides_less_than_its_tick(read_otlp: Read) -> None:
    coarse = {**chat(2, 1, 0, [asks("pay")], [says("no")]), "endTimeUnixNano": str(EPOCH)}
    fine = {**agent(1), "startTimeUnixNano": str(EPOCH + 456_789), "endTimeUnixNano": str(EPOCH + 999_999)}
    document = otlp([coarse])["resourceSpans"] + otlp([fine])["resourceSpans"]
    document[1]["resource"]["attributes"][0]["value"]["stringValue"] = "another service"
    assert codes(read_otlp(resources=document)) == []


def test_a_turn_that_ended_to_call_tools_and_shows_none_is_a_gap(read_otlp: Read) -> None:
    hidden = chat(2, 1, 10, [asks("pay")], [says("let me see")], gen_ai__response__finish_reasons=["tool_calls"])
    reading = read_otlp(agent(1), hidden)
    assert [(g.code, g.hides) for g in reading.gaps] == [("evidence_gap", True)]


def test_a_silent_turn_is_filled_by_the_next_prompt(read_otlp: Read) -> None:
    silent = chat(2, 1, 10, [asks("pay")])
    reading = read_otlp(RUN[0], silent, RUN[2], RUN[3])
    (trace,) = reading.traces
    assert trace.silent_turns == []
    assert [(c.occurrence, c.tool, c.outcome) for c in trace.calls] == [("0.0", "charge", Outcome.RECORDED)]


def test_a_silent_turn_stays_silent_without_a_later_prompt(read_otlp: Read) -> None:
    reading = read_otlp(agent(1), chat(2, 1, 10), tool(3, 1, 20, "charge", "c1"))
    (trace,) = reading.traces
    assert trace.silent_turns == [0]
    assert [(c.occurrence, c.outcome, c.absence) for c in trace.calls] == [
        ("-.0", Outcome.ABSENT, Absence.NOT_CAPTURED)
    ]


def test_one_tool_call_recorded_by_two_instrumentations_is_one_call(read_otlp: Read) -> None:
    outer = tool(3, 1, 20, "charge", "c1", gen_ai__tool__call__arguments='{"n": 1}')
    inner = span(
        5,
        3,
        25,
        "tools/call charge",
        mcp__method__name="tools/call",
        gen_ai__tool__name="charge",
        gen_ai__tool__call__result='{"id": "ch_1"}',
    )
    reading = read_otlp(RUN[0], RUN[1], outer, inner, RUN[3])
    (trace,) = reading.traces
    assert [(c.tool, value_of(c.result)) for c in trace.calls if c.result is not None] == [("charge", {"id": "ch_1"})]
    assert trace.calls[0].agreement == "equal JSON values"


def test_one_model_call_recorded_twice_is_one_turn(read_otlp: Read) -> None:
    usage = {"gen_ai__usage__input_tokens": 7, "gen_ai__usage__output_tokens": 2}
    outer = chat(2, 1, 10, None, None, **usage)
    inner = chat(5, 2, 12, [asks("pay")], [says("", ("c1", "charge", {"n": 1}))], **usage)
    reading = read_otlp(RUN[0], outer, inner, RUN[2], RUN[3])
    assert reading.counts.model_calls == 2
    assert (reading.counts.input_tokens, reading.counts.output_tokens) == (7, 2)
    assert len(reading.traces[0].calls) == 1


def test_an_exported_span_that_stands_twice_is_one_span(read_otlp: Read) -> None:
    reading = read_otlp(*RUN, RUN[2])
    assert codes(reading) == ["duplicate_record"]
    assert (reading.counts.records, reading.counts.duplicate_records) == (5, 1)
    assert len(reading.traces[0].calls) == 1


def test_two_stories_under_one_span_id_are_a_gap(read_otlp: Read) -> None:
    other = tool(3, 1, 20, "charge", "c1", gen_ai__tool__call__result='{"id": "ch_9"}')
    reading = read_otlp(*RUN, other)
    assert "duplicate_record_id" in codes(reading)
    assert [g.code for g in reading.gaps if g.hides] == ["duplicate_record_id"]


def test_a_timeout_may_have_taken_effect(read_otlp: Read) -> None:
    failed = {
        **tool(3, 1, 20, "charge", "c1", error__type="httpx.ReadTimeout"),
        "status": {"code": 2, "message": "timed out"},
    }
    (trace,) = read_otlp(RUN[0], RUN[1], failed).traces
    assert trace.calls[0].outcome is Outcome.INDETERMINATE


def test_a_pause_is_no_failure(read_otlp: Read) -> None:
    event = {
        "name": "exception",
        "attributes": [{"key": "exception.type", "value": value("langgraph.errors.GraphInterrupt")}],
    }
    paused = {**tool(3, 1, 20, "charge", "c1"), "status": {"code": 2}, "events": [event]}
    (trace,) = read_otlp(RUN[0], RUN[1], paused).traces
    assert trace.calls[0].outcome is Outcome.INDETERMINATE
    assert not trace.rows(StepKind.ERROR)


def test_what_leaves_the_agent_is_a_boundary_call_unless_a_tool_or_the_model_does_it(read_otlp: Read) -> None:
    def http(number: int, parent: int, start: int) -> dict[str, Any]:
        return {
            **span(number, parent, start, "POST", http__request__method="POST", url__full="https://a.example/x?y=1"),
            "kind": 3,
        }

    reading = read_otlp(
        *RUN,
        http(5, 1, 30),
        http(6, 2, 12),
        http(7, 3, 22),
        span(8, 1, 40, "q", db__system="postgresql", db__statement="SELECT 1"),
    )
    calls = [(c.tool, c.boundary, c.occurrence) for c in reading.traces[0].calls]
    assert calls == [
        ("charge", Boundary.TOOL, "0.0"),
        ("POST https://a.example/x", Boundary.HTTP, "-.0"),
        ("postgresql", Boundary.DATABASE, "-.1"),
    ]
    assert reading.traces[0].facts["POST https://a.example/x"].http == ("POST", "https://a.example/x?y=1")


def test_memory_retriever_and_guardrail_spans(read_otlp: Read) -> None:
    memory = span(
        5, 1, 2, "memory.read", fastaiagent__runner__type="memory", memory__operation="read", memory__query="who"
    )
    found = span(6, 1, 3, "retrieval docs", gen_ai__operation__name="retrieval", gen_ai__data_source__id="docs")
    guard = span(
        7, 1, 4, "guardrail.no_secrets", fastaiagent__guardrail__name="no_secrets", fastaiagent__guardrail__passed=True
    )
    (trace,) = read_otlp(*RUN, memory, found, guard).traces
    assert [(c.tool, c.boundary) for c in trace.calls if c.boundary is not Boundary.TOOL] == [
        ("memory.read", Boundary.MEMORY),
        ("docs", Boundary.RETRIEVER),
    ]
    assert [trace.step(row).name for row in trace.rows(StepKind.GUARDRAIL)] == ["no_secrets"]


def test_the_events_of_the_older_conventions(read_otlp: Read) -> None:
    def event(name: str, **attributes: object) -> dict[str, Any]:
        return {"name": name, "attributes": [{"key": k, "value": value(v)} for k, v in attributes.items()]}

    call = json.dumps([{"id": "c1", "type": "function", "function": {"name": "charge", "arguments": '{"n": 1}'}}])
    first = {
        **chat(2, 1, 10),
        "events": [
            event("gen_ai.user.message", content="pay"),
            event(
                "gen_ai.choice",
                index=0,
                finish_reason="tool_calls",
                message=json.dumps({"role": "assistant", "tool_calls": json.loads(call)}),
            ),
        ],
    }
    second = {
        **chat(4, 1, 5_000),
        "events": [
            event("gen_ai.user.message", content="pay"),
            event("gen_ai.assistant.message", role="assistant", tool_calls=call),
            event("gen_ai.tool.message", id="c1", content='{"id": "ch_1"}'),
            event("gen_ai.choice", index=0, message=json.dumps({"role": "assistant", "content": "paid ch_1"})),
        ],
    }
    (trace,) = read_otlp(
        agent(1), first, tool(3, 1, 20, "charge", "c1", gen_ai__tool__call__result='{"id": "ch_1"}'), second
    ).traces
    assert [StepKind(k).label for k in trace.kind] == ["user", "model", "tool_call", "tool_result", "model"]
    assert [(c.occurrence, c.recorded_id, c.agreement) for c in trace.calls] == [("0.0", "c1", "equal bytes")]


def test_what_an_agent_was_told_and_said_stands_once(read_otlp: Read) -> None:
    (trace,) = read_otlp(agent(1, None, 0, agent__input="pay", agent__output="paid ch_1"), *RUN[1:]).traces
    assert [s.kind for s in trace.steps()] == [
        StepKind.USER,
        StepKind.MODEL,
        StepKind.TOOL_CALL,
        StepKind.TOOL_RESULT,
        StepKind.MODEL,
    ]
    (other,) = read_otlp(agent(1, None, 0, agent__input="refund", agent__output="Done: paid"), *RUN[1:]).traces
    assert (other.step(0).kind, other.step(0).name) == (StepKind.USER, "")
    assert (other.step(len(other) - 1).kind, other.step(len(other) - 1).name) == (StepKind.OTHER, "final output")


def test_two_conversations_of_one_agent_do_not_mix(read_otlp: Read) -> None:
    guard = chat(5, 1, 15, [asks("is this safe?")], [says("yes")])
    reading = read_otlp(*RUN[:2], guard, *RUN[2:])
    assert codes(reading) == []
    assert len(reading.traces[0].calls) == 1


def test_an_agent_that_goes_on_in_a_second_run_counts_its_calls_once(read_otlp: Read) -> None:
    history = [
        asks("pay"),
        says("", ("c1", "charge", {"n": 1})),
        shows("c1", {"id": "ch_1"}),
        says("paid ch_1"),
        asks("thanks"),
    ]
    again = agent(5, 9, 9_000, gen_ai__agent__name="till")
    spans = [
        span(9, None, -5, "workflow", gen_ai__operation__name="invoke_workflow"),
        {**agent(1, 9, 0, gen_ai__agent__name="till")},
        *RUN[1:],
    ]
    reading = read_otlp(*spans, again, chat(6, 5, 9_100, history, [says("welcome")]))
    assert codes(reading) == []
    assert len(reading.traces[0].calls) == 1
    assert reading.counts.model_calls == 3


# what one call or turn says against itself, or says that it lacks ---------------------------------------------------


def changed(one: dict[str, Any], /, **more: object) -> dict[str, Any]:
    """A span with other attributes (None: without that one); names have two underscores for a dot."""
    named = {k.replace("__", "."): v for k, v in more.items()}
    kept = [a for a in one["attributes"] if a["key"] not in named]
    return {**one, "attributes": [*kept, *({"key": k, "value": value(v)} for k, v in named.items() if v is not None)]}


def blocks(reading: Reading) -> list[str]:
    return [b.code for t in reading.traces for c in t.calls for b in c.blocks]


@pytest.mark.parametrize(
    "more",
    [
        {"tool__name": "refund"},
        {"tool__result": "refused"},
        {"tool__args": '{"n": 2}'},
        {"tool_arguments": "{}"},
    ],
)
def test_two_dialects_in_one_span_that_disagree_are_a_contradiction(read_otlp: Read, more: dict[str, object]) -> None:
    reading = read_otlp(*RUN[:2], changed(RUN[2], **more), RUN[3])
    assert codes(reading) == ["inconsistent_tuple"]
    assert blocks(reading) == ["inconsistent_tuple"]


def test_two_dialects_that_agree_are_one(read_otlp: Read) -> None:
    same = changed(
        RUN[2], tool__name="shop.charge", tool__result="{'id': 'ch_1'}", tool__args='{"n": 1, "retry": true}'
    )
    assert not codes(read_otlp(*RUN[:2], same, RUN[3]))


def test_a_name_of_the_span_that_names_another_tool_is_a_contradiction(read_otlp: Read) -> None:
    reading = read_otlp(*RUN[:2], {**RUN[2], "name": "execute_tool refund"}, RUN[3])
    assert blocks(reading) == ["inconsistent_tuple"]


@pytest.mark.parametrize(
    "more",
    [
        {"gen_ai__tool__name": "refund"},
        {"gen_ai__tool__call__arguments": '{"n": 2}'},
        {"gen_ai__tool__call__result": "refused"},
    ],
)
def test_a_second_record_of_one_execution_that_disagrees_is_a_contradiction(
    read_otlp: Read, more: dict[str, object]
) -> None:
    inner = changed({**RUN[2], "spanId": f"{9:016x}", "parentSpanId": RUN[2]["spanId"], "name": "call"}, **more)
    reading = read_otlp(*RUN, inner)
    assert len(reading.traces[0].calls) == 1
    assert codes(reading) == ["inconsistent_tuple"]
    assert blocks(reading) == ["inconsistent_tuple"]


def test_a_second_record_of_one_turn_that_shows_another_result_is_a_conflict(read_otlp: Read) -> None:
    prompt = [asks("pay"), says("", ("c1", "charge", {"n": 1})), shows("c1", "refused")]
    reading = read_otlp(*RUN, chat(9, 4, 5_000, prompt))
    assert codes(reading) == ["conflicting_results"]
    assert blocks(reading) == ["conflicting_results"]


@pytest.mark.parametrize("reason", ["length", "content_filter", "max_tokens", "MAX_TOKENS"])
@pytest.mark.parametrize("captured", [True, False])
def test_an_output_that_was_cut_is_a_gap(read_otlp: Read, reason: str, *, captured: bool) -> None:
    answer = [says("paid")] if captured else None
    last = chat(4, 1, 5_000, [asks("pay")], answer, gen_ai__response__finish_reasons=[reason])
    assert [(g.code, g.hides) for g in read_otlp(RUN[0], last).gaps] == [("evidence_gap", True)]


def test_a_silent_turn_that_ended_to_call_tools_must_be_followed_by_one(read_otlp: Read) -> None:
    silent = chat(4, 1, 5_000, gen_ai__response__finish_reasons=["tool_calls"])
    ran = tool(5, 1, 6_000, "charge", gen_ai__tool__call__result="x")
    after = chat(6, 1, 7_000, gen_ai__response__finish_reasons=["stop"])
    shown = chat(6, 1, 7_000, [asks("pay"), says("", ("c2", "charge", {})), shows("c2", "x")], [says("ok")])
    asked = [chat(2, 1, 10, [asks("pay")], [says("wait")])]
    assert [g.code for g in read_otlp(RUN[0], *asked, silent).gaps] == ["evidence_gap"]
    assert [g.code for g in read_otlp(RUN[0], *asked, silent, after).gaps] == ["evidence_gap"]
    assert not read_otlp(RUN[0], *asked, silent, ran, after).gaps
    assert not read_otlp(RUN[0], *asked, silent, shown).gaps


@pytest.mark.parametrize(("row", "found"), [(1, ["evidence_gap"]), (2, []), (3, ["evidence_gap"])])
def test_attributes_that_the_exporter_dropped_refuse(read_otlp: Read, row: int, found: list[str]) -> None:
    reading = read_otlp(*RUN[:row], {**RUN[row], "droppedAttributesCount": 1}, *RUN[row + 1 :])
    assert codes(reading) == ["truncated_payload"]
    assert ["evidence_gap" for g in reading.gaps if g.hides] == found
    assert blocks(reading) == ([] if found else ["truncated_payload"])


def test_a_redacted_result_is_not_captured(read_otlp: Read) -> None:
    hidden = changed(RUN[2], gen_ai__tool__call__result="[REDACTED]")
    (call,) = read_otlp(*RUN[:2], hidden).traces[0].calls
    assert (call.outcome, call.absence, call.result) == (Outcome.ABSENT, Absence.REDACTED, None)
    (call,) = read_otlp(*RUN[:2], hidden, RUN[3]).traces[0].calls
    assert call.outcome is Outcome.RECORDED
    assert call.result is not None
    assert value_of(call.result) == {"id": "ch_1"}
    prompt = [asks("pay"), says("", ("c1", "charge", {"n": 1})), shows("c1", "[REDACTED]")]
    (call,) = read_otlp(*RUN[:2], hidden, chat(4, 1, 5_000, prompt, [says("ok")])).traces[0].calls
    assert (call.outcome, call.blocks) == (Outcome.ABSENT, ())


def test_redacted_arguments_are_damaged(read_otlp: Read) -> None:
    hidden = [changed(RUN[2], gen_ai__tool__call__arguments='{"n": "[REDACTED]"}')]
    asked = chat(2, 1, 10, [asks("pay")], [says("", ("c1", "charge", {"n": "[REDACTED]"}))])
    assert "redaction_damage" in blocks(read_otlp(RUN[0], asked, *hidden))


def test_a_redacted_answer_is_a_silent_turn(read_otlp: Read) -> None:
    reading = read_otlp(RUN[0], changed(RUN[1], gen_ai__output__messages="[REDACTED]"), *RUN[2:])
    assert [c.occurrence for c in reading.traces[0].calls] == ["0.0"]
    assert reading.counts.model_calls == 2


# what leaves the agent, by any sign -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [None, 0, 1, 3, "SPAN_KIND_CLIENT"])
@pytest.mark.parametrize(
    ("attributes", "name", "boundary"),
    [
        ({"http__request__method": "POST", "url__full": "https://a/x?q"}, "POST https://a/x", Boundary.HTTP),
        ({"url__full": "https://a/x"}, "https://a/x", Boundary.HTTP),
        ({"messaging__system": "kafka", "messaging__destination__name": "orders"}, "kafka orders", Boundary.MESSAGING),
        ({"db__statement": "DELETE FROM t"}, "span", Boundary.DATABASE),
        ({"db__query__text": "DELETE FROM t", "db__namespace": "shop"}, "shop", Boundary.DATABASE),
        ({"rpc__system": "grpc", "rpc__service": "Pay", "rpc__method": "Charge"}, "Pay/Charge", Boundary.HTTP),
        ({"rpc__service": "Pay"}, "Pay", Boundary.HTTP),
        ({"faas__invoked_name": "charge"}, "charge", Boundary.HTTP),
        ({"mcp__method__name": "resources/read"}, "resources/read", Boundary.HTTP),
        ({"mcp__method__name": "sampling/createMessage"}, "sampling/createMessage", Boundary.HTTP),
        ({"gen_ai__operation__name": "delete_memory"}, "memory.delete_memory", Boundary.MEMORY),
        ({"gen_ai__operation__name": "Create_Memory"}, "memory.Create_Memory", Boundary.MEMORY),
        ({"gen_ai__operation__name": "EXECUTE_TOOL", "tool__name": "pay"}, "pay", Boundary.TOOL),
    ],
)
def test_what_leaves_the_agent_is_seen_whatever_its_kind(
    read_otlp: Read, attributes: dict[str, object], name: str, boundary: Boundary, kind: object
) -> None:
    more = {} if kind is None else {"kind": kind}
    reading = read_otlp(*RUN, {**span(9, 1, 6_000, "span", **attributes), **more})
    call = reading.traces[0].calls[-1]
    assert (call.tool, call.boundary) == (name, boundary)


@pytest.mark.parametrize("name", ["execute_tool pay", "tool pay"])
def test_a_span_that_is_merely_named_after_a_tool_is_its_execution(read_otlp: Read, name: str) -> None:
    call = read_otlp(*RUN, span(9, 1, 6_000, name)).traces[0].calls[-1]
    assert (call.tool, call.outcome) == ("pay", Outcome.ABSENT)


def test_a_client_span_leaves_the_agent_whatever_it_carries(read_otlp: Read) -> None:
    call = read_otlp(*RUN, {**span(9, 1, 6_000, "smtp send", net__peer__name="mail"), "kind": 3}).traces[0].calls[-1]
    assert (call.tool, call.boundary) == ("smtp send", Boundary.HTTP)


@pytest.mark.parametrize("operation", ["think_hard", "rerank"])
def test_an_operation_that_is_not_known_is_a_gap(read_otlp: Read, operation: str) -> None:
    (gap,) = read_otlp(*RUN, span(9, 1, 6_000, "x", gen_ai__operation__name=operation)).gaps
    assert operation in gap.message


def test_what_came_from_outside_is_no_boundary_call(read_otlp: Read) -> None:
    http = {"http__request__method": "POST", "http__route": "/chat"}
    inside = [{**s, "parentSpanId": s.get("parentSpanId", f"{9:016x}")} for s in RUN]
    reading = read_otlp(
        span(9, None, 0, "POST /chat", http__request__method="POST", url__full="https://a/chat"),
        *inside,
        {**span(10, 1, 6_000, "POST /tool", http__request__method="POST"), "kind": 2},
        {**span(11, 1, 6_000, "orders process", messaging__system="kafka"), "kind": 5},
        {**span(12, 1, 6_000, "SELECT", db__system="pg"), "kind": "SPAN_KIND_SERVER"},
        span(13, 1, 6_000, "served", **http),
        span(14, 1, 6_000, "tools/list", mcp__method__name="tools/list"),
        span(15, 1, 6_000, "progress", mcp__method__name="notifications/progress"),
        span(16, 3, 25, "POST", http__request__method="POST", url__full="https://pay/x"),
        {**span(17, 4, 5_100, "POST", http__request__method="POST", url__full="https://model/x"), "kind": 3},
    )
    assert [c.tool for c in reading.traces[0].calls] == ["charge"]


# what is missing ------------------------------------------------------------------------------------------------------


def test_a_call_without_any_model_turn_is_a_gap(read_otlp: Read) -> None:
    alone = {k: v for k, v in RUN[2].items() if k != "parentSpanId"}
    reading = read_otlp(alone)
    assert len(reading.traces[0].calls) == 1
    assert [(g.code, g.hides) for g in reading.gaps] == [("evidence_gap", True)]


def test_a_turn_that_asked_for_what_ran_and_has_no_record_is_a_gap(read_otlp: Read) -> None:
    reading = read_otlp(RUN[0], *RUN[2:])
    assert [g.code for g in reading.gaps] == ["evidence_gap"]


@pytest.mark.parametrize("what", ["gen_ai.choice", "gen_ai.assistant.message"])
def test_an_event_cut_inside_its_json_is_a_gap(read_otlp: Read, what: str) -> None:
    field = "message" if what == "gen_ai.choice" else "tool_calls"
    cut = {"name": what, "attributes": [{"key": field, "value": value('[{"id": "c1", "function": {"na')}]}
    reading = read_otlp(RUN[0], {**chat(2, 1, 10), "events": [cut]})
    assert [g.code for g in reading.gaps] == ["truncated_payload"]
    assert codes(reading) == ["truncated_payload"]


def test_a_list_of_events_that_is_cut_is_a_gap(read_otlp: Read) -> None:
    events = json.dumps([{"event.name": "gen_ai.choice", "index": 0, "message": {"content": "x"}}])
    assert not read_otlp(RUN[0], chat(2, 1, 10, events=events)).gaps
    assert "truncated_payload" in [g.code for g in read_otlp(RUN[0], chat(2, 1, 10, events=events[:-4])).gaps]
