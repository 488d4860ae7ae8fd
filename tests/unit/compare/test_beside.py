"""Are the steps of two runs paired, each of them once?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from forensics import compare_runs
from forensics.api_compare import Other

SAMPLES = Path(__file__).resolve().parents[3] / "samples"


def call(number: int, tool: str) -> dict[str, Any]:
    return {"id": f"c{number}", "type": "function", "function": {"name": tool, "arguments": "{}"}}


def chat(*tools: str, answered: int = 9) -> dict[str, Any]:
    calls = [call(number, tool) for number, tool in enumerate(tools)]
    results = [{"role": "tool", "tool_call_id": one["id"], "content": "ok"} for one in calls[:answered]]
    asked = {"role": "assistant", "content": None, "tool_calls": calls}
    return {"messages": [{"role": "user", "content": "go"}, asked, *results, {"role": "assistant", "content": "done"}]}


def beside(left: dict[str, Any], right: dict[str, Any], folder: Path) -> list[tuple[int | None, int | None]]:
    for name, run in (("a.json", left), ("b.json", right)):
        (folder / name).write_text(json.dumps(run))
    return list(compare_runs(folder / "a.json", folder / "b.json").comparison.beside)


def test_calls_are_paired_by_what_they_ask_for(tmp_path: Path) -> None:
    pairs = beside(chat("get_a", "get_b"), chat("get_b", "get_a"), tmp_path)
    assert pairs == [(0, 0), (1, 1), (2, 3), (4, 5), (3, 2), (5, 4), (6, 6)]


def test_what_one_run_lacks_stands_beside_nothing(tmp_path: Path) -> None:
    assert beside(chat("get_a"), chat("get_a", "get_b"), tmp_path) == [
        (0, 0), (1, 1), (2, 2), (3, 4), (None, 3), (None, 5), (4, 6),
    ]  # fmt: skip
    assert beside(chat("get_a", answered=0), chat("get_a"), tmp_path) == [(0, 0), (1, 1), (2, 2), (None, 3), (3, 4)]


@pytest.mark.parametrize("name", ["pager.db", "pager.otlp.jsonl", "pager.atif.json", "pager.mcp.jsonl"])
def test_every_step_stands_once(name: str) -> None:
    itself = Other(trace="7ef89abc") if name == "pager.db" else None
    compared = compare_runs(SAMPLES / "pager.db", SAMPLES / name, None, itself)
    for side in (0, 1):
        steps = [pair[side] for pair in compared.comparison.beside if pair[side] is not None]
        assert len(steps) == len(set(steps))
