"""Is a rerun that was written down a trace again: its own, marked as a rerun, with everything that happened in it?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from forensics import compare_runs
from forensics.api import examine, load
from forensics.core.jsonvalue import value_of
from forensics.core.trace import Outcome, StepKind
from forensics.replay.plan import Modifications, Plan, Stub
from forensics.replay.ports import AskedCall, ModelAnswer
from forensics.replay.trace_out import Called, Ended, Happening, Of, Shown, Turn, trace_out

if TYPE_CHECKING:
    from pathlib import Path

    from forensics.core.trace import Trace

SOURCE = Of(trace="7ef8", evidence="pager.db", evidence_sha256="ab" * 32, policy="inject", rules_digest="sha256:cd")
PAGE = ("pager.trigger", {"service": "checkout", "severity": "sev1"})


def says(text: str | None, *calls: tuple[str, Any, str | None]) -> ModelAnswer:
    return ModelAnswer(text=text, calls=tuple(AskedCall(*call) for call in calls), model="m", usage={"input_tokens": 3})


def served(name: str, arguments: Any, result: Any = "ok", **more: Any) -> Called:
    told = {"disposition": "injected", "outcome": "recorded", **more}
    return Called(name=name, arguments=arguments, result=result, **told)


PAGED: tuple[Happening, ...] = (
    Shown("system", "You are on call.", "oncall"),
    Shown("user", "checkout is failing", "oncall"),
    Turn(says("Paging.", (*PAGE, "c1")), "oncall"),
    served(*PAGE, {"id": "pg_8812"}, lane="oncall"),
    Turn(says("Paged pg_8812."), "oncall"),
    Ended("Paged pg_8812."),
)


def written(folder: Path, *happenings: Happening, plan: Plan | None = None) -> Path:
    path = folder / "rerun.jsonl"
    path.write_bytes(trace_out(SOURCE, plan or Plan(), happenings))
    return path


def read(folder: Path, *happenings: Happening, plan: Plan | None = None) -> Trace:
    (trace,) = load(written(folder, *happenings, plan=plan))
    return trace


def test_it_is_a_trace_of_its_own_and_a_rerun_of_its_source(tmp_path: Path) -> None:
    trace = read(tmp_path, *PAGED)
    assert trace.rerun_of == "7ef8"
    assert trace.id not in ("7ef8", "trace-0")
    assert not trace.gaps
    head = json.loads((tmp_path / "rerun.jsonl").read_bytes().split(b"\n")[0])
    assert head["source"] == {"name": "pager.db", "sha256": "ab" * 32}
    assert head["plan_sha256"] == Plan().digest
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


def test_the_same_rerun_has_the_same_bytes_and_another_one_another_id(tmp_path: Path) -> None:
    assert trace_out(SOURCE, Plan(), PAGED) == trace_out(SOURCE, Plan(), PAGED)
    others = [
        trace_out(SOURCE, Plan(), PAGED[:-2]),
        trace_out(SOURCE, Plan(modifications=Modifications(prompt="x")), PAGED),
        trace_out(Of(trace="7ef9", evidence="pager.db", evidence_sha256="ab" * 32), Plan(), PAGED),
    ]
    ids = {json.loads(data.split(b"\n")[0])["trace"] for data in (trace_out(SOURCE, Plan(), PAGED), *others)}
    assert len(ids) == 4


def test_an_audit_says_what_it_did_and_that_nothing_took_effect(tmp_path: Path) -> None:
    (row,) = examine(written(tmp_path, *PAGED)).audit().traces
    assert row.rerun_of is not None
    assert (row.rerun_of.trace, row.rerun_of.basis) == ("7ef8", "recorded")
    assert [(one.did, one.executed) for one in row.rerun_of.did] == [("injected", False)]
    assert "replay_executed_side_effect" not in {one.code for one in examine(tmp_path / "rerun.jsonl").audit().findings}


def test_a_call_that_was_really_run_is_told_as_such(tmp_path: Path) -> None:
    ran = served(*PAGE, {"id": "pg_9147"}, disposition="executed", lane="oncall")
    document = examine(written(tmp_path, *PAGED[:3], ran)).audit()
    (row,) = document.traces
    assert row.rerun_of is not None
    assert [(one.did, one.executed) for one in row.rerun_of.did] == [("executed again", True)]
    assert "replay_executed_side_effect" in {one.code for one in document.findings}


@pytest.mark.parametrize(("outcome", "expected"), [("failed", Outcome.FAILED), ("denied", Outcome.DENIED)])
def test_a_failure_stands_as_a_failure(tmp_path: Path, outcome: str, expected: Outcome) -> None:
    (call,) = read(tmp_path, *PAGED[:3], served(*PAGE, "503", outcome=outcome, lane="oncall")).calls
    assert call.outcome is expected


def test_a_call_that_nothing_answered_stands_unanswered(tmp_path: Path) -> None:
    missed = Called(name="pager.trigger", arguments={"severity": "sev2"}, disposition="missed", lane="oncall")
    trace = read(tmp_path, *PAGED[:3], missed, Ended(stopped="replay_miss: no equal request is recorded"))
    assert [(call.outcome, call.recorded_id, call.disposition) for call in trace.calls] == [
        (Outcome.ABSENT, "c1", "not_reached"),
        (Outcome.ABSENT, "made-4", "missed"),
    ]
    assert [step.name or step.kind.label for step in trace.steps()][-1] == "error"
    assert len(trace.calls) == 2


def test_equal_calls_of_one_turn_are_answered_one_by_one(tmp_path: Path) -> None:
    turn = Turn(says(None, ("get", {"n": 1}, "a"), ("get", {"n": 1}, "b"), ("get", {"n": 2}, "c")))
    got = [
        served("get", {"n": 1}, "second", call_id="b"),
        served("get", {"n": 2}, "third"),
        served("get", {"n": 1}, "first"),
    ]
    trace = read(tmp_path, turn, *got)
    results = {call.recorded_id: value_of(call.result) for call in trace.calls if call.result is not None}
    assert results == {"a": "first", "b": "second", "c": "third"}
    assert [call.occurrence for call in trace.calls] == ["0.0", "0.1", "0.2"]


def test_a_call_that_no_model_asked_for_is_the_agents_own(tmp_path: Path) -> None:
    trace = read(tmp_path, served("get", {"n": 1}, None))
    (call,) = trace.calls
    assert call.occurrence == "-.0"
    assert call.outcome is Outcome.RECORDED


def test_an_output_that_the_model_did_not_say_stands_by_itself(tmp_path: Path) -> None:
    (*_, last) = read(tmp_path, *PAGED[:5], Ended({"ok": True})).steps()
    assert (last.kind, last.name) == (StepKind.OTHER, "final output")
    assert last.payload is not None
    assert value_of(last.payload) == {"ok": True}


def test_what_the_plan_holds_is_taken_for_no_call(tmp_path: Path) -> None:
    plan = Plan(stubs=(Stub("pay", ({"type": "tool_call", "name": "pay", "arguments": {"n": 1}},)),))
    trace = read(tmp_path, *PAGED, plan=plan)
    assert not trace.gaps
    assert len(trace.calls) == 1


def test_a_hostile_text_stays_one_line_of_json(tmp_path: Path) -> None:
    text = 'x\n{"type":"tool_call"}\r\u2028\ud800\x1b'
    trace = read(tmp_path, Shown("user", text), Turn(says(text)), Ended(text))
    assert [step.kind for step in trace.steps()] == [StepKind.OTHER, StepKind.USER, StepKind.MODEL]
    assert not trace.calls


def test_two_reruns_compare_like_any_two_traces(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    plain, other = written(tmp_path / "a", *PAGED), written(tmp_path / "b", *PAGED, plan=Plan(on_miss=Plan().on_miss))
    assert compare_runs(plain, other).comparison.result.value == "identical"
    sev2 = Turn(says("Paging.", (PAGE[0], {**PAGE[1], "severity": "sev2"}, "c1")), "oncall")
    comparison = compare_runs(plain, written(tmp_path / "b", *PAGED[:2], sev2)).comparison
    assert comparison.first is not None
    assert (comparison.first.pointer, comparison.first.left, comparison.first.right) == (
        "/severity",
        '"sev1"',
        '"sev2"',
    )
