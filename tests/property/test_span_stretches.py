"""Spans told at once are told as they are one by one, damaged and odd ones among them included."""

from __future__ import annotations

import json
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forensics.core.evidence import Evidence
from forensics.core.reading import EvidenceBuilder
from forensics.formats import otlp
from forensics.formats.shared.messages import vocabulary
from forensics.formats.shared.source import Source
from forensics.formats.shared.span_walk import TraceWalk
from tests.property.told import of_trace, payload

if TYPE_CHECKING:
    from forensics.core.reading import Reading

Fields = dict[str, Any]
TRACE = "0af7651916cd43dd8448eb211c80319c"
WALK = "forensics.formats.shared.span_walk"
SMALL = "forensics.formats.otlp._SMALL"
MESSAGES = "forensics.formats.shared.span_messages"
ANSWERS = f"{MESSAGES}.plain_answers"

ids = st.sampled_from(["a", "b", "c", "d", "", "\u00e9"])
tools = st.sampled_from(["get", "set", "fs.get"])
given_ = st.sampled_from([{}, {"x": 1}, {"x": 2}, {"x": "[REDACTED]"}, "plain", '{"x": 1}', '{"x": ', None])
texts = st.sampled_from(["on", "", "[REDACTED]", "h\u00e9", 'say "x"'])
results = st.sampled_from(
    ['{"id":"h_1"}', "ok", "[REDACTED]", "***", "", "... truncated [output truncated]", "\U0001f600"]
)
finish = st.sampled_from(["stop", "length", "tool_calls", "tool_call", ""])

odd_of_turns = st.sampled_from([
    {}, {}, {}, {"error.type": "Timeout"}, {"gen_ai.agent.name": "one"}, {"gen_ai.response.model": "m2"},
    {"gen_ai.tool.definitions": '[{"name":"get","description":"reads"}]'}, {"gen_ai.input.messages": "["},
    {"gen_ai.input.messages": '[{"role":"user","parts":[{"type":"text","content":"hi"}]}]'},
    {"gen_ai.response.finish_reasons": ["length"]}, {"gen_ai.response.finish_reasons": ["stop"]},
])  # fmt: skip
odd_of_tools = st.sampled_from([
    {}, {}, {}, {"error.type": "Timeout"}, {"gen_ai.agent.name": "one"}, {"gen_ai.tool.description": "reads it"},
    {"tool.status": "ok"}, {"tool.name": "get"}, {"fastaiagent.replay.tool_disposition": "blocked"},
    {"fastaiagent.tool.replay_class": "idempotent"}, {"tool.origin": "provider"}, {"output.value": "ok"},
])  # fmt: skip
marks = st.sampled_from([
    {}, {}, {}, {}, {"status": {"code": 2, "message": "broke"}}, {"droppedAttributesCount": 1},
    {"droppedEventsCount": 1}, {"endTimeUnixNano": None}, {"startTimeUnixNano": "1000"},
    {"events": [{"name": "gen_ai.choice", "attributes": []}]}, {"name": "tool get"},
    {"parentSpanId": "0000000000000099"},
])  # fmt: skip


def turn(text: str | None, calls: list[tuple[str, str, Any]], ended: str | None, more: Fields) -> Fields:
    parts: list[Fields] = [] if text is None else [{"type": "text", "content": text}]
    parts += [{"type": "tool_call", "id": one, "name": tool, "arguments": args} for one, tool, args in calls]
    said = [{"role": "assistant", "parts": parts, **({} if ended is None else {"finish_reason": ended})}]
    told = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m1", "gen_ai.output.messages": json.dumps(said)}
    return {"name": "chat m1", "kind": 3, "told": told | more}


def tool(recorded_id: str, name: str, arguments: Any, result: str | None, more: Fields) -> Fields:
    told = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, "gen_ai.tool.call.id": recorded_id}
    if arguments is not None:
        told["gen_ai.tool.call.arguments"] = arguments if isinstance(arguments, str) else json.dumps(arguments)
    if result is not None:
        told["gen_ai.tool.call.result"] = result
    return {"name": f"execute_tool {name}", "kind": 1, "told": told | more}


calls = st.lists(st.tuples(ids, tools, given_), max_size=2)
turns = st.builds(turn, st.none() | texts, calls, st.none() | finish, odd_of_turns)
executions = st.builds(tool, ids, tools, given_, st.none() | results, odd_of_tools)
agents: st.SearchStrategy[Fields] = st.sampled_from(["one", "two", ""]).map(
    lambda name: {"name": "invoke_agent", "told": {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name}}
)
others: st.SearchStrategy[Fields] = agents | st.just(
    {"name": "GET /", "kind": 3, "told": {"http.request.method": "GET", "url.full": "http://a/b"}}
)
usual = st.tuples(st.sampled_from(["p", "q", "r", "s"]), tools, st.sampled_from([{"x": 1}, None])).map(
    lambda one: [turn("on", [(one[0], one[1], {"x": 1})], "stop", {}), tool(one[0], one[1], one[2], "ok", {})]
)
unlike = st.tuples(ids, tools, tools, given_, given_).map(
    lambda one: [turn("on", [(one[0], one[1], one[3])], "stop", {}), tool(one[0], one[2], one[4], "ok", {})]
)
spans: st.SearchStrategy[Fields] = st.one_of(turns, executions, others)
marked = st.builds(lambda one, mark: [{**one, **mark}], spans, marks)
runs = st.lists(st.one_of(usual, usual, unlike, marked), max_size=10)


def value(told: Any) -> Fields:
    if isinstance(told, list):
        return {"arrayValue": {"values": [value(one) for one in told]}}
    return {"stringValue": told}


def spans_of(run: list[list[Fields]], nested: int) -> list[Fields]:
    """The spans of a run; of so many the next ones hang under the one before them that is an agent."""
    made: list[Fields] = []
    parents = [""]
    for number, one in enumerate((one for many in run for one in many), 1):
        told = {k: v for k, v in one.items() if k != "told"}
        made.append({
            "traceId": TRACE, "spanId": f"{number:016x}",
            "parentSpanId": parents[-1] if number % 5 < nested else parents[0],
            "startTimeUnixNano": str(1_790_000_000_000_000_000 + number * 1_000_000),
            "endTimeUnixNano": str(1_790_000_000_000_000_000 + number * 1_000_000 + 1000),
            "attributes": [{"key": key, "value": value(told)} for key, told in one["told"].items()], **told,
        })  # fmt: skip
        if one["name"] == "invoke_agent":
            parents.append(f"{number:016x}")
    return made


def read(recorded: list[Fields]) -> Reading:
    document = {"resourceSpans": [{"scopeSpans": [{"spans": recorded}]}]}
    data = json.dumps(document, separators=(",", ":")).encode("utf-8", "surrogatepass")
    source = Source("spans", memoryview(data), "")
    evidence = Evidence(0, source.name, source.sha256, source.size, otlp.NAME)
    build = EvidenceBuilder(evidence, records_calls=otlp.RECORDS_CALLS, text=source.data)
    otlp.read(source, build)
    return build.finish()


def told(recorded: list[Fields], *, few: int, together: int = 512, small: int = 1 << 25) -> tuple[object, ...]:
    """What spans say where fewer than that are told one by one, and so many are looked at together; those of a larger
    evidence than a small one are read again for it.
    """
    with ExitStack() as one_by_one:
        for name, value in ((f"{WALK}._FEW", few), (f"{WALK}._TOGETHER", together), (SMALL, small)):
            one_by_one.enter_context(mock.patch(name, value))
        if few > len(recorded):
            one_by_one.enter_context(mock.patch(ANSWERS, lambda spans, **_: [None] * len(spans)))
        reading = read(recorded)
    traces = [(of_trace(trace), trace.facts, trace.silent_turns, trace.judges) for trace in reading.traces]
    return (reading.gaps, reading.findings, reading.counts, traces)


@settings(deadline=None, max_examples=400)
@given(runs, st.integers(0, 5), st.sampled_from([1, 3, 512]), st.sampled_from([0, 1 << 25]))
def test_a_stretch_is_told_as_its_spans_one_by_one(
    run: list[list[Fields]], nested: int, together: int, small: int
) -> None:
    recorded = spans_of(run, nested)
    if recorded:
        assert told(recorded, few=1, together=together, small=small) == told(recorded, few=1 << 30)


def a_turn_and_its_tool(number: int) -> list[Fields]:
    recorded_id = f"c{number}"
    return [
        turn("on", [(recorded_id, "get", {"n": number})], "stop", {}),
        tool(recorded_id, "get", None, f"r{number}", {}),
    ]


def test_what_a_run_mostly_holds_is_told_at_once() -> None:
    recorded = spans_of([a_turn_and_its_tool(number) for number in range(40)], 0)
    with mock.patch.object(TraceWalk, "_visit") as one_by_one:
        (trace,) = read(recorded).traces
    one_by_one.assert_not_called()
    assert [call.recorded_id for call in trace.calls] == [f"c{number}" for number in range(40)]
    assert [payload(call.result) for call in trace.calls] == [b'"r%d"' % number for number in range(40)]


def test_what_failed_and_what_is_odd_leaves_the_rest_told_at_once() -> None:
    run = [a_turn_and_its_tool(number) for number in range(40)]
    run[11][1] |= {"status": {"code": 2, "message": "broke"}}
    run[21][1]["told"] |= {"gen_ai.tool.call.arguments": '{"n": "other"}'}
    run[31][1]["told"] |= {"gen_ai.tool.name": "set"}
    with mock.patch.object(TraceWalk, "_visit", autospec=True, side_effect=vars(TraceWalk)["_visit"]) as one_by_one:
        (trace,) = read(spans_of(run, 0)).traces
    assert one_by_one.call_count == 3
    assert [call.row for call in trace.calls if call.outcome != "recorded" or call.blocks] == [11, 21, 31]


PROMPT = {"gen_ai.input.messages": '[{"role":"user","parts":[{"type":"text","content":"hi"}]}]'}


@pytest.mark.parametrize(("more", "compared"), [({}, False), (PROMPT, True)])
def test_answers_are_digested_where_something_is_shown_that_may_repeat_them(more: Fields, compared: bool) -> None:  # noqa: FBT001 - a case
    run = [a_turn_and_its_tool(number) for number in range(4)]
    run[3][0]["told"] |= more
    with mock.patch(f"{MESSAGES}.content_keys", side_effect=vocabulary.content_keys) as digested:
        (trace,) = read(spans_of(run, 0)).traces
    assert digested.called is compared
    assert len(trace.calls) == 4


def test_a_model_span_inside_another_is_compared_with_it() -> None:
    outer, inner = turn("on", [], "stop", {}), turn("off", [], "stop", {})
    recorded = spans_of([[outer, inner]], 0)
    recorded[1]["parentSpanId"] = recorded[0]["spanId"]
    (trace,) = read(recorded).traces
    assert trace.turns == 2
    recorded[1]["attributes"] = recorded[0]["attributes"]
    (trace,) = read(recorded).traces
    assert trace.turns == 1
