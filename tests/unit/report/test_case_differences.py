"""Is every way in which a rerun is not what a case expects told, once and with its place?"""

from __future__ import annotations

import msgspec
import pytest

from forensics.report.case_differences import MOST, Got, case_differences
from forensics.report.case_documents import CaseDifference, CaseRow
from forensics.report.cases import FAILED, PASSED, UNTOLD, case_run_document
from tests.unit.report.kept_cases import PAGE, TUPLES, case, got, tuple_


def brief(one: CaseDifference) -> tuple[str, str | None, str | None, str | None, str | None]:
    return one.what, one.occurrence, one.pointer, one.expected, one.got


def found(rerun: Got) -> list[tuple[str, str | None, str | None, str | None, str | None]]:
    return [brief(one) for one in case_differences(case(), rerun)]


def test_the_same_again_is_no_difference() -> None:
    assert found(got()) == []


def test_another_argument_is_told_with_both_sides() -> None:
    sev2 = tuple_("1.0", "pager.trigger", {**PAGE, "severity": "sev2"}, said="Paging.", result={"id": "pg_8812"})
    assert found(got(TUPLES[0], sev2, TUPLES[2])) == [("arguments", "1.0", "/severity", '"sev1"', '"sev2"')]


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("said", None, ("said", "1.0", "", '"Paging."', "null")),
        ("outcome", "failed", ("outcome", "1.0", None, "recorded", "failed")),
        ("result", {"id": "pg_9147"}, ("result", "1.0", "/id", '"pg_8812"', '"pg_9147"')),
        ("prompt", "all is well", None),
    ],
)
def test_each_part_of_a_tuple_counts(field: str, value: object, expected: tuple[str, ...] | None) -> None:
    changed = msgspec.structs.replace(TUPLES[1], **{field: value})
    assert found(got(TUPLES[0], changed, TUPLES[2])) == ([] if expected is None else [expected])


def test_a_prompt_is_compared_by_its_digest() -> None:
    shown = msgspec.structs.replace(TUPLES[0], prompt_sha256="sha256:11", prompt="checkout is slow")
    assert found(got(shown, *TUPLES[1:])) == [("prompt", "0.0", None, '"checkout is failing"', '"checkout is slow"')]
    before = msgspec.structs.replace(TUPLES[0], prompt_sha256="sha256:11")
    (one,) = found(got(before, *TUPLES[1:]))
    assert one[0] == "prompt"
    assert one[3] == one[4] == "(not in its last words)"


def test_one_call_more_or_less_is_one_difference() -> None:
    extra = tuple_("0.1", "get_owner", {"of": "checkout"})
    assert [one[:2] for one in found(got(TUPLES[0], extra, *TUPLES[1:]))] == [("extra", "0.1")]
    assert [one[:2] for one in found(got(TUPLES[0], TUPLES[2]))] == [("missing", "1.0")]


def test_input_and_output_are_compared_at_every_place() -> None:
    assert found(got(output={"text": "done"})) == [
        ("output", None, "", '"Paged on-call: pg_8812."', '{"text": "done"}'),
    ]
    assert found(got(input="all is well"))[0][:3] == ("input", None, "")


def test_what_stopped_the_rerun_comes_first_and_no_output_is_missed() -> None:
    stopped = found(got(TUPLES[0], output=None, stopped=("replay_miss", "no equal request is recorded")))
    assert [one[0] for one in stopped] == ["replay_miss", "missing", "missing"]


def test_a_long_list_of_places_ends() -> None:
    expected = case(expected_output=[0] * 1000)
    rows = case_differences(expected, got(output=[1] * 1000))
    assert len(rows) == MOST + 1
    assert rows[-1].message == "and more places differ"


# a run ---------------------------------------------------------------------------------------------------------------


def row(name: str, result: str) -> CaseRow:
    return CaseRow(name=name, line=1, result=result, known=False, calls=0, isolation=None, differences=[])


def test_a_run_is_as_good_as_its_worst_case() -> None:
    assert case_run_document([row("a", PASSED)], "blueprint").result == PASSED
    assert case_run_document([row("a", PASSED), row("b", UNTOLD)], "blueprint").result == UNTOLD
    assert case_run_document([row("a", FAILED), row("b", UNTOLD)], "blueprint").result == FAILED


def test_against_a_baseline_only_what_is_new_fails() -> None:
    baseline = case_run_document([row("a", FAILED), row("b", PASSED), row("c", FAILED), row("d", PASSED)], "blueprint")
    again = case_run_document([row("a", FAILED), row("b", PASSED), row("c", PASSED)], "blueprint", baseline)
    assert (again.result, again.mended, again.gone) == (PASSED, ["c"], ["d"])
    assert [one.known for one in again.cases] == [True, False, False]
    worse = case_run_document([row("a", UNTOLD), row("b", FAILED), row("e", FAILED)], "blueprint", baseline)
    assert worse.result == FAILED
    assert worse.counts.regressions == 3
