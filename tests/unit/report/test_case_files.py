"""Is a file of cases read strictly, and does a case come back as it was written?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator

from forensics.core.digests import sha256_of
from forensics.errors import ConfigurationError
from forensics.report.case_files import case_line, cases_of, read_cases, with_case
from forensics.report.schemas import schema
from tests.unit.report.kept_cases import case

if TYPE_CHECKING:
    from pathlib import Path


def line(**changed: Any) -> bytes:
    return json.dumps({**json.loads(case_line(case())), **changed}).encode() + b"\n"


def test_a_case_comes_back_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_bytes(case_line(case("a")) + b"\n" + case_line(case("b")))
    assert [(one.line, one.case) for one in read_cases(path)] == [(1, case("a")), (3, case("b"))]
    Draft202012Validator(schema("case")).validate(json.loads(case_line(case())))


def test_a_hostile_text_and_a_long_number_stay_one_line() -> None:
    written = case_line(case(input="x\n\u2028\ud800\x1b", expected_output={"n": 2**70}))
    assert written.count(b"\n") == 1
    assert b"\x1b" not in written
    (kept,) = cases_of(written, "cases.jsonl")
    assert kept.case.expected_output == {"n": str(2**70)}


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"", "holds no case"),
        (b"{", "cases.jsonl:1: no JSON"),
        (b"[]\n", "cases.jsonl:1: no case"),
        (b'{"input": "x", "expected_output": "y"}\n', "its schema is not forensics/case/v1"),
        (line(name=3), "cases.jsonl:1: Expected `str`, got `int`"),
        (line(source="pager.db"), r"\$\.source"),
        (b'{"schema": "forensics/case/v1", "name": "a", "name": "b"}\n', "two ways"),
        (line() + line(), "cases.jsonl:2: there is a case 'pager' already"),
    ],
)
def test_what_is_no_case_is_named_with_its_line(data: bytes, fault: str) -> None:
    with pytest.raises(ConfigurationError, match=fault):
        cases_of(data, "cases.jsonl")


def test_every_fault_is_named_at_once() -> None:
    with pytest.raises(ConfigurationError, match=r"cases\.jsonl:1: .*cases\.jsonl:3: "):
        cases_of(b"{\n" + line() + b"7\n", "cases.jsonl")


def test_a_case_is_added_at_the_end_or_takes_the_place_of_its_name() -> None:
    both = with_case(case_line(case("a")).rstrip(b"\n"), case("b"), "cases.jsonl", replace=False)
    assert [one.case.name for one in cases_of(both, "cases.jsonl")] == ["a", "b"]
    with pytest.raises(ConfigurationError, match="there is a case 'a' already"):
        with_case(both, case("a"), "cases.jsonl", replace=False)
    changed = with_case(both, case("a", input="other"), "cases.jsonl", replace=True)
    assert [one.case.input for one in cases_of(changed, "cases.jsonl")] == ["other", "checkout is failing"]
    with pytest.raises(ConfigurationError, match="no case"):
        with_case(b'{"input": "x"}\n', case("a"), "cases.jsonl", replace=True)


def test_the_digest_of_a_file_is_that_of_its_bytes(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"abc")
    assert sha256_of(tmp_path / "x") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_fastaiagents_evaluate_reads_the_same_line() -> None:
    row = json.loads(case_line(case()))
    assert isinstance(row["input"], str)
    assert row["expected_output"] == "Paged on-call: pg_8812."
    assert row["expected_trajectory"] == ["query_metrics", "pager.trigger", "incident.annotate"]
    assert row["expected_tool_calls"][1] == {
        "name": "pager.trigger", "arguments": {"service": "checkout", "severity": "sev1"},
    }  # fmt: skip
    assert {"trace_id", "source_trace_id", "fixed_trace_id", "fork_step", "modifications"} <= row.keys()


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("expected_tool_calls", {"name": "pager.trigger", "arguments": {"service": "checkout", "severity": "sev2"}}),
        ("expected_tool_calls", {"name": "pager.trigger", "arguments": {"service": "checkout", "severity": True}}),
        ("expected_tool_calls", {"name": "pager.cancel", "arguments": {"service": "checkout", "severity": "sev1"}}),
        ("expected_trajectory", "pager.cancel"),
    ],
)
def test_calls_that_a_case_tells_in_two_ways_are_named(name: str, change: Any) -> None:
    """Whoever reads or changes the calls beside the tuples would be told that a case passes that says otherwise."""
    row = json.loads(case_line(case()))
    row[name][1] = change
    with pytest.raises(ConfigurationError, match=f"x:1: it can be read in two ways: {name} does not say"):
        cases_of(json.dumps(row).encode(), "x")
    del row[name][1]
    with pytest.raises(ConfigurationError, match=name):
        cases_of(json.dumps(row).encode(), "x")
