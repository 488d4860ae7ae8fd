"""Does every example of every `--help` work, as it stands there? Each is run where the files lie that it names."""

from __future__ import annotations

import contextlib
import json
import re
import shlex
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from forensics.cli.program import program
from tests.cli.test_startup import leaves

if TYPE_CHECKING:
    from collections.abc import Iterator

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
RUN, RERUN = "7ef89abcca00f6bce355fba87301f3ef", "b8e63f8cbf6c25fa4a3ea78ce086851c"
IDS = {"--trace": RUN, "--trace-b": RERUN, "--requests-trace": RERUN}
_COPIES = {
    "trace.json": "pager.chat.json",
    "rerun.json": "pager.chat.json",
    "monday.json": "pager.chat.json",
    "tuesday.json": "pager.chat.json",
    "a.json": "pager.chat.json",
    "b.json": "pager.chat.json",
    "runs/one.json": "pager.chat.json",
    "traces/one.json": "pager.chat.json",
    "local.db": "pager.db",
    "fixed.jsonl": "mailing.events.jsonl",
    "trace.jsonl": "mailing.events.jsonl",
    "trace.otlp.jsonl": "pager.otlp.jsonl",
    "cassette.yaml": "pager.vcr.yaml",
    "team.yaml": "policies/readonly.yaml",
}
_CALL = {"kind": "tool", "request": {"tool": "look", "arguments": {}}}
_FILES = {
    "tools.json": json.dumps({"name": "get_x"}) + "\n",
    "tools-list.json": json.dumps({"tools": [{"name": "get_x", "inputSchema": {"type": "object"}}]}),
    "tools/find.py": 'def search(q):\n    """Search."""\n    return q\n',
    "calls.jsonl": json.dumps({"tool": "bash", "arguments": {"command": "ls"}}) + "\n",
    "recording.jsonl": json.dumps({**_CALL, "response": 1}) + "\n",
    "requests.jsonl": json.dumps(_CALL) + "\n",
    "requests.json": json.dumps([{"method": "GET", "uri": "http://x/", "headers": {}, "body": ""}]),
    "question.sql": "SELECT 1",
    "fakes.py": "def page(**asked):\n    return asked\n",
    "agents/oncall.py": "def run(ports):\n    return ports.model.ask().text\n",
}
ELSEWHERE = {  # what is not tried here, by what an example holds, and why
    "--scheduler": "it needs a cluster",
    "--endpoint": "it needs a model",
    "--key": "keys are made and tried in tests/cli/test_bundle.py",
    "--expect": "a digest that somebody noted",
    "--baseline": "both kinds are made and tried in test_report.py and test_case.py",
    "fixed.jsonl": "it needs a model's rerun; tried in test_case.py",
    "mine.yaml": "packs are written and tried in test_rules.py",
    "packs/": "packs are written and tried in test_rules.py",
}


def examples() -> Iterator[str]:
    for path in [(), ("case",), ("policy",), ("rules",), *(path for path, _ in leaves(program))]:
        shown = CliRunner().invoke(program, [*path, "--help"], env={"COLUMNS": "200"}).output
        block = shown.partition("Examples:\n")[2].partition("\n\n")[0]
        text = re.sub(r"\\?\n {6,}", " ", f"\n{block}")  # a line that goes on
        yield from (line.strip() for line in text.splitlines() if line.strip().startswith("forensics"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("examples")
    for name, source in _COPIES.items():
        (place / name).parent.mkdir(exist_ok=True)
        shutil.copy(SAMPLES / source, place / name)
    for name, text in _FILES.items():
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_text(text, encoding="utf-8")
    for command in (
        "audit traces --into audited -q",
        "report runs --bundle incident-42 -q",
        "case save local.db --policy inject --to cases/cases.jsonl --name kept --with-evidence -q",
    ):
        with contextlib.chdir(place):
            CliRunner().invoke(program, command.split())
    return place


@pytest.mark.parametrize(
    "example", [one for one in sorted(set(examples())) if not any(word in one for word in ELSEWHERE)]
)
def test_an_example_does_what_it_says(
    example: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(folder, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    words = shlex.split(re.split(r" [<>] ", example)[0])
    words = [IDS.get(before, word) if word == "ID" else word for before, word in zip(("", *words), words, strict=False)]
    given = Path("question.sql").read_text() if " < " in example else None
    result = CliRunner().invoke(program, words[1:], input=given)
    assert result.exit_code in (0, 1), result.output
