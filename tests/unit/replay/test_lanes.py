"""Whose call is it, where several agents of one run call side by side? The one's whose turn asked for it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from forensics.api import Options
from forensics.api_replay import prepare
from forensics.compare.comparison import Result
from forensics.replay import frames
from forensics.replay.inline import here
from forensics.replay.plan import Code, Plan
from forensics.replay.ports import AskedCall, ModelAnswer
from forensics.replay.waiting import Place, Waiting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from forensics.api_replay import Replayed

LANES = ("triage", "fixer", "triage", "scribe")
AGENTS = tuple(dict.fromkeys(LANES))
ROOT = f"{1:016x}"


def _span(number: int, parent: str, **attributes: str) -> dict[str, Any]:
    told = {f"gen_ai.{key.replace('__', '.')}": value for key, value in attributes.items()}
    return {
        "traceId": "0af7651916cd43dd8448eb211c80319c",
        "spanId": f"{number:016x}",
        "parentSpanId": parent,
        "name": attributes["operation__name"],
        "startTimeUnixNano": str(10**18 + number * 10),
        "endTimeUnixNano": str(10**18 + (number * 10 + 5 if number >= 10 else 10**6)),
        "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in told.items()],
    }


def _message(role: str, **part: Any) -> str:
    return json.dumps([{"role": role, "parts": [part]}])


def _turn(number: int, agent: str) -> Iterator[dict[str, Any]]:
    """A turn that asks each time for the same, and its call, which is answered each time otherwise."""
    place, parent = 10 + number * 10, f"{1 + AGENTS.index(agent):016x}"
    asked = _message("user", type="text", content=f"part {number}")
    said = _message("assistant", type="tool_call", id=f"c{number}", name="check", arguments={"host": "db-3"})
    ran = {"tool__call__arguments": '{"host": "db-3"}', "tool__call__result": json.dumps({"load": number})}
    yield _span(place, parent, operation__name="chat", input__messages=asked, output__messages=said)
    yield _span(
        place + 1, parent, operation__name="execute_tool", tool__name="check", tool__call__id=f"c{number}", **ran
    )


@pytest.fixture
def several(write: Callable[[str, Any], Path]) -> Path:
    named = [
        _span(n, ROOT if n > 1 else "", operation__name="invoke_agent", agent__name=name)
        for n, name in enumerate(AGENTS, 1)
    ]
    turns = [span for number, agent in enumerate(LANES) for span in _turn(number, agent)]
    asked, said = (_message(role, type="text", content=text) for role, text in (("user", "and?"), ("assistant", "ok")))
    last = _span(90, ROOT, operation__name="chat", input__messages=asked, output__messages=said)
    document = {"resourceSpans": [{"scopeSpans": [{"spans": [*named, *turns, last]}]}]}
    return write("several.json", json.dumps(document))


def rerun(agent: Callable[[Any], Any], evidence: Path) -> Replayed:
    return prepare(evidence, Options(policy="inject"), Plan(agent=Code("agents:run", "0" * 64))).run(runner=here(agent))


def _act(ports: Any, lane: str | None, *, named: bool, rounds: int = 1) -> Any:
    text = None
    for _ in range(rounds):
        answer = ports.model.ask(lane=lane)
        text = answer.text
        for call in answer.calls:
            ports.tools.call(call.name, call.arguments, call_id=call.id if named else None)
    return text


def in_order(ports: Any, *, named: bool, lanes: bool) -> Any:
    """Asks in the recorded order."""
    for lane in LANES:
        _act(ports, lane if lanes else None, named=named)
    return _act(ports, "triage" if lanes else None, named=named)


def lane_by_lane(ports: Any, *, named: bool) -> Any:
    """Lets one agent do all that it does, then the next."""
    _act(ports, "fixer", named=named)
    _act(ports, "scribe", named=named)
    return _act(ports, "triage", named=named, rounds=3)


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("lanes", [True, False])
def test_a_run_of_several_agents_is_rerun_as_it_was(several: Path, *, named: bool, lanes: bool) -> None:
    replayed = rerun(lambda ports: in_order(ports, named=named, lanes=lanes), several)
    document = replayed.document()
    assert document.comparison is not None
    assert document.comparison.result == Result.IDENTICAL
    assert document.comparison.traces.right.calls == len(LANES)
    assert [call.disposition for call in document.calls] == ["injected"] * len(LANES)


@pytest.mark.parametrize("named", [True, False])
def test_each_agent_is_given_what_it_was_given(several: Path, *, named: bool) -> None:
    document = rerun(lambda ports: lane_by_lane(ports, named=named), several).document()
    assert document.comparison is not None
    assert document.comparison.result != Result.DIVERGED
    assert [call.recorded_step for call in document.calls] == [6, 14, 2, 10]


def test_a_call_that_no_turn_asked_for_is_the_recorded_agents(several: Path) -> None:
    def without_a_model(ports: Any) -> Any:
        return [ports.tools.call("check", {"host": "db-3"}, call_id=f"c{n}")["load"] for n in range(len(LANES))]

    replayed = rerun(without_a_model, several)
    assert replayed.document().output.new == [0, 1, 2, 3]
    assert replayed.rerun is not None
    assert [call.agent for call in replayed.rerun.calls] == list(LANES)


def test_a_turn_waits_until_its_own_lane_goes_on() -> None:
    waiting = Waiting()
    for lane, name in (("a", "one"), ("b", "two"), ("a", "three")):
        waiting.turn(ModelAnswer(calls=(AskedCall(name, {}, None), AskedCall("same", {"of": lane}, None))), lane)
    asked = [frames.CallTool("two", {}), frames.CallTool("one", {}), frames.CallTool("same", {})]
    assert [waiting.take(one) for one in asked] == [Place(1, 0, "b"), Place(-1, 0), Place(2, 1, "a", sure=False)]
