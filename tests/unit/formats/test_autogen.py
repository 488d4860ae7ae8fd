"""Are AutoGen's results, messages, saved states and recorded requests read alike?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from forensics.core.jsonvalue import raw, text_of
from forensics.core.trace import Boundary, Outcome, StepKind
from forensics.errors import EvidenceError
from tests.unit.formats.conftest import hiding, outcomes, read_evidence

if TYPE_CHECKING:
    from collections.abc import Callable

    from forensics.core.reading import Reading

Fields = dict[str, Any]
SAMPLE = Path(__file__).resolve().parents[2] / "contract" / "samples" / "autogen.json"
CALLED = [
    ("0.0", "roster_lookup", "Ida Holm", "recorded"),
    ("1.0", "pager_trigger", {"page_id": "pg_8812"}, "recorded"),
]
USED = {"prompt_tokens": 5, "completion_tokens": 7}


def told(kind: str, content: Any, source: str = "responder", **members: Any) -> Fields:
    return {"source": source, "models_usage": None, "metadata": {}, "content": content, "type": kind, **members}


def call(key: str = "c1", name: str = "page", arguments: str = '{"to": "ida"}') -> Fields:
    return {"id": key, "arguments": arguments, "name": name}


def came(key: str = "c1", content: str = "ok", **members: Any) -> Fields:
    return {"content": content, "name": "page", "call_id": key, "is_error": False, **members}


TASK = told("TextMessage", "page ida", "user")
ASKS = told("ToolCallRequestEvent", [call()], models_usage=USED)
SHOWS = told("ToolCallExecutionEvent", [came()])
ENDS = told("TextMessage", "paged", models_usage=USED)


@pytest.fixture
def sample() -> Fields:
    whole: Fields = json.loads(SAMPLE.read_text(encoding="utf-8"))
    return whole


def context(*messages: Fields) -> Fields:
    """The state of an agent: what its model was shown."""
    return {"type": "AssistantAgentState", "version": "1.0.0", "llm_context": {"messages": list(messages)}}


def team(thread: list[Fields], **agents: Fields) -> Fields:
    """The state of a team."""
    states = {
        name: {"type": "ChatAgentContainerState", "version": "1.0.0", "agent_state": state, "message_buffer": [TASK]}
        for name, state in agents.items()
    }
    manager = {"type": "RoundRobinManagerState", "message_thread": thread, "current_turn": 2}
    return {"type": "TeamState", "version": "1.0.0", "agent_states": {**states, "RoundRobinGroupChatManager": manager}}


WORDS: list[Fields] = [
    {"type": "SystemMessage", "content": "You page people."},
    {"type": "UserMessage", "content": "page ida", "source": "user"},
    {"type": "AssistantMessage", "content": [call()], "thought": "now", "source": "responder"},
    {"type": "FunctionExecutionResultMessage", "content": [came()]},
]


def test_what_came_of_a_task() -> None:
    reading = read_evidence(SAMPLE)
    (trace,) = reading.traces
    assert (reading.evidence.format, trace.id, outcomes(reading)) == ("autogen", "run-0", CALLED)
    assert (reading.counts.records, reading.counts.input_tokens, reading.counts.output_tokens) == (7, 330, 36)
    said = [text_of(raw) for row in trace.rows(StepKind.MODEL) if (raw := trace.payload[row]) is not None]
    assert said == ["The roster first.", "Paged Ida: pg_8812. TERMINATE"]
    assert (trace.turns, trace.ended_normally, hiding(reading)) == (3, True, [])
    assert {trace.step(row).agent for row in trace.rows(StepKind.MODEL)} == {"responder"}


def test_every_container_tells_the_same(
    write: Callable[[Any], Reading], lines: Callable[[list[Fields]], Reading], sample: Fields
) -> None:
    messages = sample["messages"]
    readings = [write(messages), lines(messages), lines([sample]), lines([*messages, sample]), write(team(messages))]
    for reading in readings:
        assert (reading.evidence.format, outcomes(reading), reading.traces[0].turns) == ("autogen", CALLED, 3)
        assert not hiding(reading)


def test_each_result_is_a_run(lines: Callable[[list[Fields]], Reading], sample: Fields) -> None:
    reading = lines([sample, {"messages": [TASK, ENDS], "stop_reason": None}, TASK, ENDS])
    assert [(trace.id, len(trace.calls), trace.turns) for trace in reading.traces] == [
        ("run-0", 2, 3),
        ("run-1", 0, 1),
        ("run-2", 0, 1),
    ]


@pytest.mark.parametrize(
    ("result", "outcome"),
    [(came(), Outcome.RECORDED), (came(content=""), Outcome.RECORDED), (came(is_error=True), Outcome.FAILED)],
)
def test_how_a_call_ended(result: Fields, outcome: Outcome, write: Callable[[Any], Reading]) -> None:
    (one,) = write([TASK, ASKS, told("ToolCallExecutionEvent", [result])]).traces[0].calls
    assert (one.tool, one.recorded_id, one.outcome) == ("page", "c1", outcome)


def test_a_summary_tells_of_calls_whose_events_were_left_out(write: Callable[[Any], Reading]) -> None:
    summary = told("ToolCallSummaryMessage", "ok", tool_calls=[call()], results=[came()])
    for messages in ([TASK, summary], [TASK, ASKS, SHOWS, summary]):
        reading = write(messages)
        assert outcomes(reading) == [("0.0", "page", "ok", "recorded")]
        assert not hiding(reading)


def test_a_state_of_one_agent(write: Callable[[Any], Reading]) -> None:
    reading = write(context(*WORDS))
    (trace,) = reading.traces
    assert outcomes(reading) == [("0.0", "page", "ok", "recorded")]
    assert [StepKind(kind) for kind in trace.kind] == [
        StepKind.SYSTEM,
        StepKind.USER,
        StepKind.MODEL,
        StepKind.TOOL_CALL,
        StepKind.TOOL_RESULT,
    ]
    requested = trace.calls[0].requested
    assert requested is not None
    assert requested.pointer == "/llm_context/messages/2/content/0"


def test_what_a_model_was_shown_and_no_message_tells_is_told(write: Callable[[Any], Reading]) -> None:
    known = write(team([TASK, ASKS, SHOWS, ENDS], responder=context(*WORDS)))
    assert (outcomes(known), hiding(known)) == ([("0.0", "page", "ok", "recorded")], [])
    other = [{**WORDS[2], "content": [call("c2", "erase")]}, {**WORDS[3], "content": [came("c2")]}]
    more = write(team([TASK, ASKS, SHOWS, ENDS], responder=context(*WORDS), writer=context(*other)))
    assert sorted(one.tool for one in more.traces[0].calls) == ["erase", "page"]


def test_a_result_that_a_model_was_shown_otherwise_is_a_contradiction(write: Callable[[Any], Reading]) -> None:
    other = [*WORDS[:3], {**WORDS[3], "content": [came(content="no")]}]
    reading = write(team([TASK, ASKS, SHOWS, ENDS], responder=context(*other)))
    assert [one.code for one in reading.traces[0].findings] == ["conflicting_results"]


def test_a_team_inside_an_agent(write: Callable[[Any], Reading]) -> None:
    outer = team(
        [TASK], society={"type": "SocietyOfMindAgentState", "inner_team_state": team([TASK, ASKS, SHOWS, ENDS])}
    )
    assert outcomes(write(outer)) == [("0.0", "page", "ok", "recorded")]


def test_code_that_ran(write: Callable[[Any], Reading]) -> None:
    blocks = [{"code": "rm -r /", "language": "sh"}]
    writes = told("CodeGenerationEvent", "```sh\nrm -r /```", "coder", code_blocks=blocks, retry_attempt=0)
    ran = told("CodeExecutionEvent", None, "coder", result={"exit_code": 1, "output": "denied"}, retry_attempt=0)
    reading = write([TASK, writes, ran, told("TextMessage", "it failed", "coder")])
    (one,) = reading.traces[0].calls
    assert (one.tool, one.outcome, hiding(reading)) == ("code_execution", Outcome.FAILED, [])
    assert one.arguments is not None
    assert json.loads(bytes(one.arguments)) == blocks


def test_who_is_a_person(write: Callable[[Any], Reading]) -> None:
    answer = told("TextMessage", "yes", "ida")
    asked = told("UserInputRequestedEvent", "", "ida", request_id="r1")
    assert not hiding(write([TASK, ASKS, SHOWS, ENDS, asked, answer]))
    (gap,) = hiding(write([TASK, ASKS, SHOWS, ENDS, answer]))
    assert "what ida did before it said this" in gap


HIDING: list[Fields] = [
    told("MultiModalMessage", ["I clicked", {"data": "aGk="}], "surfer", models_usage=USED),
    told("GadgetCallEvent", "rm", tool_name="rm"),
    told("HandoffMessage", "yours", target="writer", context=[{**WORDS[2], "content": [call("c9")]}]),
    {"type": "x", "calls": [{"name": "rm", "arguments": {}}]},
    {**ENDS, "more": {"function": {"name": "rm", "arguments": "{}"}, "id": "c9", "type": "function"}},
    {**ENDS, "content": [call("c9")]},
    told("ModelClientStreamingChunkEvent", "I wi"),
    told("CodeGenerationEvent", "so", code_blocks=[{"code": "rm", "language": "sh"}]),
]


@pytest.mark.parametrize("message", HIDING)
def test_what_may_hide_a_call_is_a_gap(message: Fields, write: Callable[[Any], Reading]) -> None:
    assert not hiding(write([TASK, ASKS, SHOWS, ENDS]))
    assert hiding(write([TASK, ASKS, SHOWS, ENDS, message]))


def test_two_agents_may_give_their_calls_one_id(write: Callable[[Any], Reading]) -> None:
    """Each result is of the call that its own agent asked for."""
    other = [
        {**ASKS, "source": "writer", "content": [call(name="note")]},
        told("ToolCallExecutionEvent", [came(content="mine")]),
        told("ToolCallExecutionEvent", [came(content="its")], "writer"),
    ]
    trace = write([TASK, told("ToolCallRequestEvent", [call()], models_usage=USED), *other, ENDS]).traces[0]
    assert [(one.tool, text_of(one.result or raw(""))) for one in trace.calls] == [("page", "mine"), ("note", "its")]


def test_a_result_leaves_out_the_pieces_that_were_streamed(lines: Callable[[list[Fields]], Reading]) -> None:
    run = [TASK, ASKS, SHOWS, ENDS]
    piece = told("ModelClientStreamingChunkEvent", "do")
    (trace,) = lines([*run[:3], piece, ENDS, {"messages": run, "stop_reason": "done"}]).traces
    assert len(trace.calls) == 1


def test_an_agent_that_tells_of_no_call_may_have_run_code(write: Callable[[Any], Reading]) -> None:
    """An executor of code that answers by its model leaves no event in a result; the state of another kind says so."""
    talk = told("TextMessage", "it said hi", "coder", models_usage=USED)
    (gap,) = hiding(write([TASK, ASKS, SHOWS, ENDS, talk]))
    assert "no event of coder tells of a call" in gap
    state = context({"type": "AssistantMessage", "content": "it said hi", "thought": None, "source": "coder"})
    assert not hiding(write(team([TASK, ASKS, SHOWS, ENDS, talk], coder=state)))


def test_a_hand_over(write: Callable[[Any], Reading]) -> None:
    over = told("HandoffMessage", "yours", target="writer", context=[WORDS[2]])
    reading = write([TASK, ASKS, SHOWS, over])
    trace = reading.traces[0]
    assert [trace.step(row).name for row in trace.rows(StepKind.HANDOFF)] == ["writer"]
    assert not hiding(reading)


def recorded(messages: list[Fields], response: Any, **members: Any) -> Fields:
    return {"mode": "create", "messages": messages, "response": response, "stream": [], **members}


def created(content: Any, ends: str = "stop", **members: Any) -> Fields:
    return {"finish_reason": ends, "content": content, "usage": USED, "cached": False, "thought": None, **members}


def test_what_a_client_was_asked(write: Callable[[Any], Reading]) -> None:
    reading = write(
        [
            recorded(WORDS[:2], created([call()], "function_calls", thought="now")),
            recorded(WORDS, created("paged")),
            recorded([WORDS[0]], created("another question")),
        ]
    )
    (trace,) = reading.traces
    assert outcomes(reading) == [("0.0", "page", "ok", "recorded")]
    assert (trace.id, trace.turns, hiding(reading)) == ("session", 3, [])
    assert (reading.counts.records, reading.counts.input_tokens) == (3, 15)


def test_an_answer_that_was_streamed_or_is_lost(write: Callable[[Any], Reading]) -> None:
    streamed = recorded(WORDS[:2], {}, mode="create_stream", stream=["pag", "ed", created([call()], "function_calls")])
    assert [one.tool for one in write([streamed]).traces[0].calls] == ["page"]
    lost = write([recorded(WORDS[:2], {}, mode="create_stream", stream=["pag"])])
    assert hiding(lost) == ["a request of which the answer is not recorded"]
    assert hiding(write([recorded(WORDS[:2], created("pag", "length"))]))


AGENT = "pager_t1/t1"
SHOWN: list[Fields] = [{"role": "user", "content": "page ida"}]
OPENAI: Fields = {"id": "c1", "type": "function", "function": {"name": "page", "arguments": '{"to": "ida"}'}}
AFTER: list[Fields] = [
    *SHOWN,
    {"role": "assistant", "content": None, "tool_calls": [OPENAI]},
    {"role": "tool", "tool_call_id": "c1", "content": "ok"},
]


def event(kind: str, **members: Any) -> Fields:
    return {"type": kind, "agent_id": AGENT, **members}


def requested(messages: list[Fields], said: Fields, **members: Any) -> Fields:
    body = {
        "model": "gpt-4o",
        "choices": [{"index": 0, "message": {"role": "assistant", **said}, "finish_reason": "stop"}],
    }
    return event("LLMCall", messages=messages, response=body, prompt_tokens=5, completion_tokens=7, **members)


ROUTED: Fields = {"type": "Message", "payload": "{}", "sender": AGENT, "receiver": None, "kind": "MessageKind.DIRECT"}
PAGED = event("ToolCall", tool_name="page", arguments={"to": "ida"}, result="ok")


def test_the_log_of_a_runtime(lines: Callable[[list[Fields]], Reading]) -> None:
    schema = {"type": "function", "function": {"name": "page", "description": "Page a person.", "parameters": {}}}
    first = requested(SHOWN, {"content": None, "tool_calls": [OPENAI]}, tools=[schema])
    reading = lines([ROUTED, first, PAGED, ROUTED, requested(AFTER, {"content": "paged"})])
    (trace,) = reading.traces
    assert (reading.evidence.format, trace.id, trace.turns) == ("autogen", "log", 2)
    assert outcomes(reading) == [("0.0", "page", "ok", "recorded")]
    (one,) = trace.calls
    assert (one.recorded_id, one.executed is not None, one.shown is not None) == ("c1", True, True)
    assert {trace.step(row).agent for row in trace.rows(StepKind.MODEL)} == {"pager"}
    assert trace.facts["page"].description == "Page a person."
    assert (reading.counts.input_tokens, hiding(reading)) == (10, [])


def test_what_a_log_says_of_a_stream(lines: Callable[[list[Fields]], Reading]) -> None:
    begun = event("LLMStreamStart", messages=SHOWN)
    ended = event("LLMStreamEnd", response=created([call()], "function_calls"), prompt_tokens=5, completion_tokens=7)
    reading = lines([begun, ended, PAGED])
    assert [(one.tool, one.recorded_id) for one in reading.traces[0].calls] == [("page", "c1")]
    assert not hiding(reading)
    assert hiding(lines([begun])) == ["a request whose answer is not in the log"]
    assert hiding(lines([begun, begun, ended])) == ["a request whose answer is not in the log"]
    assert hiding(lines([ended])) == ["an answer whose request is not in the log"]


LOST: list[tuple[str, list[Fields]]] = [
    ("messages between agents", [ROUTED]),
    ("code ran", [PAGED, ROUTED, {**ROUTED, "payload": json.dumps({"message": {"type": "CodeExecutionEvent"}})}]),
    ("may be a call", [PAGED, event("GadgetCall", tool_name="rm")]),
    ("answer is not in the log", [event("LLMCall", messages=SHOWN, response={}, prompt_tokens=1)]),
]


@pytest.mark.parametrize(("says", "events"), LOST)
def test_what_a_log_may_hide_is_a_gap(
    says: str, events: list[Fields], lines: Callable[[list[Fields]], Reading]
) -> None:
    assert any(says in gap for gap in hiding(lines(events)))


def test_an_exception_in_an_agent(lines: Callable[[list[Fields]], Reading]) -> None:
    failed = {"type": "MessageHandlerException", "payload": "{}", "handling_agent": AGENT, "exception": "no one"}
    reading = lines([requested(SHOWN, {"content": "x"}), failed])
    (row,) = reading.traces[0].rows(StepKind.ERROR)
    assert (reading.traces[0].step(row).agent, hiding(reading)) == ("pager", [])


@pytest.mark.parametrize("kind", ["BaseState", "TeamState"])
def test_what_is_no_state_of_a_run(kind: str, write: Callable[[Any], Reading]) -> None:
    with pytest.raises(EvidenceError, match="not recognised"):
        write({"type": kind, "version": "1.0.0"})


def test_a_delegate_is_a_call_like_others(write: Callable[[Any], Reading]) -> None:
    asks = told("ToolCallRequestEvent", [call("c1", "transfer_to_writer", "{}")], models_usage=USED)
    assert write([TASK, asks, SHOWS]).traces[0].calls[0].boundary is Boundary.TOOL


@pytest.mark.parametrize(("name", "turns", "tokens"), [("self_teaching", 29, 16320), ("teachability", 16, 4924)])
def test_recorded_sessions(name: str, turns: int, tokens: int, cases: Path) -> None:
    (path,) = (cases / "traces" / "autogen").glob(f"*sessions_{name}_session.json")
    reading = read_evidence(path)
    assert (reading.counts.records, reading.traces[0].turns, reading.counts.input_tokens) == (turns, turns, tokens)
    assert not hiding(reading)
