"""What is an evidence called in documents, and which trace is meant by the beginning of its id?"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import forensics
from forensics.errors import ConfigurationError

SAMPLES = Path(__file__).resolve().parents[2] / "samples"


def test_files_of_one_name_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        shutil.copy(SAMPLES / "pager.db", tmp_path / folder / "local.db")
    (tmp_path / "b" / "notes.txt").write_text("no trace\n")
    names = [one.name for one in forensics.examine(tmp_path).examined]
    assert names == ["a/local.db", "b/local.db", "b/notes.txt"]


def test_a_file_that_is_named_is_called_by_its_name(tmp_path: Path) -> None:
    shutil.copy(SAMPLES / "pager.db", tmp_path / "local.db")
    assert [one.name for one in forensics.examine(tmp_path / "local.db").examined] == ["local.db"]
    assert [one.name for one in forensics.examine(str(tmp_path / "*.db")).examined] == ["local.db"]


@pytest.mark.parametrize("begin", ["", "7ef", "7eff"])
def test_a_beginning_that_tells_no_trace_is_answered_with_the_ids(begin: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        forensics.examine(SAMPLES / "pager.db", forensics.Options(trace=begin))
    assert f"there is no trace '{begin}' in the evidence" in str(raised.value)
    assert "at least 4 characters" in raised.value.hint
    assert "7ef89abcca00f6bce355fba87301f3ef" in raised.value.hint
