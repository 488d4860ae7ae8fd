"""What do the tests of comparisons share? Runs as lists of messages, written down and compared."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from forensics.api_compare import Compared, compare_runs

SAMPLES = Path(__file__).resolve().parents[3] / "samples"
Runs = Callable[[Any, Any], Compared]
Call = tuple[str, dict[str, Any], str]


def chat(*turns: tuple[str | None, Sequence[Call]], user: str = "go", order: Sequence[int] = ()) -> dict[str, Any]:
    """A run as a list of messages: turns of a text and calls (tool, arguments, result). `order` is that in which the
    results of each turn come.
    """
    messages: list[dict[str, Any]] = [{"role": "user", "content": user}]
    for number, (text, calls) in enumerate(turns):
        asked = [
            {"id": f"c{number}_{n}", "type": "function", "function": {"name": tool, "arguments": json.dumps(arguments)}}
            for n, (tool, arguments, _) in enumerate(calls)
        ]
        messages.append({"role": "assistant", "content": text, **({"tool_calls": asked} if asked else {})})
        results = [
            {"role": "tool", "tool_call_id": f"c{number}_{n}", "content": result}
            for n, (_, _, result) in enumerate(calls)
        ]
        messages += [results[n] for n in order] if len(order) == len(results) else results
    return {"messages": messages}


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    """Compare two runs: lists of messages, texts of files, or paths."""

    def compared(left: Any, right: Any) -> Compared:
        def place(name: str, one: Any) -> Path:
            if isinstance(one, Path):
                return one
            path = tmp_path / f"{name}.json"
            path.write_text(one if isinstance(one, str) else json.dumps(one), encoding="utf-8")
            return path

        return compare_runs(place("a", left), place("b", right))

    return compared


@pytest.fixture
def samples() -> Path:
    return SAMPLES
