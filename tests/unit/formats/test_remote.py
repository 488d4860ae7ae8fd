"""Is evidence behind a URL read like a file, named without what its query holds, and refused in a sentence of ours?"""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any

import pytest

from forensics.api import examine

fsspec = pytest.importorskip("fsspec", reason="the extra urls is not installed")

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LOG = (
    b'{"type":"user","text":"x"}\n{"type":"tool_call","id":"c","name":"get","args":{}}\n'
    b'{"type":"tool_result","call_id":"c","result":"ok"}\n{"type":"model","text":"done"}\n'
)


@pytest.fixture
def store() -> Iterator[Any]:
    system = fsspec.filesystem("memory")
    system.pipe({"/runs/one.jsonl": LOG, "/runs/deep/two.jsonl": LOG, "/runs/.hidden": LOG})
    yield system
    system.store.clear()


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize(
    ("url", "names"),
    [
        ("memory://runs/one.jsonl", ["one.jsonl"]),
        ("memory://runs", ["deep/two.jsonl", "one.jsonl"]),
        ("memory://runs/*.jsonl", ["one.jsonl"]),
    ],
)
def test_a_file_a_folder_and_a_glob_are_read(url: str, names: list[str]) -> None:
    document = examine(url).audit()
    assert [row.name for row in document.evidence] == names
    assert {row.status for row in document.evidence} == {"read"}
    assert document.counts.tool_calls == len(names)


def test_the_digest_is_that_of_the_same_file_here(store: Any, tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    path.write_bytes(LOG)
    rows = [examine(where).audit().evidence[0].sha256 for where in ("memory://runs/one.jsonl", path.as_uri(), path)]
    assert len(set(rows)) == 1
    assert store.cat("/runs/one.jsonl") == LOG


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("memory://runs/none.jsonl", "evidence_missing"),
        ("nothing-knows-this://runs/one.jsonl", "evidence_unreadable"),
    ],
)
def test_what_can_not_be_fetched_is_a_row_with_its_error(url: str, code: str) -> None:
    (row,) = examine(f"{url}?token=s3cr3t").audit().evidence
    assert row.error is not None
    assert row.error.code == code
    assert "s3cr3t" not in f"{row.name} {row.error}"


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    imported = builtins.__import__

    def refuse(name: str, *rest: Any, **more: Any) -> Any:
        if name.startswith("fsspec"):
            raise ImportError(name)
        return imported(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", refuse)
    (row,) = examine("memory://runs/one.jsonl").audit().evidence
    assert row.error is not None
    assert (row.error.code, "trace-forensics[urls]" in row.error.hint) == ("extra_missing", True)
