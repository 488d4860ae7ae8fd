"""Is an act that was done twice told apart from a text that was run twice, and from a look at a program's output?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from forensics.analysis.anomalies import Acts
from forensics.analysis.duplicates import twice
from forensics.api import examine
from forensics.core.handles import Handles
from forensics.rules.engine import load_rules

if TYPE_CHECKING:
    from pathlib import Path


def codes(tmp_path: Path, tool: str, arguments: dict[str, Any], results: tuple[Any, ...]) -> list[str]:
    events: list[dict[str, Any]] = [{"type": "user", "text": "go"}]
    for n, result in enumerate(results):
        events += [
            {"type": "tool_call", "call_id": f"c{n}", "name": tool, "args": arguments},
            {"type": "tool_result", "call_id": f"c{n}", "result": result},
        ]
    path = tmp_path / "events.jsonl"
    path.write_text("\n".join(map(json.dumps, events)), encoding="utf-8")
    wanted = ("duplicate_side_effect", "possible_duplicate_side_effect", "repeated_call")
    return [f.code for f in examine(path).audit().findings if f.code in wanted]


@pytest.mark.parametrize(
    ("tool", "arguments", "found"),
    [
        ("charge_card", {"amount": 5}, "duplicate_side_effect"),
        ("execute_payment", {"amount": 5}, "duplicate_side_effect"),
        ("create_job", {"script": "make all; make install"}, "duplicate_side_effect"),
        ("bash", {"command": "git push origin main"}, "duplicate_side_effect"),
        ("exec_command", {"cmd": "git commit -m 'a change'"}, "duplicate_side_effect"),
        ("run_sql", {"sql": "INSERT INTO orders VALUES (1)"}, "duplicate_side_effect"),
        ("bash", {"command": "git status --short"}, "repeated_call"),
        ("exec_command", {"cmd": "git fetch origin"}, "repeated_call"),
        ("shell", {"command": "python reproduce.py"}, "repeated_call"),
        ("bash", {"command": "ls -la"}, None),
        ("write_stdin", {"session_id": 7, "chars": ""}, None),
        ("write_stdin", {"session_id": 7, "chars": "y\n"}, "duplicate_side_effect"),
        ("get_status", {"id": 7}, None),
    ],
)
def test_what_was_done_twice(tmp_path: Path, tool: str, arguments: dict[str, Any], found: str | None) -> None:
    assert codes(tmp_path, tool, arguments, ("one", "two")) == ([found] if found else [])


def test_groups_ask_only_for_the_handles_of_their_own_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log.jsonl"
    lines = []
    for number in range(60):
        call = {"type": "tool_call", "id": f"c{number}", "name": "send_email", "args": {"to": number % 30}}
        lines += [
            call,
            {"type": "tool_result", "call_id": f"c{number}", "result": {"id": f"m-{7919 * number + 10007}"}},
        ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    (analysis,) = examine(path).analyses
    asked: list[int] = []
    whole = Handles.minted_by

    def counted(handles: Handles, call: int) -> list[str]:
        asked.append(call)
        return whole(handles, call)

    monkeypatch.setattr(Handles, "minted_by", counted)
    trace = analysis.trace
    acts = Acts(trace, [row % 30 for row in range(60)], analysis.calls, analysis.handles, load_rules())
    found = list(twice(acts))
    assert len(found) == 30
    assert sorted(asked) == list(range(60))
    assert all("m-" in one.message for one in found)


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        ({"idempotency_key": "k-1"}, {"idempotency_key": "k-2"}, "possible_duplicate_side_effect"),
        ({"idempotency_key": "k-1"}, {}, "possible_duplicate_side_effect"),
        ({"amount": 50}, {"amount": 50.0}, "duplicate_side_effect"),
        ({"items": [{"amount": 5e1}]}, {"items": [{"amount": 50}]}, "duplicate_side_effect"),
        ({"amount": 50}, {"amount": 50.5}, None),
        ({"amount": 1}, {"amount": True}, None),
        ({"note": "50"}, {"note": "50.0"}, None),
        ({"idempotency_key": "k-1", "amount": 1}, {"idempotency_key": "k-2", "amount": 2}, None),
    ],
)
def test_what_asks_for_the_same_act(
    tmp_path: Path, one: dict[str, Any], other: dict[str, Any], found: str | None
) -> None:
    events: list[dict[str, Any]] = [{"type": "user", "text": "go"}]
    for n, arguments in enumerate((one, other)):
        events += [
            {"type": "tool_call", "call_id": f"c{n}", "name": "charge_card", "args": {"order": 7, **arguments}},
            {"type": "tool_result", "call_id": f"c{n}", "result": {"id": f"ch_550{n}"}},
        ]
    path = tmp_path / "events.jsonl"
    path.write_text("\n".join(map(json.dumps, events)), encoding="utf-8")
    codes = [f.code for f in examine(path).audit().findings]
    assert [code for code in codes if "duplicate" in code] == ([found] if found else [])


@pytest.mark.parametrize(
    "claim",
    [
        {"dry_run": True},
        {"dryRun": "All"},
        {"--dry-run": "server"},
        {"validate_only": "true"},
        {"simulate": 1},
        {"WhatIf": True},
        {"mode": "dry-run"},
        {"apply": False},
    ],
)
def test_a_claimed_dry_run_leaves_open_whether_it_took_effect(tmp_path: Path, claim: dict[str, Any]) -> None:
    arguments = {"table": "t", **claim}
    for result in ({"would_delete": 5}, {"deleted": 5}, "Would delete 5 rows"):
        assert codes(tmp_path, "delete_rows", arguments, (result, result)) == ["possible_duplicate_side_effect"]
        (kind,) = examine(tmp_path / "events.jsonl").audit().traces[0].tools
        assert kind.class_ == "side-effecting"


@pytest.mark.parametrize(
    "claim",
    [{"dry_run": False}, {"dry_run": "no"}, {"dry_run": None}, {"apply": True}, {"mode": "live"}, {"note": "dry_run"}],
)
def test_what_asks_for_no_dry_run_took_effect(tmp_path: Path, claim: dict[str, Any]) -> None:
    for result in ({"would_delete": 5}, {"deleted": 5}):
        found = codes(tmp_path, "delete_rows", {"table": "t", **claim}, (result, result))
        assert found == ["duplicate_side_effect"]


def test_the_words_tell_who_claims_a_dry_run_and_what_bears_it_out(tmp_path: Path) -> None:
    said = []
    for result in ({"would_delete": 5}, {"deleted": 5}):
        codes(tmp_path, "delete_rows", {"table": "t", "dry_run": True}, (result, result))
        found = examine(tmp_path / "events.jsonl").audit().findings
        said += [one.message for one in found if one.code == "possible_duplicate_side_effect"]
    first, second = said
    assert "dry_run asks for a dry run and the results tell what would be done, but nothing proves" in first
    assert "dry_run asks for a dry run and no result bears it out, but nothing proves" in second


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("git push --dry-run origin main", "possible_duplicate_side_effect"),
        ("kubectl delete -f app.yaml --dry-run=server", "possible_duplicate_side_effect"),
        ("kubectl delete -f app.yaml --dry-run=none", "duplicate_side_effect"),
        ("git push origin main; git push --dry-run", "duplicate_side_effect"),
        ("git push origin main # --dry-run", "duplicate_side_effect"),
    ],
)
def test_a_flag_of_one_plain_command_may_ask_for_a_dry_run(tmp_path: Path, command: str, found: str) -> None:
    assert codes(tmp_path, "bash", {"command": command}, ("one", "two")) == [found]
