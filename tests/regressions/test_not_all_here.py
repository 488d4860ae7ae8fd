"""Does anything say that nothing took effect, where part of the run is missing? The pager's file, cut in the middle."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from forensics.cli.program import program

SAMPLE = Path(__file__).resolve().parents[2] / "samples" / "pager.json"
CUT = len(SAMPLE.read_bytes()) // 2


@pytest.fixture
def cut(tmp_path: Path) -> Path:
    """The half of the file in which nothing acts yet."""
    path = tmp_path / "cut.json"
    path.write_bytes(SAMPLE.read_bytes()[:CUT])
    return path


def said(*arguments: str | Path) -> str:
    result = CliRunner().invoke(program, [str(one) for one in arguments], env={"COLUMNS": "80"})
    assert result.exit_code in (0, 1)
    return " ".join(result.stdout.split())


def test_the_audit_of_a_cut_run_says_what_may_be_missing(cut: Path) -> None:
    text = said("audit", cut)
    assert "nothing in what was read: what is missing or not read may have acted too" in text
    assert "no call of this run is known or feared" not in text


@pytest.mark.parametrize("form", ["html", "text"])
def test_the_report_of_a_cut_run_begins_with_what_is_missing(cut: Path, form: str) -> None:
    text = said("report", cut, "--format", form)
    assert "Not all of it is here, and what is missing may have acted: the document breaks off" in text
    assert "nothing was refused, found or changed" not in text
    assert "No call of it is known or feared to change anything." not in text


def test_a_run_that_is_all_there_has_no_such_words() -> None:
    for command in ("audit", "report"):
        assert "may have acted" not in said(command, SAMPLE)
