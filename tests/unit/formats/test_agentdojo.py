"""Is an AgentDojo run read with its ids empty, used twice or missing, and with what the benchmark planted?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from forensics.api import examine
from forensics.core.jsonvalue import text_of, value_of
from forensics.core.trace import Outcome, StepKind
from forensics.errors import CorruptEvidenceError
from tests.unit.formats.conftest import hiding, read_evidence

if TYPE_CHECKING:
    from pathlib import Path

    from forensics.core.reading import Reading
    from forensics.core.trace import Trace

Fields = dict[str, Any]


def call(function: str, call_id: str | None = "", **args: Any) -> Fields:
    return {"function": function, "args": args, "id": call_id, "placeholder_args": None}


def asks(*calls: Fields, content: Any = None) -> Fields:
    return {"role": "assistant", "content": content, "tool_calls": list(calls)}


def gives(ran: Fields, content: Any = "ok", error: str | None = None) -> Fields:
    return {"role": "tool", "content": content, "tool_call_id": ran["id"], "tool_call": ran, "error": error}


def run(*messages: Fields, **more: Any) -> Fields:
    head = {"suite_name": "banking", "pipeline_name": "demo", "user_task_id": "user_task_1", "injections": {}}
    return {**head, "messages": [{"role": "user", "content": "pay it"}, *messages], "error": None, **more}


def write(tmp_path: Path, fields: Fields) -> Path:
    path = tmp_path / "run.json"
    path.write_text(json.dumps(fields), encoding="utf-8")
    return path


def trace_of(tmp_path: Path, fields: Fields) -> Trace:
    return read_evidence(write(tmp_path, fields)).traces[0]


DONE = {"role": "assistant", "content": "done", "tool_calls": []}


@pytest.mark.parametrize("call_id", ["", None, "same"])
def test_results_go_to_their_calls_by_the_copy_and_not_by_the_id(tmp_path: Path, call_id: str | None) -> None:
    one, other = call("pay", call_id, to="A"), call("pay", call_id, to="B")
    trace = trace_of(tmp_path, run(asks(one, other), gives(other, "paid B"), gives(one, "paid A"), DONE))
    told = [(value_of(c.arguments)["to"], text_of(c.result)) for c in trace.calls if c.arguments and c.result]
    assert told == [("A", "paid A"), ("B", "paid B")]
    assert not any(c.blocks for c in trace.calls)


def test_an_id_that_later_turns_use_again_names_other_calls(tmp_path: Path) -> None:
    one, other = call("pay", "c1", to="A"), call("pay", "c1", to="B")
    trace = trace_of(tmp_path, run(asks(one), gives(one, "1"), asks(other), gives(other, "2"), DONE))
    assert [c.occurrence for c in trace.calls] == ["0.0", "1.0"]
    assert [text_of(c.result) for c in trace.calls if c.result] == ["1", "2"]


def test_an_error_is_what_the_model_was_given(tmp_path: Path) -> None:
    one = call("pay", "c1")
    trace = trace_of(tmp_path, run(asks(one), gives(one, "", "ValueError: no such account"), DONE))
    assert trace.calls[0].outcome is Outcome.FAILED
    assert trace.calls[0].result is not None
    assert text_of(trace.calls[0].result) == "ValueError: no such account"


def test_content_in_blocks_is_the_text_of_older_runs(tmp_path: Path) -> None:
    one = call("pay", "c1")
    blocks = [{"type": "text", "content": "paid"}]
    trace = trace_of(tmp_path, run(asks(one, content=blocks), gives(one, blocks), DONE))
    assert trace.calls[0].result is not None
    assert text_of(trace.calls[0].result) == "paid"


@pytest.mark.parametrize(
    "renamed",
    [{}, {"Content": "paid"}, {"result": "paid"}, {"content": None}, {"content": 5}, {"content": {"said": "paid"}}],
)
def test_a_tool_message_without_its_content_is_a_gap(tmp_path: Path, renamed: Fields) -> None:
    one = call("pay", "c1")
    bare = {name: held for name, held in gives(one).items() if name != "content"}
    assert hiding(read_evidence(write(tmp_path, run(asks(one), {**bare, **renamed}, DONE)))) == [
        "a tool message whose content is not there to be read"
    ]
    assert hiding(read_evidence(write(tmp_path, run(asks(one), {**bare, "error": "ValueError: no"}, DONE)))) == []
    nothing: tuple[Any, ...] = ("", [])
    for content in nothing:
        assert hiding(read_evidence(write(tmp_path, run(asks(one), gives(one, content), DONE)))) == []


def test_injected_texts_are_steps_of_their_own(tmp_path: Path) -> None:
    trace = trace_of(tmp_path, run(DONE, injections={"a/b": "IMPORTANT"}))
    step = trace.step(0)
    assert (step.kind, step.name, step.locator.pointer) == (StepKind.OTHER, "injection", "/injections/a~1b")


def test_a_tool_message_without_its_call_is_a_gap(tmp_path: Path) -> None:
    trace = trace_of(tmp_path, run(gives(call("pay", "c1")), DONE))
    assert [g.code for g in trace.gaps] == ["orphan_result"]


def test_a_run_that_broke_off_hides_what_came_after(tmp_path: Path) -> None:
    audit = examine(write(tmp_path, run(DONE, error="server overloaded"))).audit()
    assert audit.traces[0].verdict.level == "static"


def test_a_run_without_messages_says_so(tmp_path: Path) -> None:
    trace = trace_of(tmp_path, {**run(), "messages": [], "injections": {"v": "text"}})
    assert [g.message for g in trace.gaps] == ["the run holds no message"]


def damaged(cases: Path, name: str) -> Reading:
    return read_evidence(cases / "damaged" / name)


def test_a_key_that_stands_twice_taints_its_message_alone(cases: Path) -> None:
    reading = damaged(cases, "agentdojo_dup_keys.json")
    assert len(reading.traces[0].calls) == 5
    assert [g.code for g in reading.gaps] == ["duplicate_key"]
    assert not any(c.blocks for c in reading.traces[0].calls)


def test_a_number_that_is_none_is_said_and_nothing_else_is_lost(cases: Path) -> None:
    reading = damaged(cases, "agentdojo_nan.json")
    assert [f.code for f in reading.findings] == ["non_finite_number"]
    assert (len(reading.traces[0].calls), reading.gaps) == (5, ())


@pytest.mark.parametrize("part", range(15, 50, 7))
def test_a_run_that_is_cut_keeps_what_stands_before(tmp_path: Path, part: int) -> None:
    one = call("pay", "c1", to="A")
    whole = json.dumps(run(asks(one), gives(one), DONE)).encode()
    path = tmp_path / "cut.json"
    path.write_bytes(whole[: len(whole) * part // 50])
    reading = read_evidence(path, "agentdojo")
    assert reading.gaps
    assert reading.gaps[0].hides


def test_a_run_that_is_cut_before_its_messages_is_corrupt(tmp_path: Path) -> None:
    path = tmp_path / "cut.json"
    path.write_text('{"suite_name": "banking", "pipeline_name": "x", "injec', "utf-8")
    with pytest.raises(CorruptEvidenceError):
        read_evidence(path, "agentdojo")
