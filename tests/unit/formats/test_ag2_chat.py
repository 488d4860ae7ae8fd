"""Are chats of AG2, and the records of Who&When, told by who speaks, and is what stands only in words a gap?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from forensics.core.jsonvalue import text_of
from forensics.core.trace import StepKind
from forensics.errors import EvidenceError
from tests.unit.formats.conftest import hiding, outcomes, read_evidence

if TYPE_CHECKING:
    from collections.abc import Callable

    from forensics.core.reading import Reading

Fields = dict[str, Any]
SAMPLE = Path(__file__).resolve().parents[2] / "contract" / "samples" / "ag2-chat.json"
CALLED = [
    ("0.0", "roster_lookup", "Ida Holm", "recorded"),
    ("1.0", "pager_trigger", {"page_id": "pg_8812"}, "recorded"),
    ("1.1", "page_note", "noted", "recorded"),
]
TASK: Fields = {"content": "page ida", "role": "assistant", "name": "boss"}
CALL: Fields = {"id": "c1", "type": "function", "function": {"name": "page", "arguments": '{"to": "ida"}'}}
ASKS: Fields = {"content": None, "role": "assistant", "name": "pager", "tool_calls": [CALL]}
ANSWER: Fields = {"tool_call_id": "c1", "role": "tool", "content": "ok"}
SHOWS: Fields = {"content": "ok", "role": "tool", "name": "boss", "tool_responses": [ANSWER]}
ENDS: Fields = {"content": "paged", "role": "user", "name": "pager"}
CODE: Fields = {"content": "```sh\nrm -r /\n```", "role": "user", "name": "coder"}
RAN: Fields = {"content": "exitcode: 0 (execution succeeded)\nCode output: ok", "role": "user", "name": "terminal"}


def result(*messages: Fields, **members: Any) -> Fields:
    """What came of a chat."""
    return {"chat_id": 1, "chat_history": list(messages), "summary": "", "cost": {}, "human_input": [], **members}


def record(*messages: Fields, **members: Any) -> Fields:
    """A record of Who&When."""
    labels = {"mistake_agent": "coder", "mistake_step": "1", "mistake_reason": "x", "is_correct": False}
    return {"question": "q", "question_ID": "q-1", "ground_truth": "8", "history": list(messages), **labels, **members}


def spoken(reading: Reading) -> list[tuple[StepKind, str]]:
    (trace,) = reading.traces
    return [(StepKind(step.kind), step.agent) for step in trace.steps()]


def test_what_came_of_a_chat() -> None:
    """A role says whose view it is; the name says who spoke."""
    reading = read_evidence(SAMPLE)
    (trace,) = reading.traces
    assert (reading.evidence.format, trace.id, outcomes(reading), hiding(reading)) == ("ag2-chat", "chat-0", CALLED, [])
    said = [text_of(raw) for row in trace.rows(StepKind.MODEL) if (raw := trace.payload[row]) is not None]
    assert said == ["The roster first.", "Paged Ida: pg_8812. TERMINATE"]
    assert spoken(reading)[0] == (StepKind.USER, "user_proxy")
    shown = trace.calls[2].shown
    assert shown is not None
    assert shown.pointer == "/chat_history/4/tool_responses/1"


def test_every_container_tells_the_same(write: Callable[[Any], Reading], tmp_path: Path) -> None:
    sample = json.loads(SAMPLE.read_text(encoding="utf-8"))
    lines = tmp_path / "chat.jsonl"
    lines.write_text("".join(f"{json.dumps(one)}\n" for one in sample["chat_history"]), encoding="utf-8")
    for reading in (write(sample["chat_history"]), write([sample]), read_evidence(lines)):
        assert (reading.evidence.format, outcomes(reading)) == ("ag2-chat", CALLED)
        assert not hiding(reading)


def test_each_result_is_a_trace(write: Callable[[Any], Reading]) -> None:
    reading = write([result(TASK, ASKS, SHOWS, ENDS), result(TASK, ENDS)])
    assert [(trace.id, len(trace.calls)) for trace in reading.traces] == [("chat-0", 1), ("chat-1", 0)]


def test_two_records_of_one_question_are_two_chats(write: Callable[[Any], Reading]) -> None:
    reading = write([record(TASK, CODE), record(TASK, ENDS)])
    assert [(trace.id, len(trace)) for trace in reading.traces] == [("q-1", 2), ("q-1-1", 2)]


def test_calls_may_lack_the_name_of_who_asks(write: Callable[[Any], Reading]) -> None:
    """As AG2 keeps what an agent was sent: with two agents it is the other one's."""
    nameless = {name: held for name, held in ASKS.items() if name != "name"}
    (trace,) = write(result(TASK, nameless, SHOWS, ENDS)).traces
    assert {trace.step(row).agent for row in trace.rows(StepKind.MODEL)} == {"pager"}
    (trace,) = write(result(TASK, nameless, SHOWS, ENDS, {**ENDS, "name": "critic"})).traces
    assert [trace.step(row).agent for row in trace.rows(StepKind.MODEL)] == ["assistant", "pager", "critic"]


def test_who_speaks_for_a_person(write: Callable[[Any], Reading]) -> None:
    more: list[Fields] = [
        {"content": "go on", "role": "assistant", "name": name} for name in ("boss", "admin", "critic")
    ]
    kinds = spoken(write(result(TASK, ASKS, SHOWS, *more)))[-3:]
    assert kinds == [(StepKind.USER, "boss"), (StepKind.USER, "admin"), (StepKind.MODEL, "critic")]


def test_code_that_ran_stands_in_words(write: Callable[[Any], Reading]) -> None:
    reading = write(result(TASK, ASKS, SHOWS, CODE, RAN, ENDS))
    assert hiding(reading) == ["code ran that stands only in the words of an agent"]
    assert (StepKind.OTHER, "terminal") in spoken(reading)
    in_parts = {**RAN, "content": [{"type": "text", "text": RAN["content"]}]}
    assert hiding(write(result(TASK, ASKS, SHOWS, CODE, in_parts, ENDS))) == hiding(reading)


@pytest.mark.parametrize("head", ["The code output:\n", "I ran it.\n\n  ", "First\nthen\n"])
def test_code_that_ran_may_be_told_behind_a_line_of_ones_own(head: str, write: Callable[[Any], Reading]) -> None:
    for said in (RAN, {**RAN, "name": "coder", "role": "assistant"}):
        reading = write(result(TASK, ASKS, SHOWS, CODE, {**said, "content": head + said["content"]}, ENDS))
        assert hiding(reading) == ["code ran that stands only in the words of an agent"]
        assert len(reading.traces[0].calls) == len(write(result(TASK, ASKS, SHOWS)).traces[0].calls)
    quoted = {**CODE, "content": "print the exitcode: 0 (or another)"}
    assert hiding(write(result(TASK, ASKS, SHOWS, quoted, ENDS))) == []


def test_calls_of_a_message_that_quotes_what_ran_are_read(write: Callable[[Any], Reading]) -> None:
    again = {**ASKS, "content": f"It said\n{RAN['content']}"}
    reading = write(result(TASK, again, SHOWS, ENDS))
    assert outcomes(reading) == outcomes(write(result(TASK, ASKS, SHOWS, ENDS)))
    assert hiding(reading) == ["code ran that stands only in the words of an agent"]


def test_what_looks_like_a_call_beside_what_is_said_is_a_gap(write: Callable[[Any], Reading]) -> None:
    for odd in ({**SHOWS, "tool_calls": [CALL]}, {**TASK, "more": [CALL]}, {**ENDS, "content": [CALL]}):
        assert hiding(write(result(TASK, ASKS, SHOWS, odd, ENDS)))


def test_a_record_is_no_whole_account_and_its_labels_no_evidence(write: Callable[[Any], Reading]) -> None:
    reading = write(record(TASK, CODE, ENDS, system_prompt={"coder": "You write code.", "pager": "You page."}))
    (trace,) = reading.traces
    assert (reading.evidence.format, trace.id) == ("ag2-chat", "q-1")
    assert spoken(reading) == [
        (StepKind.SYSTEM, "coder"),
        (StepKind.SYSTEM, "pager"),
        (StepKind.USER, "boss"),
        (StepKind.MODEL, "coder"),
        (StepKind.MODEL, "pager"),
    ]
    assert hiding(reading) == ["calls of this chat stand in the words of its agents, and are not read"]
    assert not trace.findings


def test_a_role_may_be_the_speaker(write: Callable[[Any], Reading]) -> None:
    roles = ("human", "Orchestrator (thought)", "Orchestrator (-> Surfer)", "Surfer")
    reading = write(record(*({"content": "x", "role": role} for role in roles)))
    assert spoken(reading) == [
        (StepKind.USER, "human"),
        (StepKind.MODEL, "Orchestrator"),
        (StepKind.MODEL, "Orchestrator"),
        (StepKind.MODEL, "Surfer"),
    ]


def test_calls_beside_the_messages_are_a_gap(write: Callable[[Any], Reading]) -> None:
    beside = result(TASK, ASKS, SHOWS, ENDS, inner=[{"name": "rm", "arguments": {}}])
    assert hiding(write(beside)) == ["what looks like calls beside the messages of a chat"]


def test_what_is_no_message_is_a_gap(write: Callable[[Any], Reading]) -> None:
    assert hiding(write([TASK, ASKS, SHOWS, {"x": 1}])) == ["a record that is no message of a chat"]
    assert hiding(write(result(TASK, ENDS, {"role": "assistant", "name": "pager", "gadget": [CALL]})))


@pytest.mark.parametrize("content", [{"chat_history": []}, {"history": [TASK], "x": 1}, {"mistake_agent": "coder"}])
def test_what_is_no_chat(content: Fields, write: Callable[[Any], Reading]) -> None:
    with pytest.raises(EvidenceError, match="not recognised"):
        write(content)


@pytest.mark.parametrize(
    ("name", "messages", "ran"),
    [
        ("Algorithm-Generated_1", 6, 2),
        ("Algorithm-Generated_11", 10, 4),
        ("Algorithm-Generated_8", 10, 4),
        ("Algorithm-Generated_9", 5, 0),
        ("Hand-Crafted_1", 29, 0),
        ("Hand-Crafted_5", 20, 0),
    ],
)
def test_records_of_who_and_when(name: str, messages: int, ran: int, cases: Path) -> None:
    reading = read_evidence(cases / "traces" / "who-and-when" / f"{name}.json")
    (trace,) = reading.traces
    assert (reading.counts.records, len(trace.calls), len(trace.rows(StepKind.OTHER))) == (messages, 0, ran)
    assert len(hiding(reading)) == ran + 1
