"""Does `--help` import only what it needs, and does it say what the commands themselves say?"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from forensics.cli.commands import case, policy, rules
from forensics.cli.program import LazyGroup, program

ROOT = Path(__file__).resolve().parents[2]
HEAVY = {
    "rich",
    "pydantic",
    "msgspec",
    "yaml",
    "networkx",
    "numpy",
    "jsonschema",
    "re2",
    "tomllib",
    "sqlite3",
    "asyncio",
}


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_nothing_heavy_is_imported(option: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "forensics", option],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    imported = {line.rsplit("|", 1)[-1].strip().split(".")[0] for line in ended.stderr.splitlines() if "|" in line}
    assert "click" in imported
    assert not imported & HEAVY


def groups() -> list[LazyGroup]:
    inner: list[click.Command] = [program, case.command, policy.command, rules.command]
    return [group for group in inner if isinstance(group, LazyGroup)]


def test_every_group_is_lazy() -> None:
    context = click.Context(program)
    commands = (program.get_command(context, name) for name in program.list_commands(context))
    assert [type(command) for command in commands if isinstance(command, click.Group)] == [LazyGroup] * 3
    assert len(groups()) == 1 + 3


@pytest.mark.parametrize("group", groups(), ids=lambda group: group.name or "forensics")
def test_the_static_table_says_what_the_docstrings_say(group: LazyGroup) -> None:
    for module, about in group.table.values():
        command = importlib.import_module(module).command
        assert command.help.partition("\n")[0] == about


def leaves(group: click.Group, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], click.Command]]:
    found: list[tuple[tuple[str, ...], click.Command]] = []
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        inner = leaves(command, (*path, name)) if isinstance(command, click.Group) else []
        found += inner or [((*path, name), command)]
    return found


@pytest.mark.parametrize("path", [path for path, _ in leaves(program)], ids=" ".join)
def test_every_help_has_examples_at_80_columns(path: tuple[str, ...]) -> None:
    result = CliRunner().invoke(program, [*path, "--help"], env={"COLUMNS": "80"})
    assert result.exit_code == 0
    assert f"forensics {' '.join(path)}" in result.stdout.partition("Examples:")[2]
    assert max(len(line) for line in result.stdout.splitlines()) <= 80


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (
            "forensics ",
            {
                "audit",
                "inspect",
                "classify",
                "graph",
                "explain",
                "report",
                "query",
                "verify",
                "replay",
                "match",
                "compare",
                "case",
                "policy",
                "rules",
                "formats",
                "doctor",
                "schema",
            },
        ),
        ("forensics case ", {"save", "run"}),
        ("forensics policy ", {"draft", "check"}),
        ("forensics rules ", {"list", "show", "lint", "test"}),
        ("forensics rules show handle_b", {"handle_branch"}),
        ("forensics audit --fail-on ", {"info", "low", "medium", "high", "critical"}),
        (
            "forensics audit --input-format openai",
            {"openai-chat", "openai-responses", "openai-agents-traces", "openai-agents-runstate"}
            | {"openai-assistants", "openai-realtime"},
        ),
        ("forensics schema pol", {"policy", "policy-check"}),
    ],
)
def test_shell_completion(words: str, offered: set[str]) -> None:
    env = {"_FORENSICS_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1)}
    result = CliRunner().invoke(program, [], prog_name="forensics", env=env)
    assert {line.partition(",")[2] for line in result.stdout.splitlines()} == offered


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("forensics audit run", "file,run"),
        ("forensics audit a.json run", "file,run"),
        ("forensics audit --tools t", "file,t"),
        ("forensics inspect run", "file,run"),
        ("forensics compare a.json run", "file,run"),
        ("forensics policy check d", "file,d"),
        ("forensics report a.json --to o", "file,o"),
        ("forensics replay a.json --path s", "dir,s"),
        ("forensics audit --policy inj", "plain,inject"),
        ("forensics audit --policy mine", "file,mine"),
        ("forensics audit --policy ", "file,\nplain,strict\nplain,inject"),
    ],
)
def test_shell_completion_leaves_files_to_the_shell(words: str, offered: str) -> None:
    env = {"_FORENSICS_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1)}
    assert CliRunner().invoke(program, [], prog_name="forensics", env=env).stdout.strip() == offered
