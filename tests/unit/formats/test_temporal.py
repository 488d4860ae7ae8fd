"""Is a workflow's history read in the order of its events, with its retries, timeouts and what stands elsewhere?"""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import pytest

from forensics.core.jsonvalue import value_of
from forensics.core.trace import Boundary, Outcome, StepKind
from tests.unit.formats.conftest import read_evidence

if TYPE_CHECKING:
    from pathlib import Path

    from forensics.core.reading import Reading
    from forensics.core.trace import Trace

Fields = dict[str, Any]


def coded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def payload(value: Any, encoding: str = "json/plain") -> Fields:
    return {"metadata": {"encoding": coded(encoding)}, "data": coded(json.dumps(value))}


def payloads(*values: Any) -> Fields:
    return {"payloads": [payload(v) for v in values]}


def event(number: int, kind: str, **attributes: Any) -> Fields:
    camel = "".join(word.title() for word in kind.split("_"))
    name = f"{camel[0].lower()}{camel[1:]}EventAttributes"
    return {"eventId": str(number), "eventTime": "2025-06-30T16:05:53Z", "eventType": f"EVENT_TYPE_{kind.upper()}",
            name: attributes}  # fmt: skip


def started(number: int = 1, **more: Any) -> Fields:
    more = {"workflowType": {"name": "Agent"}, "input": payloads("weather?"), "workflowId": "wf-1", **more}
    return event(number, "workflow_execution_started", **more)


def scheduled(number: int, name: str, *values: Any) -> Fields:
    return event(number, "activity_task_scheduled", activityType={"name": name}, input=payloads(*values))


def completed(number: int, of: int, result: Any) -> Fields:
    return event(number, "activity_task_completed", scheduledEventId=str(of), result=payloads(result))


def request(*items: Fields, instructions: str = "Be brief.") -> Fields:
    tool = {"name": "get_weather", "description": "Weather.", "params_json_schema": {"type": "object"}}
    return {"model_name": "gpt", "system_instructions": instructions, "input": list(items), "tools": [tool]}


ASKED = {"type": "function_call", "call_id": "c1", "name": "get_weather", "arguments": '{"city": "Rome"}'}
USER = {"role": "user", "content": "weather?"}
SHOWN = {"type": "function_call_output", "call_id": "c1", "output": "{'high': 20}"}
DONE = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "20"}]}


def read(tmp_path: Path, *events: Fields, wrapped: bool = True) -> Reading:
    path = tmp_path / "history.json"
    path.write_text(json.dumps({"events": list(events)} if wrapped else list(events)), encoding="utf-8")
    return read_evidence(path)


def trace_of(tmp_path: Path, *events: Fields) -> Trace:
    return read(tmp_path, *events).traces[0]


AGENT = (
    started(),
    scheduled(2, "invoke_model_activity", request(USER)),
    completed(3, 2, {"output": [ASKED], "usage": {"input_tokens": 7, "output_tokens": 2}}),
    scheduled(4, "get_weather", "Rome"),
    completed(5, 4, {"high": 20}),
    scheduled(6, "invoke_model_activity", request(USER, ASKED, SHOWN)),
    completed(7, 6, {"output": [DONE]}),
    event(8, "workflow_execution_completed", result=payloads("20")),
)


def test_request_activity_and_shown_result_are_one_call(tmp_path: Path) -> None:
    reading = read(tmp_path, *AGENT)
    trace = reading.traces[0]
    (call,) = trace.calls
    assert (trace.id, call.occurrence, call.tool, call.outcome) == ("wf-1", "0.0", "get_weather", Outcome.RECORDED)
    assert None not in (call.requested, call.executed, call.shown)
    assert (trace.gaps, trace.findings, trace.ended_normally) == ((), [], True)
    assert trace.facts["get_weather"].input_schema == {"type": "object"}
    assert reading.counts.input_tokens == 7


def test_the_order_is_that_of_the_numbers(tmp_path: Path) -> None:
    shuffled = trace_of(tmp_path, *reversed(AGENT))
    assert [(c.occurrence, c.tool) for c in shuffled.calls] == [("0.0", "get_weather")]
    assert not shuffled.gaps


def test_a_missing_event_is_a_gap_and_a_repeated_one_is_not(tmp_path: Path) -> None:
    assert next(g.message for g in trace_of(tmp_path, *AGENT[:4], *AGENT[5:]).gaps) == "events 5 to 5 are missing"
    again = read(tmp_path, *AGENT, AGENT[4])
    assert (again.counts.duplicate_records, again.gaps) == (1, ())


def test_decoded_exports_and_short_names_say_the_same(tmp_path: Path) -> None:
    plain = [
        {"eventId": 1, "eventType": "WorkflowExecutionStarted", "attributes": {"workflowId": "wf-1"}},
        {"eventId": 2, "eventType": "ActivityTaskScheduled",
         "attributes": {"activityType": {"name": "charge"}, "input": [{"amount": 5}]}},
        {"eventId": 3, "eventType": "ActivityTaskCompleted", "attributes": {"scheduledEventId": 2, "result": ["ok"]}},
    ]  # fmt: skip
    for wrapped in (True, False):
        reading = read(tmp_path, *plain, wrapped=wrapped)
        (call,) = reading.traces[0].calls
        assert reading.evidence.format == "temporal"
        assert call.arguments is not None
        assert call.result is not None
        assert (value_of(call.arguments), value_of(call.result)) == ({"amount": 5}, "ok")


@pytest.mark.parametrize(
    ("how", "attributes", "outcome"),
    [
        ("failed", {"failure": {"message": "declined"}}, Outcome.FAILED),
        ("failed", {"failure": {"message": "late", "timeoutFailureInfo": {}}}, Outcome.INDETERMINATE),
        ("timed_out", {"failure": {"message": "activity timeout"}}, Outcome.INDETERMINATE),
        ("canceled", {"details": payloads("stop")}, Outcome.INDETERMINATE),
    ],
)
def test_how_an_activity_ended(tmp_path: Path, how: str, attributes: Fields, outcome: Outcome) -> None:
    ended = event(3, f"activity_task_{how}", scheduledEventId="2", **attributes)
    (call,) = trace_of(tmp_path, started(), scheduled(2, "charge", 5), ended).calls
    assert call.outcome is outcome


def test_an_activity_that_never_ended_may_have_taken_effect(tmp_path: Path) -> None:
    (call,) = trace_of(tmp_path, started(), scheduled(2, "charge", 5)).calls
    assert call.outcome is Outcome.INDETERMINATE


def test_earlier_attempts_are_said_to_be_unknown(tmp_path: Path) -> None:
    begun = event(3, "activity_task_started", scheduledEventId="2", attempt=3)
    trace = trace_of(tmp_path, started(), scheduled(2, "charge", 5), begun, completed(4, 2, "ok"))
    assert [f.code for f in trace.findings] == ["unknown_outcome"]


def test_what_leaves_the_workflow_otherwise_is_a_call(tmp_path: Path) -> None:
    trace = trace_of(
        tmp_path,
        started(),
        event(2, "start_child_workflow_execution_initiated", workflowType={"name": "Helper"}, input=payloads(1)),
        event(3, "child_workflow_execution_completed", initiatedEventId="2", result=payloads("done")),
        event(4, "nexus_operation_scheduled", service="billing", operation="charge", input=payload(5)),
        event(5, "nexus_operation_completed", scheduledEventId="4", result=payload("ok")),
        event(6, "signal_external_workflow_execution_initiated", signalName="stop", input=payloads()),
        event(7, "external_workflow_execution_signaled", initiatedEventId="6"),
        event(8, "marker_recorded", markerName="LocalActivity",
              details={"data": payloads({"ActivityType": "hash"}), "result": payloads("x")}),
    )  # fmt: skip
    assert [(c.tool, c.boundary, c.outcome) for c in trace.calls] == [
        ("Helper", Boundary.SUB_AGENT, Outcome.RECORDED),
        ("billing.charge", Boundary.TOOL, Outcome.RECORDED),
        ("signal stop", Boundary.MESSAGING, Outcome.RECORDED),
        ("hash", Boundary.TOOL, Outcome.RECORDED),
    ]
    assert [g.message for g in trace.gaps] == ["what the child workflow Helper did stands in a history of its own"]


def test_encrypted_payloads_hide_what_an_activity_is(tmp_path: Path) -> None:
    secret = {"payloads": [payload("x", "binary/encrypted")]}
    asked = event(2, "activity_task_scheduled", activityType={"name": "do"}, input=secret)
    done = event(3, "activity_task_completed", scheduledEventId="2", result=secret)
    trace = trace_of(tmp_path, started(), asked, done)
    assert [(c.tool, c.outcome, c.arguments) for c in trace.calls] == [("do", Outcome.ABSENT, None)]
    assert [g.hides for g in trace.gaps] == [True, True]


def test_a_model_request_in_a_shape_that_is_not_read_is_a_gap(tmp_path: Path) -> None:
    trace = trace_of(tmp_path, started(), scheduled(2, "agent__model_request", {"parts": []}), completed(3, 2, "x"))
    assert len(trace.calls) == 1
    assert any("called as a model request" in g.message for g in trace.gaps)


def test_an_unanswered_model_request_is_a_silent_turn(tmp_path: Path) -> None:
    trace = trace_of(tmp_path, *AGENT[:2])
    assert trace.silent_turns == [0]


def test_a_result_without_its_beginning_is_a_gap(tmp_path: Path) -> None:
    assert [g.code for g in trace_of(tmp_path, started(), completed(2, 9, "x")).gaps] == ["orphan_result"]


def test_signals_and_updates_are_what_the_user_said(tmp_path: Path) -> None:
    signal = event(2, "workflow_execution_signaled", signalName="approve", input=payloads({"by": "Ann"}))
    update = event(3, "workflow_execution_update_accepted",
                   acceptedRequest={"input": {"name": "say", "args": payloads("hi")}})  # fmt: skip
    trace = trace_of(tmp_path, started(), signal, update)
    assert [trace.step(row).name for row in trace.rows(StepKind.USER)] == ["Agent", "approve", "say"]


def test_a_workflow_that_failed_did_not_end(tmp_path: Path) -> None:
    trace = trace_of(tmp_path, started(), event(2, "workflow_execution_failed", failure={"message": "no"}))
    assert trace.ended_normally is False


def test_adk_contents_are_turns(cases: Path) -> None:
    name = "sdk-python__tests_contrib_google_adk_agents_histories_multi_agent.json"
    trace = read_evidence(cases / "traces" / "temporal" / name).traces[0]
    assert (trace.turns, [c.tool for c in trace.calls]) == (3, ["transfer_to_agent", "transfer_to_agent"])
