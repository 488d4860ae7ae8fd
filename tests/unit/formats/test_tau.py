"""Are both principals of a tau-bench run told apart, and is a call that hides in words said to hide?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from forensics.core.jsonvalue import text_of
from forensics.core.trace import Outcome, StepKind
from forensics.errors import UnknownFormatError
from tests.unit.formats.conftest import read_evidence

if TYPE_CHECKING:
    from pathlib import Path

    from forensics.core.reading import Reading

Fields = dict[str, Any]


def say(role: str, content: str | None = None, *calls: Fields) -> Fields:
    return {"role": role, "content": content, "tool_calls": list(calls) or None, "timestamp": "2026-05-31T21:12:23"}


def asks(role: str, name: str, call_id: str, **arguments: Any) -> Fields:
    return say(role, None, {"id": call_id, "name": name, "arguments": arguments, "requestor": role})


def gives(requestor: str, call_id: str, content: str = "ok", *, error: bool = False) -> Fields:
    return {"id": call_id, "role": "tool", "content": content, "requestor": requestor, "error": error}


def simulation(*messages: Fields, **more: Any) -> Fields:
    return {"id": "sim-1", "task_id": "8", "termination_reason": "user_stop", "messages": list(messages), **more}


def results(*simulations: Fields, **world: Any) -> Fields:
    world = {"domain_name": "airline", "policy": "Be kind.", "tool_defs": None, **world}
    return {"info": {"environment_info": world}, "tasks": [], "simulations": list(simulations)}


def read(tmp_path: Path, content: object) -> Reading:
    path = tmp_path / "results.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return read_evidence(path)


BOTH = simulation(
    say("user", "no signal"),
    asks("assistant", "get_line", "a1", phone="555"),
    gives("assistant", "a1"),
    say("assistant", "please look at your phone"),
    asks("user", "check_status_bar", "u1"),
    gives("user", "u1", "no SIM", error=True),
    say("user", "it says no SIM"),
)


def test_the_customer_is_a_principal_of_its_own(tmp_path: Path) -> None:
    trace = read(tmp_path, results(BOTH)).traces[0]
    assert [(c.tool, c.agent, c.outcome) for c in trace.calls] == [
        ("get_line", "assistant", Outcome.RECORDED),
        ("check_status_bar", "user", Outcome.FAILED),
    ]
    assert [trace.step(i).agent for i in trace.rows(StepKind.MODEL)] == ["assistant", "assistant", "user"]
    assert not trace.gaps


def test_two_principals_may_use_one_id(tmp_path: Path) -> None:
    one = simulation(asks("assistant", "a", "x"), asks("user", "b", "x"), gives("user", "x", "B"),
                     gives("assistant", "x", "A"))  # fmt: skip
    trace = read(tmp_path, results(one)).traces[0]
    assert [text_of(c.result) for c in trace.calls if c.result] == ["A", "B"]


def test_several_results_in_one_message_are_read(tmp_path: Path) -> None:
    several = {"role": "tool", "tool_messages": [gives("assistant", "a1", "1"), gives("assistant", "a2", "2")]}
    asked = asks("assistant", "f", "a1")
    asked["tool_calls"] += asks("assistant", "f", "a2")["tool_calls"]
    trace = read(tmp_path, results(simulation(asked, several))).traces[0]
    assert [text_of(c.result) for c in trace.calls if c.result] == ["1", "2"]


@pytest.mark.parametrize("content", [BOTH, [BOTH], results(BOTH)])
def test_one_simulation_a_list_of_them_and_results_say_the_same(tmp_path: Path, content: object) -> None:
    reading = read(tmp_path, content)
    assert (reading.evidence.format, [t.id for t in reading.traces]) == ("tau2", ["sim-1"])
    assert len(reading.traces[0].calls) == 2


def test_each_simulation_is_a_trace_even_under_one_id(tmp_path: Path) -> None:
    assert [t.id for t in read(tmp_path, results(BOTH, BOTH)).traces] == ["sim-1", "sim-1#2"]


def test_tool_definitions_stand_beside_the_trace(tmp_path: Path) -> None:
    tool = {"type": "function", "function": {"name": "get_line", "description": "Look up a line."}}
    facts = read(tmp_path, results(BOTH, tool_defs=[tool])).traces[0].facts
    assert facts["get_line"].description == "Look up a line."


def test_what_broke_a_simulation_off_is_said(tmp_path: Path) -> None:
    trace = read(tmp_path, results({**BOTH, "termination_reason": "max_steps"})).traces[0]
    assert trace.ended_normally is False
    assert trace.step(len(trace) - 1).kind is StepKind.ERROR


def test_ticks_are_put_together_turn_by_turn(tmp_path: Path) -> None:
    def tick(**more: Any) -> Fields:
        return {"tick_id": 0, "timestamp": "2026-06-30T11:40:29", **more}

    words = [tick(user_chunk={"role": "user", "content": c}) for c in ("I ", "moved")]
    asked = tick(agent_tool_calls=[{"id": "a1", "name": "set_address", "arguments": {"to": "X"}}])
    shown = tick(agent_tool_results=[gives("assistant", "a1", "changed")])
    answer = [tick(agent_chunk={"role": "assistant", "content": c}) for c in ("Do", "ne")]
    one = simulation(mode="full_duplex", ticks=[*words, asked, shown, *answer])
    trace = read(tmp_path, one).traces[0]
    said = [text_of(p) for k in (StepKind.USER, StepKind.MODEL) for i in trace.rows(k) if (p := trace.payload[i])]
    assert said == ["I moved", "Done"]
    assert [(c.tool, c.outcome) for c in trace.calls] == [("set_address", Outcome.RECORDED)]


def test_ticks_without_their_speech_hide_what_was_asked(tmp_path: Path) -> None:
    silent = {"tick_id": 0, "agent_chunk": {"role": "assistant", "contains_speech": True}}
    trace = read(tmp_path, simulation(ticks=[silent])).traces[0]
    assert [g.hides for g in trace.gaps] == [True]


def test_results_without_simulations_are_no_trace(tmp_path: Path) -> None:
    fields = results()
    del fields["simulations"]
    with pytest.raises(UnknownFormatError, match="holds no simulation"):
        read(tmp_path, fields)


def test_a_cut_file_keeps_the_simulations_before_the_cut(cases: Path) -> None:
    reading = read_evidence(cases / "damaged" / "tau2_truncated_mid_json.json")
    assert len(reading.traces) == 32
    assert [g.code for g in reading.gaps] == ["container_truncated"]
    assert [bool(t.gaps) for t in reading.traces] == [False] * 31 + [True]


# tau-bench 1 ---------------------------------------------------------------------------------------------------------


def openai_call(name: str, call_id: str, arguments: str = "{}") -> Fields:
    function = {"name": name, "arguments": arguments}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": call_id, "type": "function",
            "function": function}]}  # fmt: skip


def test_each_run_of_a_list_is_a_trace(tmp_path: Path) -> None:
    traj = [{"role": "user", "content": "hi"}, openai_call("get_user", "c1"),
            {"role": "tool", "tool_call_id": "c1", "name": "get_user", "content": "Ann"}]  # fmt: skip
    reading = read(tmp_path, [{"task_id": 1, "reward": 1.0, "info": {}, "traj": traj, "trial": t} for t in (0, 0)])
    assert (reading.evidence.format, [t.id for t in reading.traces]) == ("tau1", ["task-1.0", "task-1.0#2"])
    assert [len(t.calls) for t in reading.traces] == [1, 1]
    assert not reading.gaps


@pytest.mark.parametrize(
    "hidden",
    [
        {"role": "assistant", "content": 'Thought: look\nAction:\n{"name": "get_user", "arguments": {}}'},
        {"role": "user", "content": "API output: Ann"},
    ],
)
def test_a_call_in_the_words_of_an_agent_is_a_gap(tmp_path: Path, hidden: Fields) -> None:
    reading = read(tmp_path, [{"task_id": 1, "reward": 0.0, "traj": [hidden]}])
    assert [g.message for g in reading.gaps] == ["a call that stands in the words of a message"]


def test_a_transcript_says_that_its_calls_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "few_shot.jsonl"
    lines = (json.dumps({"messages_display": "user: hi\nassistant: None\ntool: Ann"}), "no JSON")
    path.write_text("\n".join(lines), encoding="utf-8")
    reading = read_evidence(path)
    assert reading.evidence.format == "tau1"
    assert reading.counts.bad_lines == [2]
    assert [g.hides for t in reading.traces for g in t.gaps] == [True, True]
