"""Are the commands of a mini-swe-agent told as calls, in both generations of its trajectories?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from forensics.core.evidence import Basis
from forensics.core.jsonvalue import text_of, value_of
from forensics.core.trace import Absence, Outcome
from tests.unit.formats.conftest import read_evidence

if TYPE_CHECKING:
    from pathlib import Path

    from forensics.core.reading import Reading

Fields = dict[str, Any]
SYSTEM = {"role": "system", "content": "One command a turn."}


def runs(command: str, fence: str = "bash") -> Fields:
    return {"role": "assistant", "content": f"THOUGHT: look\n\n```{fence}\n{command}\n```"}


def gives(text: str) -> Fields:
    return {"role": "user", "content": text}


OK = gives("<returncode>0</returncode>\n<output>\nsrc\n</output>")


def read(tmp_path: Path, content: object) -> Reading:
    path = tmp_path / "run.traj.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return read_evidence(path)


@pytest.mark.parametrize("fence", ["bash", "mswea_bash_command"])
def test_a_command_in_the_words_of_the_model_is_a_call(tmp_path: Path, fence: str) -> None:
    reading = read(tmp_path, [SYSTEM, gives("Fix it."), runs("ls", fence), OK])
    (call,) = reading.traces[0].calls
    assert reading.evidence.format == "mini-swe-agent"
    assert call.arguments is not None
    assert (call.tool, value_of(call.arguments), call.outcome) == ("bash", {"command": "ls"}, Outcome.RECORDED)
    assert call.pairing is Basis.DERIVED


def test_what_timed_out_may_have_taken_effect(tmp_path: Path) -> None:
    late = gives("The last command <command>rm -r x</command> timed out and has been killed.")
    reading = read(tmp_path, [SYSTEM, runs("ls"), OK, runs("rm -r x"), late])
    assert [c.outcome for c in reading.traces[0].calls] == [Outcome.RECORDED, Outcome.INDETERMINATE]


def test_a_turn_with_two_blocks_is_not_run(tmp_path: Path) -> None:
    two = {"role": "assistant", "content": "```bash\nls\n```\n```bash\nrm x\n```"}
    reading = read(tmp_path, [SYSTEM, runs("ls"), OK, two, gives("Please provide EXACTLY ONE action.")])
    assert len(reading.traces[0].calls) == 1


def test_a_result_without_a_command_is_a_gap(tmp_path: Path) -> None:
    reading = read(tmp_path, [SYSTEM, runs("ls"), OK, OK])
    assert [g.code for g in reading.gaps] == ["orphan_result"]


def test_newer_runs_have_tool_calls_and_say_how_they_ended(tmp_path: Path) -> None:
    asked = {"role": "assistant", "content": None, "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}]}  # fmt: skip
    shown = {"role": "tool", "tool_call_id": "c1", "content": "<returncode>0</returncode>"}
    messages = [SYSTEM, asked, shown, {"role": "exit", "content": "", "extra": {}}]
    told = {"trajectory_format": "mini-swe-agent-1.1", "info": {"exit_status": "LimitsExceeded"}, "messages": messages}
    trace = read(tmp_path, told).traces[0]
    assert [(c.recorded_id, c.outcome) for c in trace.calls] == [("c1", Outcome.RECORDED)]
    assert (trace.ended_normally, trace.gaps) == (False, ())


def test_commands_that_the_agent_noted_are_those_that_ran(tmp_path: Path) -> None:
    noted = {**runs("ls"), "extra": {"actions": [{"command": "pwd"}]}}
    told = {"trajectory_format": "mini-swe-agent-1.1", "info": {}, "messages": [noted, OK]}
    (call,) = read(tmp_path, told).traces[0].calls
    assert call.arguments is not None
    assert value_of(call.arguments) == {"command": "pwd"}


def test_the_last_command_submits(cases: Path) -> None:
    path = cases / "traces" / "mini-swe-agent" / "mini-swe-agent__tests_test_data_local.traj.json"
    calls = read_evidence(path).traces[0].calls
    assert [c.outcome for c in calls] == [Outcome.RECORDED, Outcome.RECORDED]
    assert calls[0].result is not None
    assert "hello world" in text_of(calls[0].result)


def calls_bash(*commands: str) -> Fields:
    asked = [
        {"id": f"c-{one}", "type": "function", "function": {"name": "bash", "arguments": json.dumps({"command": one})}}
        for one in commands
    ]
    return {"role": "assistant", "content": "hm", "tool_calls": asked}


@pytest.mark.parametrize(
    ("commands", "status", "absence"),
    [
        (["submit"], "Submitted", Absence.NOT_DUE),
        (["submit"], "LimitsExceeded", Absence.UNANSWERED),
        (["submit", "ls"], "Submitted", Absence.UNANSWERED),  # which of them submitted is not known
    ],
)
def test_the_command_that_submitted_ends_the_run(
    tmp_path: Path, commands: list[str], status: str, absence: Absence
) -> None:
    ends = {"role": "exit", "content": "diff", "extra": {"exit_status": status, "submission": "diff"}}
    messages = [SYSTEM, gives("Fix it."), calls_bash(*commands), ends]
    told = {"trajectory_format": "mini-swe-agent-1.1", "info": {"exit_status": status}, "messages": messages}
    assert {call.absence for call in read(tmp_path, told).traces[0].calls} == {absence}


EXIT = {"role": "exit", "content": "diff", "extra": {"exit_status": "Submitted"}}
ANSWER = {"role": "tool", "tool_call_id": "c-ls", "content": "<returncode>0</returncode>"}


@pytest.mark.parametrize(
    ("messages", "absence"),
    [
        ([calls_bash("rm x"), EXIT], Absence.NOT_DUE),
        ([calls_bash("rm x"), calls_bash("ls"), ANSWER, EXIT], Absence.UNANSWERED),
        ([calls_bash("rm x"), {"role": "assistant", "content": "done"}, EXIT], Absence.UNANSWERED),
        ([calls_bash("rm x"), EXIT, calls_bash("ls"), ANSWER], Absence.UNANSWERED),
    ],
)
def test_only_the_last_command_of_a_run_ended_it(tmp_path: Path, messages: list[Fields], absence: Absence) -> None:
    trace = read(tmp_path, {"trajectory_format": "mini-swe-agent-1.1", "messages": [SYSTEM, *messages]}).traces[0]
    assert trace.calls[0].absence is absence


def test_marks_of_blocks_that_nothing_ends_are_gone_through_once(tmp_path: Path) -> None:
    """As many marks as took minutes when each was followed to the end of the text."""
    reading = read(
        tmp_path, [SYSTEM, gives("go"), runs("ls"), OK, {"role": "assistant", "content": "```bash\nx " * 200_000}]
    )
    assert [call.tool for call in reading.traces[0].calls] == ["bash"]
