"""Does `forensics query` answer, print every form harmlessly, and end as it is documented?"""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from click.testing import CliRunner

from forensics.cli.program import program
from forensics.corpus.engines import serial
from forensics.corpus.questions import QUESTIONS
from forensics.corpus.run import Corpus, audit_corpus
from forensics.report.schemas import schema

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

TOOL = "=cmd|' /C calc'!A0\x1b[2J\u202e"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus of one run, whose tool has a name that acts on terminals and spreadsheets."""
    folder = tmp_path_factory.mktemp("corpus")
    call = {"type": "tool_call", "id": "c", "name": TOOL, "args": {}}
    steps = [{"type": "user", "text": "go"}, call, {"type": "tool_result", "call_id": "c", "result": "ok"}]
    (folder / "traces").mkdir()
    (folder / "traces" / "run.jsonl").write_text("".join(json.dumps(step) + "\n" for step in steps), encoding="utf-8")
    audit_corpus([folder / "traces"], folder / "results", Corpus(engine=serial()))
    return folder / "results"


def query(*arguments: object, stdin: str | None = None) -> Result:
    return CliRunner().invoke(program, ["query", *map(str, arguments)], input=stdin)


def document(result: Result, name: str) -> dict[str, Any]:
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    jsonschema.validate(found, schema(name))
    return found


def test_what_can_be_asked_is_listed_without_a_folder() -> None:
    found = document(query("--list", "--format", "json"), "questions")
    assert [one["name"] for one in found["questions"]] == [one.name for one in QUESTIONS]
    told = query("--list", "-v").stdout
    assert all(one.name in told for one in QUESTIONS)
    assert "SELECT" in told
    assert query("--list", "--format", "csv").exit_code == 2


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("{results}",),
        ("{results}", "SELECT 1", "--question", "levels"),
        ("{results}", "--question", "nothing"),
        ("{results}", "SELECT 1", "--format", "sarif"),
    ],
)
def test_what_is_asked_must_be_clear(results: Path, arguments: tuple[str, ...]) -> None:
    assert query(*(one.format(results=results) for one in arguments)).exit_code == 2


def test_without_duckdb_the_extra_is_named(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "duckdb", None)
    told = query(results, "SELECT 1")
    assert told.exit_code == 2
    assert "trace-forensics[parquet]" in told.stderr


class TestWithDuckDB:
    """What needs the extra."""

    @pytest.fixture(autouse=True)
    def _duckdb(self) -> None:
        pytest.importorskip("duckdb", reason="the extra parquet (DuckDB) is not installed")

    def test_the_answer_is_a_document(self, results: Path) -> None:
        found = document(query(results, "SELECT tool, calls FROM tools", "--format", "json"), "query")
        assert found["rows"] == [[TOOL, 1]]
        assert found["question"] is None
        ready = document(query(results, "--question", "levels", "--format", "json"), "query")
        assert ready["question"] == "levels"
        assert ready["rows"] == [["event-log", 1, 0, 1, 0]]

    def test_a_question_may_come_from_standard_input(self, results: Path) -> None:
        assert "event-log" in query(results, "-", stdin="SELECT format FROM traces").stdout

    def test_no_form_acts_on_who_reads_it(self, results: Path) -> None:
        asked = "SELECT tool, [tool] AS tools, NULL AS none FROM tools"
        for form in ("text", "json", "csv", "jsonl"):
            told = query(results, asked, "--format", form).stdout
            assert "\x1b" not in told
            assert "\u202e" not in told
        row = list(csv.reader(io.StringIO(query(results, asked, "--format", "csv").stdout)))[1]
        assert row[0].startswith("'=cmd")
        assert row[2] == ""
        assert all(line.startswith("  ") for line in query(results, asked).stdout.splitlines()[:2])

    def test_columns_of_one_name_stay_apart(self, results: Path) -> None:
        told = query(results, "SELECT 1 AS a, 2 AS a, 3 AS b", "--format", "jsonl").stdout
        assert json.loads(told) == {"a_1": 1, "a_2": 2, "b": 3}

    def test_what_has_no_room_in_the_table_follows_its_row_whole(self, results: Path) -> None:
        asked = f"SELECT 7 AS n, '{'word ' * 30}end' AS why, NULL AS none, 'x' AS last"
        told = query(results, asked).stdout
        assert "…" not in told
        assert " ".join(told.split()) == f"n 7 why {'word ' * 30}end last x 1 row"
        assert all(len(line) <= 80 for line in told.splitlines())
        alone = query(results, f"SELECT '{'word ' * 30}end' AS why").stdout
        assert " ".join(alone.split()) == f"why {'word ' * 30}end 1 row"
        assert alone.startswith("  why ")

    def test_a_ready_question_shows_its_last_column(self, results: Path) -> None:
        told = query(results, "--question", "refusing-tools").stdout
        assert "reasons [" in told
        assert "…" not in told

    def test_a_long_answer_is_cut_in_text_and_whole_elsewhere(self, results: Path) -> None:
        asked = "SELECT n FROM range(1000) r(n)"
        told = query(results, asked).stdout
        assert "… 800 more" in told
        assert "1000 rows" in told
        assert len(query(results, asked, "--format", "jsonl").stdout.splitlines()) == 1000

    @pytest.mark.parametrize("asked", ["SELECT nothing FROM tools", "COPY tools TO 'x.csv'", "SELECT 1; SELECT 2", ""])
    def test_what_can_not_be_answered_is_a_usage_error(self, results: Path, asked: str) -> None:
        told = query(results, asked)
        assert told.exit_code == 2
        assert told.stdout == ""
        assert told.stderr.startswith("Error: ")

    def test_a_folder_without_results_can_not_be_told(self, results: Path, tmp_path: Path) -> None:
        for folder in (tmp_path, tmp_path / "nowhere"):
            assert query(folder, "SELECT 1").exit_code == 3
