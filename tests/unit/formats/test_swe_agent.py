"""Are the actions of SWE-agent told as calls, whichever parser read them out of the model's answer?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from forensics.core.jsonvalue import text_of, value_of
from forensics.core.trace import Outcome
from tests.unit.formats.conftest import read_evidence

if TYPE_CHECKING:
    from pathlib import Path

    from forensics.core.trace import Trace

Fields = dict[str, Any]
TASK = {"role": "user", "content": "Fix it.", "agent": "primary"}


def acts(action: str, **more: Any) -> Fields:
    return {"role": "assistant", "content": f"look\n```\n{action}\n```", "thought": "look", "action": action, **more}


def gives(text: str) -> Fields:
    return {"role": "user", "content": text, "agent": "primary"}


def step(action: str, observation: str) -> Fields:
    return {"action": action, "observation": observation, "response": f"look\n```\n{action}\n```", "state": "{}"}


def trace_of(tmp_path: Path, **fields: Any) -> Trace:
    path = tmp_path / "run.traj"
    path.write_text(json.dumps(fields), encoding="utf-8")
    reading = read_evidence(path)
    assert reading.evidence.format == "sweagent"
    return reading.traces[0]


HISTORY = [TASK, acts("ls"), gives("src"), acts("submit")]
STEPS = [step("ls", "src"), step("submit", "diff --git")]


def test_an_action_is_a_call_and_the_last_one_gave_what_the_steps_say(tmp_path: Path) -> None:
    trace = trace_of(tmp_path, environment="demo", trajectory=STEPS, history=HISTORY, info={"exit_status": "submitted"})
    told = [(value_of(c.arguments)["command"], text_of(c.result)) for c in trace.calls if c.arguments and c.result]
    assert told == [("ls", "src"), ("submit", "diff --git")]
    assert (trace.ended_normally, trace.gaps) == (True, ())


def test_steps_alone_say_the_same(tmp_path: Path) -> None:
    trace = trace_of(tmp_path, trajectory=STEPS)
    assert [text_of(c.result) for c in trace.calls if c.result] == ["src", "diff --git"]


def test_function_calls_are_joined_by_their_ids(tmp_path: Path) -> None:
    asked = {"id": "c1", "type": "function", "function": {"name": "create", "arguments": '{"path": "a"}'}}
    shown = {"role": "tool", "content": "made", "tool_call_ids": ["c1"], "message_type": "observation"}
    trace = trace_of(tmp_path, history=[TASK, acts("create a", tool_calls=[asked]), shown])
    assert [(c.tool, c.recorded_id, c.outcome) for c in trace.calls] == [("create", "c1", Outcome.RECORDED)]


def test_a_demonstration_ran_nothing(tmp_path: Path) -> None:
    demo = [{**acts("rm x"), "is_demo": True}, {**gives("gone"), "is_demo": True}]
    assert len(trace_of(tmp_path, history=[*demo, *HISTORY[:3]]).calls) == 1


def test_a_timeout_may_have_taken_effect(tmp_path: Path) -> None:
    trace = trace_of(tmp_path, history=[TASK, acts("./rock"), gives("\nEXECUTION TIMED OUT")])
    assert trace.calls[0].outcome is Outcome.INDETERMINATE


def test_a_history_without_all_actions_is_a_gap(tmp_path: Path) -> None:
    trace = trace_of(tmp_path, trajectory=[*STEPS, step("rm x", "")], history=HISTORY)
    assert any("3 steps" in g.message for g in trace.gaps)


@pytest.mark.parametrize(
    ("name", "calls"),
    [("function_calling_simple", 5), ("ctf_rev_rock", 12), ("1867__xml_sys-env_cursors_window100", 12)],
)
def test_real_runs(cases: Path, name: str, calls: int) -> None:
    path = next(p for p in (cases / "traces" / "sweagent").iterdir() if name in p.name)
    trace = read_evidence(path).traces[0]
    assert len(trace.calls) == calls
    assert all(c.answered for c in trace.calls)
