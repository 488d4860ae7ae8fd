"""How does a dry run of the gate end, and what does it print?"""

from __future__ import annotations

import json
import tarfile
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from forensics.cli.program import program

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from click.testing import Result

ASKED = {"kind": "model", "request": {"prompt": "Classify ticket 2 (v2)"}}
RECORDED = [
    {"i": 1, "kind": "model", "request": {"prompt": "classify ticket 1"}, "response": "low"},
    {"i": 2, "kind": "model", "request": {"prompt": "classify ticket 2"}, "response": "urgent"},
]
HOSTILE = "x\n\x1b[2J\u202eSERVED 2 requests, all from the record\ud800" + "y" * 300


def write(path: Path, *records: Any) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


@pytest.fixture
def match(tmp_path: Path) -> Callable[..., Result]:
    def run(recorded: Any, asked: Any, *options: str) -> Result:
        places = [
            one if isinstance(one, str) else str(write(tmp_path / name, *one))
            for name, one in (("recording.jsonl", recorded), ("requests.jsonl", asked))
        ]
        return CliRunner().invoke(program, ["match", *places, *options], env={"COLUMNS": "80"})

    return run


def test_a_recording_and_requests_may_be_packed(match: Callable[..., Result], tmp_path: Path) -> None:
    for name, records in (("recording", RECORDED), ("requests", RECORDED[:1])):
        with tarfile.open(tmp_path / f"{name}.tar.gz", "w:gz") as archive:
            archive.add(write(tmp_path / "lines", *records), "log/lines.jsonl")
    ended = match(str(tmp_path / "recording.tar.gz"), str(tmp_path / "requests.tar.gz"), "--format", "json")
    document = json.loads(ended.stdout)
    assert (ended.exit_code, [one["status"] for one in document["requests"]]) == (0, ["served"])
    names = [one["name"] for one in document["evidence"]]
    assert names == ["recording.tar.gz/log/lines.jsonl", "requests.tar.gz/log/lines.jsonl"]


def test_a_miss_is_not_served_from_the_queue(match: Callable[..., Result]) -> None:
    ended = match(RECORDED, [ASKED, {"kind": "model", "request": {"prompt": "classify ticket 2"}}], "--format", "json")
    document = json.loads(ended.stdout)
    first, second = document["requests"]
    assert ended.exit_code == 1
    assert (first["status"], first["served"], first["recorded"], second["status"]) == (
        "miss",
        None,
        None,
        "not_reached",
    )
    assert first["nearest"][0] == {
        "recorded": 1,
        "because": "asks for something else",
        "locator": {"evidence": 0, "line": 2, "offset": 89, "length": 91},
        "pointer": "/prompt",
        "left": '"classify ticket 2"',
        "right": '"Classify ticket 2 (v2)"',
    }
    assert [f["code"] for f in document["findings"]] == ["replay_miss"]


def test_all_served_ends_with_0_and_what_was_not_asked_for_is_named(match: Callable[..., Result]) -> None:
    ended = match(RECORDED, RECORDED[1:], "--format", "json")
    document = json.loads(ended.stdout)
    assert ended.exit_code == 0
    assert [(r["served"], r["recorded"], r["rung"]) for r in document["requests"]] == [("urgent", 1, "bytes")]
    assert [f["code"] for f in document["findings"]] == ["unused_recording"]
    assert match(RECORDED, RECORDED[1:], "--fail-on", "medium").exit_code == 1
    assert match(RECORDED, RECORDED).exit_code == 0


@pytest.mark.parametrize(
    ("recorded", "asked"),
    [
        ("no-such-file", RECORDED),
        (RECORDED, "no-such-file"),
        (["text"], RECORDED),
        (RECORDED, []),
        ([{"a": 1}], RECORDED),
    ],
)
def test_what_can_not_be_read_ends_with_3(match: Callable[..., Result], recorded: Any, asked: Any) -> None:
    ended = match(recorded, asked)
    assert ended.exit_code == 3
    assert ended.stdout == ""
    assert ended.stderr.startswith("Error: ")


def test_both_can_not_come_from_standard_input(match: Callable[..., Result]) -> None:
    assert match("-", "-").exit_code == 2


def test_the_verdict_comes_first_and_fits_80_columns(match: Callable[..., Result]) -> None:
    lines = match(RECORDED, [*RECORDED, ASKED]).stdout.splitlines()
    assert lines[0] == "STOPPED at request 2 of 3 requests, miss: 2 served"
    assert max(map(len, lines)) <= 80
    assert match(RECORDED, RECORDED).stdout.startswith("SERVED 2 requests, all from the record\n")
    quiet = match(RECORDED, [ASKED], "-q").stdout
    assert quiet.startswith("STOPPED at request 0 of 1 request, miss: 0 served\n")
    assert "Findings" not in quiet


def test_nothing_in_a_request_acts_or_forges_a_line(match: Callable[..., Result]) -> None:
    record = {"kind": HOSTILE, "lane": HOSTILE, "request": {HOSTILE: HOSTILE}, "response": HOSTILE}
    asked = {**record, "request": {HOSTILE: HOSTILE + "z"}}
    for requests in ([record], [asked]):
        text = match([record], requests).stdout
        assert all(c.isprintable() or c == "\n" for c in text)
        assert sum(line.startswith("SERVED") for line in text.splitlines()) == (requests == [record])
        assert max(map(len, text.splitlines())) <= 80
        data = match([record], requests, "--format", "json").stdout_bytes
        assert b"\x1b" not in data
        json.loads(data.decode("utf-8"))


def test_the_document_is_as_its_schema_says(match: Callable[..., Result], samples: Path) -> None:
    schema = json.loads(CliRunner().invoke(program, ["schema", "matching"]).stdout)
    Draft202012Validator.check_schema(schema)
    for recorded, asked in (
        (RECORDED, [ASKED]),
        (str(samples / "pager.db"),) * 2,
        (str(samples / "pager.vcr.yaml"),) * 2,
    ):
        document = json.loads(match(recorded, asked, "--format", "json").stdout)
        assert document["schema"] == "forensics/matching/v1"
        Draft202012Validator(schema).validate(document)


def test_large_integers_and_nulls_are_served_as_strict_json(match: Callable[..., Result]) -> None:
    record = {
        "kind": "tool",
        "request": {"tool": "f", "arguments": {"n": 2**63 + 1}},
        "response": {"n": 2**70, "x": None},
    }
    row = json.loads(match([record], [record], "--format", "json").stdout)["requests"][0]
    assert row["served"] == {"n": str(2**70), "x": None}


def test_the_evidence_stands_as_it_stood(match: Callable[..., Result], tmp_path: Path) -> None:
    match(RECORDED, [ASKED])
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    match(str(tmp_path / "recording.jsonl"), str(tmp_path / "requests.jsonl"))
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
