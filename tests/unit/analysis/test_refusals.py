"""Does an error that a call got show nothing of its tool but what only a write is told?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from forensics.analysis.argue import argue
from forensics.analysis.inband import says_it_failed
from forensics.analysis.inventory import classify_calls, classify_traces
from forensics.analysis.inventory_files import read_calls
from forensics.api import examine
from forensics.core.classes import Classification, Effect, Source, Stability
from forensics.core.policy import BasePolicy, Policy
from forensics.rules import load_rules

if TYPE_CHECKING:
    from pathlib import Path

    from forensics.analysis.run import TraceAnalysis

RULES = load_rules()
POLICY = Policy(name="p", base=BasePolicy.STRICT, digest="sha256:p")
MINTED = "550e8400-e29b-41d4-a716-446655440000"
REFUSED = {"code": -32602, "message": "Unknown tool", "data": {"request_id": MINTED}}
EXISTS = {"content": [{"type": "text", "text": "Branch main already exists"}], "isError": True}


def classified(result: Any, tool: str = "get_user") -> Classification:
    line = json.dumps({"tool": tool, "arguments": {"id": 1}, "result": result}).encode()
    (found,) = classify_calls(read_calls(line, "calls"), RULES, POLICY)
    return found.classification


def rules_of(known: Classification) -> list[str | None]:
    return [piece.rule for piece in known.evidence if piece.source is Source.BEHAVIOUR]


@pytest.mark.parametrize(
    ("result", "rule"),
    [
        (REFUSED, "behaviour.refused"),
        ({"jsonrpc": "2.0", "id": 1, "error": REFUSED}, "behaviour.refused"),
        ({"code": -32603, "message": "Internal error", "data": {"id": MINTED}}, "behaviour.open"),
        ({"content": [{"type": "text", "text": "no such user"}], "isError": True}, "behaviour.failed"),
    ],
)
def test_an_error_is_no_result(result: Any, rule: str) -> None:
    known = classified(result)
    assert rules_of(known) == [rule]
    assert (known.effect, known.result) == (Effect.UNKNOWN, Stability.UNKNOWN)
    argument = argue(known, None, frozenset())
    assert [known.evidence[place].rule for place in argument.without_weight] == [rule]


def test_the_id_of_a_response_is_the_client_s() -> None:
    assert classified({"jsonrpc": "2.0", "id": MINTED, "result": {"name": "ann"}}).result is Stability.UNKNOWN
    assert classified({"jsonrpc": "2.0", "id": 1, "result": {"id": MINTED}}).result is Stability.HANDLE


def test_what_a_response_holds_is_looked_at() -> None:
    made = classified({"jsonrpc": "2.0", "id": 1, "result": {"status": "created"}})
    assert made.effect is Effect.REPEATING


def test_only_what_would_write_is_told_that_the_thing_is_there() -> None:
    assert classified(EXISTS).effect is Effect.REPEATING
    assert classified({**EXISTS, "isError": False}).effect is Effect.UNKNOWN


def run(tmp_path: Path, *results: Any) -> TraceAnalysis:
    """A run in a format that has no mark for errors: one call of a tool for each result."""
    events: list[dict[str, Any]] = [{"type": "user", "text": "go"}]
    for n, result in enumerate(results):
        events.append({"type": "tool_call", "call_id": f"c{n}", "name": "get_user", "args": {"id": 1}})
        events.append({"type": "tool_result", "call_id": f"c{n}", "result": result})
    path = tmp_path / "events.jsonl"
    path.write_text("\n".join(map(json.dumps, events)), encoding="utf-8")
    (analysis,) = examine(path).analyses
    return analysis


def test_an_error_agrees_with_nothing_and_changes_nothing(tmp_path: Path) -> None:
    error = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "no"}}
    user = {"name": "ann"}
    first, second, third = run(tmp_path, error, user, error).calls
    assert rules_of(first) == rules_of(third) == ["behaviour.refused"]
    assert rules_of(second) == []
    for results, says in (((error, error), []), ((user, error), []), ((user, user), ["behaviour.agreed"])):
        (tool,) = classify_traces([run(tmp_path, *results)])
        agreed = [rule for rule in rules_of(tool.classification) if rule != "behaviour.refused"]
        assert agreed == says


def test_a_response_with_an_error_says_that_the_call_failed() -> None:
    error = {"code": -32000, "message": "down"}
    assert says_it_failed({"jsonrpc": "2.0", "id": 1, "error": error})
    assert says_it_failed('{"jsonrpc": "2.0", "id": 1, "error": {"code": -32000, "message": "down"}}')
    assert not says_it_failed({"jsonrpc": "2.0", "id": 1, "result": {"state": "failed", "job": 7}})


def test_the_errors_in_a_trace_are_looked_at_too(tmp_path: Path) -> None:
    call = {"name": "sync", "arguments": {"id": 1}}
    lines = [
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "Unknown tool"}},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call},
        {"jsonrpc": "2.0", "id": 2, "result": EXISTS},
    ]
    path = tmp_path / "mcp.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    (analysis,) = examine(path).analyses
    refused, exists = analysis.calls
    assert rules_of(refused) == ["behaviour.refused"]
    assert rules_of(exists) == ["behaviour.failed"]
    assert exists.effect is Effect.REPEATING
    assert all(
        piece.locator is not None for piece in (*refused.evidence, *exists.evidence) if piece.source is Source.BEHAVIOUR
    )
