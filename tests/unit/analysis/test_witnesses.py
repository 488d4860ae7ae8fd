"""Is a run that two evidences tell heard as one, and is each way in which they may differ found on both sides?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from forensics.api import examine

if TYPE_CHECKING:
    from forensics.report.documents import AuditDocument

_SAMPLES = Path(__file__).resolve().parents[3] / "samples"
RUN = "7bedd51776081fc87c908af6de499d52"


def log(path: Path, *records: dict[str, Any], run: str = RUN) -> Path:
    path.write_text("".join(json.dumps({"trace": run, **r}) + "\n" for r in records), encoding="utf-8")
    return path


def call(number: int = 0, name: str = "charge", **args: Any) -> dict[str, Any]:
    return {"type": "tool_call", "id": f"c{number}", "name": name, "args": args or {"amount": 10}}


def result(number: int = 0, value: Any = "ok", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "call_id": f"c{number}", "result": value, **more}


def contradictions(document: AuditDocument) -> list[str]:
    return [f.message for f in document.findings if f.code == "inconsistent_tuple"]


def test_two_witnesses_that_agree_say_so_and_nothing_else(tmp_path: Path) -> None:
    one = log(tmp_path / "a.jsonl", call(), result(value={"id": "ch_1", "n": 1.0}))
    other = log(tmp_path / "b.jsonl", call(), result(value='{"n": 1.0, "id": "ch_1"}'))
    document = examine([one, other]).audit()
    assert [t.also_in for t in document.traces] == [["b.jsonl"], ["a.jsonl"]]
    assert contradictions(document) == []
    alone = examine(one).audit()
    assert alone.traces[0].also_in == []
    assert alone.traces[0].verdict.level == document.traces[0].verdict.level


@pytest.mark.parametrize(
    ("records", "said"),
    [
        ([call(amount=99), result()], "the arguments"),
        ([call(amount=10, note="x"), result()], "the arguments"),
        ([call(), result(value="no")], "the result"),
        ([call(), result(value="ok", status="error")], "that it failed"),
        ([call(name="refund"), result()], "the tool"),
        ([call(), result(), call(1, "mail"), result(1)], "lacks"),
    ],
)
def test_what_differs_blocks_the_call_and_names_both(tmp_path: Path, records: list[dict[str, Any]], said: str) -> None:
    one = log(tmp_path / "a.jsonl", call(), result())
    other = log(tmp_path / "b.jsonl", *records)
    document = examine([one, other]).audit()
    found = contradictions(document)
    assert found
    assert all(said in message and "a.jsonl" in message and "b.jsonl" in message for message in found)
    assert [t.verdict.level for t in document.traces] == ["static", "static"]


def test_ids_that_anybody_may_have_join_nothing(tmp_path: Path) -> None:
    one = log(tmp_path / "a.jsonl", call(), result(), run="run-1")
    other = log(tmp_path / "b.jsonl", call(amount=5), result(), run="run-1")
    document = examine([one, other]).audit()
    assert [t.also_in for t in document.traces] == [[], []]
    assert contradictions(document) == []


def test_a_database_and_its_export_are_one_run() -> None:
    document = examine([_SAMPLES / "pager.db", _SAMPLES / "pager.json"]).audit()
    joined = [t for t in document.traces if t.also_in]
    assert len(joined) >= 2
    assert contradictions(document) == []


def test_a_run_that_was_saved_over_and_over_is_compared_in_linear_work(tmp_path: Path) -> None:
    """The last of many witnesses is still held against the first, and nobody against all."""
    many = [log(tmp_path / f"{n:03d}.jsonl", call(), result()) for n in range(40)]
    document = examine([*many, log(tmp_path / "zz.jsonl", call(amount=99), result())]).audit()
    assert {t.verdict.level for t in document.traces[:1]} == {"static"}
    assert document.traces[-1].verdict.level == "static"
    assert max(len(t.also_in) for t in document.traces[16:]) <= 17
