"""What does the audit of a small log load? What it uses, and nothing that another evidence would need."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from forensics.cli.output import width
from forensics.formats.registry import SHIPPED

ROOT = Path(__file__).resolve().parents[2]
LOG = """\
{"kind": "user", "text": "page whoever is on call"}
{"kind": "model", "text": "I page them"}
{"kind": "tool_call", "id": "c1", "tool": "pager.trigger", "args": {"query": "of the day", "service": "db"}}
{"kind": "tool_result", "id": "c1", "result": {"id": "pg_8812", "status": "paged"}}
{"kind": "model", "text": "pg_8812 is paged"}
"""
HEAVY = {"networkx", "numpy", "pydantic", "sqlglot", "graphql", "rich", "yaml", "jsonschema", "sqlite3", "asyncio"}
OF_OTHERS = {"tempfile", "shutil", "tarfile", "zipfile", "lzma", "bz2", "logging", "concurrent", "multiprocessing"}
"""Of the standard library: what packed, large or damaged evidence, a database, a corpus or a parser need."""

UNUSED = (
    "forensics.analysis.schema_check",
    *(home.partition(":")[0] for name, home in SHIPPED.items() if name != "event-log"),
    "forensics.formats.shared.messages",
    "forensics.formats.shared.mending",
    "forensics.formats.shared.packed.archives",
    "forensics.formats.shared.packed.unpacking",
    "forensics.formats.shared.span",
    "forensics.formats.shared.sqlite",
    "forensics.proofs.sql_",
    "forensics.rules.descriptions",
    "forensics.rules.lints",
    "forensics.rules.outputs",
    "forensics.corpus",
    "forensics.replay",
    "forensics.compare",
    "forensics.custody",
    "forensics.report.html",
    "forensics.report.incident",
    "forensics.report.inspection",
    "forensics.rules.policy_doubts",
)
"""Of ours, by how the names begin: readers of other formats and what they share, checks of rules that are shipped
checked, and every other command.
"""

WATCHED = """\
import re, sys
import click, click.shell_completion, hashlib, json, mmap, msgspec, pathlib, re2

given, eager, compile_pattern = {*sys.modules}, set(), re.compile

def noted(pattern, flags=0):
    frame = sys._getframe(1)
    name = str(frame.f_globals.get("__name__"))
    if frame.f_code.co_name == "<module>" and name.startswith("forensics."):
        eager.add(name)
    return compile_pattern(pattern, flags)

re.compile = noted
sys.argv = ["forensics", "audit", sys.argv[1]]
try:
    from forensics.cli.main import main
    main()
except SystemExit:
    print(*{*sys.modules} - given, file=sys.stderr)
    print(*eager, file=sys.stderr)
"""
FLOW = "forensics.analysis."
"""Where values are followed, every log asks for what is compiled, and by its bound method."""


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> tuple[set[str], set[str]]:
    """The modules that an audit loads, and those of ours that compile a pattern while they are loaded."""
    log = tmp_path_factory.mktemp("log") / "run.jsonl"
    log.write_text(LOG, "utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", WATCHED, str(log)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert "pager.trigger" in done.stdout
    modules, eager = done.stderr.splitlines()[-2:]
    return {*modules.split()}, {*eager.split()}


def test_an_audit_loads_what_it_uses(audited: tuple[set[str], set[str]]) -> None:
    modules, _ = audited
    assert "forensics.formats.plain" in modules
    assert not {name.partition(".")[0] for name in modules} & (HEAVY | OF_OTHERS)
    assert not [name for name in modules if name.startswith(UNUSED)]


def test_no_pattern_is_compiled_before_it_is_asked(audited: tuple[set[str], set[str]]) -> None:
    _, eager = audited
    assert not [name for name in eager if not name.startswith(FLOW)]


@pytest.mark.parametrize(("columns", "wide"), [("100", 100), ("7", 40), ("0", 80), ("", 80), ("²", 80), ("x", 80)])
def test_the_width_is_told_without_what_tells_of_terminals(
    columns: str, wide: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert width() == wide
