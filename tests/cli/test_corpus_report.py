"""Does `forensics report` tell of a whole corpus where it is given its results, and of traces everywhere else?"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import jsonschema
import pytest
from click.testing import CliRunner

from forensics.cli.program import program
from forensics.corpus.engines import serial
from forensics.corpus.run import Corpus, audit_corpus
from forensics.report.schemas import schema

if TYPE_CHECKING:
    from click.testing import Result

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    (folder / "traces").mkdir()
    for name in ("pager.chat.json", "double_charge.chat.json"):
        shutil.copy(ROOT / "samples" / name, folder / "traces" / name)
    audit_corpus([folder / "traces"], folder / "results", Corpus(engine=serial()))
    return folder / "results"


def report(*arguments: object) -> Result:
    return CliRunner().invoke(program, ["report", *map(str, arguments)])


def test_the_forms_say_the_same(results: Path, tmp_path: Path) -> None:
    wanted = [tmp_path / f"out.{suffix}" for suffix in ("html", "md", "json")]
    ended = report(results, *(word for path in wanted for word in ("--to", path)), "--title", "Week 12")
    assert ended.exit_code == 0, ended.output
    assert ended.stdout == ""
    page, ticket, data = (path.read_bytes() for path in wanted)
    document = json.loads(data)
    jsonschema.validate(document, schema("corpus-report"))
    assert document["counts"]["traces"] == 2
    for form in (page, ticket):
        assert b"Week 12" in form
        assert b"charge_card" in form
    assert report(results, "--title", "Week 12").stdout_bytes == ticket
    assert report(results, "--title", "Week 12", "--format", "html").stdout_bytes == page
    assert report(results, "--title", "Week 12", "--to", "-", "--format", "json").stdout_bytes == data


def test_nothing_is_written_over_or_among_the_results(results: Path, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"mine")
    assert report(results, "--to", tmp_path / "a.md").exit_code == 2
    assert (tmp_path / "a.md").read_bytes() == b"mine"
    assert report(results, "--to", tmp_path / "a.md", "--force").exit_code == 0
    assert report(results, "--to", results / "a.md").exit_code == 2
    assert not (results / "a.md").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ("--format", "sarif"),
        ("--to", "a.csv"),
        ("--bundle", "new"),
        ("--fail-on", "high"),
        ("--case-id", "INC-1"),
        ("--trace", "trace-0"),
        ("--export", "oscal"),
    ],
)
def test_what_only_a_report_on_traces_has_is_refused(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = report(results, *arguments)
    assert ended.exit_code == 2
    assert ended.stdout == ""
    assert list(tmp_path.iterdir()) == []


def test_results_that_are_not_whole_can_not_be_told(results: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(results, copy)
    (copy / "summary.json").unlink()
    ended = report(copy)
    assert ended.exit_code == 3
    assert "has not ended" in ended.stderr


def test_a_folder_of_traces_is_told_as_before(results: Path) -> None:
    ended = report(results.parent / "traces", "--format", "json")
    assert json.loads(ended.stdout)["schema"] == "forensics/report/v1"
