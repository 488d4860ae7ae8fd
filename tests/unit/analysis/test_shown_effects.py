"""Is a command of which nothing proves that it only reads told apart from one that is known to add something?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from forensics.api import examine

if TYPE_CHECKING:
    from pathlib import Path


def events(*commands: str, tool: str = "bash", key: str = "command") -> str:
    lines: list[dict[str, object]] = [{"type": "user", "text": "go"}]
    for n, command in enumerate(commands):
        lines.append({"type": "tool_call", "id": f"c{n}", "name": tool, "args": {key: command}})
        lines.append({"type": "tool_result", "call_id": f"c{n}", "result": "ok"})
    return "\n".join(map(json.dumps, lines))


def test_each_call_is_told_by_its_own_command(tmp_path: Path) -> None:
    commands = ("ls -la", "git status", "git push origin main", "docker ps", "rm -rf build")
    (tmp_path / "a.jsonl").write_text(events("ls"), encoding="utf-8")
    (tmp_path / "b.jsonl").write_text(events(*commands), encoding="utf-8")
    _, trace = examine(tmp_path).audit().traces
    told = {call.arguments["command"]: call.step for call in trace.calls}
    assert trace.unproved == [told["git status"], told["docker ps"]]
    assert {call.class_ for call in trace.calls if call.step in trace.unproved} == {"side-effecting"}
    assert {call.effect for call in trace.calls if call.step in trace.unproved} == {"repeating"}
    assert not trace.verdict.cleared


@pytest.mark.parametrize(("tool", "key"), [("send_email", "text"), ("charge_card", "note")])
def test_a_tool_that_runs_no_text_is_not_told_so(tmp_path: Path, tool: str, key: str) -> None:
    (tmp_path / "a.jsonl").write_text(events("git status", tool=tool, key=key), encoding="utf-8")
    (trace,) = examine(tmp_path / "a.jsonl").audit().traces
    assert trace.unproved == []
