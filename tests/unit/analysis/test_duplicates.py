"""Is an act that was done twice told apart from a text that was run twice, and from a look at a program's output?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from forensics.api import examine

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
