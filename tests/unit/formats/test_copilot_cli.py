"""Is an event log of Copilot CLI read as turns and executions, with refusals and lost events said?"""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any

import pytest

from forensics.core.jsonvalue import text_of
from forensics.core.trace import Boundary, Outcome, StepKind
from tests.unit.formats.conftest import read_evidence

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from forensics.core.reading import Reading

Fields = dict[str, Any]
START: Fields = {
    "type": "session.start",
    "data": {"sessionId": "s1", "copilotVersion": "1.0.9", "context": {"cwd": "/"}},
}


def event(kind: str, agent: str = "", **data: Any) -> Fields:
    return {"type": kind, "data": data, **({"agentId": agent} if agent else {})}


def asks(*ids: str, name: str = "edit", **more: Any) -> Fields:
    calls = [{"toolCallId": i, "name": name, "arguments": {"path": "a"}, "type": "function"} for i in ids]
    return event("assistant.message", messageId="m", content="", toolRequests=calls, **more)


def begins(call_id: str, name: str = "edit", **more: Any) -> Fields:
    return event("tool.execution_start", toolCallId=call_id, toolName=name, arguments={"path": "a"}, **more)


def ends(call_id: str, *, success: bool = True, **more: Any) -> Fields:
    told = more or {"result": {"content": "done", "detailedContent": "+1"}}
    return event("tool.execution_complete", toolCallId=call_id, success=success, **told)


def chained(*events: Fields) -> list[Fields]:
    """The events with their ids, each following the one before."""
    out: list[Fields] = []
    for number, one in enumerate(events):
        parent = f"e{number - 1}" if number else None
        out.append({"id": f"e{number}", "parentId": parent, "timestamp": f"2026-09-01T10:00:{number:02d}.000Z", **one})
    return out


@pytest.fixture
def reading(tmp_path: Path) -> Callable[..., Reading]:
    counter = itertools.count()

    def read(*events: Fields, chain: bool = True) -> Reading:
        path = tmp_path / f"{next(counter)}.jsonl"
        told = chained(START, *events) if chain else list(events)
        path.write_text("".join(json.dumps(e, ensure_ascii=False) + "\n" for e in told), "utf-8")
        return read_evidence(path)

    return read


def test_a_turn_its_calls_and_their_executions_are_one_story(reading: Callable[..., Reading]) -> None:
    found = reading(
        event("user.message", content="go"), asks("c1", "c2"), begins("c1"), begins("c2"), ends("c2"), ends("c1"),
        event("assistant.message", messageId="n", content="done"), event("session.shutdown", shutdownType="routine"),
    )  # fmt: skip
    (trace,) = found.traces
    assert (trace.id, found.evidence.dialect, trace.ended_normally) == ("s1", "1.0.9", True)
    assert [(c.occurrence, c.outcome) for c in trace.calls] == [("0.0", Outcome.RECORDED), ("0.1", Outcome.RECORDED)]
    assert trace.locator(trace.calls[0].result_step).pointer == "/data/result/content"
    assert all(c.executed and c.end > c.start for c in trace.calls)
    assert (found.counts.model_calls, found.gaps) == (2, ())


def test_separators_inside_a_text_end_no_line(reading: Callable[..., Reading]) -> None:
    said = "one\u2028two\u2029three\x85four\x0bfive"
    found = reading(event("user.message", content=said))
    (user,) = [s for s in found.traces[0].steps() if s.kind is StepKind.USER]
    assert user.payload is not None
    assert text_of(user.payload) == said
    assert (found.counts.lines, found.counts.bad_lines) == (2, [])


@pytest.mark.parametrize(
    ("events", "outcome"),
    [
        ([begins("c1"), ends("c1", success=False, error={"message": "boom", "code": "failure"})], Outcome.FAILED),
        ([begins("c1"), ends("c1", success=False, error={"message": "no", "code": "denied"})], Outcome.DENIED),
        ([begins("c1"), ends("c1", success=False, error={"message": "no", "code": "rejected"})], Outcome.DENIED),
        ([ends("c1", success=False, error={"message": "x"})], Outcome.FAILED),
        ([begins("c1")], Outcome.ABSENT),
        ([begins("c1"), event("abort", reason="user_initiated")], Outcome.INDETERMINATE),
        ([], Outcome.ABSENT),
    ],
)
def test_how_a_call_ended(reading: Callable[..., Reading], events: list[Fields], outcome: Outcome) -> None:
    (call,) = reading(asks("c1"), *events).traces[0].calls
    assert (call.occurrence, call.outcome) == ("0.0", outcome)


@pytest.mark.parametrize("started", [True, False])
def test_a_refused_permission_means_that_the_call_never_ran(reading: Callable[..., Reading], *, started: bool) -> None:
    wanted = event("permission.requested", requestId="r1", permissionRequest={"kind": "write", "toolCallId": "c1"})
    refused = event("permission.completed", requestId="r1", result={"kind": "denied-interactively-by-user"})
    (trace,) = reading(asks("c1"), *([begins("c1")] if started else []), wanted, refused).traces
    (call,) = trace.calls
    assert call.outcome is Outcome.DENIED
    assert len(trace.rows(StepKind.APPROVAL_REQUEST)) == len(trace.rows(StepKind.APPROVAL)) == 1


def test_an_allowed_permission_changes_nothing(reading: Callable[..., Reading]) -> None:
    wanted = event("permission.requested", requestId="r1", permissionRequest={"kind": "write", "toolCallId": "c1"})
    allowed = event("permission.completed", requestId="r1", result={"kind": "approved"})
    (call,) = reading(asks("c1"), wanted, allowed, begins("c1"), ends("c1")).traces[0].calls
    assert call.outcome is Outcome.RECORDED


def test_a_sub_agent_has_a_lane_of_its_own(reading: Callable[..., Reading]) -> None:
    inner = asks("c2", parentToolCallId="c1")
    found = reading(
        asks("c1", name="task"), begins("c1", "task"), event("subagent.started", toolCallId="c1", agentName="explore"),
        inner, begins("c2", parentToolCallId="c1"), ends("c2"), ends("c1"),
    )  # fmt: skip
    (trace,) = found.traces
    assert [(c.tool, c.agent, c.boundary) for c in trace.calls] == [
        ("task", "", Boundary.SUB_AGENT), ("edit", "explore", Boundary.TOOL),
    ]  # fmt: skip
    assert [s.name for s in trace.steps() if s.kind is StepKind.AGENT] == ["explore"]


def test_an_execution_that_no_turn_asked_for_is_a_call(reading: Callable[..., Reading]) -> None:
    (call,) = reading(begins("c1", mcpServerName="notes"), ends("c1")).traces[0].calls
    assert (call.occurrence, call.server, call.outcome) == ("-.0", "notes", Outcome.RECORDED)


@pytest.mark.parametrize("kind", ["session.compaction_complete", "session.truncation", "session.snapshot_rewind"])
def test_a_rewritten_history_is_said(reading: Callable[..., Reading], kind: str) -> None:
    found = reading(event(kind, summaryContent="so far"))
    assert [f.code for f in found.traces[0].findings] == ["compacted_history"]


@pytest.mark.parametrize(
    ("events", "hidden"),
    [
        ([event("tool.execution_progress", toolCallId="c", arguments={})], False),
        ([event("hook.start", hookType="preToolUse", input={"toolName": "x", "arguments": {}})], False),
        ([event("sidecar.ran", tool="rm", arguments={})], True),
        ([event("sidecar.run_started", toolName="rm")], True),
        ([event("sidecar.idle", since=1)], False),
        ([event("assistant.message", content="x", serverTools={"provider": "p", "items": [{}]})], True),
    ],
)
def test_what_may_hide_a_call_is_a_gap(reading: Callable[..., Reading], events: list[Fields], *, hidden: bool) -> None:
    assert any(g.hides for g in reading(*events).gaps) is hidden


_ASKED = {"toolCallId": "c1", "name": "edit", "arguments": {"path": "a"}}


@pytest.mark.parametrize(
    ("members", "hides"),
    [
        ({"toolRequests": {"0": _ASKED}}, True),
        ({"toolRequests": json.dumps([_ASKED])}, True),
        ({"toolCalls": [_ASKED]}, True),
        ({"request": _ASKED}, True),
        ({"toolRequests": None}, False),
        ({"toolRequests": [], "reasoningDetails": [{"text": "hm"}]}, False),
    ],
)
def test_calls_of_a_turn_in_another_place_or_shape_are_a_gap(
    reading: Callable[..., Reading],
    members: Fields,
    hides: bool,  # noqa: FBT001
) -> None:
    turn = event("assistant.message", messageId="m", content="on it", **members)
    (trace,) = reading(event("user.message", content="go"), turn).traces
    assert any(gap.hides for gap in trace.gaps) is hides


def test_a_lost_event_is_a_gap_and_a_repeated_one_is_told_once(reading: Callable[..., Reading]) -> None:
    whole = chained(START, asks("c1"), begins("c1"), ends("c1"))
    assert [g.code for g in reading(*whole[:2], whole[3], chain=False).gaps] == ["evidence_gap"]
    found = reading(*whole, whole[3], chain=False)
    assert (found.counts.duplicate_records, found.counts.tool_results) == (1, 1)
    other = {**whole[3], "timestamp": "2026-09-01T11:00:00.000Z"}
    assert "duplicate_record_id" in {f.code for f in reading(*whole, other, chain=False).traces[0].findings}
