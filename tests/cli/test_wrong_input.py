"""What does a person read who names the wrong thing, or names it in the wrong place? What is wrong, and what to do."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from forensics.cli.program import program

PAGER = str(Path(__file__).resolve().parents[2] / "samples" / "pager.db")
ONE = ("replay", "match", "compare")
ANY = ("audit", "inspect", "classify", "graph", "report", "policy draft", "explain")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an empty one, one with a trace, one with a hidden file, and links that run in a circle."""
    for name in ("empty", "full", "hidden/inner"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "full" / "a.jsonl").write_text("{}\n")
    (tmp_path / "hidden" / "inner" / ".b").write_text("{}\n")
    (tmp_path / "loop").symlink_to("loop")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str, given: str | None = None) -> Result:
    return CliRunner().invoke(program, list(arguments), input=given, env={"COLUMNS": "400"})


def asked(command: str, place: str) -> Result:
    more = {"match": [PAGER], "compare": [PAGER], "explain": ["3"]}.get(command, [])
    return run(*command.split(), place, *more)


@pytest.mark.parametrize("command", [*ONE, *ANY])
@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("empty", "empty is a folder without a file in it"),
        ("hidden", "hidden is a folder without a file in it"),
        ("loop", "loop can't be opened: Too many levels of symbolic links"),
        ("", "no file is named"),
        ("*.nothing", "no file matches *.nothing"),
        ("nowhere", "there is no file nowhere"),
    ],
)
def test_a_place_where_nothing_is(command: str, place: str, said: str) -> None:
    result = asked(command, place)
    assert result.exit_code == 3
    assert said in (result.stdout + result.stderr).replace("\\", "").replace("`", "")


@pytest.mark.parametrize(
    "arguments",
    [
        ("audit", PAGER, "--into", ""),
        ("audit", PAGER, "--policy", ""),
        ("audit", PAGER, "--tools", ""),
        ("case", "save", PAGER, "--to", ""),
        ("compare", PAGER, PAGER, "--to", ""),
        ("graph", PAGER, "--output", ""),
        ("query", "", "SELECT 1"),
        ("replay", PAGER, "--policy", "inject", "--trace-out", ""),
        ("report", PAGER, "--to", ""),
        ("report", PAGER, "--to", "a.md", "--to", ""),
        ("report", PAGER, "--bundle", ""),
        ("verify", ""),
    ],
)
def test_a_place_without_a_name_is_not_this_folder(here: Path, arguments: tuple[str, ...]) -> None:
    before = sorted(here.iterdir())
    result = run(*arguments)
    assert result.exit_code == 2
    assert "no name is given (a variable of the shell that is not set gives an empty one)" in result.stderr
    assert sorted(here.iterdir()) == before


@pytest.mark.parametrize("command", ONE)
def test_a_folder_where_one_file_is_asked_for(command: str) -> None:
    result = asked(command, "full")
    assert result.exit_code == 3
    assert "full is a folder, and one file is asked for" in result.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may list every folder")
def test_a_folder_that_may_not_be_listed(here: Path) -> None:
    (here / "full").chmod(0)
    assert "full is a folder that can't be listed" in run("audit", "full").stdout
    (here / "full").chmod(0o700)


def test_an_empty_folder_beside_a_trace_is_not_lost() -> None:
    result = run("audit", PAGER, "empty")
    assert result.exit_code == 3
    assert "NOT READ empty" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["explain", "3", PAGER], "EVIDENCE comes first, and then STEP"),
        (["explain", PAGER, "x"], "'x' is no number of a step: they count from 0"),
        (["explain", PAGER, "9" * 5_000], "is no number of a step"),
        (["graph", PAGER, "--slice", "x"], "'x' is no number of a step"),
        (["inspect", PAGER, "--step", "-3"], "'-3' is no number of a step"),
        (["replay", PAGER, "--fork", "³"], "'³' is no number of a step"),
        (["audit", PAGER, "--as-of", "tomorrow"], "'tomorrow' is no day such as 2027-01-31"),
        (["compare", PAGER], "Name two runs, A and B"),
        (["compare"], "Name two runs, A and B"),
        (["compare", PAGER, PAGER, PAGER], "3 given"),
        (["audit", "-", "-"], "standard input can be read once only"),
        (["replay", PAGER, "--agent", "a:b", "--path", "loop"], "loop is no folder"),
        (
            ["replay", PAGER, "--stub", "pager.trigger=NaN"],
            "the value of pager.trigger is no JSON: NaN is no number of",
        ),
        (["replay", PAGER, "--stub", 'pager.trigger={"a": -Infinity}'], "-Infinity is no number of JSON"),
        (["replay", PAGER, "--fork", "5", "--set-state", "x=1"], "'x' is no JSON Pointer"),
    ],
)
def test_what_is_named_wrongly(arguments: list[str], said: str) -> None:
    result = run(*arguments, given="x")
    assert result.exit_code in (2, 3)
    assert said in result.stderr
    assert result.stdout == ""


def test_a_source_that_is_none_has_no_line() -> None:
    result = run("classify", "--source", PAGER)
    assert result.exit_code == 3
    assert "pager.db: " in result.stderr
    assert "line None" not in result.stderr
