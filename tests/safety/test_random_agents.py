"""Can an agent, whatever it does, make a rerun touch the world or give it what was not recorded for it?

A machine plays random agents against the side that holds the record, message by message, beside the plainest model of
the gate. The world counts what it is asked; it must stay at zero.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from forensics.api import Options
from forensics.api_replay import Prepared, prepare
from forensics.errors import CellFaultError
from forensics.replay import frames
from forensics.replay.plan import Code, Mode, OnMiss, Plan
from forensics.replay.recorded_answers import RecordedAnswers
from forensics.replay.running import Talk
from forensics.replay.script import script_of
from forensics.replay.session import Session
from forensics.replay.setting import Setting

TOOLS = ("pager.trigger", "mail.send", "lookup")
ARGUMENTS: list[dict[str, Any]] = [{"severity": "sev1"}, {"severity": "sev2"}, {"to": "a@b.c"}, {}]
calls = st.tuples(st.sampled_from(TOOLS), st.sampled_from(ARGUMENTS))


class World:
    """What a rerun must not reach: it counts."""

    def __init__(self) -> None:
        self.asked = 0

    def answer(self, _request: Any) -> Any:
        """A live model."""
        self.asked += 1
        raise AssertionError("a model was asked")


def recorded(made: list[tuple[str, dict[str, Any]]]) -> Prepared:
    """A run that makes these calls, one a turn; each has its own result."""
    rows: list[dict[str, Any]] = [{"type": "user", "text": "go"}]
    for number, (tool, arguments) in enumerate(made):
        rows.append({"type": "model", "text": f"turn {number}"})
        rows.append({"type": "tool_call", "id": f"c{number}", "name": tool, "args": arguments})
        rows.append({"type": "tool_result", "call_id": f"c{number}", "result": {"id": f"pg_{7000 + number}"}})
    rows.append({"type": "model", "text": "done"})
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "log.jsonl"
        place.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return prepare(place, Options(policy="inject"), Plan(agent=Code("agents:run", "0" * 64)))


class Agents(RuleBasedStateMachine):
    """Random agents. `left` are the recorded calls that have not answered yet, in order."""

    @initialize(made=st.lists(calls, min_size=1, max_size=6))
    def begin(self, made: list[tuple[str, dict[str, Any]]]) -> None:
        prepared = recorded(made)
        assert prepared.clearance is not None
        self.world = World()
        setting = Setting(analysis=prepared.analysis, rules=prepared.rules, plan=prepared.plan)
        script = script_of(prepared.analysis.trace)
        answers = RecordedAnswers(script, prepared.plan.modifications)
        self.session = Session(setting, answers, answers)
        self.left = list(enumerate(made))
        self.turns = [f"turn {n}" for n in range(len(made))] + ["done"]
        self.over = False

    def say(self, said: frames.FromChild) -> frames.FromParent | None:
        reply = self.session.reply(said)
        if isinstance(reply, frames.Run):
            self.world.asked += 1
        if self.over:
            assert isinstance(reply, frames.Stop)
        self.over = self.over or isinstance(reply, frames.Stop)
        return reply

    @rule(call=calls, call_id=st.sampled_from([None, "c0", "c3", "c99", ""]))
    def call(self, call: tuple[str, dict[str, Any]], call_id: str | None) -> None:
        was_over = self.over
        reply = self.say(frames.CallTool(*call, call_id))
        fitting = [n for n, made in self.left if made == call]
        if was_over or not fitting:
            assert isinstance(reply, frames.Stop)
            return
        named = [n for n in fitting if f"c{n}" == call_id]
        serves = (named or fitting)[0]
        assert reply == frames.Given({"id": f"pg_{7000 + serves}"})
        self.left = [one for one in self.left if one[0] != serves]

    @rule(lane=st.sampled_from([None, "", "someone"]))
    def ask(self, lane: str | None) -> None:
        was_over = self.over
        reply = self.say(frames.AskModel(lane=lane))
        if was_over or not self.turns:
            assert isinstance(reply, frames.Stop)
        else:
            assert isinstance(reply, frames.Answered)
            assert reply.text == self.turns.pop(0)

    @rule(text=st.text(max_size=5), keep=st.integers(0, 3))
    def ask_something_else(self, text: str, keep: int) -> None:
        reply = self.say(frames.AskModel(keep=keep, messages=({"role": "user", "content": f"not recorded {text}"},)))
        assert isinstance(reply, frames.Stop)

    @rule(value=st.one_of(st.none(), st.text(max_size=5), st.dictionaries(st.text(max_size=3), st.integers())))
    def say_that_something_ran(self, value: Any) -> None:
        assert isinstance(self.say(frames.Ran(value)), frames.Stop)

    @rule(what=st.sampled_from(["time", "random", "id", "secret", ""]))
    def mint(self, what: str) -> None:
        reply = self.say(frames.Mint(what))
        assert isinstance(reply, frames.Given) is (not self.over)

    @rule(position=st.sampled_from(["input", "output", "elsewhere"]), says=st.text(max_size=5))
    def guard(self, position: str, says: str) -> None:
        self.say(frames.Guard(position, says))

    @rule()
    def next_input(self) -> None:
        self.say(frames.NextInput())

    @rule(data=st.binary(max_size=40))
    def say_garbage(self, data: bytes) -> None:
        try:
            msgspec.json.decode(data, type=frames.FromChild)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            with pytest.raises(CellFaultError):
                Talk(self.session).take(data)

    @invariant()
    def nothing_reached_the_world(self) -> None:
        assert getattr(self, "world", World()).asked == 0


TestAgents = Agents.TestCase
TestAgents.settings = settings(max_examples=60, stateful_step_count=20, deadline=None)


def test_a_live_plan_without_a_word_where_asks_nobody(tmp_path: Path) -> None:
    """A mode that asks a model needs an endpoint that a person named; a trace can't give one."""
    from forensics.errors import ConfigurationError

    place = tmp_path / "log.jsonl"
    rows = [{"type": "user", "text": "go"}, {"type": "model", "text": "done"}]
    place.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    plan = Plan(mode=Mode.LIVE, on_miss=OnMiss.LIVE, agent=Code("agents:run", "0" * 64))
    with pytest.raises(ConfigurationError):
        prepare(place, Options(policy="inject"), plan).run()
