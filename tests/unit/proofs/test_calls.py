"""Does a proof answer a veto exactly where the proven text is all that the call does?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from forensics.analysis.inventory import classify_calls, classify_traces
from forensics.analysis.inventory_files import read_calls
from forensics.api import examine
from forensics.core.classes import Classification, Effect, RestsOn, Source, ToolFacts
from forensics.core.policy import BasePolicy, Policy
from forensics.proofs.calls import proof_of
from forensics.rules import load_rules

if TYPE_CHECKING:
    from pathlib import Path

SELECT = "SELECT id FROM orders WHERE at > 7"
POLICY = Policy(name="p", base=BasePolicy.STRICT, digest="sha256:p")


def proven(tool: str, arguments: object, dialect: str | None = None) -> bool:
    return proof_of(ToolFacts(name=tool), arguments, dialect) is not None


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("execute_sql", {"sql": SELECT}),
        ("execute_sql", {"query": SELECT, "database": "shop", "limit": 10}),
        ("execute_sql", {"sqlText": SELECT, "params": [1, "open", None, True]}),
        ("execute_sql", {"sql": SELECT, "params": {"at": "2026-11-29 12:00"}}),
        ("run", {"command": SELECT}),
        ("bash", {"command": "ls -la", "description": "List files", "timeout": 5000, "run_in_background": False}),
        ("shell", {"cmd": "cat a | wc -l", "cwd": "/src", "output_path": None, "env": {}}),
        ("graphql", {"query": "{ a }", "variables": {"x": {"y": ["'; mutation"]}}, "operationName": "Q"}),
    ],
)
def test_the_text_is_all_that_the_call_does(tool: str, arguments: object) -> None:
    assert proven(tool, arguments)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("execute_sql", {"sql": SELECT, "output_path": "a.csv"}),
        ("execute_sql", {"sql": SELECT, "anything_new": 1}),
        ("execute_sql", {"sql": SELECT, "params": ["'; DELETE FROM t; --"]}),
        ("execute_sql", {"sql": SELECT, "params": ["1--"]}),
        ("execute_sql", {"sql": SELECT, "params": [["nested"]]}),
        ("execute_sql", {"sql": SELECT, "params": "1"}),
        ("execute_sql", {"sql": SELECT, "query": SELECT}),
        ("execute_sql", {"sql": [SELECT]}),
        ("execute_sql", {"sql": ""}),
        ("execute_sql", SELECT),
        ("execute_sql", [SELECT]),
        ("execute_sql", None),
        ("bash", {"command": "ls -la", "run_in_background": True}),
        ("bash", {"command": "ls -la", "stdin": "rm a"}),
        ("bash", {"command": "ls -la", "env": {"PATH": "/opt/x"}}),
        ("bash", {"command": ["ls", "-la"]}),
        ("run_powershell", {"command": "ls -la"}),
        ("run_python", {"code": "print(1)"}),
        ("evaluate", {"script": "1 + 1"}),
        ("graphql", {"query": "{ a }", "extensions": {"persistedQuery": {"sha256Hash": "x"}}}),
        ("execute_sql", {"sql": SELECT, **{f"limit{i}": None for i in range(100)}}),
    ],
)
def test_anything_else_keeps_the_veto(tool: str, arguments: object) -> None:
    assert not proven(tool, arguments)


def test_the_dialect_is_the_operators_word(tmp_path: Path) -> None:
    lines = [
        {"tool": "execute_sql", "arguments": {"query": "PRAGMA table_info(a)"}, "dialect": "sqlite"},
        {"tool": "execute_sql", "arguments": {"query": "PRAGMA table_info(a)"}},
        {"tool": "execute_sql", "arguments": {"query": "PRAGMA table_info(a)", "dialect": "sqlite"}},
    ]
    calls = read_calls("\n".join(map(json.dumps, lines)).encode(), "calls")
    found = [one.classification for one in classify_calls(calls, load_rules(), POLICY)]
    assert [one.effect for one in found] == [Effect.NONE, Effect.REPEATING, Effect.REPEATING]
    assert found[0].rests_on is RestsOn.PROOF
    assert found[0].vouched


def test_a_proof_drops_only_what_it_answers() -> None:
    line = {
        "tool": "execute_sql",
        "annotations": {"destructiveHint": True, "readOnlyHint": False},
        "arguments": {"query": SELECT},
    }
    calls = read_calls(json.dumps(line).encode(), "calls")
    found = classify_calls(calls, load_rules(), POLICY)[0].classification
    assert found.effect is not Effect.NONE
    assert Source.PROOF in {piece.source for piece in found.evidence}


def trace(*calls: tuple[str, dict[str, Any]]) -> str:
    """A list of chat messages: each call asked for in a turn of its own, and answered."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "look"}]
    for number, (tool, arguments) in enumerate(calls):
        call = {"id": f"c{number}", "type": "function", "function": {"name": tool, "arguments": json.dumps(arguments)}}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": f"row {number}"})
    return json.dumps([*messages, {"role": "assistant", "content": "done"}])


def classes(tmp_path: Path, *calls: tuple[str, dict[str, Any]]) -> tuple[Classification, list[Classification]]:
    """The class of the one tool, and of each call."""
    path = tmp_path / "chat.json"
    path.write_text(trace(*calls))
    (analysis,) = examine(path).analyses
    (tool,) = analysis.tools
    return tool.classified, list(analysis.calls)


READ = ("execute_sql", {"query": SELECT})
OTHER_READ = ("execute_sql", {"query": "SELECT count(*) FROM orders"})
WRITE = ("execute_sql", {"query": "DELETE FROM orders"})
BARE: tuple[str, dict[str, Any]] = ("execute_sql", {})


def test_calls_of_a_trace_are_judged_one_by_one(tmp_path: Path) -> None:
    tool, calls = classes(tmp_path, READ, WRITE, OTHER_READ)
    assert [call.effect is Effect.NONE for call in calls] == [True, False, True]
    assert tool.effect is max(call.effect for call in calls)


def test_a_tool_of_proven_calls_reads(tmp_path: Path) -> None:
    tool, _ = classes(tmp_path, READ, OTHER_READ)
    assert (tool.effect, tool.rests_on) == (Effect.NONE, RestsOn.PROOF)


@pytest.mark.parametrize("other", [WRITE, BARE])
def test_a_proof_of_one_call_is_none_of_another(tmp_path: Path, other: tuple[str, dict[str, Any]]) -> None:
    tool, calls = classes(tmp_path, READ, other)
    assert tool.effect is not Effect.NONE
    assert calls[1].effect is not Effect.NONE


def test_proven_calls_share_a_class(tmp_path: Path) -> None:
    many = [("execute_sql", {"query": f"SELECT {number} FROM orders"}) for number in range(50)]
    _, calls = classes(tmp_path, *many)
    assert len(set(map(id, calls))) == 1


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_traces_are_joined_without_lending_a_proof(tmp_path: Path, order: tuple[int, int]) -> None:
    """`ls` alone is asked about by no rule, so it has no proof; that of the other trace is not its own."""
    texts = [trace(("zebra", {"command": "ls -la"})), trace(("zebra", {"command": "ls"}))]
    for number in order:
        (tmp_path / f"{order.index(number)}.json").write_text(texts[number])
    joined = classify_traces(examine(tmp_path).analyses)
    assert [one.classification.effect is Effect.NONE for one in joined] == [False]
