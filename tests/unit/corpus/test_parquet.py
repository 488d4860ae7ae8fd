"""Do the Parquet files hold the rows, the same bytes each time, and none that are old?"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from forensics.cli.program import program
from forensics.corpus.folder import results_in
from forensics.corpus.parquet import NAMES, is_parquet, write_parquet
from forensics.corpus.tables import TABLES
from forensics.errors import ReportError

from .conftest import ROOT, event_log

if TYPE_CHECKING:
    from pathlib import Path

duckdb = pytest.importorskip("duckdb", reason="the extra parquet (DuckDB) is not installed")


def read(path: Path, what: str = "count(*)") -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = duckdb.execute(f"SELECT {what} FROM read_parquet(?)", [str(path)]).fetchall()
    return found


def test_every_table_is_a_file_with_its_rows_in_their_types(results: Path, tmp_path: Path) -> None:
    assert write_parquet(results_in(results), tmp_path) == list(NAMES)
    from forensics.corpus.query import ask

    for table in TABLES:
        path = tmp_path / f"{table.name}.parquet"
        told = duckdb.execute("DESCRIBE SELECT * FROM read_parquet(?)", [str(path)]).fetchall()
        assert [(row[0], row[1].replace('"', "")) for row in told] == [
            (column.name, column.type.replace('"', "")) for column in table.columns
        ]
        assert [list(row) for row in read(path)] == ask(results, f"SELECT count(*) FROM {table.name}").rows
    told = read(tmp_path / "tools.parquet", "tool")
    assert [list(row) for row in told] == ask(results, "SELECT tool FROM tools").rows


def test_the_same_rows_are_the_same_bytes_wherever_they_stand(results: Path, tmp_path: Path) -> None:
    copy = tmp_path / "else where [1]"
    shutil.copytree(results, copy / "results")
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
    write_parquet(results_in(results), tmp_path / "one")
    write_parquet(results_in(copy / "results"), tmp_path / "two")
    for name in NAMES:
        data = (tmp_path / "one" / name).read_bytes()
        assert data == (tmp_path / "two" / name).read_bytes()
        assert str(tmp_path).encode() not in data


def test_what_can_not_be_written_is_said_and_nothing_stands_half_there(results: Path, tmp_path: Path) -> None:
    into = tmp_path / "into"
    into.mkdir()
    (into / NAMES[1]).mkdir()
    with pytest.raises(ReportError):
        write_parquet(results_in(results), into)
    assert sorted(path.name for path in into.iterdir()) == sorted(NAMES[:2])


def audit(*arguments: object) -> int:
    return CliRunner().invoke(program, ["audit", *map(str, arguments), "--engine", "serial", "-q"]).exit_code


def test_an_audit_writes_them_when_asked_and_takes_away_those_of_other_rows(tmp_path: Path) -> None:
    traces, into = tmp_path / "traces", tmp_path / "out"
    traces.mkdir()
    shutil.copy(ROOT / "samples" / "pager.chat.json", traces / "a.json")
    assert audit(traces, "--into", into, "--parquet") == 1
    assert is_parquet(into)
    kept = {name: (into / name).stat().st_mtime_ns for name in NAMES}
    assert audit(traces, "--into", into, "--parquet") == 1
    assert audit(traces, "--into", into) == 1
    assert {name: (into / name).stat().st_mtime_ns for name in NAMES} == kept, "nothing changed, nothing is written"
    event_log(traces / "b.jsonl", "start_job")
    assert audit(traces, "--into", into) == 1
    assert not any((into / name).exists() for name in NAMES)
    assert audit(traces, "--into", into, "--parquet") == 1
    assert read(into / "files.parquet") == [(2,)]


def test_without_duckdb_it_is_said_before_any_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "duckdb", None)
    told = CliRunner().invoke(
        program, ["audit", str(ROOT / "samples" / "pager.db"), "--into", str(tmp_path / "out"), "--parquet"]
    )
    assert told.exit_code == 2
    assert "trace-forensics[parquet]" in told.stderr
    assert not (tmp_path / "out").exists()


def test_parquet_belongs_to_a_corpus() -> None:
    assert audit(ROOT / "samples" / "pager.db", "--parquet") == 2
