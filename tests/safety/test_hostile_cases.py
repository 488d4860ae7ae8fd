"""Can a file of cases do anything but be rerun or be refused? Every field is replaced by what does not belong there."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from forensics.api import Options
from forensics.api_case_runs import run_cases
from forensics.api_cases import keep_case, save_case
from forensics.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator

SAMPLE = Path(__file__).resolve().parents[2] / "samples" / "pager.db"
VALUES: tuple[Any, ...] = (
    None, -1, 10**9, "", "x\x00\x1b[2J\u202e", "../../../../etc/passwd", "os:system", "a" * 999, [], {}, [1],
    {"a": 1},
)  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cases")
    shutil.copy(SAMPLE, folder / "pager.db")
    saved = save_case(folder / "pager.db", Options(policy="inject"))
    assert saved.case is not None
    keep_case(saved.case, folder / "cases.jsonl")
    return folder


def case(folder: Path) -> dict[str, Any]:
    kept: dict[str, Any] = json.loads((folder / "cases.jsonl").read_text())
    stub = {"tool": "query_metrics", "values": [{"error_rate": 0.31}], "each": False}
    return {**kept, "changes": {"prompt": "x", "settings": {"n": 1}, "state": {}}, "stubs": [stub]}


def changed(value: Any, path: tuple[Any, ...], to: Any) -> Any:
    if not path:
        return to
    held = changed(value[path[0]], path[1:], to)
    return {**value, path[0]: held} if isinstance(value, dict) else [held, *value[1:]]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(value, dict):
        for name in value:
            yield from places(value[name], (*path, name))
    elif isinstance(value, list) and value:
        yield from places(value[0], (*path, 0))


def test_a_field_that_does_not_belong_ends_in_an_answer(folder: Path) -> None:
    ends: set[str] = set()
    base = case(folder)
    for number, path in enumerate(path for path in places(base) if 0 < len(path) <= 3):
        for value in (VALUES[number % len(VALUES)], VALUES[(number * 5 + 3) % len(VALUES)]):
            (folder / "hostile.jsonl").write_text(json.dumps(changed(base, path, value)) + "\n")
            try:
                (row,) = run_cases(folder / "hostile.jsonl").cases
                ends.add(row.result)
            except ConfigurationError:
                ends.add("no case")
    assert ends <= {"passed", "failed", "refused", "untold", "no case"}
    assert {"failed", "untold", "no case"} <= ends


@pytest.mark.parametrize("name", ["a" * 5_000, "../pager.db", "/etc/hostname", "", ".", "..", "x\x00y"])
def test_a_name_leads_nowhere_but_beside_the_file(folder: Path, name: str) -> None:
    base = case(folder)
    below = folder / "below"
    below.mkdir(exist_ok=True)
    (below / "cases.jsonl").write_text(json.dumps({**base, "source": {**base["source"], "name": name}}) + "\n")
    (row,) = run_cases(below / "cases.jsonl").cases
    assert (row.result, [one.what for one in row.differences]) == ("untold", ["evidence_missing"])


def test_a_stub_without_a_value_is_no_case(folder: Path) -> None:
    base = changed(case(folder), ("stubs", 0, "values"), [])
    (folder / "hostile.jsonl").write_text(json.dumps(base) + "\n")
    with pytest.raises(ConfigurationError, match="length >= 1"):
        run_cases(folder / "hostile.jsonl")
