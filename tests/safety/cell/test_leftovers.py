"""Is what an agent's threads do after it has returned part of the rerun? Agents that leave some behind, in a cell."""

from __future__ import annotations

from pathlib import Path

import pytest

from forensics.api import Options
from forensics.api_replay import Replayed, rerun
from forensics.replay.code import code_of, search_paths
from forensics.replay.plan import Plan

AGENTS = str(Path(__file__).parent / "agents")
EVIDENCE = Path(__file__).parents[3] / "samples" / "mailing.events.jsonl"


def run(agent: str) -> Replayed:
    paths = search_paths([AGENTS])
    return rerun(EVIDENCE, Options(policy="inject"), Plan(agent=code_of(f"leftovers:{agent}", paths), paths=paths))


def result(replayed: Replayed) -> str:
    compared = replayed.document().comparison
    return "" if compared is None else compared.result


@pytest.mark.parametrize("agent", ["thread", "timer", "pool"])
def test_a_call_of_a_thread_that_outlives_its_agent_is_asked_for_like_any_other(agent: str) -> None:
    """It sends the mail once more, which the record does not."""
    replayed = run(agent)
    stopped = replayed.document().stopped
    assert stopped is not None
    assert (stopped.code, result(replayed)) == ("replay_miss", "diverged")
    assert [call.disposition for call in replayed.document().calls] == ["injected", "injected", "missed"]


@pytest.mark.parametrize("agent", ["last_call", "idle_pool", "daemon"])
def test_what_ends_by_itself_or_is_left_behind_on_purpose_changes_nothing(agent: str) -> None:
    replayed = run(agent)
    assert (replayed.document().stopped, result(replayed)) == (None, "identical")


def test_of_threads_without_an_end_nothing_is_known() -> None:
    replayed = run("heartbeat")
    stopped = replayed.document().stopped
    assert stopped is not None
    assert (stopped.code, result(replayed)) == ("replay_timeout", "not_comparable")
    assert stopped.message.startswith("the agent returned, and 1 of its threads (heart\\x1bbeat) still ran 0.2 s after")
