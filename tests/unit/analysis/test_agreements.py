"""What many traces teach: how often equal calls agreed, and what is no second observation."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from forensics.analysis.inventory import classify_traces
from forensics.api import examine
from forensics.core.classes import Classification, Effect, Source, Stability, weighs

if TYPE_CHECKING:
    from pathlib import Path


def log(path: Path, *calls: tuple[str, object, object], first: int = 0) -> None:
    """A plain log of these calls (tool, arguments, result)."""
    lines: list[object] = []
    for number, (tool, arguments, result) in enumerate(calls, first):
        lines.append({"type": "tool_call", "id": f"c{number}", "name": tool, "args": arguments})
        lines.append({"type": "tool_result", "call_id": f"c{number}", "result": result})
    lines.append({"type": "model", "text": f"done {path.name}"})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")


def learnt(folder: Path, tool: str) -> tuple[Classification, list[str]]:
    found = {one.name: one.classification for one in classify_traces(examine(folder).analyses)}
    pieces = [p for p in found[tool].evidence if p.rule in ("behaviour.agreed", "behaviour.disagreed")]
    assert all(p.source is Source.BEHAVIOUR for p in pieces)
    return found[tool], [p.says for p in pieces]


def test_equal_calls_that_agreed_are_said_and_weigh_nothing(tmp_path: Path) -> None:
    for run in range(3):
        log(tmp_path / f"{run}.jsonl", ("get_page", {"id": 1}, {"title": "a"}), ("get_page", {"id": 2}, {"title": "b"}))
    known, says = learnt(tmp_path, "get_page")
    assert says == ["4 of 4 repetitions of an equal call agreed with the first, over 3 runs"]
    assert not any(weighs(p) for p in known.evidence if p.rule == "behaviour.agreed")
    assert known.effect is Effect.UNKNOWN


def test_one_that_differed_makes_the_result_volatile(tmp_path: Path) -> None:
    for run in range(3):
        log(tmp_path / f"{run}.jsonl", ("get_page", {"id": 1}, {"title": "a" if run < 2 else "z"}))
    known, says = learnt(tmp_path, "get_page")
    assert says == ["1 of 2 repetitions of an equal call agreed with the first, over 3 runs"]
    assert known.result is Stability.VOLATILE


def test_a_copy_of_a_trace_teaches_nothing(tmp_path: Path) -> None:
    log(tmp_path / "a.jsonl", ("get_page", {"id": 1}, {"title": "a"}))
    (tmp_path / "b.jsonl").write_bytes((tmp_path / "a.jsonl").read_bytes())
    assert learnt(tmp_path, "get_page")[1] == []


def test_calls_with_other_arguments_or_of_other_tools_are_not_compared(tmp_path: Path) -> None:
    log(tmp_path / "a.jsonl", ("get_page", {"id": 1}, "a"), ("get_user", {"id": 1}, "b"), ("get_page", {"id": 2}, "c"))
    assert learnt(tmp_path, "get_page")[1] == []


@pytest.mark.parametrize(
    ("between", "rule", "said"),
    [
        ("set_title", "behaviour.changed-after-write", "after set_title, which may change something, ran between"),
        (None, "behaviour.changed", "gave another result in this trace"),
    ],
)
def test_a_read_that_changed_says_what_ran_between(tmp_path: Path, between: str | None, rule: str, said: str) -> None:
    writes = [] if between is None else [(between, {"id": 1}, "ok")]
    reads = [("get_page", {"id": 1}, title) for title in ("a", "b")]
    log(tmp_path / "a.jsonl", reads[0], *writes, reads[1])
    known, _ = learnt(tmp_path, "get_page")
    (piece,) = [p for p in known.evidence if p.rule in ("behaviour.changed", "behaviour.changed-after-write")]
    assert piece.rule == rule
    assert said in piece.says
    assert known.result is Stability.VOLATILE
