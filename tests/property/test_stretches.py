"""Records told at once are told as they are one by one, damaged and odd ones among them included."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from unittest import mock

from hypothesis import example, given, settings
from hypothesis import strategies as st

from forensics.core.evidence import Evidence
from forensics.core.reading import EvidenceBuilder
from forensics.formats import plain
from forensics.formats.shared.plain_records import Record
from forensics.formats.shared.plain_stretches import read_at_once
from forensics.formats.shared.source import Source
from tests.property.told import of_trace, payload

if TYPE_CHECKING:
    from forensics.core.reading import Reading

ids = st.sampled_from(["a", "b", "c", "", None, 7, "\u00e9"])
tools = st.sampled_from(["get", "set", "fs.get", "", None, 3, {"name": "get"}])
words = st.sampled_from(
    ["hello", "", "[REDACTED]", "[1]", '{"tool_calls": 1}', "***", "a\nb", 'say "x"', None, 5, True]
)
values = words | st.sampled_from([[], [1], {}, {"a": "<b>"}, {"a": "__redacted__"}, [{"type": "tool_use"}], '{"a": '])
times = st.sampled_from(
    [
        "2026-09-21T14:13:22.604Z", "2026-09-21T14:13:22.5Z", "2026-09-21T14:13:22", "2026-02-30T00:00:00Z", None, 17e8,
        "2026-09-21T14:13:22+02:00", "2026-09-21T24:13:22+02:00", "1969-09-21T14:13:22Z", "9999-09-21T14:13:22Z", "x",
    ]
)  # fmt: skip


def record(kinds: list[str], **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """A record with some of these fields, its type first or last."""
    named = st.fixed_dictionaries({}, optional={**fields, "ts": times, "i": st.integers(0, 3)})
    told = st.tuples(st.sampled_from(["type", "kind"]), st.sampled_from(kinds), named, st.booleans())
    return told.map(lambda one: {one[0]: one[1]} | one[2] if one[3] else one[2] | {one[0]: one[1]})


turns = record(["model", "assistant"], text=words, tool=tools, args=values, call=ids, content=values, more=values)
calls = record(["tool_call", "call"], name=tools, id=ids, call_id=ids, args=values, input=values, server=tools)
answers = record(["tool", "tool_result"], tool=tools, call=ids, id=ids, result=values, status=st.sampled_from(
    ["ok", "error", "denied", "timeout", None, 0]
), error=values, is_error=st.booleans())  # fmt: skip
spoken = record(["user", "system", "error", "approval", "memory", "odd"], text=values, content=values, name=tools)
pair = st.sampled_from(["p1", "p2", "p3", "p4", "p5"]).map(
    lambda one: [
        {"kind": "model", "text": "x", "tool": "get", "args": {"x": 1}, "call": one, "ts": "2026-09-21T14:13:22.604Z"},
        {"kind": "tool", "tool": "get", "result": {"id": "h_1"}, "call": one, "ts": "2026-09-21T14:13:22.604Z"},
    ]
)
marked = st.sampled_from(
    [{}, {"run": "r"}, {"run": "s"}, {"agent": "one"}, {"truncated": True}, {"finish_reason": "length"}]
)
records = st.one_of(turns, calls, answers, spoken)
marked_records = st.one_of(
    pair, records.map(lambda one: [one]), st.tuples(records, marked).map(lambda one: [one[0] | one[1]])
)
compact = marked_records.map(lambda many: [json.dumps(one, separators=(",", ":")) for one in many])
spaced = marked_records.map(lambda many: [json.dumps(one, ensure_ascii=False) for one in many])
broken = st.sampled_from(
    [
        '{"kind":"user","text":', '{"kind":"user","kind":"tool"}', "", " ", "\r", "{}", "1", '{"kind":"user"}\r',
        '{"kind":"tool","call":"a","result":1} {"kind":"user"}', '{"kind":"user","q\\u0022":1}', '{"a":\n1}', "\x00",
        '{"kind":"tool","call":"p1","result":NaN}', '{"kind":"tool","call":"\\ud800","result":1}', '{"kind":["user"]}',
    ]
).map(lambda one: [one])  # fmt: skip
logs = st.lists(st.one_of(compact, compact, compact, spaced, broken), max_size=14)


def read(data: bytes) -> Reading:
    source = Source("log", memoryview(data), "")
    evidence = Evidence(0, source.name, source.sha256, source.size, plain.NAME)
    build = EvidenceBuilder(evidence, records_calls=plain.RECORDS_CALLS, text=source.data)
    plain.read(source, build)
    return build.finish()


def told(data: bytes, *, few: int, block: int, largest: int = 1 << 20) -> tuple[object, ...]:
    """What a log says where fewer records than that are told one by one, in blocks of about that many bytes."""
    lines = "forensics.formats.shared.line_fields"
    with (
        mock.patch("forensics.formats.plain._FEW", few),
        mock.patch(f"{lines}._BLOCK", block),
        mock.patch(f"{lines}._SMALLEST", block // 8),
        mock.patch(f"{lines}._LARGEST", largest),
    ):
        reading = read(data)
    return (reading.gaps, reading.findings, reading.counts, list(map(of_trace, reading.traces)))


@settings(deadline=None, max_examples=300)
@given(logs, st.sampled_from([64, 300, 1 << 18]), st.sampled_from(["\n", "\r\n"]), st.sampled_from(["", "\n"]))
@example([["{}"], ['{"kind":"user","text":"x"}']], 64, "\n", "")
def test_a_stretch_is_told_as_its_records_one_by_one(log: list[list[str]], block: int, between: str, end: str) -> None:
    text = between.join(line for lines in log for line in lines) + end
    data = text.encode("utf-8", "surrogatepass")
    assert told(data, few=2, block=block) == told(data, few=1 << 30, block=block, largest=0)


def test_what_a_log_mostly_holds_is_told_at_once() -> None:
    lines = [json.dumps(one, separators=(",", ":")) for number in range(40) for one in a_turn_and_its_result(number)]
    with mock.patch("forensics.formats.plain._Log.record") as one_by_one:
        reading = read("\n".join(lines).encode())
    one_by_one.assert_not_called()
    (trace,) = reading.traces
    assert [call.recorded_id for call in trace.calls] == [f"c{number}" for number in range(40)]
    assert [payload(call.result) for call in trace.calls] == [b"%d" % number for number in range(40)]


def test_what_failed_and_what_is_odd_leaves_the_rest_told_at_once() -> None:
    told = [one for number in range(40) for one in a_turn_and_its_result(number)]
    told[11] |= {"status": "error"}
    told[21] |= {"result": "[REDACTED]"}
    told[31] |= {"call": "c4"}
    with mock.patch("forensics.formats.plain.Record", wraps=Record) as one_by_one:
        (trace,) = read("\n".join(map(json.dumps, told)).encode()).traces
    assert one_by_one.call_count == 2
    assert [call.outcome for call in trace.calls if call.outcome != "recorded"] == ["failed", "absent"]


def test_runs_that_take_turns_in_a_log_are_told_at_once() -> None:
    told = [one | {"run": f"r{number % 3}"} for number in range(40) for one in a_turn_and_its_result(number)]
    with mock.patch("forensics.formats.plain.Record", wraps=Record) as one_by_one:
        traces = read("\n".join(map(json.dumps, told)).encode()).traces
    one_by_one.assert_not_called()
    assert [(trace.id, len(trace.calls)) for trace in traces] == [("r0", 14), ("r1", 13), ("r2", 13)]


def test_a_log_of_which_little_can_be_told_at_once_is_soon_given_up() -> None:
    told = [one | {"call": "same"} for number in range(2000) for one in a_turn_and_its_result(number)]
    with mock.patch("forensics.formats.plain.read_at_once", wraps=read_at_once) as at_once:
        (trace,) = read("\n".join(map(json.dumps, told)).encode()).traces
    assert at_once.call_count < 12
    assert len(trace.calls) == 2000


def a_turn_and_its_result(number: int) -> list[dict[str, Any]]:
    turn = {"kind": "model", "text": "on", "tool": "get", "args": {"n": number}, "call": f"c{number}"}
    return [turn, {"kind": "tool", "result": number, "call": f"c{number}"}]
