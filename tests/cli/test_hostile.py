"""Can a trace act on the terminal, hide in the text or forge a line of ours?"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from forensics.cli.program import program
from forensics.report.terminal_page import cells

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

STRINGS = {
    "escape": "a\x1b[2J\x1b[31mred",
    "link": "\x1b]8;;https://evil.invalid\x1b\\click\x1b]8;;\x1b\\",
    "clipboard": "\x1b]52;c;ZXZpbA==\x07",
    "c1": "a\x9b31mb\x85c",
    "bidi": "safe\u202eelif\u202c\u2066x\u2069",
    "zero width": "pa\u200bger\u200d\ufeff\u00ad\u2060\ufe0f",
    "tags": "a\U000e0041\U000e0042b",
    "separators": "one\u2028two\u2029three",
    "markup": "[bold red]x[/x][/] [link=https://evil.invalid]l[/link]",
    "forged": "x\nCLEARED under strict, level dynamic: trace-0 in trace.json\nTools",
    "forged by return": "x\rCLEARED under strict, level dynamic",
    "forged at the width": "y" * 79 + " CLEARED under strict, level dynamic: trace-0",
    "wide": "界" * 100,
    "nul": "a\x00b",
    "surrogate": "a\ud800b",
    "long": "z" * 100_000,
    "combining": "e" + "\u0301" * 300,
}
FORBIDDEN = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\ufff9-\ufffb"
    "\ue000-\uf8ff\ud800-\udfff\U000e0000-\U000e0fff]"
)
# Every line of ours that begins at the left edge; all else is indented.
OURS = re.compile(
    r"(?:REFUSED under strict, level (?:static|inject): .*|NOT READ .*|What took effect|Tools(?: of .*)?|Handles|"
    r"Effect unknown: these may have changed something, or only read|Denied or failed|"
    r"Findings.*|Reasons|Evidence|Steps|Tuples|Step \d+: .*|Says|Bytes in the evidence| *\d+  .*)?"
)


def chat(text: str) -> bytes:
    """A chat in which the text stands in every field that a chat has."""
    call = {"id": text, "type": "function", "function": {"name": text, "arguments": json.dumps({text: text})}}
    other = {"id": "b", "type": "function", "function": {"name": "send_mail", "arguments": json.dumps({"to": text})}}
    messages = [
        {"role": "system", "content": text},
        {"role": "user", "content": text, "name": text},
        {"role": "assistant", "content": text, "tool_calls": [call, other]},
        {"role": "tool", "tool_call_id": text, "content": json.dumps({"status": "sent", "id": text})},
        {"role": "tool", "tool_call_id": "b", "content": text},
        {"role": "assistant", "content": text},
    ]
    return json.dumps(messages).encode()


def events(text: str) -> bytes:
    """An event log in which the text stands in every field that an event log has."""
    rows = [
        {"type": "user", "text": text, "trace": text, "agent": text},
        {"type": "model", "text": text, "trace": text, "agent": text},
        {"type": "tool_call", "call_id": text, "name": text, "args": {text: text}, "trace": text, "agent": text},
        {"type": "tool_result", "call_id": text, "result": {"status": "sent", "id": text}, "trace": text},
        {"type": "error", "text": text, "trace": text},
        {"type": text, "trace": text},
    ]
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def evidences(tmp_path: Path, text: str) -> Iterator[Path]:
    for name, build in (("trace.json", chat), ("trace.jsonl", events)):
        path = tmp_path / name
        path.write_bytes(build(text))
        yield path


def commands(path: Path) -> Iterator[list[str]]:
    yield ["audit", str(path)]
    yield ["audit", str(path), "-v"]
    yield ["inspect", str(path)]
    yield ["inspect", str(path), "--step", "2"]
    yield ["classify", str(path), "-v"]
    yield ["policy", "draft", str(path)]
    yield ["explain", str(path), "2"]
    yield ["explain", str(path), "3", "-v"]


@pytest.mark.parametrize("label", STRINGS)
def test_hostile_text_is_shown_and_does_nothing(label: str, tmp_path: Path) -> None:
    for path in evidences(tmp_path, STRINGS[label]):
        for command in commands(path):
            result = CliRunner().invoke(program, command, env={"COLUMNS": "80"})
            assert result.exit_code in (0, 1, 2, 3), (command, result.output)
            found = FORBIDDEN.search(result.stdout)
            assert found is None, (command, found)
            assert FORBIDDEN.search(result.stderr) is None, command
            for line in result.stdout.splitlines():
                assert not line.startswith("CLEARED"), command
                assert cells(line) <= 80 or command[0] == "policy", (command, line)


@pytest.mark.parametrize("label", STRINGS)
def test_no_line_of_the_trace_begins_at_the_edge(label: str, tmp_path: Path) -> None:
    for path in evidences(tmp_path, STRINGS[label]):
        for command in ("audit", "inspect"):
            for line in CliRunner().invoke(program, [command, str(path)], env={"COLUMNS": "80"}).stdout.splitlines():
                assert line.startswith(" ") or OURS.fullmatch(line), (command, line)


@pytest.mark.parametrize("label", STRINGS)
def test_with_colour_only_colours_are_escaped(label: str, tmp_path: Path) -> None:
    for path in evidences(tmp_path, STRINGS[label]):
        result = CliRunner().invoke(program, ["inspect", str(path)], env={"COLUMNS": "80", "FORCE_COLOR": "1"})
        assert FORBIDDEN.search(re.sub(r"\x1b\[[0-9;]*m", "", result.stdout)) is None


@pytest.mark.parametrize("label", STRINGS)
def test_json_is_strict_and_harmless(label: str, tmp_path: Path) -> None:
    for path in evidences(tmp_path, STRINGS[label]):
        for command in ("audit", "inspect", "classify"):
            out = CliRunner().invoke(program, [command, str(path), "--format", "json"]).stdout_bytes
            text = out.decode("utf-8")
            json.loads(text)
            assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200b-\u200f]", text)


def test_markup_is_words(tmp_path: Path) -> None:
    (path,) = [p for p in evidences(tmp_path, "build [red] [/x]") if p.suffix == ".json"]
    for colour in ("", "1"):
        said = CliRunner().invoke(program, ["inspect", str(path)], env={"FORCE_COLOR": colour}).stdout
        assert "build [red] [/x]" in said


def test_the_name_of_the_file_is_made_safe(tmp_path: Path) -> None:
    path = tmp_path / "x\x1b[2J\nCLEARED under strict\u202e.json"
    path.write_bytes(chat("hello"))
    said = CliRunner().invoke(program, ["audit", str(path)]).stdout
    assert FORBIDDEN.search(said) is None
    assert not any(line.startswith("CLEARED") for line in said.splitlines())


@pytest.mark.parametrize("label", STRINGS)
def test_a_drafted_policy_vouches_for_nothing_whatever_the_tools_are_called(label: str, tmp_path: Path) -> None:
    for path in evidences(tmp_path, STRINGS[label]):
        result = CliRunner().invoke(program, ["policy", "draft", str(path)])
        if result.exit_code == 3:  # no reader recognises it: there is nothing to draft
            assert result.stdout == ""
            continue
        drafted = result.stdout_bytes
        file = tmp_path / "policy.yaml"
        file.write_bytes(drafted)
        checked = CliRunner().invoke(program, ["policy", "check", str(file), "--format", "json"])
        assert checked.exit_code == 0, checked.output
        assert json.loads(checked.stdout)["entries"] == []


def test_a_tool_called_like_a_wildcard_gets_no_entry(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(chat("*"))
    drafted = CliRunner().invoke(program, ["policy", "draft", str(path)]).stdout
    assert 'tool: "*"' not in drafted
    assert "can't name it alone" in drafted
