"""Is a trace of the OpenAI Agents SDK read as agents, hand-offs and executions, in whatever order it was exported?"""

from __future__ import annotations

import json
import random
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
    from forensics.core.trace import Trace

Fields = dict[str, Any]
TRACE: Fields = {"object": "trace", "id": "trace_1", "workflow_name": "on call", "group_id": None, "metadata": None}


def span(identity: str, parent: str | None, at: int, data: Fields, **more: Any) -> Fields:
    moment = "2026-08-15T17:56:{:02d}.000000+00:00"
    times = {"started_at": moment.format(at), "ended_at": moment.format(at + 1)}
    own = {"object": "trace.span", "id": identity, "trace_id": "trace_1", "parent_id": parent}
    return {**own, **times, "span_data": data, "error": None, **more}


def agent(identity: str, at: int, name: str = "Roster", parent: str | None = None, **more: Any) -> Fields:
    found = span(identity, parent, at, {"type": "agent", "name": name, "handoffs": [], "tools": [], **more})
    return {**found, "ended_at": "2026-08-15T17:56:59.000000+00:00"}


def function(
    identity: str, parent: str, at: int, name: str = "look", output: str | None = "ann", **more: Any
) -> Fields:
    data = {"type": "function", "name": name, "input": '{"team": "core"}', "output": output, "mcp_data": None}
    return span(identity, parent, at, data, **more)


def turn(identity: str, parent: str, at: int) -> Fields:
    return span(identity, parent, at, {"type": "response", "response_id": f"resp_{identity}", "usage": None})


RUN = (TRACE, agent("a", 1), turn("r1", "a", 2), function("f", "a", 3), turn("r2", "a", 4))


@pytest.fixture
def reading(tmp_path: Path) -> Callable[..., Reading]:
    def read(*records: Fields) -> Reading:
        path = tmp_path / "x.jsonl"
        path.write_text("".join(json.dumps(r) + "\n" for r in records), "utf-8")
        return read_evidence(path)

    return read


def told(trace: Trace) -> list[tuple[str, str, str]]:
    return [(s.kind.label, s.name, s.agent) for s in trace.steps()]


def test_an_execution_has_its_arguments_and_its_result(reading: Callable[..., Reading]) -> None:
    found = reading(*RUN)
    assert (found.evidence.format, found.counts.spans, found.counts.model_calls) == ("openai-agents-traces", 4, 2)
    (trace,) = found.traces
    (call,) = trace.calls
    assert (call.tool, call.agent, call.outcome) == ("look", "Roster", Outcome.RECORDED)
    assert call.result is not None
    assert text_of(call.result) == "ann"
    assert trace.locator(call.step).pointer == "/span_data/input"
    assert not found.gaps


def test_order_and_container_change_nothing(tmp_path: Path) -> None:
    shuffled = list(RUN)
    random.Random(7).shuffle(shuffled)  # noqa: S311 - an order, no secret
    contents = {
        "lines": "\n".join(map(json.dumps, RUN)),
        "shuffled": "\n".join(map(json.dumps, shuffled)),
        "uploads": "\n".join(json.dumps({"data": [r]}) for r in shuffled),
        "one upload": json.dumps({"data": shuffled}, indent=1),
        "array": json.dumps(shuffled),
        "array of uploads": json.dumps([{"data": shuffled[:2]}, {"data": shuffled[2:]}]),
    }
    seen = []
    for name, content in contents.items():
        (tmp_path / name).write_text(content, "utf-8")
        found = read_evidence(tmp_path / name)
        assert not found.gaps, name
        assert found.counts.records == len(RUN)
        seen.append([told(t) for t in found.traces])
    assert all(one == seen[0] for one in seen)


@pytest.mark.parametrize(
    ("more", "outcome"),
    [
        ({"error": {"message": "Error running tool", "data": {"error": "boom"}}, "output": None}, Outcome.FAILED),
        ({"output": None}, Outcome.ABSENT),
        ({"output": None, "ended_at": None}, Outcome.ABSENT),
    ],
)
def test_how_a_function_ended(reading: Callable[..., Reading], more: Fields, outcome: Outcome) -> None:
    one = function("f", "a", 3, output=more.pop("output"), **more)
    (call,) = reading(*RUN[:3], one, RUN[4]).traces[0].calls
    assert call.outcome is outcome


def test_an_agent_inside_a_function_is_a_sub_agent_and_a_hand_off_a_step(reading: Callable[..., Reading]) -> None:
    inner = agent("b", 4, "Writer", "f")
    handoff = span("h", "a", 5, {"type": "handoff", "from_agent": "Roster", "to_agent": "Pager"})
    guard = span("g", "a", 2, {"type": "guardrail", "name": "polite", "triggered": True})
    last = (agent("c", 7, "Pager"), turn("r4", "c", 8))
    found = reading(*RUN[:4], inner, turn("r3", "b", 4), guard, handoff, *last)
    (trace,) = found.traces
    assert trace.calls[0].boundary is Boundary.SUB_AGENT
    assert trace.agents == ["Roster", "Writer", "Pager"]
    assert [s.name for s in trace.steps() if s.kind is StepKind.HANDOFF] == ["Pager"]
    assert [s.name for s in trace.steps() if s.kind is StepKind.GUARDRAIL] == ["polite"]


def test_a_generation_says_what_was_asked_and_answered(reading: Callable[..., Reading]) -> None:
    calls = [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"team": "core"}'}}]
    ask = {"role": "user", "content": "Who?"}
    asked = {"role": "assistant", "content": None, "tool_calls": calls}
    shown = {"role": "tool", "tool_call_id": "c1", "content": "ann"}

    def generation(identity: str, at: int, prompt: list[Fields], answer: Fields) -> Fields:
        usage = {"input_tokens": 3, "output_tokens": 2}
        data = {"type": "generation", "input": prompt, "output": [answer], "model": "m", "usage": usage}
        return span(identity, "a", at, data)

    first = generation("g1", 2, [ask], asked)
    second = generation("g2", 4, [ask, asked, shown], {"role": "assistant", "content": "ann"})
    found = reading(TRACE, agent("a", 1), first, function("f", "a", 3), second)
    (call,) = found.traces[0].calls
    assert (call.occurrence, call.recorded_id, call.outcome) == ("0.0", "c1", Outcome.RECORDED)
    assert call.executed is not None
    assert (found.counts.input_tokens, found.counts.output_tokens) == (6, 4)
    assert not found.gaps


@pytest.mark.parametrize(
    ("records", "codes"),
    [
        (RUN[1:], ["header_missing"]),
        (RUN[:1], ["evidence_gap"]),
        ((TRACE, *RUN[2:]), ["orphan_span"]),
        ((*RUN, {"object": "trace.spam"}), ["malformed_line"]),
        ((*RUN, span("x", "a", 5, {"type": "sorcery"})), ["evidence_gap"]),
        ((*RUN, {**span("x", "a", 5, {}), "span_data": None}), ["evidence_gap"]),
        (
            (*RUN, span("x", "a", 5, {"type": "custom", "name": "x", "data": {"tool": "rm", "args": {}}})),
            ["evidence_gap"],
        ),
        ((*RUN, span("x", "a", 5, {"type": "custom", "name": "turn", "data": {"turn": 1}})), []),
        ((*RUN, span("x", "a", 5, {"type": "mcp_tools", "server": "s", "result": ["a"]})), []),
        ((TRACE, agent("a", 1, tools=["web_search_preview"]), *RUN[2:]), ["evidence_gap"]),
        ((TRACE, agent("a", 1, tools=["look"]), *RUN[2:]), []),
    ],
)
def test_what_may_hide_something_is_a_gap(
    reading: Callable[..., Reading], records: tuple[Fields, ...], codes: list[str]
) -> None:
    assert [g.code for g in reading(*records).gaps if g.hides] == codes


def test_a_tool_that_an_agent_has_is_named(reading: Callable[..., Reading]) -> None:
    found = reading(TRACE, agent("a", 1, tools=["look", "wipe"]), *RUN[2:])
    assert set(found.traces[0].facts) == {"look", "wipe"}


def test_the_same_span_again_is_told_once(reading: Callable[..., Reading]) -> None:
    found = reading(*RUN, RUN[3])
    assert found.counts.duplicate_records == 1
    assert len(found.traces[0].calls) == 1


def test_nothing_of_the_sdk_is_corrupt(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("[1, 2]", "utf-8")
    with pytest.raises(CorruptEvidenceError):
        read_evidence(path, "openai-agents-traces")


COUNTED = {  # function spans, as counted with grep
    "test_recipe_agents_hierarchy": 3, "test_tool_call_and_result_attributes": 1, "test_agent_spans": 1,
    "test_agent_with_web_search_tool_spans": 0, "test_generate_metrics": 0,
    "test_agent_name_propagation_to_agent_spans": 1,
}  # fmt: skip


@pytest.mark.parametrize("name", COUNTED)
def test_real_uploads_have_the_calls_that_were_counted(cases: Path, name: str) -> None:
    found = read_evidence(cases / "traces" / "openai-agents-traces" / f"{name}.traces.jsonl")
    assert sum(len(t.calls) for t in found.traces) == COUNTED[name]


def test_a_shuffled_copy_tells_the_same(cases: Path) -> None:
    folder = cases / "traces" / "openai-agents-traces"
    one = read_evidence(folder / "test_recipe_agents_hierarchy.traces.jsonl")
    two = read_evidence(cases / "damaged" / "agents_traces_flat_shuffled.jsonl")
    assert [(t.id, told(t)) for t in one.traces] == [(t.id, told(t)) for t in two.traces]
    assert [g.code for g in one.gaps] == [g.code for g in two.gaps]
