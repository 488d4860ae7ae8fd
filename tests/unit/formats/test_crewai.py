"""Are the events of CrewAI read alike from a batch, a list and lines, whatever they say of what belongs together?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from forensics.core.jsonvalue import text_of
from forensics.core.trace import Boundary, Outcome, StepKind
from forensics.errors import EvidenceError
from tests.unit.formats.conftest import hiding, outcomes, read_evidence

if TYPE_CHECKING:
    from collections.abc import Callable

    from forensics.core.reading import Reading

Fields = dict[str, Any]
SAMPLE = Path(__file__).resolve().parents[2] / "contract" / "samples" / "crewai.jsonl"
CALLED = [
    ("0.0", "roster_lookup", "Ida Holm", "recorded"),
    ("1.0", "pager_trigger", {"page_id": "pg_8812"}, "recorded"),
]
ASKED = [{"role": "user", "content": "page ida"}]
ACTION = 'Thought: the roster\nAction: roster\nAction Input: {"team": "web"}'


def event(number: int, kind: str, *, inside: int | None = None, began: int | None = None, **data: Any) -> Fields:
    ids = [None if one is None else f"e-{one}" for one in (number, inside, began)]
    at = f"2026-11-03T09:15:{number:09.6f}+00:00"
    held = {"type": kind, "agent_role": "Responder", "started_event_id": ids[2], **data}
    return {"event_id": ids[0], "timestamp": at, "type": kind, "event_data": held, "parent_event_id": ids[1]}


def asked(number: int, *messages: Fields, **data: Any) -> Fields:
    return event(number, "llm_call_started", messages=[*ASKED, *messages], model="gpt-4o", **data)


def answered(number: int, response: Any, **data: Any) -> Fields:
    return event(number, "llm_call_completed", response=response, model="gpt-4o", **data)


def ran(number: int, tool: str, given: Any, **data: Any) -> tuple[Fields, Fields]:
    begun = event(number, "tool_usage_started", tool_name=tool, tool_args=given)
    kind = "tool_usage_error" if "error" in data else "tool_usage_finished"
    return begun, event(number + 1, kind, tool_name=tool, tool_args=given, **data)


def acting(*events: Fields) -> list[Fields]:
    """The events of one agent, in a run that ended; older releases say of none inside what it happened."""
    kind = "agent_execution"
    return [event(1, f"{kind}_started"), *events, event(59, f"{kind}_completed")]


def without_ids(sample: list[Fields]) -> list[Fields]:
    """The events as older releases wrote them."""
    own = ("emission_sequence", "parent_event_id", "started_event_id", "event_id", "call_id")
    told: list[Fields] = json.loads(json.dumps(sample))
    for one in told:
        for held in (one, one["event_data"]):
            for name in own:
                held.pop(name, None)
        one["event_id"] = "REDACTED"
    return told


@pytest.fixture
def sample() -> list[Fields]:
    events: list[Fields] = json.loads(SAMPLE.read_text(encoding="utf-8").splitlines()[1])["body"]["events"]
    return events


def test_what_its_tracing_sends() -> None:
    reading = read_evidence(SAMPLE)
    (trace,) = reading.traces
    assert (reading.evidence.format, trace.id) == ("crewai", "7c9f4b1e-0000-4000-8000-000000000001")
    assert outcomes(reading) == CALLED
    assert (reading.counts.records, reading.counts.input_tokens, reading.counts.output_tokens) == (16, 330, 35)
    assert (trace.turns, trace.ended_normally, reading.gaps) == (3, True, ())
    assert trace.facts["pager_trigger"].input_schema == {
        "type": "object",
        "properties": {"to": {"type": "string"}, "why": {"type": "object"}},
        "required": ["to"],
    }
    arguments = trace.calls[1].arguments
    assert arguments is not None
    assert json.loads(bytes(arguments)) == {"to": "ida", "why": {"alarm": {"rate": 0.31, "window": "5m"}}}


def test_every_container_tells_the_same(
    write: Callable[[Any], Reading], lines: Callable[[list[Fields]], Reading], sample: list[Fields]
) -> None:
    bare = [{"source_fingerprint": None, **one["event_data"], "timestamp": one["timestamp"]} for one in sample]
    readings = [write(sample), write({"events": sample}), lines(sample), write(bare), lines(bare)]
    for reading in [*readings, write(without_ids(sample)), lines(without_ids(sample))]:
        (trace,) = reading.traces
        assert (reading.evidence.format, outcomes(reading), trace.turns) == ("crewai", CALLED, 3)
        assert {trace.step(row).agent for row in trace.rows(StepKind.MODEL)} == {"Responder"}
        assert not reading.gaps


def test_a_place_is_that_of_the_event(sample: list[Fields], write: Callable[[Any], Reading]) -> None:
    (trace,) = write(sample).traces
    assert trace.pointer_of(trace.rows(StepKind.MODEL)[-1]) == "/12/event_data/response"
    asked_at = [call.requested.pointer for call in trace.calls if call.requested is not None]
    assert asked_at == ["/4/event_data/response", "/8/event_data/response"]
    results = [trace.pointer_of(row) for row in trace.rows(StepKind.TOOL_RESULT)]
    assert results == ["/6/event_data/output", "/10/event_data/output"]


STRANGE = {"role": "tool", "tool_call_id": "call_x9", "content": "paid"}
UNKNOWN = {"role": "assistant", "content": [repr({"type": "tool_use", "id": "call_x9", "name": "pay", "input": {}})]}


@pytest.mark.parametrize(
    ("kind", "strange"),
    [("llm_call_started", STRANGE), ("llm_call_started", UNKNOWN), ("llm_call_completed", STRANGE)],
)
def test_a_result_of_no_call_in_either_prompt_of_a_request_may_hide_one(
    sample: list[Fields], write: Callable[[Any], Reading], kind: str, strange: Fields
) -> None:
    """What an end tells is laid over what began: a result that only the beginning shows is no less one."""
    (*_, last) = (one["event_data"]["messages"] for one in sample if one["type"] == kind)
    assert hiding(write(sample)) == []
    last.append(strange)
    assert len(hiding(write(sample))) == 1


def test_a_prompt_in_the_shape_of_its_provider_is_the_same(
    sample: list[Fields], write: Callable[[Any], Reading]
) -> None:
    (*_, last) = (one["event_data"]["messages"] for one in sample if one["type"] == "llm_call_started")
    last[0] = {"role": "system", "content": "You are Responder."}
    last.append({"role": "user", "content": "Please go on."})
    assert hiding(write(sample)) == []


def test_a_model_without_function_calls_writes_them(write: Callable[[Any], Reading]) -> None:
    """What was observed is put behind the model's words in the next prompt; the words are still one turn."""
    observed = {"role": "assistant", "content": f"{ACTION}\nObservation: ida"}
    run = acting(
        asked(2),
        answered(3, ACTION, call_type="llm_call"),
        *ran(4, "roster", '{"team": "web"}', output="ida"),
        asked(6, observed),
        answered(7, "Final Answer: ida"),
    )
    reading = write(run)
    (trace,) = reading.traces
    assert [(one[1], one[2]) for one in outcomes(reading)] == [("roster", "ida")]
    assert (trace.turns, hiding(reading)) == (2, [])
    said = [text_of(raw) for row in trace.rows(StepKind.USER) if (raw := trace.payload[row]) is not None]
    assert said == ["page ida", "Observation: ida"]


@pytest.mark.parametrize("told", [(), (asked(6), answered(7, "Final Answer: ida"))])
def test_a_written_call_that_no_event_tells_of_is_a_gap(
    told: tuple[Fields, ...], write: Callable[[Any], Reading]
) -> None:
    (gap,) = hiding(write(acting(asked(2), answered(3, ACTION), *told)))
    assert "wrote down a call" in gap
    refused = event(4, "tool_selection_error", tool_name="roster", tool_args={}, error="no such tool")
    assert not hiding(write(acting(asked(2), answered(3, ACTION), refused, *told)))


@pytest.mark.parametrize(
    ("ending", "outcome"),
    [
        ({"output": "ida"}, Outcome.RECORDED),
        ({"output": ""}, Outcome.RECORDED),
        ({"error": "ValueError('no such team')"}, Outcome.FAILED),
        ({"error": "TimeoutError('too slow')"}, Outcome.INDETERMINATE),
        ({"output": "no", "failure": {"message": "no such team", "reason": "reported"}}, Outcome.FAILED),
    ],
)
def test_how_a_tool_ended(ending: Fields, outcome: Outcome, write: Callable[[Any], Reading]) -> None:
    call = [{"id": "c1", "type": "function", "function": {"name": "'roster'", "arguments": "'{}'"}}]
    turn = (asked(2), answered(3, call, call_type="tool_call"))
    (trace,) = write(acting(*turn, *ran(4, "roster", {}, **ending))).traces
    assert [(one.tool, one.recorded_id, one.outcome) for one in trace.calls] == [("roster", "c1", outcome)]


def test_a_failure_that_an_event_of_its_own_tells(write: Callable[[Any], Reading]) -> None:
    begun, ended = ran(4, "roster", {"team": "web"}, output="none there")
    failure = {"message": "no such team", "reason": "reported"}
    told = event(6, "tool_failure_detected", tool_name="roster", tool_args={"team": "web"}, failure=failure)
    for events in ([begun, ended, told], [begun, told, ended]):
        (call,) = write(acting(asked(2), answered(3, ACTION), *events)).traces[0].calls
        assert call.outcome is Outcome.FAILED


def test_a_result_out_of_the_cache_is_no_run_of_the_tool(write: Callable[[Any], Reading]) -> None:
    cached = ran(6, "roster", {"team": "web"}, output="ida", from_cache=True)
    reading = write(acting(asked(2), answered(3, ACTION), *ran(4, "roster", {"team": "web"}, output="ida"), *cached))
    assert len(reading.traces[0].calls) == 1


def test_tools_that_ran_side_by_side_are_told_apart_by_what_they_were_given(write: Callable[[Any], Reading]) -> None:
    one, other = (ran(at, "roster", {"team": team}, output=team) for at, team in ((4, "web"), (6, "shop")))
    events = [one[0], other[0], one[1], other[1]]
    names = [
        {"id": f"c{i}", "function": {"name": "roster", "arguments": a}}
        for i, a in enumerate(['{"team": "web"}', '{"team": "shop"}'])
    ]
    reading = write(acting(asked(2), answered(3, names, call_type="tool_call"), *events))
    told = [
        (call.recorded_id, value)
        for call, (_, _, value, _) in zip(reading.traces[0].calls, outcomes(reading), strict=True)
    ]
    assert told == [("c0", "web"), ("c1", "shop")]


def test_equal_calls_side_by_side_are_two(write: Callable[[Any], Reading]) -> None:
    """Nothing says inside what they ran: a tool that is open is not around the next one."""
    events = [event(n, f"tool_usage_{end}", tool_name="page", tool_args={}, agent_role="") for n, end in SIDE_BY_SIDE]
    reading = write([event(1, "crew_kickoff_started"), *events, event(9, "crew_kickoff_completed")])
    assert [call.tool for call in reading.traces[0].calls] == ["page", "page"]


SIDE_BY_SIDE = [(2, "started"), (3, "started"), (4, "finished"), (5, "finished")]


def test_an_agent_inside_a_tool_is_a_delegate(write: Callable[[Any], Reading]) -> None:
    given = {"task": "page", "coworker": "Pager"}
    begun, ended = ran(4, "delegate_work_to_coworker", given, output="paged")
    inner = [
        event(5, "agent_execution_started", agent_role="Pager"),
        asked(6, agent_role="Pager"),
        answered(7, "paged", agent_role="Pager"),
        event(8, "agent_execution_completed", agent_role="Pager"),
    ]
    (trace,) = write(
        acting(asked(2), answered(3, ACTION), begun, *inner, ended | {"timestamp": event(9, "x")["timestamp"]})
    ).traces
    assert [call.boundary for call in trace.calls] == [Boundary.SUB_AGENT]
    assert [trace.step(row).agent for row in trace.rows(StepKind.MODEL)] == ["Responder", "Pager"]


@pytest.mark.parametrize(
    "call",
    [
        {"type": "tool_use", "id": "c1", "name": "roster", "input": {"team": "web"}},
        {"toolUseId": "c1", "name": "roster", "input": {"team": "web"}},
        {"function_call": {"id": "c1", "name": "roster", "args": {"team": "web"}}},
        {"id": "c1", "function": {"name": "roster", "arguments": '{"team": "web"}'}},
    ],
)
def test_calls_in_the_words_of_each_provider(call: Fields, write: Callable[[Any], Reading]) -> None:
    (told,) = write(acting(asked(2), answered(3, [call], call_type="tool_call"))).traces[0].calls
    assert (told.tool, told.recorded_id) == ("roster", "c1")
    assert told.arguments is not None
    assert json.loads(
        json.loads(bytes(told.arguments)) if bytes(told.arguments)[:1] == b'"' else bytes(told.arguments)
    ) == {"team": "web"}


@pytest.mark.parametrize("kind", ["tool_call", "<LLMCallType.TOOL_CALL: 'tool_call'>"])
def test_what_a_tool_returned_inside_a_request_is_not_what_the_model_said(
    kind: str, write: Callable[[Any], Reading]
) -> None:
    reading = write(acting(asked(2), *ran(3, "roster", {}, output="ida"), answered(5, "ida", call_type=kind)))
    (trace,) = reading.traces
    assert [call.tool for call in trace.calls] == ["roster"]
    assert [trace.payload[row] for row in trace.rows(StepKind.MODEL)] == [None]
    assert not hiding(reading)


@pytest.mark.parametrize("response", ["", None])
def test_an_empty_answer_may_hide_calls(response: str | None, write: Callable[[Any], Reading]) -> None:
    reading = write(acting(asked(2), answered(3, response, call_type="llm_call")))
    assert hiding(reading) == ["the model's answer is empty: what it asked for may not be recorded"]


def test_memory_and_knowledge_leave_the_agent(write: Callable[[Any], Reading]) -> None:
    events = [
        event(2, "memory_query_started", query="who", limit=3),
        event(3, "memory_query_completed", query="who", results=[], limit=3),
        asked(4),
        answered(5, "ida"),
        event(6, "memory_save_started", value="ida is on call"),
        event(7, "memory_save_completed", value="ida is on call"),
    ]
    reading = write(acting(*events))
    assert [(call.boundary, call.tool) for call in reading.traces[0].calls] == [
        (Boundary.RETRIEVER, "memory.search"),
        (Boundary.MEMORY, "memory.save"),
    ]
    assert outcomes(reading)[0][2:] == ([], "recorded")


def test_a_run_is_a_trace(lines: Callable[[list[Fields]], Reading]) -> None:
    def run(first: int) -> list[Fields]:
        kickoff = event(first, "crew_kickoff_started"), event(first + 5, "crew_kickoff_completed")
        return [kickoff[0], asked(first + 1), answered(first + 2, "done"), kickoff[1]]

    quiet = event(1, "default_env")
    reading = lines([quiet, *run(2), *run(12)])
    assert [(trace.id, trace.turns) for trace in reading.traces] == [("trace-0", 1), ("trace-1", 1)]
    assert not reading.gaps


HIDING: list[tuple[str, list[Fields]]] = [
    ("may be a call", [event(9, "gadget_call_started", tool_name="rm", tool_args={})]),
    ("elsewhere was asked", [event(9, "a2a_delegation_started", endpoint="https://agents.example")]),
    ("before what they tell of has ended", [event(9, "tool_usage_started", tool_name="rm", tool_args={})]),
]


@pytest.mark.parametrize(("says", "events"), HIDING)
def test_what_may_hide_a_call_is_a_gap(says: str, events: list[Fields], write: Callable[[Any], Reading]) -> None:
    told = (asked(2), answered(3, "done"))
    assert not hiding(write(acting(*told)))
    assert any(says in one for one in hiding(write(acting(*told, *events))))


def test_what_the_own_code_of_a_flow_did_is_a_gap(write: Callable[[Any], Reading]) -> None:
    begun, ended = (
        event(at, f"method_execution_{end}", method_name="prepare") for at, end in ((2, "started"), (6, "finished"))
    )
    flow = event(1, "flow_started"), event(9, "flow_finished")
    assert not hiding(write([flow[0], begun, asked(3), answered(4, "done"), ended, flow[1]]))
    (gap,) = hiding(write([flow[0], begun, ended, asked(7), answered(8, "done"), flow[1]]))
    assert "what its own code did" in gap


def batch(*events: Fields, count: int, final: int) -> list[Fields]:
    uri = "https://crew.example/v1/tracing/batches"
    metadata = {"events_count": count, "batch_sequence": 1}
    return [
        {"method": "POST", "uri": uri, "body": {"trace_id": "b-1", "execution_context": {"crew_name": "crew"}}},
        {"method": "POST", "uri": f"{uri}/b-1/events", "body": {"events": list(events), "batch_metadata": metadata}},
        {"method": "PATCH", "uri": f"{uri}/b-1/finalize", "body": {"status": "completed", "final_event_count": final}},
    ]


def test_events_that_were_sent_and_are_not_there(lines: Callable[[list[Fields]], Reading]) -> None:
    events = acting(asked(2), answered(3, "done"))
    assert not lines(batch(*events, count=4, final=4)).gaps
    assert hiding(lines(batch(*events, count=5, final=4))) == ["4 events stand in a batch that says it has 5"]
    assert hiding(lines(batch(*events, count=4, final=6))) == [
        "4 events of this batch stand in the evidence, and 6 were sent"
    ]
    head, _, end = batch(count=0, final=0)
    reading = lines([*batch(*events, count=4, final=4), {**head, "body": {**head["body"], "trace_id": "b-2"}}])
    assert [(trace.id, len(trace)) for trace in reading.traces] == [("b-1", 2), ("b-2", 1)]
    assert hiding(reading) == ["none of the events of this batch is in the evidence"]
    failed = {**end, "body": {"status": "failed", "failure_reason": "timeout"}}
    assert "events of it may be missing" in hiding(lines([*batch(*events, count=4, final=4)[:2], failed]))[0]


def test_a_batch_that_was_sent_twice_is_told_once(lines: Callable[[list[Fields]], Reading]) -> None:
    once = SAMPLE.read_text(encoding="utf-8").splitlines()
    reading = lines([json.loads(line) for line in (*once[:2], *once[1:])])
    assert outcomes(reading) == CALLED
    assert (reading.counts.duplicate_records, hiding(reading)) == (16, [])
    assert [one.code for one in reading.findings] == ["duplicate_record"]


def test_other_requests_are_no_batches(lines: Callable[[list[Fields]], Reading]) -> None:
    told = batch(*acting(asked(2), answered(3, "done")), count=4, final=4)
    other = {"method": "POST", "uri": "https://api.example/v1/chat", "body": {"messages": []}}
    assert hiding(lines([*told, other])) == ["a record that is no event and holds none"]


@pytest.mark.parametrize("content", [{"events": [{"type": "x"}]}, {"type": "task_started"}, [{"event_data": {}}]])
def test_what_is_not_known_for_its_events(content: Any, write: Callable[[Any], Reading]) -> None:
    with pytest.raises(EvidenceError, match="not recognised"):
        write(content)


def test_many_events_that_nothing_ends_take_no_longer_each(write: Callable[[Any], Reading]) -> None:
    begun = [event(n, "tool_usage_started", tool_name=f"t{n}", tool_args={}) for n in range(3_000)]
    ended = [event(n, "tool_usage_finished", tool_name=f"u{n}", tool_args={}, output="x") for n in range(3_000, 6_000)]
    assert len(write([*begun, *ended]).traces[0].calls) == 6_000


@pytest.mark.parametrize(
    ("name", "records", "turns", "calls"),
    [
        ("test_agent_knowledege_with_crewai_knowledge", 12, 0, 1),
        ("test_crew_train_success", 10, 2, 0),
        ("test_json_property_without_output_json", 8, 1, 0),
        ("test_memory_remember_receives_task_content", 18, 1, 5),
    ],
)
def test_recorded_batches(name: str, records: int, turns: int, calls: int, cases: Path) -> None:
    reading = read_evidence(cases / "traces" / "crewai-tracing" / f"{name}.jsonl")
    trace = reading.traces[0]
    assert (reading.counts.records, trace.turns, len(trace.calls)) == (records, turns, calls)


def test_a_tool_of_a_server_that_another_tool_runs_is_a_call(write: Callable[[Any], Reading]) -> None:
    """A tool of a server runs inside one that has the server's name before its own; any other does more than that."""
    inner = [event(5, "mcp_tool_execution_started", tool_name="page", tool_args={})]
    inner.append(event(6, "mcp_tool_execution_completed", tool_name="page", tool_args={}, result="ok"))
    for tool, calls in (("desk_page", 1), ("look", 2)):
        begun, ended = ran(4, tool, "{}", output="ok")
        assert len(write(acting(begun, *inner, {**ended, "event_id": "e-7"})).traces[0].calls) == calls


ODD: list[list[Fields]] = [
    [asked(8)],
    [asked(8), answered(9, "**Action:** rm\n**Action Input:** {}")],
    [asked(8), answered(9, "done", more={"tool": "rm", "arguments": {}})],
    [{**event(8, "agent_logs_started"), "more": {"tool": "rm", "arguments": {}}}],
]


@pytest.mark.parametrize("odd", ODD)
def test_a_call_of_which_no_event_is_read_is_a_gap(odd: list[Fields], write: Callable[[Any], Reading]) -> None:
    told = [asked(2), answered(3, "hm"), *ran(4, "look", "{}", output="ok")]
    assert not hiding(write(acting(*told)))
    assert hiding(write(acting(*told, *odd)))
