"""What does a rebuilt agent answer whose run ends with a call? Its result, where the record says that, else nothing;
and a call that is itself the end it does not make.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from forensics.replay import frames
from forensics.replay.blueprint_loop import Before, Blueprint, run
from forensics.replay.ports import AskedCall, ModelAnswer


@pytest.mark.parametrize(("answers", "said"), [(True, "submitted"), (False, None)])
def test_a_run_that_ends_with_a_call(answers: bool, said: str | None) -> None:  # noqa: FBT001 - a case of a table
    asks = ModelAnswer(calls=(AskedCall("submit", {}, "c1"),))
    ports: Any = SimpleNamespace(
        model=SimpleNamespace(send=lambda _request: asks),
        tools=SimpleNamespace(outcome=lambda *_call: frames.Given("submitted")),
    )
    user = {"role": "user", "content": "go"}
    blueprint = Blueprint(
        agent="a", before=(Before((user,)), Before()), ends_with_calls=True, answers_with_result=answers
    )
    assert run(blueprint, ports) == said


@pytest.mark.parametrize(("free", "ends"), [(False, True), (True, True), (True, False)])
def test_a_call_that_is_the_end_is_not_made(free: bool, ends: bool) -> None:  # noqa: FBT001 - a case of a table
    asks = ModelAnswer(text="all done", calls=(AskedCall("read", {}, "c1"), AskedCall("finish", {}, "c2")))
    made: list[str] = []

    def outcome(name: str, *_rest: object) -> frames.Given:
        made.append(name)
        return frames.Given("ok")

    ports: Any = SimpleNamespace(
        model=SimpleNamespace(send=lambda _request: asks), tools=SimpleNamespace(outcome=outcome)
    )
    blueprint = Blueprint(
        agent="a",
        before=(Before(({"role": "user", "content": "go"},)), Before()),
        free=free,
        ends_with_calls=True,
        ends_at=frozenset({(1, 1)}),
        ends_by=frozenset({"finish"} if ends else ()),
    )
    said = run(blueprint, ports)
    assert (said, made) == (("all done", ["read"]) if ends else (None, ["read", "finish"]))
