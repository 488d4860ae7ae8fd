"""Is an ATIF trajectory read with its results where its agent put them, and with its sub-agents?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from forensics.core.jsonvalue import text_of
from forensics.core.trace import Boundary, Outcome, StepKind
from tests.unit.formats.conftest import read_evidence

if TYPE_CHECKING:
    from pathlib import Path

    from forensics.core.reading import Reading

Fields = dict[str, Any]


def acts(*calls: str, **more: Any) -> Fields:
    told = [{"tool_call_id": c, "function_name": "look", "arguments": {"q": c}} for c in calls]
    return {"step_id": 2, "source": "agent", "message": "look", "tool_calls": told, **more}


def gave(*results: Fields) -> Fields:
    return {"observation": {"results": list(results)}}


def trajectory(*steps: Fields, **more: Any) -> Fields:
    agent = {"name": "demo", "version": "1", "tool_definitions": [{"name": "look", "description": "Looks."}]}
    user = {"step_id": 1, "source": "user", "message": "go"}
    return {"schema_version": "ATIF-v1.6", "session_id": "s1", "agent": agent, "steps": [user, *steps], **more}


def read(tmp_path: Path, content: Fields) -> Reading:
    path = tmp_path / "trajectory.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return read_evidence(path)


@pytest.mark.parametrize(
    "steps",
    [
        (acts("c1", **gave({"source_call_id": "c1", "content": "ok"})),),
        (acts("c1", **gave({"content": "ok"})),),
        (acts("c1"), {"source": "agent", "message": "", **gave({"source_call_id": "c1", "content": "ok"})}),
    ],
)
def test_a_result_is_for_the_call_that_it_names_or_the_only_one(tmp_path: Path, steps: tuple[Fields, ...]) -> None:
    reading = read(tmp_path, trajectory(*steps))
    (call,) = reading.traces[0].calls
    assert (reading.evidence.format, call.tool, call.agent, call.outcome) == ("atif", "look", "demo", Outcome.RECORDED)
    assert reading.traces[0].facts["look"].description == "Looks."
    assert not reading.gaps


def test_an_observation_that_no_call_asked_for_may_hide_one(tmp_path: Path) -> None:
    """Terminus writes its commands into the message; its harness answers to those and to words that it can't read."""
    told = {"step_id": 2, "source": "agent", "message": '{"commands": ["rm x"]}', **gave({"content": "done"})}
    trace = read(tmp_path, trajectory(told)).traces[0]
    assert [text_of(p) for row in trace.rows(StepKind.USER) if (p := trace.payload[row])] == ["go", "done"]
    assert [gap.hides for gap in trace.gaps] == [True]


def test_a_sub_agent_of_a_step_without_calls_is_not_lost(tmp_path: Path) -> None:
    result = {"content": "summed up", "subagent_trajectory_ref": [{"trajectory_id": "child"}]}
    told = {"step_id": 2, "source": "system", "message": "", **gave(result)}
    gaps = [gap.message for gap in read(tmp_path, trajectory(told)).gaps]
    assert "what a sub-agent did stands in a trajectory of its own" in gaps


@pytest.mark.parametrize(
    "step",
    [
        {**acts(), "step_id": 3},
        {**acts(), "toolCalls": [{"function_name": "look"}]},
        {**acts(), "actions": {"name": "look"}},
        {**acts(), "tool_calls": {"function_name": "look", "arguments": {}}},
        {**acts(), "tool_calls": '[{"function_name": "look"}]'},
        {**acts(), "observation": "looked"},
        {**acts(), "observation": {"results": "looked"}},
        {**acts("c1"), "source": "user"},
    ],
)
def test_a_missing_step_and_an_unknown_member_are_gaps(tmp_path: Path, step: Fields) -> None:
    assert [gap.hides for gap in read(tmp_path, trajectory(step)).gaps] == [True]


def test_a_call_among_the_parts_of_a_message_is_read(tmp_path: Path) -> None:
    part = {"type": "tool_use", "id": "c0", "name": "look", "input": {}}
    (trace,) = read(tmp_path, trajectory({**acts("c1"), "message": [part]})).traces
    assert [call.recorded_id for call in trace.calls] == ["c0", "c1"]


def test_members_that_every_version_knows_are_no_gaps(tmp_path: Path) -> None:
    more = {"metrics": {}, "extra": {"a": 1}, "llm_call_count": 1, "is_copied_context": False, "note": "x"}
    assert not read(tmp_path, trajectory({**acts(), **more})).gaps


@pytest.mark.parametrize("embedded", [True, False])
def test_a_sub_agent_stands_in_the_document_or_elsewhere(tmp_path: Path, embedded: bool) -> None:  # noqa: FBT001
    reference = {"trajectory_id": "child"}
    result = {"source_call_id": "c1", "content": "done", "subagent_trajectory_ref": [reference]}
    child = {**trajectory(acts("d1", **gave({"content": "x"}))), "trajectory_id": "child"}
    more = {"subagent_trajectories": [child]} if embedded else {}
    reading = read(tmp_path, trajectory(acts("c1", **gave(result)), **more))
    assert [t.id for t in reading.traces] == (["s1", "child"] if embedded else ["s1"])
    assert reading.traces[0].calls[0].boundary is Boundary.SUB_AGENT
    assert bool(reading.gaps) is not embedded


def test_a_trajectory_that_goes_on_elsewhere_is_a_gap(tmp_path: Path) -> None:
    assert read(tmp_path, trajectory(continued_trajectory_ref="more.json")).gaps


@pytest.mark.parametrize(
    ("name", "calls"),
    [("simple_trajectory", 1), ("terminus2_invalid_json", 3), ("harbor_openhands", 2), ("subagent_trajectories", 1)],
)
def test_real_trajectories(cases: Path, name: str, calls: int) -> None:
    path = next(p for p in (cases / "traces" / "atif").iterdir() if name in p.name)
    assert sum(len(t.calls) for t in read_evidence(path).traces) == calls
