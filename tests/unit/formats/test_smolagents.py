"""Are the steps of smolagents read with what was asked for, what was observed, and what cannot be told apart?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from forensics.core.jsonvalue import text_of
from forensics.core.trace import StepKind
from tests.unit.formats.conftest import hiding, outcomes, read_evidence, read_records, read_value

Fields = dict[str, Any]
SAMPLE = Path(__file__).resolve().parents[2] / "contract" / "samples" / "smolagents.json"
STEPS: list[Fields] = json.loads(SAMPLE.read_text(encoding="utf-8"))
TASK = STEPS[0]
RAN = [
    ("0.0", "find_person", "Ida", "recorded"),
    ("1.0", "page", "Error executing tool 'page': no argument 'who'", "failed"),
    ("2.0", "page", "pg_3d90", "recorded"),
    ("3.0", "final_answer", "Ida was paged: pg_3d90.", "recorded"),
]


def action(*calls: Fields, **members: Any) -> Fields:
    return {**STEPS[3], "tool_calls": list(calls), **members}


def call(recorded: str, name: str, arguments: Any) -> Fields:
    return {"id": recorded, "type": "function", "function": {"name": name, "arguments": arguments}}


def test_a_run_of_full_steps() -> None:
    reading = read_evidence(SAMPLE)
    (trace,) = reading.traces
    assert reading.evidence.format == "smolagents"
    assert outcomes(reading) == RAN
    kinds = [step.kind for step in trace.steps()]
    assert kinds[:3] == [StepKind.USER, StepKind.SYSTEM, StepKind.MODEL]
    assert kinds.count(StepKind.SYSTEM) == 1
    assert (reading.counts.input_tokens, reading.counts.output_tokens) == (160, 36)
    assert not hiding(reading)


def test_every_container_tells_the_same(tmp_path: Path) -> None:
    result: Fields = {"output": "done", "state": "success", "steps": STEPS, "token_usage": None, "timing": {}}
    for reading in (read_records(tmp_path, *STEPS), read_value(tmp_path, result), read_records(tmp_path, result)):
        assert (reading.evidence.format, outcomes(reading)) == ("smolagents", RAN)


def test_what_was_observed_of_several_calls_is_the_result_of_none(tmp_path: Path) -> None:
    both = action(call("a", "find_person", {}), call("b", "page", {}), observations="Ida\npg_3d90")
    reading = read_value(tmp_path, [TASK, both])
    assert [one[2:] for one in outcomes(reading)] == [(None, "absent"), (None, "absent")]
    (trace,) = reading.traces
    said = [text_of(step.payload or b"") for step in trace.steps() if step.kind is StepKind.USER]
    assert said[-1] == "Ida\npg_3d90"


def test_which_of_several_calls_raised_is_not_told(tmp_path: Path) -> None:
    asked = {"role": "assistant", "content": "", "tool_calls": [call("a", "page", {}), call("b", "page", {})]}
    broken = action(model_output_message=asked, observations=None, error={"type": "X", "message": "no"})
    reading = read_value(tmp_path, [TASK, STEPS[1], broken])
    (trace,) = reading.traces
    assert [one.result for one in list(trace.calls)[1:]] == [None, None]
    assert StepKind.ERROR in {step.kind for step in trace.steps()}


def test_code_that_was_run_is_one_call_with_what_it_printed(tmp_path: Path) -> None:
    ran = action(call("call_1", "python_interpreter", "print(page('Ida'))"), observations="Execution logs:\npg_3d90")
    reading = read_value(tmp_path, [TASK, ran])
    (trace,) = reading.traces
    (one,) = trace.calls
    assert (one.tool, one.freeform) == ("python_interpreter", True)
    assert outcomes(reading)[0][2:] == ("Execution logs:\npg_3d90", "recorded")


def test_a_task_after_steps_begins_another_run(tmp_path: Path) -> None:
    assert [len(trace.calls) for trace in read_records(tmp_path, *STEPS, *STEPS).traces] == [4, 4]


def test_a_plan_is_a_turn(tmp_path: Path) -> None:
    plan = {"plan": "1. page Ida", "model_input_messages": [], "model_output_message": {}, "timing": {"end_time": 1.5}}
    (trace,) = read_value(tmp_path, [TASK, plan, *STEPS[1:]]).traces
    assert len(list(trace.rows(StepKind.MODEL))) == 5


@pytest.mark.parametrize("strange", [{"note": "x"}, 7, "text"])
def test_what_is_no_step_is_a_gap(tmp_path: Path, strange: Any) -> None:
    assert hiding(read_value(tmp_path, [*STEPS, strange])) == ["a record that is no step of a run"]


def test_a_call_in_a_member_that_is_not_read_is_a_gap(tmp_path: Path) -> None:
    hidden = action(call("a", "page", {}), late_calls=[{"tool_name": "refund", "arguments": {}}])
    assert hiding(read_value(tmp_path, [TASK, hidden]))
