"""Are ADK's eval sets told as what is expected, and the results of running them as what was done?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from forensics import examine
from forensics.core.jsonvalue import text_of, value_of
from forensics.core.trace import StepKind
from forensics.errors import EvidenceError
from tests.unit.formats.conftest import hiding, outcomes, read_evidence, read_value

if TYPE_CHECKING:
    from forensics.core.trace import Trace

Fields = dict[str, Any]
SAMPLE = Path(__file__).resolve().parents[2] / "contract" / "samples" / "google-adk-eval.json"
SET: Fields = json.loads(SAMPLE.read_text(encoding="utf-8"))
INVOCATION: Fields = SET["eval_cases"][0]["conversation"][0]
BETWEEN: Fields = INVOCATION["intermediate_data"]


def a_set(between: Any, **members: Any) -> Fields:
    case = {"eval_id": "page", "conversation": [{**INVOCATION, "intermediate_data": between, **members}]}
    return {"eval_set_id": "oncall", "eval_cases": [case]}


def a_result(**members: Any) -> Fields:
    compared = [{"actual_invocation": INVOCATION, "expected_invocation": {**INVOCATION, "intermediate_data": {}}}]
    case = {"eval_id": "page", "session_id": "s-1", "eval_metric_result_per_invocation": compared, **members}
    return {"eval_set_result_id": "r-1", "eval_set_id": "oncall", "eval_case_results": [case]}


def camel(value: Any) -> Any:
    if isinstance(value, list):
        return [camel(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {_humped(name): camel(held) if name not in ("args", "response") else held for name, held in value.items()}


def _humped(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)


def words(trace: Trace) -> list[tuple[str, str]]:
    told = [(row, trace.payload[row]) for row, kind in enumerate(trace.kind) if kind in (StepKind.USER, StepKind.MODEL)]
    return [(StepKind(trace.kind[row]).label, text_of(raw)) for row, raw in told if raw is not None]


ASKED = [("0.0", "roster", {"person": "Ida"}, "recorded"), ("1.0", "pager_trigger", {"page_id": "pg_8812"}, "recorded")]
SAID = [("user", "page whoever is on call"), ("model", "one moment"), ("model", "Paged Ida: pg_8812.")]


def test_a_case_of_an_eval_set() -> None:
    reading = read_evidence(SAMPLE)
    (trace,) = reading.traces
    assert (reading.evidence.format, trace.id, outcomes(reading), words(trace)) == (
        "google-adk-eval",
        "page",
        ASKED,
        SAID,
    )
    assert [value_of(call.arguments or b"") for call in trace.calls] == [{"team": "checkout"}, {"person": "Ida"}]
    (said,) = hiding(reading)
    assert "expected" in said


def test_what_is_expected_is_never_cleared(tmp_path: Path) -> None:
    (tmp_path / "calm.evalset.json").write_text(json.dumps(a_set({})), encoding="utf-8")
    (trace,) = examine(str(tmp_path / "calm.evalset.json")).audit().traces
    assert not trace.calls
    assert trace.verdict.level == "static"


def test_camel_case_tells_the_same(tmp_path: Path) -> None:
    reading = read_value(tmp_path, camel(SET))
    assert outcomes(reading) == ASKED
    assert words(reading.traces[0]) == SAID
    (gap,) = reading.gaps
    assert gap.locator is not None
    assert gap.locator.pointer == "/evalCases/0"


def test_calls_of_which_no_result_is_kept_are_not_answered(tmp_path: Path) -> None:
    reading = read_value(tmp_path, a_set({"tool_uses": BETWEEN["tool_uses"]}))
    assert [(one[1], one[3]) for one in outcomes(reading)] == [("roster", "absent"), ("pager_trigger", "absent")]


def test_results_without_ids_are_joined_by_name_in_their_order(tmp_path: Path) -> None:
    uses = [
        {"name": "roll", "args": {"sides": 6}},
        {"name": "page", "args": {}},
        {"name": "roll", "args": {"sides": 8}},
    ]
    responses = [{"name": "roll", "response": {"value": value}} for value in (3, 7)]
    reading = read_value(tmp_path, a_set({"tool_uses": uses, "tool_responses": responses}))
    assert [one[2] for one in outcomes(reading)] == [{"value": 3}, None, {"value": 7}]


def test_a_result_of_no_call_is_not_lost(tmp_path: Path) -> None:
    reading = read_value(tmp_path, a_set({"tool_uses": [], "tool_responses": BETWEEN["tool_responses"][:1]}))
    assert reading.counts.orphan_results == ["u1"]


def test_events_of_an_invocation(tmp_path: Path) -> None:
    def part(author: str, role: str, **held: Any) -> Fields:
        return {"author": author, "content": {"parts": [held], "role": role}}

    events = [part("oncall", "model", function_call=one) for one in BETWEEN["tool_uses"]]
    shown = [part("oncall", "user", function_response=one) for one in BETWEEN["tool_responses"]]
    between = {"invocation_events": [events[0], shown[0], events[1], shown[1]]}
    reading = read_value(tmp_path, a_set(between))
    assert outcomes(reading) == ASKED
    assert {call.agent for call in reading.traces[0].calls} == {"oncall"}


def test_what_the_agents_were_given(tmp_path: Path) -> None:
    declared = [{"function_declarations": [{"name": "roster", "description": "Who is on call"}]}]
    details = {"oncall": {"name": "oncall", "instructions": "Page them.", "tool_declarations": declared}}
    (trace,) = read_value(tmp_path, a_set(BETWEEN, app_details={"agent_details": details})).traces
    assert [text_of(trace.payload[row] or b"") for row in trace.rows(StepKind.SYSTEM)] == ["Page them."]
    assert trace.facts["roster"].description == "Who is on call"


FIRST_TURN: Fields = {
    "query": "page whoever is on call",
    "expected_tool_use": [{"tool_name": "roster", "tool_input": {"team": "checkout"}}],
    "expected_intermediate_agent_responses": [{"author": "pager_agent", "text": "one moment"}],
    "reference": "Paged Ida: pg_8812.",
}


@pytest.mark.parametrize(
    ("content", "names"),
    [
        ([FIRST_TURN], ["conversation"]),
        (
            [{"name": "page", "data": [FIRST_TURN], "initial_session": {}}, {"name": "page", "data": []}],
            ["page", "page (2)"],
        ),
    ],
)
def test_the_first_shape_of_eval_sets(tmp_path: Path, content: list[Fields], names: list[str]) -> None:
    reading = read_value(tmp_path, content)
    assert [trace.id for trace in reading.traces] == names
    (call,) = reading.traces[0].calls
    assert (call.tool, value_of(call.arguments or b""), call.answered) == ("roster", {"team": "checkout"}, False)
    assert words(reading.traces[0]) == SAID
    assert len(hiding(reading)) == len(names)


def test_the_result_of_an_evaluation_tells_what_was_done(tmp_path: Path) -> None:
    reading = read_value(tmp_path, a_result())
    assert (reading.traces[0].id, outcomes(reading), words(reading.traces[0])) == ("s-1", ASKED, SAID)
    assert not reading.gaps


def test_the_session_of_a_result_is_read_rather_than_its_invocations(tmp_path: Path) -> None:
    def event(author: str, role: str, **held: Any) -> Fields:
        content = {"parts": [held], "role": role}
        return {"author": author, "invocation_id": "inv-1", "timestamp": 1796007835.5, "content": content}

    events = [event("user", "user", text="page whoever is on call")]
    for use, response in zip(BETWEEN["tool_uses"], BETWEEN["tool_responses"], strict=True):
        events.append(event("oncall", "model", function_call=use))
        events.append(event("oncall", "user", function_response=response))
    events.append(event("oncall", "model", text="It is Ida."))
    session = {"id": "s-1", "app_name": "oncall", "user_id": "u", "events": events}
    reading = read_value(tmp_path, a_result(session_details=session))
    assert outcomes(reading) == ASKED
    assert words(reading.traces[0])[-1] == ("model", "It is Ida.")
    assert not reading.gaps
    assert outcomes(read_value(tmp_path, a_result(session_details={**session, "events": []}))) == ASKED
    short = read_value(tmp_path, a_result(session_details={**session, "events": events[:3]}))
    assert hiding(short) == ["an invocation holds a call of pager_trigger that its session lacks"]


USED = [{"name": "rm", "args": {}}]
HIDING: list[Fields] = [
    a_result(retries=[{"tool_uses": USED}]),
    a_result(sessionDetails={}, session_details={"events": [{"content": {"parts": [{"functionCall": USED[0]}]}}]}),
    a_result(session_details={"events": [], "branches": [[{"content": {"parts": [{"functionCall": USED[0]}]}}]]}),
    a_result(eval_metric_result_per_invocation=[{"actual_invocation": INVOCATION, "again": [{"tool_uses": USED}]}]),
    a_result(
        eval_metric_result_per_invocation=[
            {"actual_invocation": {**INVOCATION, "intermediateData": {"tool_uses": USED}}},
        ]
    ),
    {**a_result(), "evalCaseResults": a_result()["eval_case_results"]},
    {**a_result(), "before": a_set(BETWEEN)["eval_cases"]},
    a_result(eval_metric_result_per_invocation=[]),
    a_result(eval_metric_result_per_invocation=[{"expected_invocation": INVOCATION}]),
    a_result(eval_metric_result_per_invocation=[{"actual_invocation": {**INVOCATION, "intermediate_data": None}}]),
    a_result(
        eval_metric_result_per_invocation=[{"actual_invocation": {**INVOCATION, "tools": [{"name": "rm", "args": {}}]}}]
    ),
]


@pytest.mark.parametrize("content", HIDING)
def test_what_a_result_may_leave_out_is_a_gap(tmp_path: Path, content: Fields) -> None:
    assert hiding(read_value(tmp_path, content))


@pytest.mark.parametrize(
    "content",
    [[{"query": "who?", "reference": "Ida"}], {"eval_cases": []}, [{"name": "x", "data": [{"query": "who?"}]}]],
)
def test_other_questions_with_answers_are_none_of_it(tmp_path: Path, content: Any) -> None:
    with pytest.raises(EvidenceError, match="not recognised"):
        read_value(tmp_path, content)


REAL = [
    ("adk-python__tests_integration_fixture_hello_world_agent_roll_die", 1, 3),
    ("adk-samples__python_agents_RAG_eval_data_conversation", 20, 22),
    ("adk-samples__python_agents_travel-concierge_eval_data_pretrip", 6, 2),
]


@pytest.mark.parametrize(("name", "calls", "asked"), REAL)
def test_real_eval_sets(cases: Path, name: str, calls: int, asked: int) -> None:
    (trace,) = read_evidence(cases / "traces" / "google-adk" / f"{name}.test.json").traces
    assert (len(trace.calls), len(list(trace.rows(StepKind.USER)))) == (calls, asked)
    assert not any(call.answered for call in trace.calls)
