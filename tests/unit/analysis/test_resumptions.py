"""Is a call found that a resumed run executed again in a trace of its own?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from forensics.api import Options, examine

if TYPE_CHECKING:
    from pathlib import Path

ERROR = "GraphInterrupt((Interrupt(value='sure?'),))"


def run(trace: str, hour: int, tool: str = "close_account", **fields: Any) -> dict[str, Any]:
    return {
        "id": f"run-{trace}",
        "trace_id": trace,
        "run_type": "tool",
        "name": tool,
        "start_time": f"2026-07-01T{hour:02}:00:00",
        "end_time": f"2026-07-01T{hour:02}:00:01",
        "inputs": {"account": "A1"},
        "outputs": {"output": "closed"},
        "extra": {"tool_call_id": "c1", "metadata": {"thread_id": "th"}},
        **fields,
    }


def codes(path: Path, *runs: dict[str, Any]) -> list[tuple[str, str | None]]:
    path.write_text(json.dumps(runs), encoding="utf-8")
    document = examine(path, Options()).audit()
    return [(f.code, f.trace) for f in document.findings if "duplicate_side_effect" in f.code]


@pytest.mark.parametrize(
    ("first", "code"),
    [
        ({"outputs": None, "error": ERROR}, "possible_duplicate_side_effect"),
        ({"outputs": None, "error": "ValueError('x')"}, "possible_duplicate_side_effect"),
        ({}, "duplicate_side_effect"),
    ],
)
def test_a_call_that_a_later_trace_of_the_session_executes_again(
    tmp_path: Path, first: dict[str, Any], code: str
) -> None:
    assert codes(tmp_path / "evidence", run("b", 11), run("a", 10, **first)) == [(code, "b")]


@pytest.mark.parametrize(
    "later",
    [
        {"extra": {"tool_call_id": "c1", "metadata": {"thread_id": "other"}}},
        {"extra": {"tool_call_id": "c2", "metadata": {"thread_id": "th"}}},
        {"extra": {"tool_call_id": "c1"}},
        {"inputs": {"account": "A2"}},
    ],
)
def test_another_session_call_or_argument_is_no_repetition(tmp_path: Path, later: dict[str, Any]) -> None:
    assert codes(tmp_path / "evidence", run("a", 10), run("b", 11, **later)) == []


def test_a_read_is_no_effect(tmp_path: Path) -> None:
    assert codes(tmp_path / "evidence", run("a", 10, "list_accounts"), run("b", 11, "list_accounts")) == []


def test_a_claimed_dry_run_may_have_been_none(tmp_path: Path) -> None:
    inputs = {"account": "A1", "dry_run": True}
    found = codes(tmp_path / "evidence", run("b", 11, inputs=inputs), run("a", 10, inputs=inputs))
    assert found == [("possible_duplicate_side_effect", "b")]
