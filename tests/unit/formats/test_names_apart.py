"""Are files of one name told apart wherever several are asked for?"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from forensics.api import examine
from forensics.api_compare import compare_runs
from forensics.formats.names_apart import names_apart
from forensics.formats.places import named_places, names_of

PAGER = Path(__file__).resolve().parents[3] / "samples" / "pager.chat.json"


@pytest.mark.parametrize(
    ("places", "names"),
    [
        (["/x/d1/run.jsonl", "/x/d2/run.jsonl"], ["d1/run.jsonl", "d2/run.jsonl"]),
        (["/x/d1/run.jsonl", "/x/d2/other.jsonl"], ["run.jsonl", "other.jsonl"]),
        (["/a/d/run.jsonl", "/b/d/run.jsonl", "/b/e/z"], ["a/d/run.jsonl", "b/d/run.jsonl", "z"]),
        (["/run.jsonl", "/b/run.jsonl"], ["run.jsonl", "b/run.jsonl"]),
        (["/x/run.jsonl", "/x/run.jsonl", "/x/y/../run.jsonl"], ["run.jsonl"] * 3),
        (["run.jsonl", "./d/run.jsonl"], None),
    ],
)
def test_as_many_folders_as_it_takes(places: list[str], names: list[str] | None) -> None:
    found = names_apart([(place, Path(place).name) for place in places])
    assert found == names or (names is None and len(set(found)) == 2)
    assert not any(name.startswith("/") for name in found)


def test_a_name_below_a_folder_is_told_apart_too(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder / "runs").mkdir(parents=True)
        shutil.copy(PAGER, tmp_path / folder / "runs" / "x.json")
    wanted = [str(tmp_path / "a"), str(tmp_path / "b")]
    assert [name for _, name in named_places(wanted)] == ["a/runs/x.json", "b/runs/x.json"]
    assert [name for _, name in named_places(wanted[:1])] == ["runs/x.json"]
    files = [Path(where) / "runs" / "x.json" for where in wanted]
    assert [one.name for one in examine(files).audit().evidence] == ["a/runs/x.json", "b/runs/x.json"]
    compared = compare_runs(files[0], files[1]).document()
    assert [one.name for one in compared.evidence] == ["a/runs/x.json", "b/runs/x.json"]


def test_what_is_no_file_here_has_no_name_of_a_file() -> None:
    assert names_of("-", "https://example.org/a/run.json", "a/run.json") == ["", "", "run.json"]
