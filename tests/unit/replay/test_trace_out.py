"""Is a rerun that was written down a trace again: its own, marked as a rerun, with everything that happened in it?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from forensics import compare_runs
from forensics.api import examine, load
from forensics.core.jsonvalue import raw, value_of
from forensics.core.trace import Outcome, StepKind
from forensics.replay.log import Called, Disposition, Entry, GuardedBy, Minted, Told, Turned
from forensics.replay.plan import Plan, Stub
from forensics.replay.ports import AskedCall, ModelAnswer
from forensics.replay.script import RecordedTurn, Script, Shown
from forensics.replay.trace_out import Ended, Of, trace_out

if TYPE_CHECKING:
    from pathlib import Path

    from forensics.core.trace import Trace

PAGE = ("pager.trigger", {"service": "checkout", "severity": "sev1"})
NOTHING = Script((), ())


def of(plan: Plan | None = None) -> Of:
    made = plan or Plan()
    return Of(rerun="r1", plan=made, trace="7ef8", evidence="pager.db", evidence_sha256="ab" * 32, policy="inject")


def says(text: str | None, *calls: tuple[str, Any, str | None], agent: str = "", **more: Any) -> Turned:
    asked = tuple(AskedCall(*call) for call in calls)
    answer = ModelAnswer(text=text, calls=asked, model="m", usage={"input_tokens": 3})
    return Turned(agent=agent, answer=answer, **{"step": None, "new": 0, **more})


def served(place: tuple[int, int], name: str, arguments: Any, value: Any = "ok", **more: Any) -> Called:
    told = {"disposition": Disposition.INJECTED, "row": 0, **more}
    return Called(tool=name, arguments=arguments, turn=place[0], index=place[1], value=value, **told)


PAGED: tuple[Entry, ...] = (
    Told(StepKind.SYSTEM, "oncall", "You are on call."),
    Told(StepKind.USER, "oncall", "checkout is failing"),
    says("Paging.", (*PAGE, "c1"), agent="oncall"),
    served((0, 0), *PAGE, {"id": "pg_8812"}, agent="oncall"),
    says("Paged pg_8812.", agent="oncall"),
)
DONE = Ended("Paged pg_8812.")


def written(folder: Path, *log: Entry, ended: Ended = DONE, script: Script = NOTHING, plan: Plan | None = None) -> Path:
    path = folder / "rerun.jsonl"
    path.write_bytes(trace_out(of(plan), log, ended, script))
    return path


def read(folder: Path, *log: Entry, **more: Any) -> Trace:
    (trace,) = load(written(folder, *log, **more))
    return trace


def test_it_is_a_trace_of_its_own_and_a_rerun_of_its_source(tmp_path: Path) -> None:
    trace = read(tmp_path, *PAGED)
    assert (trace.id, trace.rerun_of) == ("r1", "7ef8")
    assert not trace.gaps
    head = json.loads((tmp_path / "rerun.jsonl").read_bytes().split(b"\n")[0])
    assert head["source"] == {"name": "pager.db", "sha256": "ab" * 32}
    assert (head["plan_sha256"], head["policy"]) == (Plan().digest, "inject")
    assert json.loads(head["plan"])["mode"] == "recorded"


def test_everything_that_happened_stands_in_it_in_order(tmp_path: Path) -> None:
    trace = read(tmp_path, *PAGED)
    assert [step.kind for step in trace.steps()] == [
        StepKind.OTHER, StepKind.SYSTEM, StepKind.USER, StepKind.MODEL, StepKind.TOOL_CALL, StepKind.TOOL_RESULT,
        StepKind.MODEL,
    ]  # fmt: skip
    (call,) = trace.calls
    assert (call.tool, call.occurrence, call.recorded_id, call.disposition) == (
        "pager.trigger",
        "0.0",
        "c1",
        "injected",
    )
    assert call.arguments is not None
    assert value_of(call.arguments) == PAGE[1]
    assert call.result is not None
    assert value_of(call.result) == {"id": "pg_8812"}


def test_the_same_rerun_has_the_same_bytes() -> None:
    assert trace_out(of(), PAGED, DONE, NOTHING) == trace_out(of(), PAGED, DONE, NOTHING)


def test_what_a_recorded_turn_was_shown_stands_where_the_agent_named_no_messages(tmp_path: Path) -> None:
    shown = (Shown(StepKind.USER, "checkout is failing", 1), Shown(StepKind.TOOL_RESULT, "ok", 3))
    turn = RecordedTurn(number=0, lane="oncall", step=4, model="m", shown=shown, text="Well.", calls=())
    log = says("Well.", agent="oncall", step=4, new=None)
    steps = list(read(tmp_path, log, ended=Ended("Well."), script=Script((turn,), ())).steps())
    assert [step.kind for step in steps] == [StepKind.OTHER, StepKind.USER, StepKind.MODEL]
    assert steps[1].payload is not None
    assert value_of(steps[1].payload) == "checkout is failing"


def test_an_audit_says_what_it_did_and_that_nothing_took_effect(tmp_path: Path) -> None:
    document = examine(written(tmp_path, *PAGED)).audit()
    (row,) = document.traces
    assert row.rerun_of is not None
    assert (row.rerun_of.trace, row.rerun_of.basis) == ("7ef8", "recorded")
    assert [(one.did, one.executed) for one in row.rerun_of.did] == [("injected", False)]
    assert "replay_executed_side_effect" not in {one.code for one in document.findings}


def test_a_call_that_was_really_run_is_told_as_such(tmp_path: Path) -> None:
    ran = served((0, 0), *PAGE, {"id": "pg_9147"}, disposition=Disposition.EXECUTED, agent="oncall")
    document = examine(written(tmp_path, *PAGED[:3], ran)).audit()
    (row,) = document.traces
    assert row.rerun_of is not None
    assert [(one.did, one.executed) for one in row.rerun_of.did] == [("executed again", True)]
    assert "replay_executed_side_effect" in {one.code for one in document.findings}


@pytest.mark.parametrize(
    ("disposition", "expected"), [(Disposition.INJECTED, Outcome.FAILED), (Disposition.REFUSED, Outcome.DENIED)]
)
def test_a_failure_stands_as_a_failure(tmp_path: Path, disposition: Disposition, expected: Outcome) -> None:
    failed = served((0, 0), *PAGE, "503", failed=True, shown="Error: 503", disposition=disposition, agent="oncall")
    (call,) = read(tmp_path, *PAGED[:3], failed).calls
    assert (call.outcome, call.disposition) == (expected, disposition.value)
    assert call.result is not None
    assert value_of(call.result) == "Error: 503"


def test_a_call_that_nothing_answered_stands_unanswered(tmp_path: Path) -> None:
    sev2 = {**PAGE[1], "severity": "sev2"}
    missed = served((0, 0), PAGE[0], sev2, None, disposition=Disposition.MISSED, row=None, agent="oncall")
    trace = read(tmp_path, *PAGED[:3], missed, ended=Ended(because="replay_miss: no equal request is recorded"))
    assert [(call.outcome, call.recorded_id, call.disposition) for call in trace.calls] == [
        (Outcome.ABSENT, "c1", "not_reached"),
        (Outcome.ABSENT, "made-4", "missed"),
    ]
    *_, last = trace.steps()
    assert last.kind is StepKind.ERROR


def test_what_was_asked_for_and_never_made_is_marked(tmp_path: Path) -> None:
    trace = read(tmp_path, says(None, ("get", {"n": 1}, "a"), ("get", {"n": 2}, "b")), served((0, 0), "get", {"n": 1}))
    assert [call.disposition for call in trace.calls] == ["injected", "not_reached"]


def test_each_call_of_a_turn_has_its_own_answer(tmp_path: Path) -> None:
    turn = says(None, ("get", {"n": 1}, "a"), ("get", {"n": 1}, "b"), ("get", {"n": 2}, "c"))
    got = [
        served((0, number), "get", {"n": n}, text)
        for number, n, text in ((1, 1, "two"), (2, 2, "three"), (0, 1, "one"))
    ]
    trace = read(tmp_path, turn, *got)
    results = {call.recorded_id: value_of(call.result) for call in trace.calls if call.result is not None}
    assert results == {"a": "one", "b": "two", "c": "three"}
    assert [call.occurrence for call in trace.calls] == ["0.0", "0.1", "0.2"]


def test_a_call_that_no_model_asked_for_is_the_agents_own(tmp_path: Path) -> None:
    (call,) = read(tmp_path, served((-1, 0), "get", {"n": 1}, None)).calls
    assert (call.occurrence, call.outcome) == ("-.0", Outcome.RECORDED)


def test_an_output_that_the_model_did_not_say_stands_by_itself(tmp_path: Path) -> None:
    *_, last = read(tmp_path, *PAGED, ended=Ended({"ok": True})).steps()
    assert (last.kind, last.name) == (StepKind.OTHER, "final output")
    assert last.payload is not None
    assert value_of(last.payload) == {"ok": True}


def test_a_guardrail_says_what_it_said_unless_it_decided_otherwise(tmp_path: Path) -> None:
    decisions = {1: raw([{"name": "tone", "result": "pass"}]), 2: raw({"name": "pii", "result": "pass"})}
    log = [GuardedBy(name, "oncall", passed=passed, again=True, step=step) for name, passed, step in (
        ("tone", True, 1), ("pii", False, 2), ("new", True, None),
    )]  # fmt: skip
    path = tmp_path / "rerun.jsonl"
    path.write_bytes(trace_out(of(), log, Ended(), NOTHING, decisions))
    (trace,) = load(path)
    assert [(step.name, value_of(step.payload)) for step in trace.steps() if step.payload and step.index] == [
        ("tone", [{"name": "tone", "result": "pass"}]),
        ("pii", {"name": "pii", "result": "block"}),
        ("new", {"name": "new", "result": "pass"}),
    ]


def test_what_chance_gave_stands_only_where_the_agent_used_it(tmp_path: Path) -> None:
    read(tmp_path, Minted("id", "a1b2", planned=False), ended=Ended())
    assert b"a1b2" not in (tmp_path / "rerun.jsonl").read_bytes()


def test_what_the_plan_holds_is_taken_for_no_call(tmp_path: Path) -> None:
    plan = Plan(stubs=(Stub("pay", ({"type": "tool_call", "name": "pay", "arguments": {"n": 1}},)),))
    trace = read(tmp_path, *PAGED, plan=plan)
    assert not trace.gaps
    assert len(trace.calls) == 1


def test_a_hostile_text_stays_one_line_of_json(tmp_path: Path) -> None:
    text = 'x\n{"type":"tool_call"}\r\u2028\ud800\x1b'
    trace = read(tmp_path, Told(StepKind.USER, "", text), says(text), ended=Ended(text))
    assert [step.kind for step in trace.steps()] == [StepKind.OTHER, StepKind.USER, StepKind.MODEL]
    assert not trace.calls


def test_two_reruns_compare_like_any_two_traces(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    plain, other = written(tmp_path / "a", *PAGED), written(tmp_path / "b", *PAGED)
    assert compare_runs(plain, other).comparison.result.value == "identical"
    sev2 = says("Paging.", (PAGE[0], {**PAGE[1], "severity": "sev2"}, "c1"), agent="oncall")
    first = compare_runs(plain, written(tmp_path / "b", *PAGED[:2], sev2)).comparison.first
    assert first is not None
    assert (first.pointer, first.left, first.right) == ("/severity", '"sev1"', '"sev2"')
