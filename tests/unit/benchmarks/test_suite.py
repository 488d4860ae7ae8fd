"""Does the benchmark suite measure what a process costs, and say rightly whether a goal is kept?"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.benchmarks import suite
from tests.benchmarks.measures import data, harness, rows
from tests.benchmarks.measures.growth import grown
from tests.benchmarks.measures.harness import Cost, Failed, Sample
from tests.benchmarks.measures.rows import Change, Row, Skipped, at_least, at_most

ROOT = Path(__file__).parents[3]
beside_generator = pytest.mark.skipif(
    not data.GENERATOR.is_file() or importlib.util.find_spec("orjson") is None,
    reason="no generator beside the checkout, or not what it needs (orjson)",
)


def row(value: float, goal: rows.Goal | None = None) -> Row:
    return Row("B1", "lines to steps", "plain 1 MB", value, "R", goal, {"R": {"cpu": 1.5}})


@pytest.mark.parametrize(
    ("value", "goal", "kept"),
    [(0.7, at_least(0.7), True), (0.69, at_least(0.7), False), (11, at_most(11), True), (12, at_most(11), False)],
)
def test_a_goal_is_kept_at_its_limit_and_not_beyond(value: float, goal: rows.Goal, *, kept: bool) -> None:
    assert row(value, goal).kept is kept
    assert ("DOES NOT HOLD" in row(value, goal).line()) is not kept


def test_a_figure_without_a_goal_keeps_none() -> None:
    assert row(3).kept is None
    assert not row(3).line().rstrip().endswith("hold")


def test_a_result_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    told = [row(0.5, at_least(0.7)), row(3.0)]
    path = tmp_path / "result.json"
    path.write_text(json.dumps(rows.document(told, {"B12": "not here"}, rounds=5)), encoding="utf-8")
    assert rows.read(path) == told
    assert json.loads(path.read_text("utf-8"))["skipped"] == [{"id": "B12", "reason": "not here"}]


def test_another_document_is_no_result(tmp_path: Path) -> None:
    path = tmp_path / "audit.json"
    path.write_text('{"schema": "forensics/audit/v1"}', encoding="utf-8")
    with pytest.raises(ValueError, match="no result of the suite"):
        rows.read(path)


@pytest.mark.parametrize(
    ("old", "new", "goal", "says"),
    [
        (0.8, 0.6, at_least(0.7), "NO LONGER HOLDS"),
        (0.6, 0.8, at_least(0.7), "holds now"),
        (0.8, 0.82, at_least(0.7), ""),
        (0.8, 1.6, at_least(0.7), "better"),
        (2.0, 1.0, at_least(0.7), "worse"),
        (2.0, 4.0, at_most(9), "worse"),
        (4.0, 2.0, at_most(9), "better"),
        (4.0, 2.0, None, ""),
    ],
)
def test_a_change_is_told_by_what_the_goal_wants(old: float, new: float, goal: rows.Goal | None, says: str) -> None:
    assert Change(row(old, goal), row(new, goal)).says == says


def test_only_the_same_figure_is_compared() -> None:
    other = row(1)._replace(data="plain 10 MB")
    assert [change.new for change in rows.compared([row(1)], [row(2), other])] == [row(2)]


def test_a_comparison_ends_1_where_a_goal_is_kept_no_longer(tmp_path: Path) -> None:
    paths = []
    for name, value in (("old", 0.8), ("new", 0.6)):
        paths.append(tmp_path / name)
        paths[-1].write_text(json.dumps(rows.document([row(value, at_least(0.7))], {}, rounds=1)), encoding="utf-8")
    assert suite.compare(*paths) == 1
    assert suite.compare(*reversed(paths)) == 0


def test_growth_is_the_time_over_the_size() -> None:
    costs = {size: Cost([Sample(cpu, 0, 0, {})]) for size, cpu in ((1.0, 1.0), (10.0, 2.0), (100.0, 24.0))}
    (only,) = grown("B4", "audit", costs)
    assert (only.data, only.value, only.kept) == ("10 → 100 MB", 1.2, False)


# processes -----------------------------------------------------------------------------------------------------------


def test_the_memory_of_a_process_is_seen_while_it_runs() -> None:
    code = "import time; held = b'x' * 60_000_000; time.sleep(0.3)"
    small, large = (harness.run([sys.executable, "-c", c]) for c in ("import time; time.sleep(0.3)", code))
    assert large.anonymous - small.anonymous > 50


def test_the_processor_time_of_a_process_is_not_its_sleep() -> None:
    assert harness.run([sys.executable, "-c", "import time; time.sleep(2)"]).cpu < 1


def test_a_job_says_what_its_work_alone_cost(tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    path.write_text('{"a": 1}\n' * 10, encoding="utf-8")
    cost = harness.interleaved({"J": harness.job("json_lines", path)}, 2)["J"]
    assert len(cost.samples) == 2
    assert cost.cpu == cost.figures()["cpu"] or cost.cpu > 0
    assert cost.says["before"] > 1


def test_a_job_that_raises_is_no_figure(tmp_path: Path) -> None:
    with pytest.raises(Failed, match="FileNotFoundError"):
        harness.run(harness.job("json_lines", tmp_path / "none"))


def test_a_warm_round_does_not_count() -> None:
    costs = harness.interleaved({"python": [sys.executable, "-c", "pass"]}, 1, warm=True)
    assert len(costs["python"].samples) == 1


# data ----------------------------------------------------------------------------------------------------------------


@beside_generator
def test_what_is_there_is_not_made_again(tmp_path: Path) -> None:
    made = data.Data(tmp_path)
    first = made.trace("plain", megabytes=0.02)
    stamp = first.stat()
    assert made.trace("plain", megabytes=0.02).stat() == stamp
    assert made.trace("plain", megabytes=0.02, style="log") != first
    assert abs(stamp.st_size - 20_000) < 2_000


@beside_generator
def test_a_session_has_the_share_of_payload_of_real_ones(tmp_path: Path) -> None:
    path = data.Data(tmp_path).session(0.5)
    records = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    blocks = [b for r in records if "message" in r for b in _blocks(r["message"]["content"])]
    payload = sum(len(str(b.get("text") or b.get("content") or json.dumps(b.get("input", "")))) for b in blocks)
    assert abs(payload / path.stat().st_size - data.SHARE) < 0.03
    assert abs(path.stat().st_size - 500_000) < 100_000
    assert {r["type"] for r in records} == {"user", "assistant", "progress"}


def _blocks(content: str | list[dict[str, object]]) -> list[dict[str, object]]:
    return [{"text": content}] if isinstance(content, str) else content


@beside_generator
def test_the_truth_stands_beside_a_planted_trace(tmp_path: Path) -> None:
    path, truth = data.Data(tmp_path).with_truth("plain", steps=200)
    told = [json.loads(line) for line in truth.read_text("utf-8").splitlines()]
    assert len(path.read_text("utf-8").splitlines()) == 200
    assert told
    assert all(int(one["mint"]) < int(one["use"]) < 200 for one in told)


# the command ---------------------------------------------------------------------------------------------------------


def test_every_measure_of_the_study_is_taken_by_one_module() -> None:
    assert sorted(suite.ALL) == sorted([*(f"B{number}" for number in range(1, 18)), "verbs"])


def test_a_measure_that_nobody_knows_is_a_usage_error() -> None:
    command = [sys.executable, str(ROOT / "tests" / "benchmarks" / "suite.py"), "--only", "B99"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "no such measure: B99" in done.stderr


def test_what_cannot_be_taken_is_told_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def measure(asked: object) -> list[Row]:
        raise Skipped("no Dask here")

    monkeypatch.setattr("tests.benchmarks.measures.corpus.measure", measure)
    assert suite.take(None, frozenset({"B12"})) == ([], {"B12": "no Dask here"})  # type: ignore[arg-type]
