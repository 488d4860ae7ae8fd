"""What does a rebuilt agent answer whose run ends with a call? Its result, where the record says that, else nothing."""

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
