"""Does a question get the answer that the rows give, and can it do nothing else?"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from forensics.core.findings import REASON_CODES
from forensics.corpus.folder import results_in
from forensics.corpus.questions import QUESTIONS
from forensics.corpus.tables import TABLES
from forensics.errors import ConfigurationError, CorruptEvidenceError, EvidenceError, UnsupportedVersionError

from .conftest import HOSTILE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from duckdb import DuckDBPyConnection

pytest.importorskip("duckdb", reason="the extra parquet (DuckDB) is not installed")
from forensics.corpus.asking import LONGEST, check
from forensics.corpus.database import locked
from forensics.corpus.query import ask, what_can_be_asked


def rows(results: Path, sql: str) -> list[list[Any]]:
    return ask(results, sql).rows


def lines(results: Path, kind: str) -> list[dict[str, Any]]:
    shards = sorted(results.glob(f"{kind}-*.jsonl"))
    return [json.loads(line) for path in shards for line in path.read_bytes().splitlines()]


# answers -------------------------------------------------------------------------------------------------------------


def test_every_row_of_the_shards_is_a_row_of_its_table(results: Path) -> None:
    files = lines(results, "files")
    traces = [trace for file in files for trace in file["traces"]]
    counts = {table.name: rows(results, f"SELECT count(*) FROM {table.name}")[0][0] for table in TABLES}
    assert counts["files"] == sum(len(file["evidence"]) for file in files)
    assert counts["traces"] == len(traces)
    assert counts["tools"] == sum(len(trace["tools"]) for trace in traces)
    assert counts["handles"] == sum(len(trace["handles"]) for trace in traces)
    assert counts["findings"] == len(lines(results, "findings"))
    named = {
        (trace["id"], code, tool["name"]) for trace in traces for tool in trace["tools"] for code in tool["reasons"]
    }
    told = rows(results, "SELECT trace, code, tool FROM reasons WHERE tool IS NOT NULL")
    assert {tuple(row) for row in told} == named
    codes = {(trace["id"], code) for trace in traces for code in trace["reasons"]}
    assert {tuple(row) for row in rows(results, "SELECT trace, code FROM reasons")} == codes


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_columns_have_the_types_that_are_listed(base: DuckDBPyConnection, table: Any) -> None:
    told = base.execute(f"FROM {table.name} LIMIT 0").description or ()
    assert [(name, str(type_).replace('"', "")) for name, type_, *_ in told] == [
        (column.name, column.type.replace('"', "")) for column in table.columns
    ]


def test_a_finding_stands_there_as_it_was_found(results: Path) -> None:
    found = lines(results, "findings")
    told = ask(results, "FROM findings")
    keys = [column.name for column in told.columns]
    for line, row in zip(found, told.rows, strict=True):
        got = dict(zip(keys, row, strict=True))
        for name in ("files", "code", "severity", "confidence", "basis", "message", "steps", "tags"):
            assert got[name] == line[name]
        assert got["trace"] == line.get("trace")
        assert [{key: one for key, one in place.items() if one is not None} for place in got["locators"]] == [
            {key: str(one) if key == "row" else one for key, one in place.items()} for place in line["locators"]
        ]


def test_times_are_those_of_the_record_and_absent_where_it_has_none(results: Path) -> None:
    told = rows(results, "SELECT file, started, ended FROM traces WHERE file LIKE 'log%' ORDER BY file")
    assert told == [
        ["log0.jsonl", "2026-03-02T10:00:00", "2026-03-02T10:00:05"],
        ["log1.jsonl", "2026-03-10T10:00:00", "2026-03-10T10:00:05"],
        ["log2.jsonl", None, None],
    ]


def test_where_a_handle_went_is_counted(results: Path) -> None:
    asked = "SELECT number, in_argument, in_model_output + in_final_answer > 0, into_tools FROM handles"
    told = rows(results, f"{asked} WHERE file = 'log1.jsonl' AND kind <> 'reference'")
    assert told == [[1, 1, True, ["watch_it"]]]


def test_the_same_question_gets_the_same_rows(results: Path) -> None:
    asked = "SELECT code, count(*) FROM findings GROUP BY code"
    assert rows(results, asked) == rows(results, asked)


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.name)
def test_every_ready_question_is_answered(base: DuckDBPyConnection, question: Any) -> None:
    check(question.sql, base)
    told = base.execute(question.sql)
    names = [name for name, *_ in told.description or ()]
    found = told.fetchall()
    assert found or question.name == "same-bytes"
    if "code" in names:
        assert {row[names.index("code")] for row in found} <= REASON_CODES


def test_ready_questions_say_what_a_count_by_hand_says(base: DuckDBPyConnection, results: Path) -> None:
    traces = [trace for file in lines(results, "files") for trace in file["traces"]]
    told = {question.name: base.execute(question.sql).fetchall() for question in QUESTIONS}
    by_hand = Counter(code for trace in traces for code in trace["reasons"])
    assert {code: count for code, count, _ in told["reasons"]} == by_hand
    assert sum(row[1] for row in told["levels"]) == sum(row[1] for row in told["weeks"]) == len(traces)
    assert {(str(row[0]), row[1]) for row in told["weeks"]} >= {("2026-03-02", 1), ("2026-03-09", 1)}
    assert [row[1] for row in told["unread"]] == ["none.json"]
    assert (1, "charge_card", "billing", "not_idempotent") in told["one-tool-away"]
    assert (2, "start_job", "watch_it") in told["handle-ways"]


def test_what_json_lacks_is_text(results: Path) -> None:
    numbers = "'nan'::DOUBLE, 9007199254740993, 1.50::DECIMAL(4,2)"
    asked = f"SELECT {numbers}, '\\x00\\xFF'::BLOB, TIMESTAMP '99999-01-01', {{'a': [1]}}"
    assert rows(results, asked) == [["nan", "9007199254740993", "1.50", "00ff", "99999-01-01 00:00:00", {"a": [1]}]]


def test_what_can_be_asked_is_listed() -> None:
    document = what_can_be_asked()
    assert [table.name for table in document.tables] == [table.name for table in TABLES]
    assert len({question.name for question in document.questions}) == len(QUESTIONS)


def test_times_are_in_utc_wherever_the_machine_stands(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Kathmandu")
    hour = "strftime(max(started), '%H') FROM traces WHERE file = 'log1.jsonl'"
    asked = f"SELECT TIMESTAMPTZ '2026-03-01 00:00:00+02'::VARCHAR, {hour}"
    assert rows(results, asked) == [["2026-02-28 22:00:00+00", "10"]]


def test_nothing_is_left_behind(results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "USERPROFILE", "TMPDIR"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.chdir(tmp_path)
    before = sorted(results.iterdir())
    ask(results, "SELECT file, count(*) FROM tools GROUP BY file ORDER BY file")
    assert (sorted(results.iterdir()), list(tmp_path.iterdir())) == (before, [])


# the walls -----------------------------------------------------------------------------------------------------------

PLANNING = "SELECT json_serialize_plan('FROM read_text(''{file}'')')"
ATTACKS = (
    "SELECT * FROM read_csv('{file}')",
    "SELECT * FROM read_text('{file}')",
    "SELECT * FROM read_blob('{file}')",
    "SELECT * FROM read_json('{file}')",
    "SELECT * FROM read_parquet('{file}')",
    "SELECT * FROM read_ndjson_objects('{file}')",
    "SELECT * FROM parquet_metadata('{file}')",
    "SELECT * FROM glob('{folder}/*')",
    "SELECT * FROM sniff_csv('{file}')",
    "SELECT * FROM '{file}'",
    'SELECT * FROM "{file}"',
    "DESCRIBE '{file}'",
    "SUMMARIZE '{file}'",
    "SELECT * FROM query('SELECT * FROM read_text(''{file}'')')",
    "SELECT * FROM query_table('{file}')",
    "SELECT * FROM json_execute_serialized_sql(json_serialize_sql('SELECT * FROM read_text(''{file}'')'))",
    "WITH \"{file}\" AS (SELECT 1) SELECT (WITH a AS (SELECT 1) SELECT 1) FROM (SELECT * FROM read_text('{file}'))",
    'SELECT (WITH "{file}" AS (SELECT 1) SELECT 1), * FROM "{file}"',
    "SELECT * FROM \"read_csv\"('{file}')",
    "SELECT * FROM Read_CSV('{file}')",
    "FROM system.main.read_csv('{file}')",
    "SELECT '{file}'.read_text()",
    "SELECT * FROM/**/read_text/**/('{file}')",
    "SELECT * FROM findings, LATERAL read_text(files[1])",
    "SELECT (SELECT content FROM read_text('{file}'))",
    "SELECT EXISTS(FROM read_text('{file}'))",
    "SELECT 1 IN (SELECT size FROM read_text('{file}'))",
    "SELECT 1 LIMIT (SELECT count(*) FROM read_text('{file}'))",
    "SELECT 1 ORDER BY (SELECT count(*) FROM read_text('{file}'))",
    "SELECT count(*) FILTER (1 IN (SELECT size FROM read_text('{file}'))) FROM findings",
    "SELECT row_number() OVER (PARTITION BY (SELECT count(*) FROM read_text('{file}'))) FROM findings",
    "SELECT 1 FROM findings QUALIFY row_number() OVER () = (SELECT count(*) FROM read_text('{file}'))",
    "SELECT count(*) FROM findings GROUP BY GROUPING SETS ((code), ((SELECT count(*) FROM read_text('{file}'))))",
    "SELECT count(*) FROM findings HAVING count(*) > (SELECT count(*) FROM read_text('{file}'))",
    "SELECT * REPLACE ((SELECT content FROM read_text('{file}')) AS message) FROM findings",
    "SELECT DISTINCT ON ((SELECT content FROM read_text('{file}'))) 1",
    "SELECT list_transform([1], lambda x: (SELECT count(*) FROM read_text('{file}')))",
    "SELECT * FROM range((SELECT count(*) FROM read_text('{file}')))",
    "VALUES ((SELECT content FROM read_text('{file}')))",
    "PIVOT (FROM read_text('{file}')) ON filename IN ('a') USING count(*)",
    "FROM findings UNION ALL BY NAME FROM read_text('{file}')",
    "WITH RECURSIVE t AS (SELECT 1 a UNION ALL SELECT size FROM read_text('{file}')) FROM t",
    "DESCRIBE FROM read_text('{file}')",
    "FROM (SUMMARIZE '{file}')",
    "SELECT * FROM histogram('{file}', x)",
    PLANNING,
    "COPY findings TO '{out}'",
    "COPY (SELECT 1) TO '{out}' (FORMAT parquet)",
    "COPY findings FROM '{file}'",
    "EXPORT DATABASE '{out}'",
    "IMPORT DATABASE '{folder}'",
    "ATTACH '{out}'",
    "ATTACH ':memory:' AS other",
    "INSTALL httpfs",
    "LOAD httpfs",
    "LOAD '{file}'",
    "SELECT * FROM 'http://127.0.0.1:9/a.csv'",
    "SELECT * FROM read_csv('s3://bucket/a.csv')",
    "SET enable_external_access = true",
    "SET lock_configuration = false",
    "RESET enable_external_access",
    "PRAGMA enable_profiling",
    "PRAGMA profiling_output = '{out}'",
    "SELECT * FROM enable_profiling(save_location = '{out}')",
    "SELECT * FROM enable_logging(storage = 'file', storage_config = {{'path': '{out}'}})",
    "CALL enable_logging(storage = 'file')",
    "SELECT write_log('x')",
    "SELECT current_setting('home_directory')",
    "SELECT getenv('HOME')",
    "SELECT * FROM duckdb_settings()",
    "SELECT * FROM duckdb_secrets()",
    "SELECT * FROM information_schema.tables",
    "SELECT * FROM arrow_scan(1, 2, 3)",
    "SELECT * FROM pandas_scan(1)",
    "SELECT * FROM secret_of_this_process",
    "INSERT INTO findings (code) VALUES ('x')",
    "DELETE FROM findings",
    "UPDATE findings SET code = 'x'",
    "DROP TABLE findings",
    "CREATE TABLE mine (a INTEGER)",
    "CREATE TEMP TABLE mine (a INTEGER)",
    "CREATE SECRET s (TYPE s3)",
    "CREATE MACRO f() AS TABLE SELECT * FROM read_text('{file}')",
    "WITH x AS (INSERT INTO findings (code) VALUES ('x') RETURNING code) SELECT * FROM x",
    "WITH x AS (DELETE FROM findings RETURNING code) SELECT * FROM x",
    "PREPARE a AS SELECT 1",
    "EXPLAIN ANALYZE SELECT 1",
    "CHECKPOINT",
    "SELECT 1; SELECT 2",
    "SELECT 1; COPY findings TO '{out}'",
    "",
    ";",
    "-- nothing",
    "SELEC 1",
)


@pytest.fixture
def places(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "secret.csv").write_text("a,b\n1,the secret\n", encoding="utf-8")
    return {"file": str(tmp_path / "secret.csv"), "folder": str(tmp_path), "out": str(tmp_path / "out")}


def listed(places: dict[str, str]) -> list[str]:
    return sorted(path.name for path in Path(places["folder"]).iterdir())


@pytest.fixture(scope="module")
def base(results: Path) -> Iterator[DuckDBPyConnection]:
    """Tables that are locked, for looking at many texts."""
    with locked(results_in(results)) as connection:
        yield connection


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_text_that_does_more_than_ask_is_refused(
    base: DuckDBPyConnection, places: dict[str, str], attack: str
) -> None:
    with pytest.raises(ConfigurationError) as raised:
        check(attack.format(**places), base)
    assert "the secret" not in str(raised.value)


def test_a_function_that_makes_tables_is_refused_until_somebody_looked_at_it(base: DuckDBPyConnection) -> None:
    kinds = "('table', 'table_macro', 'pragma')"
    told = base.execute(f"SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_type IN {kinds}")
    makers = {name for (name,) in told.fetchall()}
    assert len(makers) > 50
    for name in sorted(makers - {"range", "generate_series", "unnest", "json_each", "json_tree", "repeat"}):
        with pytest.raises(ConfigurationError):
            check(f'SELECT * FROM "{name}"(1)', base)


def test_a_question_can_do_nothing_but_ask(results: Path, places: dict[str, str]) -> None:
    secret_of_this_process = [{"a": 1}]
    for attack in (
        *ATTACKS[:1],
        *(one for one in ATTACKS if "{out}" in one or "{{" in one),
        "FROM secret_of_this_process",
    ):
        with pytest.raises(ConfigurationError):
            ask(results, attack.format(**places))
        assert listed(places) == ["secret.csv"]
    assert secret_of_this_process


REACHING = [one for one in ATTACKS if "{" in one or "SET " in one or "LOAD" in one or "://" in one]
REACHING.remove(PLANNING)  # its answer says that it was refused


def test_what_would_pass_the_first_wall_stands_before_the_second(results: Path, places: dict[str, str]) -> None:
    """DuckDB alone, without a look at the text: nothing that reaches out is done."""
    import duckdb

    with locked(results_in(results)) as connection:
        for attack in (
            *REACHING,
            "DELETE FROM findings",
            "SELECT * FROM enable_profiling()",
            "SELECT * FROM places",
        ):
            with pytest.raises(duckdb.Error) as raised:
                connection.execute(attack.format(**places)).fetchall()
            assert "aborted" not in str(raised.value), "it was refused for itself"
            assert "the secret" not in str(raised.value)
            with contextlib.suppress(duckdb.Error):
                connection.execute("ROLLBACK")
            connection.execute("BEGIN TRANSACTION READ ONLY")
            assert listed(places) == ["secret.csv"]


@pytest.mark.parametrize(
    "asked",
    [
        "FROM findings LIMIT 1",
        "WITH a AS (FROM findings), b AS (FROM a) SELECT count(*) FROM b",
        "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 3) SELECT * FROM t",
        "SELECT Severity FROM Findings LIMIT 1",
        "SELECT s FROM findings f, unnest(f.steps) u(s) LIMIT 1",
        "PIVOT findings ON severity IN ('high', 'low') USING count(*) GROUP BY code",
        "SELECT * FROM tools JOIN traces USING (file, evidence, trace) LIMIT 1",
        "SELECT repeat('a', 3), list_transform([1], lambda x: x + 1), regexp_matches('a', 'a')",
        "SHOW TABLES",
        "DESCRIBE findings",
        "SUMMARIZE traces",
        "VALUES (1)",
        "SELECT n FROM range(3) r(n)",
        "SELECT histogram(steps), max(range(3)) FROM traces",
        "SELECT '{file}', 'COPY x TO y'",
    ],
)
def test_what_only_asks_is_answered(base: DuckDBPyConnection, asked: str) -> None:
    check(asked, base)
    assert base.execute(asked).fetchall()


def test_a_question_has_an_end(results: Path) -> None:
    for asked in (
        f"SELECT '{'a' * LONGEST}'",
        "SELECT " + "NOT " * 2_000 + "true",
        "SELECT n FROM range(2000000) r(n)",
    ):
        with pytest.raises(ConfigurationError):
            rows(results, asked)
    with pytest.raises(ConfigurationError, match="more than 50MB of memory"):
        ask(results, "SELECT list(repeat('a', 1000) || n) FROM range(1000000) r(n)", memory="50MB")
    with pytest.raises(ConfigurationError, match="can't start"):
        ask(results, "SELECT 1", memory="much")


# folders -------------------------------------------------------------------------------------------------------------


def test_a_folder_without_results_is_said_to_be_none(results: Path, tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "nowhere", results / "summary.json"):
        named = re.escape(str(folder))  # as it was given
        with pytest.raises(EvidenceError, match=f"{named} is no folder of an audited corpus"):
            results_in(folder)


def changed(results: Path, folder: Path, **values: object) -> Path:
    copy = folder / "results"
    shutil.copytree(results, copy)
    summary = json.loads((copy / "summary.json").read_bytes())
    (copy / "summary.json").write_text(json.dumps({**summary, **values}), encoding="utf-8")
    return copy


@pytest.mark.parametrize("found", ["forensics/corpus/v1", "forensics/corpus/v99", "\x1b[31m"])
def test_results_of_another_version_are_not_guessed_at(results: Path, tmp_path: Path, found: str) -> None:
    with pytest.raises(UnsupportedVersionError, match="another version") as raised:
        results_in(changed(results, tmp_path, schema=found))
    assert "\x1b" not in str(raised.value)


@pytest.mark.parametrize("name", ["files-00002.jsonl", "../secret.jsonl", "/etc/passwd", "summary.json"])
def test_rows_that_the_summary_names_stand_in_the_folder(results: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "secret.jsonl").touch()
    with pytest.raises(CorruptEvidenceError, match="not there"):
        results_in(changed(results, tmp_path, rows=[name]))


def test_results_that_are_not_whole_are_not_asked(results: Path, tmp_path: Path) -> None:
    copy = changed(results, tmp_path)
    (copy / "files-00001.jsonl").write_bytes(b'{"files": ["a"], "traces": 7}\n{\n')
    with pytest.raises(CorruptEvidenceError, match=r"files-00001\.jsonl") as raised:
        ask(copy, "SELECT 1")
    assert str(tmp_path) not in str(raised.value)
    (copy / "summary.json").unlink()
    with pytest.raises(EvidenceError, match="has not ended"):
        results_in(copy)


@pytest.mark.skipif(sys.platform == "win32", reason="mkfifo")
def test_rows_that_are_no_file_are_not_waited_for(results: Path, tmp_path: Path) -> None:
    copy = changed(results, tmp_path)
    (copy / "files-00001.jsonl").unlink()
    os.mkfifo(copy / "files-00001.jsonl")
    with pytest.raises(CorruptEvidenceError, match="not there"):
        results_in(copy)


@pytest.mark.parametrize("name", ["[r]esults *?", "it's", "a{b}c", "--", "ünï\u202e"])
def test_any_name_of_a_folder_is_read_exactly(results: Path, tmp_path: Path, name: str) -> None:
    shutil.copytree(results, tmp_path / name / "results")
    assert rows(tmp_path / name / "results", "SELECT count(*) FROM traces") == rows(
        results, "SELECT count(*) FROM traces"
    )


def test_a_corpus_without_a_finding_and_one_without_a_file_are_asked_too(results: Path, tmp_path: Path) -> None:
    copy = changed(results, tmp_path, rows=[], found=[])
    for table in TABLES:
        assert rows(copy, f"SELECT * FROM {table.name}") == []


def test_hostile_names_are_values(results: Path) -> None:
    assert [HOSTILE] in rows(results, "SELECT tool FROM tools WHERE file = 'log0.jsonl'")
