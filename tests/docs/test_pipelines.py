"""Do the hooks and the workflow that people copy call commands that are there, and do they stop what they should?"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from forensics.cli.program import program

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "how-to" / "report-to-code-scanning.md").read_text(encoding="utf-8")
HOOKS: list[dict[str, Any]] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
BLOCKS = [yaml.safe_load(text) for text in re.findall(r"^```yaml file=\S+\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)]


def run(*arguments: str) -> int:
    return CliRunner().invoke(program, arguments).exit_code


@pytest.mark.parametrize("hook", HOOKS, ids=[hook["id"] for hook in HOOKS])
def test_a_hook_takes_many_files(hook: dict[str, Any]) -> None:
    words = [*shlex.split(hook["entry"]), *hook.get("args", [])]
    assert words[0] == "forensics"
    assert run(*words[1:], "--help") == 0
    files = {
        "forensics-audit": ("samples/pager.chat.json", "samples/double_charge.chat.json"),
        "forensics-rules-lint": ("rules/tools/shell.yaml", "samples/policies/readonly.yaml"),
    }[hook["id"]]
    good, bad = (str(ROOT / file) for file in files)
    assert (run(*words[1:], good), run(*words[1:], good, bad)) == (0, 1)


def test_the_page_names_the_hooks_that_are_there() -> None:
    (configured,) = [block for block in BLOCKS if "repos" in block]
    assert [hook["id"] for hook in configured["repos"][0]["hooks"]] == [hook["id"] for hook in HOOKS]


def test_the_workflow_writes_what_it_uploads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (workflow,) = [block for block in BLOCKS if "jobs" in block]
    steps = workflow["jobs"]["forensics"]["steps"]
    (command,) = [step["run"] for step in steps if "forensics report" in step.get("run", "")]
    (uploaded,) = [step["with"]["sarif_file"] for step in steps if "upload-sarif" in step.get("uses", "")]
    monkeypatch.chdir(tmp_path)
    for folder, file in (("traces", "double_charge.chat.json"), ("policies", "policies/readonly.yaml")):
        Path(folder).mkdir()
        Path(folder, Path(file).name).write_bytes((ROOT / "samples" / file).read_bytes())
    words = shlex.split(command.replace("policies/team.yaml", "policies/readonly.yaml"))
    assert run(*words[1:]) == 1
    assert Path(uploaded).stat().st_size > 1000
