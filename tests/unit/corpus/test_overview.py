"""Does the report on a corpus say what its rows say, in every form, whatever its texts are?"""

from __future__ import annotations

import datetime
import json
import shutil
from collections import Counter
from typing import TYPE_CHECKING, Any

import jsonschema
import msgspec
import pytest

from forensics.corpus.folder import results_in
from forensics.corpus.overview import corpus_report, report_exit_code
from forensics.corpus.rows import told
from forensics.corpus.trend import Calendar
from forensics.errors import CorruptEvidenceError
from forensics.report.corpus_documents import CorpusTrace
from forensics.report.corpus_markdown import corpus_markdown
from forensics.report.html.corpus import corpus_html
from forensics.report.jsonout import json_bytes
from forensics.report.schemas import schema

from .conftest import HOSTILE, audited

if TYPE_CHECKING:
    from pathlib import Path

    from forensics.report.corpus_report_documents import CorpusReportDocument


@pytest.fixture(scope="module")
def document(results: Path) -> CorpusReportDocument:
    return corpus_report(results_in(results))


def traces(results: Path) -> list[dict[str, Any]]:
    shards = sorted(results.glob("files-*.jsonl"))
    return [t for path in shards for line in path.read_bytes().splitlines() for t in json.loads(line)["traces"]]


def test_tools_are_ranked_by_the_traces_in_which_reasons_name_them(
    results: Path, document: CorpusReportDocument
) -> None:
    named: Counter[str] = Counter()
    alone: Counter[str] = Counter()
    for trace in traces(results):
        blocking = [tool for tool in trace["tools"] if tool["reasons"]]
        named.update(tool["name"] for tool in blocking)
        if len(blocking) == 1 and set(blocking[0]["reasons"]) == set(trace["reasons"]):
            alone[blocking[0]["name"]] += 1
    told_of: Counter[str] = Counter()
    told_alone: Counter[str] = Counter()
    for tool in document.tools:
        told_of[tool.name] += tool.traces
        told_alone[tool.name] += tool.alone
    assert told_of == named
    assert +told_alone == alone
    assert [tool.traces for tool in document.tools] == sorted((tool.traces for tool in document.tools), reverse=True)
    charge = next(tool for tool in document.tools if tool.name == "charge_card" and tool.server == "billing")
    assert (charge.class_, charge.effect, charge.rests_on) == ("handle-returning", "irreversible", "words")
    assert "its name says that it moves money" in [piece.says for piece in charge.basis]


def test_reasons_levels_and_formats_are_counted_by_traces(results: Path, document: CorpusReportDocument) -> None:
    every = traces(results)
    by_hand = Counter(code for trace in every for code in trace["reasons"])
    assert {one.code: one.traces for one in document.reasons} == by_hand
    assert {one.name: one.traces for one in document.formats} == Counter(trace["format"] for trace in every)
    assert all(one.dynamic + one.inject + one.static == one.traces for one in document.formats)


def test_the_ways_of_handles_are_told_and_references_apart(document: CorpusReportDocument) -> None:
    ways = {(one.tool, one.kind != "reference"): one for one in (*document.handles, *document.references)}
    job = ways["start_job", True]
    assert (job.traces, job.carried, job.number, job.in_argument) == (2, 2, 2, 2)
    assert [(one.name, one.count) for one in job.into_tools] == [("watch_it", 2)]
    assert all(one.kind == "reference" for one in document.references)
    assert not any(one.kind == "reference" for one in document.handles)


def test_coverage_names_what_was_not_read(document: CorpusReportDocument) -> None:
    assert document.coverage.refused == 1
    assert [one.name for one in document.coverage.unread] == ["none.json"]
    assert report_exit_code(document) == 3


def test_findings_have_an_example_each(results: Path, document: CorpusReportDocument) -> None:
    rows = [one for row in told(results_in(results)) for one in row.findings]
    assert sum(one.count for one in document.findings) == len(rows)
    assert {(one.code, one.example) for one in document.findings} <= {(one.code, one.message) for one in rows}


def test_the_document_is_that_of_its_schema_and_the_same_each_time(results: Path, tmp_path: Path) -> None:
    data = json_bytes(corpus_report(results_in(results)))
    jsonschema.validate(json.loads(data), schema("corpus-report"))
    shutil.copytree(results, tmp_path / "copy")
    assert json_bytes(corpus_report(results_in(tmp_path / "copy"))) == data


# over time -----------------------------------------------------------------------------------------------------------


def trace(started: str | None, level: str = "inject") -> CorpusTrace:
    fields: dict[str, Any] = dict.fromkeys(CorpusTrace.__struct_fields__, 0) | {
        "reasons": [],
        "tools": [],
        "handles": [],
    }
    return CorpusTrace(**fields | {"started": started, "level": level, "cleared": level == "dynamic"})


@pytest.mark.parametrize(
    ("days", "unit", "periods"),
    [
        (["2026-03-01"], "day", 1),
        (["2026-02-27", "2026-03-02"], "day", 4),
        (["2026-01-01", "2026-03-31"], "week", 14),
        (["2023-12-31", "2026-03-31"], "month", 28),
        (["1970-01-01", "2262-04-11"], "year", 293),
        (["0001-01-01", "9999-12-31"], "year", 9999),
    ],
)
def test_periods_are_as_short_as_fits_and_none_is_left_out(days: list[str], unit: str, periods: int) -> None:
    calendar = Calendar()
    for day in days:
        calendar.add(trace(f"{day}T10:00:00Z"), high=1)
    trend = calendar.trend()
    assert (trend.unit, len(trend.periods), trend.dated, trend.undated) == (unit, periods, len(days), 0)
    assert sum(one.traces for one in trend.periods) == sum(one.high for one in trend.periods) == len(days)
    starts = [datetime.date.fromisoformat(one.start) for one in trend.periods]
    assert starts == sorted(set(starts))
    if unit == "week":
        assert {day.weekday() for day in starts} == {0}


def test_a_trace_without_a_time_is_undated() -> None:
    calendar = Calendar()
    for started in (None, "yesterday", "2026-13-01T00:00:00Z"):
        calendar.add(trace(started), high=0)
    assert (calendar.trend().undated, calendar.trend().periods) == (3, [])


def test_without_any_time_the_trend_is_said_to_be_unknown(tmp_path: Path) -> None:
    unknown = corpus_report(results_in(audited(tmp_path, days=(None,))))
    undated = msgspec.structs.replace(
        unknown, trend=msgspec.structs.replace(unknown.trend, dated=0, undated=4, periods=[])
    )
    for form in (corpus_markdown, corpus_html):
        assert "Unknown: none of 4 traces records a time." in form(undated).decode()


# forms ---------------------------------------------------------------------------------------------------------------


def test_no_text_of_a_trace_acts_in_a_form(document: CorpusReportDocument) -> None:
    assert HOSTILE in [tool.name for tool in document.tools]
    for form in (corpus_html, corpus_markdown):
        data = form(document).decode()
        assert "\x1b" not in data
        assert "\u202e" not in data
        assert "<b>" not in data
    page = corpus_html(document).decode()
    assert "Content-Security-Policy" in page
    assert "<script" not in page
    assert "style=" not in page
    assert "http://" not in page
    assert "https://" not in page


def test_every_part_is_told_in_words_in_both_forms(document: CorpusReportDocument) -> None:
    for form in (corpus_html, corpus_markdown):
        data = form(document).decode()
        for said in ("start_job", "watch_it", "not_idempotent", "2026-03-02", "none.json", "cleared under strict"):
            assert said in data, said


def test_a_corpus_of_nothing_is_a_report_too(results: Path) -> None:
    found = results_in(results)
    empty = msgspec.structs.replace(
        found.document, counts=msgspec.structs.replace(found.document.counts, traces=0, cleared=0), levels=[], errors=[]
    )
    nothing = corpus_report(found._replace(document=empty, files=(), findings=()))
    assert report_exit_code(nothing) == 3
    assert b"Nothing was found in what was read." in corpus_html(nothing)
    assert b"No trace was read" in corpus_html(nothing)
    assert corpus_markdown(nothing).startswith(b"# ")


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("files", lambda row: row | {"files": []}),
        ("files", lambda row: row | {"findings": row["findings"] + 1}),
        ("files", lambda row: row | {"traces": [one | {"level": "traces"} for one in row["traces"]] or 7}),
        ("findings", lambda row: row | {"severity": "dire"}),
        ("findings", lambda row: row | {"files": ["another"]}),
        ("findings", lambda row: [row]),
    ],
)
def test_rows_that_do_not_go_together_are_no_report(results: Path, tmp_path: Path, kind: str, change: Any) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(results, copy)
    path = copy / f"{kind}-00001.jsonl"
    first, *rest = path.read_text("utf-8").splitlines()
    path.write_text("\n".join([json.dumps(change(json.loads(first))), *rest]) + "\n", "utf-8")
    with pytest.raises(CorruptEvidenceError):
        corpus_report(results_in(copy))
