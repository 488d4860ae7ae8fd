"""Is the state of a paused run read as turns, approvals and outcomes, with nothing that other members hold lost?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from forensics.core.jsonvalue import text_of
from forensics.core.trace import Boundary, Outcome, StepKind
from forensics.errors import CorruptEvidenceError
from tests.unit.formats.conftest import read_evidence

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from forensics.core.reading import Reading

Fields = dict[str, Any]
AGENT = {"name": "Roster"}


def item(kind: str, raw_item: Fields, **more: Any) -> Fields:
    return {"type": kind, "agent": AGENT, "raw_item": raw_item, **more}


def call(call_id: str = "c1", name: str = "page") -> Fields:
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": '{"who": "ann"}', "id": "fc"}


def asks(call_id: str = "c1", name: str = "page") -> Fields:
    return item("tool_call_item", call(call_id, name))


def gives(call_id: str = "c1", output: str = "done") -> Fields:
    return item(
        "tool_call_output_item", {"type": "function_call_output", "call_id": call_id, "output": output}, output=output
    )


def says(text: str) -> Fields:
    content = [{"type": "output_text", "text": text}]
    return item(
        "message_output_item", {"type": "message", "role": "assistant", "content": content, "status": "completed"}
    )


@pytest.fixture
def reading(tmp_path: Path) -> Callable[..., Reading]:
    def read(*items: Fields, context: Fields | None = None, **more: Any) -> Reading:
        state = {
            "$schemaVersion": "1.15", "current_agent": AGENT, "original_input": "Who is on call?",
            "generated_items": list(items), "model_responses": [], "context": context or {}, **more,
        }  # fmt: skip
        path = tmp_path / "state.json"
        path.write_text(json.dumps(state), "utf-8")
        return read_evidence(path)

    return read


def test_items_are_turns_with_their_calls_and_results(reading: Callable[..., Reading]) -> None:
    found = reading(asks("c1"), asks("c2", "look"), gives("c1"), gives("c2", "ann"), says("ann"))
    (trace,) = found.traces
    assert [(c.occurrence, c.tool, c.outcome) for c in trace.calls] == [
        ("0.0", "page", Outcome.RECORDED), ("0.1", "look", Outcome.RECORDED),
    ]  # fmt: skip
    assert (found.counts.model_calls, found.evidence.dialect, trace.agents) == (2, "1.15", ["Roster"])
    assert trace.locator(trace.calls[1].step).pointer == "/generated_items/1/raw_item"
    assert not found.gaps


def test_the_same_items_in_both_lists_are_told_once(reading: Callable[..., Reading]) -> None:
    run = [asks(), gives(), says("done")]
    found = reading(*run[2:], session_items=run)
    assert len(found.traces[0].calls) == 1
    assert found.counts.model_calls == 2


def test_a_call_that_only_a_response_holds_is_not_lost(reading: Callable[..., Reading]) -> None:
    found = reading(asks(), gives(), model_responses=[{"output": [call(), call("c9", "wipe")]}])
    assert [(c.tool, c.outcome) for c in found.traces[0].calls] == [
        ("page", Outcome.RECORDED), ("wipe", Outcome.ABSENT),
    ]  # fmt: skip


def test_a_call_that_waits_for_an_approval(reading: Callable[..., Reading]) -> None:
    waiting = item("tool_approval_item", call(), tool_name="page")
    step = {"type": "next_step_interruption", "data": {"interruptions": [waiting]}}
    for items in ((asks(),), (), (asks(), waiting)):
        found = reading(*items, current_step=step)
        (trace,) = found.traces
        assert [(c.tool, c.outcome) for c in trace.calls] == [("page", Outcome.ABSENT)]
        assert [s.name for s in trace.steps() if s.kind is StepKind.APPROVAL_REQUEST] == ["page"]
        assert trace.ended_normally is False


@pytest.mark.parametrize("rejected", [["c1"], True])
@pytest.mark.parametrize("answered", [True, False])
def test_a_refused_call_never_ran(reading: Callable[..., Reading], rejected: object, *, answered: bool) -> None:
    context = {"approvals": {"page": {"approved": [], "rejected": rejected}}}
    items = (asks(), gives(output="Tool execution was not approved.")) if answered else (asks(),)
    (trace,) = reading(*items, context=context).traces
    assert [c.outcome for c in trace.calls] == [Outcome.DENIED]
    assert [s.name for s in trace.steps() if s.kind is StepKind.APPROVAL] == ["page"]


@pytest.mark.parametrize(
    ("executed", "completed", "outcome"),
    [(True, False, Outcome.INDETERMINATE), (False, False, Outcome.ABSENT), (True, True, Outcome.ABSENT)],
)
def test_a_call_that_was_begun_and_not_ended_may_have_taken_effect(
    reading: Callable[..., Reading], outcome: Outcome, *, executed: bool, completed: bool
) -> None:
    told = {"tool_invocations": {"c1": {"type": "function_call", "executed": executed, "completed": completed}}}
    (trace,) = reading(asks(), context=told).traces
    assert [c.outcome for c in trace.calls] == [outcome]


def test_a_hand_off_is_a_step_and_the_next_agent_goes_on(reading: Callable[..., Reading]) -> None:
    over = item("handoff_call_item", call("h1", "transfer_to_pager"))
    done = item(
        "handoff_output_item",
        {"type": "function_call_output", "call_id": "h1", "output": "{}"},
        source_agent=AGENT,
        target_agent={"name": "Pager"},
    )
    last = {**says("done"), "agent": {"name": "Pager"}}
    found = reading(over, done, last, model_responses=[{"output": [call("h1", "transfer_to_pager")]}])
    (trace,) = found.traces
    assert not trace.calls
    assert [s.name for s in trace.steps() if s.kind is StepKind.HANDOFF] == ["transfer_to_pager", "Pager"]
    assert trace.agents == ["Roster", "Pager"]


def test_a_program_of_the_provider_is_its_tool(reading: Callable[..., Reading]) -> None:
    program = item("tool_call_item", {"type": "program", "call_id": "p", "code": "lookup()"})
    output = item("tool_call_output_item", {"type": "program_output", "call_id": "p", "result": "done"})
    (one,) = reading(program, output).traces[0].calls
    assert (one.tool, one.boundary, one.outcome) == ("program", Boundary.PROVIDER_TOOL, Outcome.RECORDED)


def test_an_input_that_is_a_list_is_the_history(reading: Callable[..., Reading]) -> None:
    history = [
        {"role": "user", "content": "Page ann."}, call(),
        {"type": "function_call_output", "call_id": "c1", "output": "done"},
    ]  # fmt: skip
    (trace,) = reading(says("done"), original_input=history).traces
    assert [(c.tool, c.outcome) for c in trace.calls] == [("page", Outcome.RECORDED)]
    said = [s.payload for s in trace.steps() if s.kind is StepKind.USER]
    assert [text_of(p) for p in said if p is not None] == ["Page ann."]


@pytest.mark.parametrize(
    "more",
    [
        {"$schemaVersion": "2.0"},
        {"context": {"tool_invocations": {"c7": {"executed": False}}}},
        {"context": {"approvals": {"page": {"approved": ["c7"]}}}},
        {"context": {"hosted_mcp_approvals": [{"decision": {"approved": ["m1"]}, "identity": {"tool_name": "x"}}]}},
        {"generated_items": [{"type": "sorcery_item", "agent": AGENT}]},
        {"agent_tool_states": [{"items": [call("c7")]}]},
    ],
)
def test_what_may_hide_a_call_is_a_gap(reading: Callable[..., Reading], more: Fields) -> None:
    assert any(g.hides for g in reading(**more).gaps)


def test_a_state_that_breaks_off_is_read_up_to_there(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text('{"$schemaVersion": "1.5", "original_input": "page", "generated_items": [', "utf-8")
    reading = read_evidence(path, "openai-agents-runstate")
    assert [g.code for g in reading.gaps if g.hides] == ["container_truncated"]
    assert len(reading.traces[0]) == 1
    path.write_text('{"$schemaVersion": "1.5', "utf-8")
    with pytest.raises(CorruptEvidenceError):
        read_evidence(path, "openai-agents-runstate")


COUNTED = {"v1_13_programmatic_tool_calling": 2, "v1_5_tool_search_and_display_metadata": 2, "v1_17_docker_labels": 0}


@pytest.mark.parametrize("name", COUNTED)
def test_real_states_have_the_calls_that_were_counted_by_hand(cases: Path, name: str) -> None:
    folder = cases / "traces" / "openai-agents-runstate"
    found = read_evidence(folder / f"openai-agents-python__tests_fixtures_run_state_features_{name}.json")
    assert found.evidence.format == "openai-agents-runstate"
    assert sum(len(t.calls) for t in found.traces) == COUNTED[name]
