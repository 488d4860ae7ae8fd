"""Are the events of a managed agent read the same however they were kept, and is what they leave out a gap?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from forensics.core.jsonvalue import text_of, value_of
from forensics.core.trace import Outcome, StepKind
from forensics.errors import EvidenceError
from tests.unit.formats.conftest import outcomes, read_evidence, read_records, read_value

if TYPE_CHECKING:
    from forensics.core.reading import Reading

Fields = dict[str, Any]
SAMPLE = Path(__file__).resolve().parents[2] / "contract" / "samples" / "anthropic-managed-agents.jsonl"
RECORDED = [json.loads(line) for line in SAMPLE.read_text(encoding="utf-8").splitlines()]
SESSION: Fields = RECORDED[0][1]
EVENTS: list[Fields] = [held for method, held in RECORDED if method.endswith(".stream")]


def said(text: str) -> list[Fields]:
    return [{"type": "text", "text": text}]


def event(kind: str, at: int, **fields: Any) -> Fields:
    return {"id": f"sevt_{at}", "type": kind, "processed_at": f"2026-11-29T10:00:{at:02}Z", **fields}


GO = event("user.message", 1, content=said("go"))
STARTS = event("span.model_request_start", 2)
ASKS = event("agent.tool_use", 3, name="bash", input={"command": "rm x"}, evaluated_permission="allow")
ENDS = event("span.model_request_end", 4, is_error=False, model_usage={"input_tokens": 5, "output_tokens": 3})
SHOWS = event("agent.tool_result", 5, tool_use_id="sevt_3", content=said("gone"), is_error=False)
AGAIN = event("span.model_request_start", 6)
DONE = event("agent.message", 7, content=said("done"))
IDLE = event("session.status_idle", 9, stop_reason={"type": "end_turn"})
RUN = [GO, STARTS, ASKS, ENDS, SHOWS, AGAIN, DONE, {**ENDS, "id": "sevt_8"}, IDLE]


def hiding(reading: Reading) -> list[str]:
    return [gap.code for gap in reading.gaps if gap.hides]


def test_a_recording_of_the_clients_calls() -> None:
    reading = read_evidence(SAMPLE)
    (trace,) = reading.traces
    assert (reading.evidence.format, trace.id) == ("anthropic-managed-agents", "sesn_pager")
    assert outcomes(reading) == [
        ("0.0", "ask_roster", said("Ida"), "recorded"),
        ("0.1", "bash", said("Sun Nov 29 10:00:03 UTC 2026"), "recorded"),
        ("1.0", "trigger", said('{"page_id": "pg_8812"}'), "recorded"),
    ]
    assert [value_of(call.arguments) for call in trace.calls if call.arguments] == [
        {"team": "checkout"},
        {"command": "date"},
        {"person": "Ida"},
    ]
    words = [text_of(raw) for row in trace.rows(StepKind.MODEL) if (raw := trace.payload[row]) is not None]
    assert words == ["The roster first.", "Paged Ida: pg_8812."]
    assert [call.server for call in trace.calls] == [None, None, "pager"]
    assert (trace.agents, list(trace.facts), trace.ended_normally) == (["oncall"], ["ask_roster"], True)
    assert (reading.counts.input_tokens, reading.counts.output_tokens) == (360, 44)
    assert not reading.gaps


def test_what_the_client_sent_and_got_back_is_told_once() -> None:
    (trace,) = read_evidence(SAMPLE).traces
    assert [text_of(trace.payload[row] or b"") for row in trace.rows(StepKind.USER)] == ["page whoever is on call"]


def test_the_same_words_said_twice_are_told_twice(tmp_path: Path) -> None:
    sent = {"type": "user.message", "content": said("go")}
    records: list[Any] = [["send", ["sesn_1", {"events": [sent]}]], ["stream", GO]]
    records += [["send", ["sesn_1", {"events": [sent]}]], ["stream", {**GO, "id": "sevt_99"}], ["stream", DONE]]
    (trace,) = read_records(tmp_path, *records).traces
    assert len(list(trace.rows(StepKind.USER))) == 2


def test_every_container_tells_the_same(tmp_path: Path) -> None:
    told = [
        read_records(tmp_path, *EVENTS),
        read_value(tmp_path, EVENTS),
        read_value(tmp_path, {"data": EVENTS, "next_page": None}),
        read_value(tmp_path, {"data": EVENTS[::-1], "next_page": None}),
        read_value(tmp_path, {"session": SESSION, "events": EVENTS}),
        read_value(tmp_path, {**SESSION, "events": EVENTS}),
        read_records(tmp_path, {"data": EVENTS[:9], "next_page": None}, {"data": EVENTS[9:], "next_page": None}),
    ]
    for reading in told:
        assert reading.evidence.format == "anthropic-managed-agents"
        assert outcomes(reading) == outcomes(read_evidence(SAMPLE))
        assert not reading.gaps
    assert [one.traces[0].id for one in told] == [*["session"] * 4, "sesn_pager", "sesn_pager", "session"]


def stream(tmp_path: Path, text: str) -> Reading:
    path = tmp_path / "events.txt"
    path.write_text(text, encoding="utf-8")
    return read_evidence(path)


def sent(*events: Fields) -> str:
    return "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in events)


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_the_stream_as_it_came(tmp_path: Path, ends: str) -> None:
    told = f": ping\n\n{sent(*EVENTS[:6])}: ping\n\n{sent(*EVENTS[6:])}".replace("\n", ends)
    reading = stream(tmp_path, told)
    assert reading.evidence.format == "anthropic-managed-agents"
    assert outcomes(reading) == outcomes(read_evidence(SAMPLE))
    assert not reading.gaps


@pytest.mark.parametrize("line", ['data: {"type": "agent.tool_use", "na', "curl: (18) transfer closed", "data: [DONE}"])
def test_a_line_of_the_stream_that_is_none_is_a_bad_line(tmp_path: Path, line: str) -> None:
    reading = stream(tmp_path, f"{sent(*RUN)}{line}\n")
    assert (len(reading.counts.bad_lines), len(reading.traces[0].calls)) == (1, 1)
    assert hiding(reading)


def test_events_that_are_told_again_are_told_once(tmp_path: Path) -> None:
    queued = {**GO, "processed_at": None}
    reading = read_value(tmp_path, [queued, *RUN, SHOWS])
    assert len(list(reading.traces[0].rows(StepKind.USER))) == 1
    assert (reading.counts.duplicate_records, len(reading.traces[0].calls)) == (2, 1)


@pytest.mark.parametrize(
    ("permission", "answer", "outcome"),
    [
        ("allow", {"content": said("gone"), "is_error": False}, Outcome.RECORDED),
        ("allow", {"content": said("no such file"), "is_error": True}, Outcome.FAILED),
        ("deny", {"content": said("it may not be run"), "is_error": True}, Outcome.DENIED),
        ("deny", {"content": said("gone"), "is_error": False}, Outcome.RECORDED),
        ("deny", None, Outcome.DENIED),
        ("allow", None, Outcome.ABSENT),
        ("allow", {}, Outcome.ABSENT),
    ],
)
def test_how_a_call_ended(tmp_path: Path, permission: str, answer: Fields | None, outcome: Outcome) -> None:
    answers = [] if answer is None else [event("agent.tool_result", 5, tool_use_id="sevt_3", **answer)]
    asks = {**ASKS, "evaluated_permission": permission}
    (call,) = read_value(tmp_path, [GO, STARTS, asks, ENDS, *answers, AGAIN, DONE, IDLE]).traces[0].calls
    assert call.outcome is outcome


def test_what_a_person_refused_did_not_run(tmp_path: Path) -> None:
    refuses = event("user.tool_confirmation", 5, tool_use_id="sevt_3", result="deny", deny_message="not now")
    trace = read_value(
        tmp_path, [GO, STARTS, {**ASKS, "evaluated_permission": "ask"}, ENDS, refuses, AGAIN, DONE]
    ).traces[0]
    assert [call.outcome for call in trace.calls] == [Outcome.DENIED]
    kinds = [StepKind(kind) for kind in trace.kind]
    assert kinds.index(StepKind.APPROVAL_REQUEST) < kinds.index(StepKind.APPROVAL)


def test_calls_of_one_request_were_asked_for_together(tmp_path: Path) -> None:
    second = {**ASKS, "id": "sevt_33"}
    answers = [SHOWS, {**SHOWS, "id": "sevt_55", "tool_use_id": "sevt_33"}]
    together = read_value(tmp_path, [GO, STARTS, ASKS, answers[0], second, ENDS, answers[1], AGAIN, DONE]).traces[0]
    assert [call.occurrence for call in together.calls] == ["0.0", "0.1"]
    apart = read_value(tmp_path, [GO, STARTS, ASKS, ENDS, answers[0], AGAIN, second, ENDS, answers[1]]).traces[0]
    assert [call.occurrence for call in apart.calls] == ["0.0", "1.0"]


def test_messages_of_one_request_are_the_words_of_one_turn(tmp_path: Path) -> None:
    more = {**DONE, "id": "sevt_70", "content": said("and gone")}
    trace = read_value(tmp_path, [*RUN[:7], more, *RUN[7:]]).traces[0]
    assert [text_of(raw) for row in trace.rows(StepKind.MODEL) if (raw := trace.payload[row])] == ["done\nand gone"]


@pytest.mark.parametrize(
    ("reason", "ended"),
    [("end_turn", True), ("requires_action", None), ("retries_exhausted", False), ("refusal", False)],
)
def test_how_a_session_ended(tmp_path: Path, reason: str, ended: Any) -> None:
    idle = {**IDLE, "stop_reason": {"type": reason}}
    assert read_value(tmp_path, [*RUN[:-1], idle]).traces[0].ended_normally is ended


def test_another_threads_call_is_in_a_lane_of_its_own(tmp_path: Path) -> None:
    begins = event("session.thread_created", 10, session_thread_id="sthr_2", agent_name="digger")
    asks = event("agent.custom_tool_use", 11, name="dig", input={}, session_thread_id="sthr_2")
    shows = event("user.custom_tool_result", 12, custom_tool_use_id="sevt_11", content=said("deep"))
    reading = read_value(tmp_path, [*RUN, begins, asks, shows])
    assert [(call.tool, call.agent) for call in reading.traces[0].calls] == [("bash", ""), ("dig", "digger")]
    assert reading.traces[0].calls[1].answered
    assert hiding(reading) == ["evidence_gap"]


HIDING: list[Fields] = [
    event("session.thread_created", 10, session_thread_id="sthr_2", agent_name="digger"),
    event("agent.thread_message_sent", 10, to_session_thread_id="sthr_2", to_agent_name="digger", content=said("dig")),
    event("workflow_run.created", 10, workflow_run_id="wf_1", name="sweep", phases=[]),
    event("agent.server_tool_use", 10, name="rm", input={}),
    event("agent.hunch", 10),
    event("session.tool_use", 10, name="rm"),
    event("session.updated", 10, metadata={}, pending=[{"name": "rm", "input": {}}]),
    {"type": "event_start", "event": {"type": "agent.message", "id": "sevt_lost"}},
    event("span.model_request_start", 10),
    {"data": [], "next_page": "page_2"},
    {"data": [], "has_more": True, "last_id": "sevt_9"},
    {"threads": [{"id": "sthr_2", "events": [ASKS]}]},
    {"threads": {"sthr_2": [SHOWS]}},
    {"response": {"status": 200, "body": {"data": [ASKS]}}},
    event("session.updated", 10, metadata={"pending": [{"function": {"name": "rm", "arguments": "{}"}}]}),
    event("agent.tool_result", 10, tool_use_id="sevt_unknown", content=said("gone")),
]


@pytest.mark.parametrize("one", HIDING, ids=lambda one: one.get("type", "page"))
def test_what_may_hide_a_call_is_a_gap(tmp_path: Path, one: Fields) -> None:
    assert not read_value(tmp_path, RUN).gaps
    assert hiding(read_value(tmp_path, [*RUN, one]))


def test_events_in_lists_deeper_than_is_read_are_a_gap(tmp_path: Path) -> None:
    assert hiding(read_value(tmp_path, [*RUN, [[[[[{**ASKS, "id": "sevt_deep"}]]]]]]))


def test_a_whole_page_hides_nothing(tmp_path: Path) -> None:
    page = {"data": RUN, "has_more": False, "first_id": "sevt_1", "last_id": "sevt_9"}
    assert not read_value(tmp_path, page).gaps


def test_what_the_client_sent_may_be_spelled_as_a_text(tmp_path: Path) -> None:
    spelled = json.dumps({"events": [{**ASKS, "id": "sevt_late"}]})
    reading = read_records(tmp_path, *RUN, ["send", "sesn_1", spelled])
    assert [call.tool for call in reading.traces[0].calls] == ["bash", "bash"]


def test_a_preview_that_the_event_itself_follows_hides_nothing(tmp_path: Path) -> None:
    preview = {"type": "event_start", "event": {"type": "agent.message", "id": DONE["id"]}}
    delta = {
        "type": "event_delta",
        "event_id": DONE["id"],
        "delta": {"type": "content_delta", "content": said("do")[0]},
    }
    reading = read_value(tmp_path, [*RUN[:6], preview, delta, *RUN[6:]])
    assert outcomes(reading) == outcomes(read_value(tmp_path, RUN))
    assert not reading.gaps


def test_events_without_the_requests_of_the_model_were_chosen_by_kind(tmp_path: Path) -> None:
    chosen = [one for one in RUN if not one["type"].startswith("span.")]
    assert hiding(read_value(tmp_path, chosen)) == ["evidence_gap"]


def test_events_of_several_sessions_are_a_gap_of_each(tmp_path: Path) -> None:
    records: list[Any] = [SESSION, *RUN, {**SESSION, "id": "sesn_other"}, {**GO, "id": "sevt_77"}]
    reading = read_records(tmp_path, *records)
    assert [trace.id for trace in reading.traces] == ["sesn_pager", "sesn_other"]
    assert all(any(gap.hides for gap in trace.gaps) for trace in reading.traces)


def test_other_objects_of_the_api_are_no_events(tmp_path: Path) -> None:
    records: list[Any] = [["create", {"type": "environment", "id": "env_1", "config": {"type": "cloud"}}], *RECORDED]
    reading = read_records(tmp_path, *records)
    assert [trace.id for trace in reading.traces] == ["sesn_pager"]
    assert not reading.gaps


def test_a_session_that_is_named_behind_its_events_is_the_same(tmp_path: Path) -> None:
    reading = read_records(tmp_path, *RUN, SESSION)
    assert len(reading.traces) == 1
    assert not reading.gaps


@pytest.mark.parametrize(
    "records",
    [
        [{"type": "session.error", "properties": {}}],
        [{"type": "agent.tool_use", "payload": {"tool": "rm"}}],
        [["a", 1], ["b", 2]],
    ],
)
def test_other_logs_are_none_of_it(tmp_path: Path, records: list[Any]) -> None:
    with pytest.raises(EvidenceError, match="not recognised"):
        read_records(tmp_path, *records, *records)


@pytest.mark.parametrize(("name", "tool"), [("builtin", "bash"), ("custom", "get_weather")])
def test_real_recordings(cases: Path, name: str, tool: str) -> None:
    folder = cases / "traces" / "anthropic-managed-agents"
    reading = read_evidence(folder / f"langsmith-sdk__js_src_tests_test_data_anthropic_managed_{name}_tools.jsonl")
    assert [(one[1], one[3]) for one in outcomes(reading)] == [(tool, "recorded")]
    assert not reading.gaps
