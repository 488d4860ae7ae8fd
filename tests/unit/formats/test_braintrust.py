"""Are rows of Braintrust read with what the model asked for and what ran, in every container that holds them?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from forensics.core.jsonvalue import value_of
from forensics.core.trace import StepKind
from tests.unit.formats.conftest import hiding, outcomes, read_evidence, read_records, read_value

Fields = dict[str, Any]
SAMPLE = Path(__file__).resolve().parents[2] / "contract" / "samples" / "braintrust.jsonl"
ROWS: list[Fields] = [json.loads(line) for line in SAMPLE.read_text(encoding="utf-8").splitlines()]
PAGED = [("0.0", "page", {"page_id": "pg_3d90"}, "recorded")]


def row(name: str, kind: str | None, **members: Any) -> Fields:
    about = {"name": name} if kind is None else {"name": name, "type": kind}
    told = {"id": f"row-{name}", "span_id": f"s-{name}", "root_span_id": "s1", "span_parents": ["s1"]}
    return {**told, "span_attributes": about, "metrics": {"start": 1793610004.0, "end": 1793610004.5}, **members}


def test_rows_one_a_line() -> None:
    reading = read_evidence(SAMPLE)
    (trace,) = reading.traces
    assert (reading.evidence.format, trace.id) == ("braintrust", "s1")
    assert outcomes(reading) == PAGED
    assert [value_of(call.arguments or b"") for call in trace.calls] == [{"person": "Ida"}]
    assert trace.facts["page"].description == "Pages a person"
    assert (reading.counts.input_tokens, reading.counts.output_tokens) == (40, 9)
    assert len(list(trace.rows(StepKind.MODEL))) == 2
    assert not reading.gaps


def test_every_container_tells_the_same(tmp_path: Path) -> None:
    for held in (ROWS, {"events": ROWS, "cursor": None}, {"data": ROWS, "schema": {}}):
        assert outcomes(read_value(tmp_path, held)) == PAGED


def test_a_row_that_was_logged_in_parts(tmp_path: Path) -> None:
    begun = {**ROWS[2], "output": None, "metrics": {"start": ROWS[2]["metrics"]["start"]}}
    assert outcomes(read_records(tmp_path, *ROWS[:2], begun, *ROWS[3:], ROWS[2])) == PAGED


def test_a_tool_that_raised(tmp_path: Path) -> None:
    raised = row("refund", "tool", input={"order": "o1"}, error="ValueError: no such order")
    assert outcomes(read_records(tmp_path, *ROWS, raised))[1][1:] == ("refund", "ValueError: no such order", "failed")


@pytest.mark.parametrize("kind", ["function", None, "step"])
def test_a_function_of_which_nothing_tells_what_it_did_is_a_gap(tmp_path: Path, kind: str | None) -> None:
    assert hiding(read_records(tmp_path, *ROWS, row("refund", kind, input={"order": "o1"}, output=True)))


def test_a_function_that_a_model_asked_for_is_its_execution(tmp_path: Path) -> None:
    plain = [
        {**one, "span_attributes": {"name": "page", "type": "function"}} if one["span_id"] == "s3" else one
        for one in ROWS
    ]
    reading = read_records(tmp_path, *plain)
    assert outcomes(reading) == PAGED
    assert not hiding(reading)


def test_a_function_around_others_is_no_gap(tmp_path: Path) -> None:
    around = [{**ROWS[0], "span_attributes": {"name": "oncall", "type": "function"}}, *ROWS[1:]]
    assert not hiding(read_records(tmp_path, *around))


def test_a_line_that_is_no_row_is_a_gap(tmp_path: Path) -> None:
    assert hiding(read_records(tmp_path, *ROWS, {"note": "not a row"}))
