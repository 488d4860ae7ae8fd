"""Are the kept cases tests of pytest? Real runs of pytest, each in a process of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from forensics.cli.program import program

from .test_case import AGENT, SAMPLES

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_PLUGIN = ("-p", "forensics.testing.pytest_plugin", "-p", "no:cacheprovider")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "oncall.py").write_text(AGENT)
    shutil.copy(SAMPLES / "pager.db", tmp_path / "pager.db")
    for name, agent in (("pages-once", ()), ("mine", ("--agent", "oncall:run"))):
        words = ["case", "save", str(tmp_path / "pager.db"), "--to", str(tmp_path / "cases" / "cases.jsonl")]
        more = ["--policy", "inject", "--name", name, "--with-evidence", "--path", str(tmp_path / "code"), *agent]
        done = CliRunner().invoke(program, [*words, *more])
        assert done.exit_code == 0, done.output
    return tmp_path


@pytest.fixture
def run(folder: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    def started(*options: str) -> subprocess.CompletedProcess[str]:
        world = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        command = [sys.executable, "-m", "pytest", *_PLUGIN, "-p", "no:randomly", *options]
        return subprocess.run(command, cwd=folder, env=world, capture_output=True, text=True, check=False)

    return started


CASES = ("--forensics-cases", "cases/cases.jsonl")
MINE = (*CASES, "--forensics-path", "code", "--forensics-agent")


def test_each_case_is_a_test(run: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    done = run(*MINE, "oncall:run", "-v")
    assert done.returncode == 0, done.stdout
    assert "cases/cases.jsonl::pages-once PASSED" in done.stdout
    assert "2 passed" in done.stdout


def test_a_failure_shows_what_differs_and_no_traceback(run: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    done = run(*MINE, "oncall:sev2")
    assert done.returncode == 1
    assert "2 failed" in done.stdout
    assert "arguments at /severity: the call has other arguments" in done.stdout
    assert '    expected  "sev1"\n    got       "sev2"' in done.stdout
    assert "Traceback" not in done.stdout
    assert "FAILED cases/cases.jsonl::mine" in done.stdout


def test_a_case_without_its_agent_fails_and_never_passes(run: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    done = run(*CASES)
    assert done.returncode == 1
    assert "1 failed, 1 passed" in done.stdout
    assert "code_missing: the case was saved with an agent of yours" in done.stdout


def test_cases_are_chosen_like_any_test_and_stand_beside_others(
    run: Callable[..., subprocess.CompletedProcess[str]], folder: Path
) -> None:
    (folder / "test_own.py").write_text("def test_own():\n    pass\n")
    assert "3 passed" in run(*MINE, "oncall:run").stdout
    assert "1 passed, 2 deselected" in run(*MINE, "oncall:run", "-k", "mine").stdout
    assert "1 passed" in run().stdout


def test_what_failed_in_the_baseline_is_expected_to(
    run: Callable[..., subprocess.CompletedProcess[str]], folder: Path
) -> None:
    words = ["case", "run", str(folder / "cases" / "cases.jsonl"), "--format", "json"]
    more = ["--agent", "oncall:sev2", "--path", str(folder / "code")]
    (folder / "before.json").write_text(CliRunner().invoke(program, [*words, *more]).stdout)
    done = run(*MINE, "oncall:sev2", "--forensics-baseline", "before.json", "-rx")
    assert done.returncode == 0
    assert "2 xfailed" in done.stdout
    assert "as in the baseline" in done.stdout


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        (("--forensics-cases", "pager.db"), "pager.db:1: no JSON"),
        (("--forensics-cases", "missing.jsonl"), "can't be read"),
        ((*MINE, "nowhere:run"), "there is no module nowhere"),
        ((*CASES, "--forensics-baseline", "pager.db"), "no document of a run of cases"),
    ],
)
def test_what_is_wrong_is_a_usage_error(
    options: tuple[str, ...], fault: str, run: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    done = run(*options)
    assert done.returncode == 4
    assert fault in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr


def test_the_agent_runs_in_the_cell_and_not_in_pytest(
    run: Callable[..., subprocess.CompletedProcess[str]], folder: Path
) -> None:
    touched = folder / "touched"
    (folder / "code" / "escapes.py").write_text(
        f"def run(ports):\n    open({str(touched)!r}, 'w').write('x')\n    return 'Paged on-call: pg_8812.'\n"
    )
    done = run(*MINE, "escapes:run")
    assert done.returncode == 1
    assert not touched.exists()


def test_without_the_option_nothing_is_imported(
    run: Callable[..., subprocess.CompletedProcess[str]], folder: Path
) -> None:
    (folder / "test_light.py").write_text(
        "import sys\ndef test_light():\n"
        "    heavy = {'forensics.api', 'msgspec', 'forensics.testing.promises', 'forensics.core', 'pydantic'}\n"
        "    assert not heavy & set(sys.modules)\n"
    )
    done = run("test_light.py")
    assert done.returncode == 0, done.stdout
