"""A name that no file can have, and a folder that nobody may enter, are said; neither is a fault of ours."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from forensics import api
from forensics.cli.program import program
from forensics.formats.places import expand

SAMPLE = Path(__file__).parents[2] / "samples" / "pager.chat.json"
LONG = "x" * 300
UNREAD, USAGE = 3, 2


def _ended(*given: str) -> int:
    return CliRunner().invoke(program, [*given]).exit_code


def _shut(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Nobody may look into the folder, not the superuser either."""
    stat, scandir = os.stat, os.scandir

    def guarded_stat(path: str | int, *rest: object, **more: object) -> os.stat_result:
        if not isinstance(path, int) and Path(path) != folder and Path(path).is_relative_to(folder):
            raise PermissionError(13, "Permission denied", str(path))
        return stat(path, *rest, **more)  # type: ignore[arg-type]  # passed on as it came

    def guarded_scandir(path: str | int = ".") -> object:
        if not isinstance(path, int) and Path(path) == folder:
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "stat", guarded_stat)
    monkeypatch.setattr(os, "scandir", guarded_scandir)


@pytest.mark.parametrize("command", ["audit", "inspect", "graph", "report"])
@pytest.mark.parametrize("place", [LONG, f"{LONG}/trace.json", "shut/trace.json"])
def test_evidence_that_may_not_be_looked_at_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, place: str
) -> None:
    (tmp_path / "shut").mkdir()
    _shut(monkeypatch, tmp_path / "shut")
    assert _ended(command, str(tmp_path / place)) == UNREAD


@pytest.mark.parametrize("place", [LONG, f"{LONG}/x", "shut/x"])
@pytest.mark.parametrize(
    "option", [("report", "--to", ".md"), ("report", "--bundle", ""), ("audit", "--into", ""), ("report", "--to", "/")]
)
def test_an_output_that_can_not_stand_there_is_a_usage_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: tuple[str, str, str], place: str
) -> None:
    command, name, suffix = option
    shutil.copy(SAMPLE, tmp_path / "a.json")
    (tmp_path / "out" / "shut").mkdir(parents=True, mode=0o500)
    _shut(monkeypatch, tmp_path / "out" / "shut")
    code = _ended(command, str(tmp_path / "a.json"), name, f"{tmp_path / 'out' / place}{suffix}")
    assert code in ((0, 1, USAGE) if place.startswith("shut") else (USAGE,))  # the superuser may write there


def test_a_bundle_that_may_not_be_looked_at_is_not_verified() -> None:
    assert _ended("verify", LONG) == UNREAD


def test_a_folder_that_may_not_be_listed_is_an_evidence_that_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("open", "shut"):
        (tmp_path / name).mkdir()
        shutil.copy(SAMPLE, tmp_path / name / "a.json")
    assert expand([tmp_path]) == [str(tmp_path / "open" / "a.json"), str(tmp_path / "shut" / "a.json")]
    _shut(monkeypatch, tmp_path / "shut")
    rows = api.examine(tmp_path).audit().evidence
    assert [(row.name, row.status) for row in rows] == [("open/a.json", "read"), ("shut", "refused")]
    assert _ended("audit", str(tmp_path)) == UNREAD


@pytest.mark.parametrize("option", ["--stub", "--set"])
def test_a_value_that_is_nested_too_deep_is_no_fault(option: str) -> None:
    assert _ended("replay", str(SAMPLE), option, "x=" + "[" * 100_000) in (1, USAGE)
