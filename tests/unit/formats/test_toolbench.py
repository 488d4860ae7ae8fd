"""Is every node of a ToolBench search told, on whichever branch it stands, with how each call ended?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from forensics.core.evidence import Basis
from forensics.core.jsonvalue import text_of
from forensics.core.trace import Outcome, StepKind
from tests.unit.formats.conftest import outcomes, read_evidence

if TYPE_CHECKING:
    from forensics.core.reading import Reading

Fields = dict[str, Any]
SAMPLE = Path(__file__).resolve().parents[2] / "contract" / "samples" / "toolbench.json"


def node(kind: str, said: str, *children: Fields, **members: Any) -> Fields:
    told = {"node_type": kind, "description": said, "child_count": len(children), "expand_num": 0}
    return {**told, **members, "children": list(children)}


def call(name: str, *children: Fields, seen: str | None = '{"error": "", "response": "ok"}', code: int = 0) -> Fields:
    told = {} if seen is None else {"observation": seen, "observation_code": code}
    return node("Action", name, node("Action Input", "{}", *children, expand_num=1, **told))


def search(*children: Fields, **members: Any) -> Fields:
    answer = {"function": [], "query": "Page Ida."}
    return {"win": False, "tree": {"tree": node("Action Input", "", *children)}, "answer_generation": answer, **members}


def asks(name: str) -> Fields:
    return {"role": "assistant", "function_call": {"name": name, "arguments": "{}"}}


CALLED = {"id": "c1", "type": "function", "function": {"name": "rm", "arguments": "{}"}}


def read(tmp_path: Path, content: Any) -> Reading:
    path = tmp_path / "answer.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return read_evidence(path)


def tools(reading: Reading) -> list[tuple[str, str]]:
    return [(call.occurrence, call.tool) for call in reading.traces[0].calls]


def test_a_search_with_a_branch() -> None:
    reading = read_evidence(SAMPLE)
    (trace,) = reading.traces
    assert reading.evidence.format == "toolbench"
    assert [(place, tool, how) for place, tool, _, how in outcomes(reading)] == [
        ("0.0", "roster_for_checkout", "recorded"),
        ("1.0", "page_for_pager", "failed"),
        ("2.0", "page_for_pager", "recorded"),
        ("4.0", "Finish", "recorded"),
    ]
    assert {call.pairing for call in trace.calls} == {Basis.RECORDED}
    assert (trace.turns, reading.counts.branches, reading.counts.records) == (5, 2, 10)
    said = [
        text_of(raw)
        for kind in (StepKind.SYSTEM, StepKind.USER)
        for row in trace.rows(kind)
        if (raw := trace.payload[row])
    ]
    assert said == ["Call Finish at the end.", "Page whoever is on call."]
    assert list(trace.facts) == ["roster_for_checkout"]
    assert trace.ended_normally is True
    assert not reading.gaps


@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        (0, Outcome.RECORDED),
        (4, Outcome.RECORDED),
        (1, Outcome.FAILED),
        (11, Outcome.FAILED),
        (99, Outcome.FAILED),
        (5, Outcome.INDETERMINATE),
        (12, Outcome.INDETERMINATE),
    ],
)
def test_the_code_tells_how_a_call_ended(tmp_path: Path, code: int, outcome: Outcome) -> None:
    (one,) = read(tmp_path, search(call("page", code=code))).traces[0].calls
    assert one.outcome is outcome


def test_a_call_that_nothing_was_observed_of_is_unanswered(tmp_path: Path) -> None:
    (one,) = read(tmp_path, search(call("page", seen=None))).traces[0].calls
    assert [block.code for block in one.blocks] == ["unanswered_call"]
    empty = node("Action", "page", node("Action Input", "{}", observation_code=0))
    (one,) = read(tmp_path, search(empty)).traces[0].calls
    assert (one.outcome, one.result is not None and text_of(one.result)) == (Outcome.RECORDED, "")


def test_what_was_tried_on_every_branch_is_told_in_its_order(tmp_path: Path) -> None:
    tree = search(call("a", call("b", call("c"), call("d")), call("e")), call("f"))
    reading = read(tmp_path, tree)
    assert tools(reading) == [(f"{turn}.0", tool) for turn, tool in enumerate("abcdef")]
    assert reading.counts.branches == 4
    assert not reading.gaps


def test_a_thought_that_was_visited_is_a_turn_of_its_own(tmp_path: Path) -> None:
    together, apart = (node("Thought", "hm", call("a"), expand_num=visited) for visited in (0, 7))
    assert [read(tmp_path, search(one)).traces[0].turns for one in (together, apart)] == [1, 2]


def test_a_thought_with_a_code_is_what_went_wrong(tmp_path: Path) -> None:
    trace = read(tmp_path, search(node("Thought", "rate limit", observation_code=-1))).traces[0]
    assert (trace.turns, [StepKind(kind) for kind in trace.kind][-1]) == (0, StepKind.ERROR)


def test_single_chains_are_runs_of_their_own(tmp_path: Path) -> None:
    chain = [
        {"node_type": "Thought", "description": "hm"},
        {"node_type": "Action", "description": "page"},
        {"node_type": "Action Input", "description": "{}", "observation": "ok", "observation_code": 0},
    ]
    told = {"win": True, "try_count": 2, "trys": [{"chain": chain, "win": False}, {"chain": chain * 2, "win": True}]}
    reading = read(tmp_path, {**told, "compare_candidates": [], "answer_generation": {"query": "Page Ida."}})
    assert [(trace.id, trace.turns, len(trace.calls)) for trace in reading.traces] == [("try-1", 1, 1), ("try-2", 2, 2)]
    assert not reading.gaps
    lost = read(tmp_path, {**told, "trys": [{"chain": chain[:2]}]})
    assert [gap.hides for gap in lost.gaps] == [True]


@pytest.mark.parametrize(
    "changed",
    [
        search(node("Action", "page")),
        search(node("Action", "page", node("Thought", "hm"))),
        search(node("Action Input", "{}", observation="ok")),
        search(node("Reflection", "hm")),
        search({**call("page"), "children": "all of them"}),
        search({**call("page"), "tool_calls": [{"id": "c1", "function": {"name": "rm", "arguments": "{}"}}]}),
        search(call("page"), forward_args={"with_filter": True}),
        search(call("page"), compare_candidates=[[node("Action", "rm"), node("Action Input", "{}")]]),
        search(call("page"), answer_generation={"train_messages": [[asks("rm")]]}),
        search(call("page"), more=[{"tool": "rm", "arguments": {}}]),
        search(call("page"), chain=[node("Action", "rm"), node("Action Input", "{}")]),
        search(call("page"), forward_args={"chain": [node("Action", "rm"), node("Action Input", "{}")]}),
        search(call("page"), answer_generation={"chain": [node("Action", "rm"), node("Action Input", "{}")]}),
        search(call("page"), answer_generation={"train_messages": [[{"role": "assistant", "tool_calls": [CALLED]}]]}),
        {"tree": {"tree": node("Action", "rm", call("page"))}},
        {"tree": {"tree": node("Action Input", "", call("page"), observation="ok")}},
        {"tree": {"tree": node("Action Input", "", call("page")), "pruned": [call("rm")]}},
        {"trys": [{"chain": [node("Thought", "hm", call("rm"))]}]},
        {"trys": [{"chain": [node("Thought", "hm")], "before": [node("Action", "rm")]}]},
        {"trys": [{"chain": [node("Thought", "hm")]}] * 2, "answer_generation": {"train_messages": [[asks("rm")]]}},
    ],
)
def test_what_may_hide_a_call_is_a_gap(tmp_path: Path, changed: Fields) -> None:
    assert any(gap.hides for gap in read(tmp_path, changed).gaps)


def test_a_copy_names_a_tool_that_does_not_exist_otherwise(tmp_path: Path) -> None:
    asked = [[asks("invalid_hallucination_function_name")]]
    told = search(call("nonsense", code=1), answer_generation={"train_messages": asked})
    assert not read(tmp_path, told).gaps


def test_the_real_answers(cases: Path) -> None:
    """Calls are as many as there are nodes of them, turns no more than the model was asked for."""
    paths = sorted((cases / "traces" / "toolbench").glob("*.json"))
    for path in paths:
        held = json.loads(path.read_text(encoding="utf-8"))
        reading = read_evidence(path)
        (trace,) = reading.traces
        assert len(trace.calls) == path.read_text(encoding="utf-8").count('"node_type": "Action Input"') - 1 - sum(
            one["node_type"] == "Action Input" for chain in held["compare_candidates"] for one in chain
        )
        assert trace.turns <= held["answer_generation"]["query_count"]
        assert all(one.answered for one in trace.calls)
        assert not reading.gaps


def test_a_search_beside_tries_is_told_too(tmp_path: Path) -> None:
    reading = read(tmp_path, search(call("page"), trys=[{"chain": [node("Thought", "hm")]}]))
    assert [(trace.id, len(trace.calls)) for trace in reading.traces] == [("try-1", 0), ("search", 1)]
    assert not reading.gaps
