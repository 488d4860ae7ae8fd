"""Does the contract suite for agents find the agents that can't be rerun, and pass the ones that can?"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from forensics.errors import NonReplayableTraceError
from forensics.testing import check_agent
from tests.unit.replay import agents

if TYPE_CHECKING:
    from collections.abc import Callable

PAGER = Path(__file__).resolve().parents[2] / "samples" / "pager.db"
COUNTER = itertools.count()


def from_its_own_head(ports: Any) -> Any:
    """Takes an id from a state of its own."""
    ports.tools.call("query_metrics", {"service": "checkout", "request": next(COUNTER)})


def undeterred(ports: Any) -> Any:
    """Takes no end for an end."""
    try:
        return agents.oncall(ports)
    except BaseException:  # noqa: BLE001 - that is its point
        return "all is well"


@pytest.mark.parametrize("agent", [agents.oncall, agents.silent, agents.prompting])
def test_an_agent_that_keeps_to_its_ports(agent: Callable[[Any], Any]) -> None:
    assert check_agent(agent, PAGER) == ()


@pytest.mark.parametrize(
    ("agent", "promises"),
    [
        (agents.louder, {"reproduces"}),
        (agents.other_prompt, {"reproduces"}),
        (from_its_own_head, {"reproduces", "repeats"}),
        (undeterred, {"stops"}),
    ],
)
def test_an_agent_that_does_not(agent: Callable[[Any], Any], promises: set[str]) -> None:
    assert {breach.promise for breach in check_agent(agent, PAGER)} == promises


def test_a_run_that_is_not_cleared_checks_nobody() -> None:
    from forensics.api import Options

    with pytest.raises(NonReplayableTraceError):
        check_agent(agents.oncall, PAGER, Options(policy="strict"))
