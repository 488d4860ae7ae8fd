"""Are the session files of Cline and of Google ADK read message by message, and event by event?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from forensics.analysis.oversight import approvals
from forensics.core.jsonvalue import text_of, value_of
from forensics.core.trace import Outcome, StepKind
from tests.unit.formats.conftest import read_evidence

if TYPE_CHECKING:
    from pathlib import Path

    from forensics.core.reading import Reading

Fields = dict[str, Any]


def read(tmp_path: Path, content: Fields) -> Reading:
    path = tmp_path / "session.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return read_evidence(path)


# Cline ---------------------------------------------------------------------------------------------------------------


def cline(*messages: Fields) -> Fields:
    head = {"version": 1, "updated_at": "2026-07-15T05:42:04.818Z", "agent": "lead", "sessionId": "s1"}
    return {**head, "messages": list(messages), "system_prompt": "You are Cline."}


def test_calls_and_results_of_a_cline_session(tmp_path: Path) -> None:
    call = {"type": "tool_use", "id": "t1", "name": "editor", "input": {"path": "a"}}
    asked = {"role": "assistant", "content": [call],
             "ts": 1783376873493, "metrics": {"inputTokens": 9, "outputTokens": 2}}  # fmt: skip
    shown = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "edited"}]}
    reading = read(tmp_path, cline({"role": "user", "content": "edit a"}, asked, shown))
    (trace,) = reading.traces
    assert (reading.evidence.format, trace.id, reading.counts.input_tokens) == ("cline", "s1", 9)
    assert [(c.tool, c.agent, c.outcome) for c in trace.calls] == [("editor", "lead", Outcome.RECORDED)]
    assert trace.step(0).kind is StepKind.SYSTEM
    assert not trace.gaps


def test_a_summary_hides_what_it_replaced(tmp_path: Path) -> None:
    summary = {"role": "user", "content": "Goal: a", "metadata": {"kind": "compaction_summary"}}
    assert [g.code for g in read(tmp_path, cline(summary)).gaps] == ["compacted_history"]


def test_a_real_cline_session(cases: Path) -> None:
    path = cases / "traces" / "cline" / "cline__sdk_packages_core_fixtures_session_session.messages.json"
    calls = read_evidence(path).traces[0].calls
    assert len(calls) == 11
    assert all(c.answered for c in calls)


# Google ADK ----------------------------------------------------------------------------------------------------------


def event(author: str, *parts: Fields, **more: Any) -> Fields:
    role = "user" if author == "user" or "function_response" in parts[0] else "model"
    return {"invocation_id": "i", "author": author, "content": {"role": role, "parts": list(parts)}, **more}


def asks(name: str, **args: Any) -> Fields:
    return {"function_call": {"name": name, "args": args}}


def gives(name: str, response: Any) -> Fields:
    return {"function_response": {"name": name, "response": response}}


def test_calls_without_ids_go_to_the_results_of_their_agent(tmp_path: Path) -> None:
    events = [event("user", {"text": "hi"}), event("one", asks("look", q=1)), event("two", asks("look", q=2)),
              event("two", gives("look", {"r": 2})), event("one", gives("look", {"r": 1}))]  # fmt: skip
    reading = read(tmp_path, {"id": "s1", "app_name": "shop", "user_id": "u", "events": events})
    told = [(c.agent, value_of(c.result)) for c in reading.traces[0].calls if c.result]
    assert reading.evidence.format == "google-adk"
    assert told == [("one", {"r": 1}), ("two", {"r": 2})]
    assert not reading.gaps


def test_hand_offs_and_errors_are_steps(tmp_path: Path) -> None:
    over = event("one", {"text": "over"}, actions={"transfer_to_agent": "two"})
    failed = {"invocationId": "i", "author": "two", "errorMessage": "quota"}
    trace = read(tmp_path, {"id": "s1", "events": [over, failed]}).traces[0]
    said = {
        k: [text_of(p) for row in trace.rows(k) if (p := trace.payload[row])]
        for k in (StepKind.HANDOFF, StepKind.ERROR)
    }
    assert said == {StepKind.HANDOFF: ["two"], StepKind.ERROR: ["quota"]}


def test_pieces_of_a_stream_are_told_once(tmp_path: Path) -> None:
    events = [event("one", {"text": "su"}, partial=True), event("one", {"text": "sunny"})]
    assert read(tmp_path, {"id": "s1", "events": events}).traces[0].turns == 1


def test_pieces_of_a_stream_that_no_event_ends_are_a_gap(tmp_path: Path) -> None:
    events = [event("one", {"text": "sunny"}), event("one", asks("look", q=1), partial=True)]
    (gap,) = read(tmp_path, {"id": "s1", "events": events}).gaps
    assert (gap.hides, "pieces of a stream" in gap.message) == (True, True)


@pytest.mark.parametrize(
    ("pieces", "whole", "lost"),
    [
        ([asks("look", q=1)], {"text": "no"}, "look"),
        ([asks("look", q=1)], asks("find", q=1), "look"),
        ([asks("look"), asks("look", q=1)], asks("look", q=1), ""),
        ([{"text": "su"}, asks("look"), {"function_call": {"args": {"q": 1}}}], asks("look", q=1), ""),
    ],
)
def test_a_call_that_only_a_piece_of_a_stream_tells_is_a_gap(
    pieces: list[Fields], whole: Fields, lost: str, tmp_path: Path
) -> None:
    events = [*(event("one", piece, partial=True) for piece in pieces), event("one", whole)]
    gaps = read(tmp_path, {"id": "s1", "events": events}).gaps
    assert [(gap.hides, lost in gap.message) for gap in gaps] == [(True, True)] * bool(lost)


def test_as_many_calls_as_one_piece_has_are_due(tmp_path: Path) -> None:
    both = event("one", asks("look", q=1), asks("look", q=2), partial=True)
    assert read(tmp_path, {"id": "s1", "events": [both, event("one", asks("look", q=1))]}).gaps
    whole = event("one", asks("look", q=1), asks("look", q=2))
    assert not read(tmp_path, {"id": "s1", "events": [both, both, whole]}).gaps


# confirmations of ADK ------------------------------------------------------------------------------------------------

CALL: Fields = {"id": "c1", "name": "book", "args": {"seat": 4}}
BOOKS = event("one", {"function_call": CALL})
REQUEST: Fields = {"originalFunctionCall": CALL, "toolConfirmation": {"hint": "ok?", "confirmed": False}}
ASKED = event("one", {"function_call": {"id": "q1", "name": "adk_request_confirmation", "args": REQUEST}})


def answers(author: str, call: str, name: str, response: Any, **more: Any) -> Fields:
    return event(author, {"function_response": {"id": call, "name": name, "response": response}}, **more)


WAITS = answers("one", "c1", "book", {"error": "please approve"}, actions={"requested_tool_confirmations": {"c1": {}}})


def decides(response: Any, author: str = "user") -> Fields:
    return answers(author, "q1", "adk_request_confirmation", response)


@pytest.mark.parametrize(
    ("answer", "final", "outcome"),
    [
        ({"confirmed": True}, {"ok": 1}, Outcome.RECORDED),
        ({"response": '{"confirmed": true}'}, {"ok": 1}, Outcome.RECORDED),
        ({"confirmed": False}, {"error": "This tool call is rejected."}, Outcome.DENIED),
        ({"confirmed": "yes"}, {"error": "This tool call is rejected."}, Outcome.DENIED),
        ({"confirmed": True}, {"error": "full"}, Outcome.RECORDED),
        ({"confirmed": False}, {"held": "till noon"}, Outcome.RECORDED),  # the tool itself was asked again, and ran
    ],
)
def test_a_call_that_waited_for_a_person_has_the_result_that_came_then(
    answer: Fields, final: Fields, outcome: Outcome, tmp_path: Path
) -> None:
    events = [BOOKS, ASKED, WAITS, decides(answer), answers("one", "c1", "book", final)]
    reading = read(tmp_path, {"id": "s1", "events": events})
    (trace,) = reading.traces
    (call,) = trace.calls
    assert (call.tool, call.outcome) == ("book", outcome)
    assert call.shown is not None
    assert call.shown.payload is not None
    assert value_of(call.shown.payload) == final
    assert [StepKind(trace.kind[row]) for row in range(2, 5)] == [
        StepKind.APPROVAL_REQUEST, StepKind.OTHER, StepKind.APPROVAL,
    ]  # fmt: skip
    (approval,) = approvals(trace).values()
    assert [one.approved for one in approval.decisions] == ["true" in str(answer).lower()]
    assert not reading.gaps
    assert not trace.findings


@pytest.mark.parametrize(
    "after", [[], [ASKED], [ASKED, decides({"confirmed": True})], [event("user", {"text": "so?"})]]
)
def test_a_call_that_still_waits_has_no_result(after: list[Fields], tmp_path: Path) -> None:
    (call,) = read(tmp_path, {"id": "s1", "events": [BOOKS, WAITS, *after]}).traces[0].calls
    assert call.outcome is Outcome.ABSENT


def test_a_confirmation_asked_for_of_a_call_that_is_not_there_is_a_gap(tmp_path: Path) -> None:
    waits = event("one", {"text": "wait"}, actions={"requestedToolConfirmations": {"c9": {}}})
    (gap,) = read(tmp_path, {"id": "s1", "events": [BOOKS, waits]}).gaps
    assert (gap.hides, "c9" in gap.message) == (True, True)


def test_what_else_stands_beside_the_question_is_told(tmp_path: Path) -> None:
    question = {**ASKED, "content": {**ASKED["content"], "role": "user"}}
    assert not read(tmp_path, {"id": "s1", "events": [BOOKS, question]}).gaps
    odd: Fields = {"tool_calls": [{"name": "book", "args": {}}]}
    beside = {**question, "content": {"role": "user", "parts": [*ASKED["content"]["parts"], odd]}}
    assert any(gap.hides for gap in read(tmp_path, {"id": "s1", "events": [BOOKS, beside]}).gaps)


def test_a_tool_that_is_only_named_like_the_question_is_a_call(tmp_path: Path) -> None:
    unknown = event("one", {"function_call": {"id": "q1", "name": "adk_request_confirmation", "args": REQUEST}})
    (trace,) = read(tmp_path, {"id": "s1", "events": [unknown, decides({"ok": 1}, "one")]}).traces
    assert [(call.tool, call.outcome) for call in trace.calls] == [("adk_request_confirmation", Outcome.RECORDED)]
    assert read(tmp_path, {"id": "s1", "events": [BOOKS, ASKED, WAITS, decides({"ok": 1}, "one")]}).gaps


def test_what_a_person_answers_goes_to_the_agent_that_asked(tmp_path: Path) -> None:
    events = [BOOKS, answers("user", "c1", "book", {"ok": 1})]
    reading = read(tmp_path, {"id": "s1", "events": events})
    assert [(call.agent, call.outcome) for call in reading.traces[0].calls] == [("one", Outcome.RECORDED)]
    assert not reading.gaps


def test_a_call_in_a_member_of_an_event_that_is_not_read_is_a_gap(tmp_path: Path) -> None:
    kept = {"name": "look", "args": {"q": 1}}
    (gap,) = read(tmp_path, {"id": "s1", "events": [event("one", {"text": "sunny"}, pending=[kept])]}).gaps
    assert (gap.hides, "pending" in gap.message) == (True, True)


def test_members_of_a_part_that_are_null_say_nothing(tmp_path: Path) -> None:
    part = {"text": None, "function_call": None, "function_response": None, "inline_data": None}
    assert not read(tmp_path, {"id": "s1", "events": [event("one", part)]}).gaps


@pytest.mark.parametrize(
    ("name", "calls"),
    [
        ("adk-samples__python_agents_customer-service_eval_sessions_123.session.json", 6),
        ("adk-python__tests_integration_fixture_flow_complex_spark_sample.session.json", 2),
    ],
)
def test_real_adk_sessions(cases: Path, name: str, calls: int) -> None:
    trace = read_evidence(cases / "traces" / "google-adk" / name).traces[0]
    assert len(trace.calls) == calls
