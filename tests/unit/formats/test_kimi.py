"""Are the steps of Kimi's agents read, in the form of Kimi Code and in the two of Kimi CLI?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from forensics.core.jsonvalue import text_of
from forensics.core.trace import Boundary, Outcome, StepKind
from tests.unit.formats.conftest import outcomes, read_evidence

if TYPE_CHECKING:
    from forensics.core.reading import Reading

Fields = dict[str, Any]
SAMPLE = Path(__file__).resolve().parents[2] / "contract" / "samples" / "kimi.jsonl"
HEAD: Fields = {"type": "metadata", "protocol_version": "1.5", "created_at": 1}


def loop(kind: str, agent: str = "main", **event: Any) -> Fields:
    told = {"type": "context.append_loop_event", "agentId": agent, "event": {"type": kind, **event}}
    return {**told, "time": 1793178000000}


def asks(call: str = "c1", name: str = "Page", **members: Any) -> Fields:
    return loop("tool.call", toolCallId=call, name=name, args={"a": 1}, **members)


def gives(call: str = "c1", output: Any = "ok", **members: Any) -> Fields:
    return loop("tool.result", toolCallId=call, result={"output": output, **members})


def ends(why: str = "tool_use") -> Fields:
    return loop("step.end", finishReason=why, usage={"inputOther": 5, "inputCacheRead": 4, "output": 2})


def record(kind: str, **members: Any) -> Fields:
    return {"type": kind, "agentId": "main", "time": 1793178000000, **members}


COPIED = {"type": "function", "id": "c9", "name": "rm", "arguments": "{}"}
BEGINS = loop("step.begin")
SAYS = loop("content.part", part={"type": "text", "text": "hm"})
RUN = [HEAD, BEGINS, SAYS, asks(), gives(), ends(), BEGINS, SAYS, ends("end_turn")]


def read(tmp_path: Path, *records: Fields) -> Reading:
    path = tmp_path / "wire.jsonl"
    path.write_text("".join(f"{json.dumps(one)}\n" for one in records), encoding="utf-8")
    return read_evidence(path)


def said(reading: Reading, kind: StepKind = StepKind.MODEL) -> list[str]:
    trace = reading.traces[0]
    return [text_of(raw) for row in trace.rows(kind) if (raw := trace.payload[row]) is not None]


def test_a_session() -> None:
    reading = read_evidence(SAMPLE)
    (trace,) = reading.traces
    assert (reading.evidence.format, reading.evidence.dialect) == ("kimi", "1.5")
    assert outcomes(reading) == [
        ("0.0", "Read", "checkout: Ida", "recorded"),
        ("1.0", "mcp__pager__page", "pg_8812", "recorded"),
    ]
    assert said(reading) == ["The roster first.", "Paged Ida: pg_8812."]
    assert said(reading, StepKind.SYSTEM) == ["You look after the shop.", "Today is Monday."]
    assert (list(trace.facts), trace.calls[1].server, trace.turns) == (["Read"], "pager", 3)
    assert (reading.counts.records, reading.counts.input_tokens, reading.counts.output_tokens) == (22, 340, 27)
    assert not reading.gaps


@pytest.mark.parametrize(
    ("result", "outcome"),
    [
        (gives(), Outcome.RECORDED),
        (gives(isError=True), Outcome.FAILED),
        (gives(output='Tool "Page" was denied by permission rule.', isError=True), Outcome.DENIED),
        (gives(output='Tool "Page" was aborted', isError=True), Outcome.INDETERMINATE),
        (gives(output='The user manually interrupted "Page".', isError=True), Outcome.INDETERMINATE),
        (gives(output="the words was aborted in a result"), Outcome.RECORDED),
    ],
)
def test_how_a_call_ended(tmp_path: Path, result: Fields, outcome: Outcome) -> None:
    (call,) = read(tmp_path, HEAD, BEGINS, asks(), result, ends()).traces[0].calls
    assert call.outcome is outcome


def test_a_call_that_somebody_rejected(tmp_path: Path) -> None:
    rejected = record("permission.record_approval_result", toolCallId="c1", result={"decision": "rejected"})
    trace = read(tmp_path, HEAD, BEGINS, asks(), rejected, gives(isError=True), ends()).traces[0]
    assert (trace.calls[0].outcome, len(trace.rows(StepKind.APPROVAL))) == (Outcome.DENIED, 1)


def test_calls_of_a_step_are_of_one_turn_and_words_may_come_late(tmp_path: Path) -> None:
    late = loop("content.part", part={"type": "think", "think": "well"})
    reading = read(tmp_path, HEAD, BEGINS, SAYS, asks(), asks("c2"), late, gives(), gives("c2"), ends())
    assert [call.occurrence for call in reading.traces[0].calls] == ["0.0", "0.1"]
    assert said(reading) == ["hm\nwell"]


def test_a_step_of_which_nothing_is_recorded_is_no_turn(tmp_path: Path) -> None:
    assert read(tmp_path, HEAD, BEGINS, BEGINS, SAYS, ends("end_turn"), BEGINS).traces[0].turns == 1


def test_a_sub_agent_is_known_by_its_call_or_by_the_news_of_it(tmp_path: Path) -> None:
    shown = asks(display={"kind": "agent_call"})
    news = record("subagent.spawned", subagentName="explore", parentToolCallId="c1", callerAgentId="main")
    for told in ([shown], [asks(), news]):
        (call,) = read(tmp_path, HEAD, BEGINS, *told, gives(), ends()).traces[0].calls
        assert call.boundary is Boundary.SUB_AGENT


def test_a_turn_that_failed_ends_with_its_error(tmp_path: Path) -> None:
    failed = record("turn.ended", reason="failed", error={"message": "rate limit"})
    trace = read(tmp_path, *RUN, failed).traces[0]
    assert (trace.ended_normally, StepKind(trace.kind[-1])) == (False, StepKind.ERROR)
    assert read(tmp_path, *RUN, record("turn.ended", reason="completed")).traces[0].ended_normally is None


def test_a_history_that_was_rewritten_is_told(tmp_path: Path) -> None:
    rewritten = [
        record("context.apply_compaction", summary="so far", compactedCount=3),
        record("context.undo", count=1),
    ]
    reading = read(tmp_path, *RUN, *rewritten)
    assert [one.code for one in reading.traces[0].findings] == ["compacted_history"] * 2
    assert not reading.gaps


def test_a_message_with_calls_that_stands_as_one(tmp_path: Path) -> None:
    asked = {"role": "assistant", "content": [{"type": "text", "text": "hm"}], "toolCalls": [COPIED]}
    given = {
        "role": "tool",
        "content": [{"type": "text", "text": "ok"}],
        "toolCalls": [],
        "toolCallId": "c9",
        "isError": True,
    }
    reading = read(tmp_path, HEAD, *(record("context.append_message", message=one) for one in (asked, given)))
    assert outcomes(reading) == [("0.0", "rm", given["content"], "failed")]
    assert not reading.gaps


@pytest.mark.parametrize(
    "odd",
    [
        loop("step.strange"),
        record("tool.executed", toolName="rm"),
        record("strange", tool="rm", arguments={}),
        {"agentId": "main"},
        record("context.append_loop_events", events=[asks("c9")["event"]]),
        {**loop("step.begin"), "events": [asks("c9")["event"]]},
        {**BEGINS, "event": {**BEGINS["event"], "toolCalls": [COPIED]}},
        {**gives(), "event": {**gives()["event"], "result": {"output": "ok", "then": {"tool": "rm", "args": {}}}}},
        loop("content.part", part={"type": "tool_use", "name": "rm", "input": {}}),
        loop("content.part", part={"type": "function", "function": {"name": "rm", "arguments": "{}"}}),
        record("context.apply_compaction", summary="so far", kept=[{"role": "assistant", "toolCalls": [COPIED]}]),
        record("context.append_message", message={"role": "user", "origin": {"kind": "hook"}, "toolCalls": [COPIED]}),
        record("context.append_message", message={"role": "user", "content": "go", "pending": [COPIED]}),
        {"role": "_usage", "tool_calls": [COPIED]},
        record("agent.message.appended", messages=[{"role": "assistant", "toolCalls": [COPIED]}]),
        {"type": "agent.message.appended", "message": {"message": {"role": "assistant", "toolCalls": [COPIED]}}},
        ends("max_tokens"),
        ends("interrupted"),
        ends("tool_use"),
    ],
)
def test_what_may_hide_a_call_is_a_gap(tmp_path: Path, odd: Fields) -> None:
    assert any(gap.hides for gap in read(tmp_path, *RUN, BEGINS, odd).gaps)


# Kimi CLI ------------------------------------------------------------------------------------------------------------


def wrapped(kind: str, **payload: Any) -> Fields:
    return {"timestamp": 1762000000.5, "message": {"type": kind, "payload": payload}}


def calls(call: str = "c1", name: str = "Shell") -> Fields:
    return wrapped("ToolCall", type="function", id=call, function={"name": name, "arguments": '{"a": 1}'})


def returns(call: str = "c1", **value: Any) -> Fields:
    return wrapped(
        "ToolResult", tool_call_id=call, return_value={"is_error": False, "output": "ok", "message": "", **value}
    )


OLD = {"type": "metadata", "protocol_version": "1.9"}
ASKED = wrapped("TurnBegin", user_input=[{"type": "text", "text": "go"}])
TALKS = wrapped("ContentPart", type="text", text="hm")


def test_events_in_envelopes(tmp_path: Path) -> None:
    usage = wrapped("StatusUpdate", token_usage={"input_other": 3, "output": 2})
    told = [OLD, ASKED, wrapped("StepBegin", n=1), TALKS, calls(), returns(), usage, wrapped("StepBegin", n=2), TALKS]
    reading = read(tmp_path, *told, wrapped("TurnEnd"))
    assert reading.evidence.format == "kimi"
    assert outcomes(reading) == [("0.0", "Shell", "ok", "recorded")]
    assert (said(reading), said(reading, StepKind.USER)) == (["hm", "hm"], ["go"])
    assert (reading.counts.input_tokens, reading.counts.output_tokens) == (3, 2)
    assert not reading.gaps


def test_an_envelope_of_a_call_that_was_rejected_and_of_one_that_failed(tmp_path: Path) -> None:
    wants = wrapped("ApprovalRequest", id="a1", tool_call_id="c1", action="run", sender="Shell", description="x")
    no = wrapped("ApprovalResponse", request_id="a1", response="reject")
    told = [OLD, wrapped("StepBegin", n=1), calls(), wants, no, returns(is_error=True, output="", message="rejected")]
    reading = read(tmp_path, *told, calls("c2"), returns("c2", is_error=True, output="", message="no such file"))
    assert outcomes(reading) == [("0.0", "Shell", "rejected", "denied"), ("0.1", "Shell", "no such file", "failed")]


@pytest.mark.parametrize(
    "odd",
    [
        wrapped("ToolCallRequest", id="c9", name="Shell", arguments="{}"),
        wrapped("StepRetry", name="Shell", arguments="{}"),
        wrapped("StatusUpdate", tool_calls=[calls("c9")["message"]["payload"]]),
        wrapped("ContentPart", type="tool_use", name="Shell", input={}),
    ],
)
def test_an_envelope_that_may_hide_a_call_is_a_gap(tmp_path: Path, odd: Fields) -> None:
    assert any(gap.hides for gap in read(tmp_path, OLD, ASKED, calls(), returns(), odd).gaps)


@pytest.mark.parametrize(
    "known",
    [
        wrapped("ToolCallRequest", id="c1", name="Shell", arguments="{}"),
        wrapped("QuestionRequest", id="q1", tool_call_id="c1", questions=[{"question": "which?"}]),
    ],
)
def test_an_envelope_that_names_a_call_that_a_step_asked_for_hides_nothing(tmp_path: Path, known: Fields) -> None:
    assert not read(tmp_path, OLD, ASKED, calls(), known, returns()).gaps


def test_events_of_sub_agents_are_told_in_their_lane(tmp_path: Path) -> None:
    def inner(event: Fields) -> Fields:
        return wrapped("SubagentEvent", parent_tool_call_id="c1", agent_id="sub-1", event=event["message"])

    told = [
        OLD,
        wrapped("StepBegin", n=1),
        calls(name="Task"),
        *map(inner, (wrapped("StepBegin", n=1), calls("c2"), returns("c2"))),
    ]
    trace = read(tmp_path, *told, returns()).traces[0]
    assert [(one.tool, one.agent, one.boundary) for one in trace.calls] == [
        ("Task", "", Boundary.SUB_AGENT),
        ("Shell", "sub-1", Boundary.TOOL),
    ]
    assert all(one.answered for one in trace.calls)


def test_an_envelope_of_an_unknown_kind_and_a_loose_piece_of_a_call_are_gaps(tmp_path: Path) -> None:
    for odd in (wrapped("ToolRan", name="rm"), wrapped("ToolCallPart", arguments_part="{")):
        assert [gap.hides for gap in read(tmp_path, OLD, ASKED, odd).gaps] == [True]


def test_the_messages_of_a_context(tmp_path: Path) -> None:
    asked = {
        "role": "assistant",
        "content": "hm",
        "tool_calls": [{"type": "function", "id": "c1", "function": {"name": "Shell", "arguments": "{}"}}],
    }
    told: list[Fields] = [
        {"role": "_system_prompt", "content": "Be brief."},
        {"role": "_checkpoint", "id": 0},
        {"role": "user", "content": "go"},
        asked,
        {"role": "_usage", "token_count": 9},
        {"role": "tool", "content": "ok", "tool_call_id": "c1"},
        {"role": "assistant", "content": "done"},
    ]
    reading = read(tmp_path, *told)
    assert (reading.evidence.format, said(reading, StepKind.SYSTEM)) == ("kimi", ["Be brief."])
    assert outcomes(reading) == [("0.0", "Shell", "ok", "recorded")]
    assert not reading.gaps
