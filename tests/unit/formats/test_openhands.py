"""Are the events of OpenHands read with the calls that the model asked for, or with the actions that it wrote?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from forensics.core.jsonvalue import text_of, value_of
from forensics.core.trace import Absence, Boundary, Outcome, StepKind
from forensics.errors import EvidenceError
from tests.unit.formats.conftest import outcomes, read_evidence, read_records, read_value

Fields = dict[str, Any]
SAMPLE = Path(__file__).resolve().parents[2] / "contract" / "samples" / "openhands.json"
GO: Fields = {"id": 1, "source": "user", "action": "message", "args": {"content": "go"}}
DONE: Fields = {"id": 9, "source": "agent", "action": "message", "args": {"content": "done"}}


def response(name: str, *calls: str, **members: Any) -> Fields:
    asked = [{"id": one, "function": {"name": "execute_bash", "arguments": '{"command": "ls"}'}} for one in calls]
    said = {"role": "assistant", "content": "hm", "tool_calls": asked}
    choice = {"index": 0, "finish_reason": "tool_calls", "message": said, **members}
    return {"id": name, "model": "m", "choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": 2}}


def meta(call: str, told: Fields) -> Fields:
    return {"tool_call_metadata": {"function_name": "execute_bash", "tool_call_id": call, "model_response": told}}


def acts(key: int, call: str, told: Fields, action: str = "run") -> Fields:
    return {
        "id": key,
        "source": "agent",
        "action": action,
        "args": {"command": "ls", "thought": "hm"},
        **meta(call, told),
    }


def observes(key: int, cause: int | None, kind: str = "run", content: str = "a.txt", **extras: Any) -> Fields:
    told = {"id": key, "source": "agent", "observation": kind, "content": content, "extras": extras}
    return told if cause is None else {**told, "cause": cause}


RUN = [GO, acts(2, "c1", response("r1", "c1")), observes(3, 2), DONE]


def test_the_events_of_a_conversation() -> None:
    reading = read_evidence(SAMPLE)
    (trace,) = reading.traces
    assert reading.evidence.format == "openhands"
    assert outcomes(reading) == [
        ("0.0", "execute_bash", "checkout: Ida", "recorded"),
        ("1.0", "pager_trigger", {"page_id": "pg_8812"}, "recorded"),
    ]
    assert [value_of(call.arguments) for call in trace.calls if call.arguments] == [
        {"command": "cat roster.txt"},
        {"person": "Ida"},
    ]
    said = [text_of(raw) for row in trace.rows(StepKind.MODEL) if (raw := trace.payload[row]) is not None]
    assert said == ["The roster first.", "Paging Ida.", "Paged Ida: pg_8812."]
    assert (reading.counts.input_tokens, reading.counts.output_tokens, reading.counts.records) == (200, 27, 7)
    assert list(trace.facts) == ["execute_bash"]
    assert not reading.gaps


def test_every_container_tells_the_same(tmp_path: Path) -> None:
    told = [
        read_value(tmp_path, RUN),
        read_value(tmp_path, {"instance_id": "x-1", "history": RUN}),
        read_records(tmp_path, *RUN),
        read_records(tmp_path, {"instance_id": "x-1", "history": RUN}, {"instance_id": "x-2", "history": []}),
    ]
    for reading in told:
        trace = reading.traces[0]
        assert reading.evidence.format == "openhands"
        assert [(one.occurrence, one.tool, one.outcome) for one in trace.calls] == [
            ("0.0", "execute_bash", Outcome.RECORDED)
        ]
        assert not reading.gaps
    assert [reading.traces[0].id for reading in told] == ["conversation", "x-1", "conversation", "x-1"]


def test_each_history_of_an_output_is_a_run(tmp_path: Path) -> None:
    reading = read_records(tmp_path, {"instance_id": "x-1", "history": RUN}, {"instance_id": "x-2", "history": RUN})
    assert [(trace.id, len(trace.calls)) for trace in reading.traces] == [("x-1", 1), ("x-2", 1)]


def test_calls_of_one_response_were_asked_for_together(tmp_path: Path) -> None:
    both = response("r1", "c1", "c2")
    trace = read_value(
        tmp_path, [GO, acts(2, "c1", both), observes(3, 2), acts(4, "c2", both), observes(5, 4), DONE]
    ).traces[0]
    assert [(call.occurrence, call.answered) for call in trace.calls] == [("0.0", True), ("0.1", True)]
    assert trace.turns == 2


def test_a_call_of_a_response_that_no_action_followed_is_not_lost(tmp_path: Path) -> None:
    trace = read_value(tmp_path, [GO, acts(2, "c1", response("r1", "c1", "c2")), observes(3, 2), DONE]).traces[0]
    assert [(call.recorded_id, call.answered) for call in trace.calls] == [("c1", True), ("c2", False)]


def test_older_files_hold_pairs_without_ids(tmp_path: Path) -> None:
    action = {"action": "run", "args": {"command": "ls", "thought": "look"}, "timestamp": "2024-09-01T10:00:00"}
    seen = {"observation": "run", "content": "a.txt", "command": "ls", "exit_code": 0}
    said = {"action": "message", "args": {"content": "go"}, "source": "user"}
    reading = read_records(tmp_path, {"issue": {}, "history": [[action, seen], [action, {**seen, "exit_code": 2}]]})
    assert outcomes(reading) == [("0.0", "run", "a.txt", "recorded"), ("1.0", "run", "a.txt", "failed")]
    flat = read_value(tmp_path, [said, action, seen, action, seen])
    assert [one[3] for one in outcomes(flat)] == ["recorded", "recorded"]
    assert value_of(flat.traces[0].calls[0].arguments or b"") == {"command": "ls"}
    assert not flat.gaps


def test_the_oldest_files_hold_arguments_in_the_event_itself(tmp_path: Path) -> None:
    said = {"action": "message", "content": "go", "action_risk": None}
    action = {"action": "run", "command": "ls", "thought": "look", "is_confirmed": "confirmed"}
    seen = {"observation": "run", "content": "a.txt", "command": "ls", "exit_code": 0}
    ends = {"action": "message", "content": "done", "action_risk": None}
    trace = read_value(tmp_path, {"history": [said, action, seen, ends]}).traces[0]
    (call,) = trace.calls
    assert call.arguments is not None
    assert (call.tool, value_of(call.arguments), call.outcome) == ("run", {"command": "ls"}, Outcome.RECORDED)
    kinds = [StepKind(kind) for kind in trace.kind]
    assert (kinds[0], kinds[-1], trace.turns) == (StepKind.USER, StepKind.MODEL, 2)


@pytest.mark.parametrize(
    ("seen", "outcome"),
    [
        (observes(3, 2), Outcome.RECORDED),
        (observes(3, 2, metadata={"exit_code": 0}), Outcome.RECORDED),
        (observes(3, 2, metadata={"exit_code": 1}), Outcome.FAILED),
        (observes(3, 2, error=True), Outcome.FAILED),
        (observes(3, 2, "error", "no such tool"), Outcome.FAILED),
        (observes(3, 2, "user_rejected", "rejected"), Outcome.DENIED),
    ],
)
def test_how_a_call_ended(tmp_path: Path, seen: Fields, outcome: Outcome) -> None:
    (call,) = read_value(tmp_path, [GO, acts(2, "c1", response("r1", "c1")), seen, DONE]).traces[0].calls
    assert call.outcome is outcome


def test_what_the_harness_notes_is_no_call(tmp_path: Path) -> None:
    notes: list[Fields] = [
        {"id": 10, "source": "user", "action": "recall", "args": {"query": "go"}},
        observes(11, 10, "recall", "facts"),
        {"id": 12, "source": "environment", "action": "change_agent_state", "args": {"agent_state": "running"}},
        observes(13, None, "agent_state_changed", "", agent_state="running"),
        observes(14, 0, "null", ""),
        {"id": 15, "source": "agent", "action": "think", "args": {"thought": "hm"}},
    ]
    reading = read_value(tmp_path, [*RUN[:3], *notes, DONE])
    assert len(reading.traces[0].calls) == 1
    assert not reading.gaps


def test_a_delegate_is_a_sub_agent(tmp_path: Path) -> None:
    asks = {"id": 2, "source": "agent", "action": "delegate", "args": {"agent": "browser", "inputs": {"task": "look"}}}
    (call,) = read_value(tmp_path, [GO, asks, observes(3, 2, "delegate", "seen"), DONE]).traces[0].calls
    assert (call.tool, call.boundary, call.outcome) == ("delegate", Boundary.SUB_AGENT, Outcome.RECORDED)


def test_a_run_that_finished_ended(tmp_path: Path) -> None:
    trace = read_value(tmp_path, [*RUN[:3], acts(4, "c9", asks_for("finish", "c9"), "finish")]).traces[0]
    assert trace.ended_normally is True
    assert [call.absence for call in trace.calls] == [None, Absence.NOT_DUE]


HIDING: list[Fields] = [
    observes(8, None, "error", "could not be read"),
    {"id": 8, "source": "environment", "action": "null", "args": {"tool_calls": [{"name": "rm"}]}},
    {"id": 8, "tool": "rm", "args": {}},
    acts(8, "c8", response("r8")),
    acts(8, "c8", response("r8", "c8", finish_reason="length")),
]


@pytest.mark.parametrize("hiding", HIDING)
def test_what_may_hide_a_call_is_a_gap(tmp_path: Path, hiding: Fields) -> None:
    assert not read_value(tmp_path, RUN).gaps
    assert [gap.code for gap in read_value(tmp_path, [*RUN[:3], hiding, DONE]).gaps if gap.hides]


def test_a_call_beside_the_history_is_a_gap(tmp_path: Path) -> None:
    beside = {"instance_id": "x-1", "history": RUN, "later": [{"action": "run", "args": {}, "tool": "rm"}]}
    for reading in (read_value(tmp_path, beside), read_records(tmp_path, beside, beside)):
        assert {gap.code for gap in reading.gaps if gap.hides} == {"evidence_gap"}


def test_one_event_alone_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(EvidenceError, match="one event of an OpenHands conversation"):
        read_value(tmp_path, RUN[1])


def test_a_log_of_other_actions_is_none_of_openhands(tmp_path: Path) -> None:
    with pytest.raises(EvidenceError, match="not recognised"):
        read_records(
            tmp_path, {"action": "login", "source": "web", "content": "x"}, {"action": "pay", "args": {"to": "bob"}}
        )


REAL = [("runtime_trajs_basic.json", 2), ("runtime_trajs_basic_gui_mode.json", 4)]


@pytest.mark.parametrize(("name", "calls"), [*REAL, ("unit_resolver_mock_output_output.jsonl", 24)])
def test_real_conversations(cases: Path, name: str, calls: int) -> None:
    told = read_evidence(cases / "traces" / "openhands-v0" / f"OpenHands__tests_{name}").traces
    assert sum(len(trace.calls) for trace in told) == calls
    assert all(call.arguments not in (None, b"{}") for trace in told for call in trace.calls)


def state(name: str) -> Fields:
    return {
        "id": 20,
        "source": "environment",
        "observation": "agent_state_changed",
        "content": "",
        "extras": {"agent_state": name},
    }


def asks_for(tool: str, *calls: str) -> Fields:
    """A response whose first call is of that tool."""
    told = response("r1", *calls)
    told["choices"][0]["message"]["tool_calls"][0]["function"]["name"] = tool
    return told


ENDS = acts(2, "c1", asks_for("finish", "c1"), "finish")
AGAIN = {"id": 21, "source": "user", "action": "message", "args": {"content": "and now?"}}


@pytest.mark.parametrize(
    ("after", "absence"),
    [
        ([], Absence.NOT_DUE),
        ([state("finished")], Absence.NOT_DUE),
        ([AGAIN, acts(22, "c2", response("r2", "c2")), observes(23, 22)], Absence.NOT_DUE),
        ([observes(24, 1, "delegate")], Absence.NOT_DUE),
        ([state("error")], Absence.UNANSWERED),
        ([{"id": 25, "source": "environment", "observation": "error", "content": "no"}], Absence.UNANSWERED),
        ([acts(22, "c2", response("r2", "c2")), observes(23, 22)], Absence.UNANSWERED),
        ([DONE], Absence.UNANSWERED),
        ([observes(26, 2)], None),
    ],
)
def test_an_action_that_ends_the_run_is_answered_by_nothing(
    tmp_path: Path, after: list[Fields], absence: Absence | None
) -> None:
    told = (
        read_value(tmp_path, [GO, ENDS, *after]),
        read_records(tmp_path, GO, ENDS, *after),
        read_records(tmp_path, {"history": [GO, ENDS, *after]}),
    )
    assert {reading.traces[0].calls[0].absence for reading in told} == {absence}


def test_a_tool_that_is_named_like_the_end_is_no_end(tmp_path: Path) -> None:
    (call,) = read_value(tmp_path, [GO, acts(2, "c1", asks_for("finish", "c1"))]).traces[0].calls
    assert (call.tool, call.absence) == ("finish", Absence.UNANSWERED)


@pytest.mark.parametrize("tool", ["execute_bash", "reject", ""])
def test_an_end_that_names_the_call_of_another_tool_ends_no_call(tool: str, tmp_path: Path) -> None:
    ends = acts(2, "c1", asks_for(tool, "c1"), "finish")
    (call,) = read_value(tmp_path, [GO, ends, state("finished")]).traces[0].calls
    assert call.absence == Absence.UNANSWERED


def test_a_rejection_ends_the_call_of_its_own_tool(tmp_path: Path) -> None:
    ends = acts(2, "c1", asks_for("reject", "c1"), "reject")
    (call,) = read_value(tmp_path, [GO, ends, state("rejected")]).traces[0].calls
    assert call.absence == Absence.NOT_DUE


def test_a_call_beside_the_one_that_ended_the_run_is_still_unanswered(tmp_path: Path) -> None:
    trace = read_value(tmp_path, [GO, acts(2, "c1", asks_for("finish", "c1", "c2"), "finish")]).traces[0]
    assert [call.absence for call in trace.calls] == [Absence.NOT_DUE, Absence.UNANSWERED]
