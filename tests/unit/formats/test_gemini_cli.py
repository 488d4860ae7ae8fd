"""Is a session of Gemini CLI read as all that was ever written of it, in either form of its file?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from forensics.core.jsonvalue import text_of, value_of
from forensics.core.trace import Boundary, Outcome, StepKind
from forensics.errors import EvidenceError
from tests.unit.formats.conftest import read_evidence

if TYPE_CHECKING:
    from forensics.core.reading import Reading

Fields = dict[str, Any]
SAMPLE = Path(__file__).resolve().parents[2] / "contract" / "samples" / "gemini-cli.jsonl"
HEAD: Fields = {"sessionId": "g1", "projectHash": "ab", "startTime": "2026-11-02T09:00:00Z"}
ASKS: Fields = {"id": "u1", "type": "user", "content": [{"text": "page ida"}]}
TOKENS = {"input": 9, "output": 2, "tool": 0, "total": 11}
ENDS: Fields = {"id": "a9", "type": "gemini", "content": "done"}


def call(name: str = "t1", status: str = "success", *, gives: Any = "ok", **members: Any) -> Fields:
    part = {"functionResponse": {"id": name, "name": "page", "response": {"output": gives}}}
    asked = {"id": name, "name": "page", "args": {"to": "ida"}, "status": status}
    return {**asked, **({} if gives is None else {"result": [part]}), **members}


def turn(*calls: Fields, key: str = "a1", **members: Any) -> Fields:
    return {
        "id": key,
        "type": "gemini",
        "content": "",
        "model": "m",
        "tokens": TOKENS,
        "toolCalls": list(calls),
        **members,
    }


def lines(tmp_path: Path, *records: Fields) -> Reading:
    path = tmp_path / "session.jsonl"
    path.write_text("".join(f"{json.dumps(one)}\n" for one in records), encoding="utf-8")
    return read_evidence(path)


def document(tmp_path: Path, *messages: Fields) -> Reading:
    path = tmp_path / "session.json"
    path.write_text(json.dumps({**HEAD, "messages": list(messages)}, indent=2), encoding="utf-8")
    return read_evidence(path)


def test_a_session_as_lines() -> None:
    reading = read_evidence(SAMPLE)
    (trace,) = reading.traces
    assert (reading.evidence.format, trace.id) == ("gemini-cli", "7c1d9a54-0f3e-4b7c-a2d1-5e0b8f6c4a90")
    told = [(c.tool, c.outcome, value_of(c.result)) for c in trace.calls if c.result]
    recorded = Outcome.RECORDED
    assert told == [("roster_lookup", recorded, {"output": "Ida"}), ("pager_trigger", recorded, {"page_id": "pg_8812"})]
    assert (reading.counts.input_tokens, reading.counts.output_tokens, reading.counts.records) == (330, 35, 7)
    said = [text_of(raw) for row in trace.rows(StepKind.MODEL) if (raw := trace.payload[row]) is not None]
    assert said == ["The roster first.", "Paging Ida.", "Paged Ida: pg_8812."]
    assert not reading.gaps


def test_both_forms_tell_the_same(tmp_path: Path) -> None:
    told = [reading(tmp_path, *head, ASKS, turn(call()), ENDS) for reading, head in ((document, ()), (lines, (HEAD,)))]
    one, other = [
        [(c.tool, c.recorded_id, c.outcome, c.occurrence) for c in reading.traces[0].calls] for reading in told
    ]
    assert one == other == [("page", "t1", Outcome.RECORDED, "0.0")]
    assert list(told[0].traces[0].kind) == list(told[1].traces[0].kind)
    assert not any(reading.gaps for reading in told)


@pytest.mark.parametrize(
    ("told", "outcome"),
    [
        (call(), Outcome.RECORDED),
        (call(status="error", gives="no such one"), Outcome.FAILED),
        (call(status="cancelled", gives="[Operation Cancelled] Reason: User did not allow tool call"), Outcome.DENIED),
        (call(status="cancelled", gives="User cancelled tool execution."), Outcome.INDETERMINATE),
        (call(status="cancelled", gives=None), Outcome.ABSENT),
        (call(gives=None), Outcome.ABSENT),
        (call(status="executing", gives=None), Outcome.ABSENT),
        (call(status="awaiting_approval", gives=None), Outcome.ABSENT),
    ],
)
def test_how_a_call_ended(tmp_path: Path, told: Fields, outcome: Outcome) -> None:
    (one,) = document(tmp_path, ASKS, turn(told), ENDS).traces[0].calls
    assert one.outcome is outcome
    assert one.answered is not (told["status"] in ("executing", "awaiting_approval"))


def test_calls_of_one_turn_were_asked_for_together(tmp_path: Path) -> None:
    trace = document(tmp_path, ASKS, turn(call("t1"), call("t2"), call("t3", agentId="x")), ENDS).traces[0]
    kinds = [StepKind(kind) for kind in trace.kind][2:8]
    assert kinds == [StepKind.TOOL_CALL] * 3 + [StepKind.TOOL_RESULT] * 3
    assert [one.boundary for one in trace.calls] == [Boundary.TOOL, Boundary.TOOL, Boundary.SUB_AGENT]


def test_calls_without_ids_keep_their_results(tmp_path: Path) -> None:
    bare = [{k: v for k, v in call(gives=give, args={"to": give}).items() if k != "id"} for give in ("one", "two")]
    calls = document(tmp_path, ASKS, turn(*bare), ENDS).traces[0].calls
    told = [(value_of(one.arguments), value_of(one.result)) for one in calls if one.arguments and one.result]
    assert told == [({"to": "one"}, {"output": "one"}), ({"to": "two"}, {"output": "two"})]


# what is written again -----------------------------------------------------------------------------------------------


def test_the_first_result_is_the_one_that_the_model_was_given(tmp_path: Path) -> None:
    reading = lines(tmp_path, HEAD, ASKS, turn(call()), turn(call(gives="<masked>")), ENDS)
    (trace,) = reading.traces
    assert trace.calls[0].result is not None
    assert value_of(trace.calls[0].result) == {"output": "ok"}
    assert [one.code for one in trace.findings] == ["superseded_record"]
    assert not reading.gaps


def test_other_arguments_under_the_same_id_contradict(tmp_path: Path) -> None:
    reading = lines(tmp_path, HEAD, ASKS, turn(call()), turn(call(args={"to": "bo"})), ENDS)
    assert "inconsistent_tuple" in [block.code for block in reading.traces[0].calls[0].blocks]


def test_a_call_that_is_written_once_and_never_again_is_told(tmp_path: Path) -> None:
    reading = lines(tmp_path, HEAD, ASKS, turn(call("t1"), call("t2")), turn(call("t2")), ENDS)
    assert [one.recorded_id for one in reading.traces[0].calls] == ["t1", "t2"]


def test_what_was_taken_back_is_told_all_the_same(tmp_path: Path) -> None:
    anew = {"$set": {"messages": [{"id": "s1", "type": "user", "content": "ida was paged"}]}}
    reading = lines(tmp_path, HEAD, ASKS, turn(call()), {"$rewindTo": "u1"}, turn(call("t2"), key="a2"), anew, ENDS)
    (trace,) = reading.traces
    assert [one.recorded_id for one in trace.calls] == ["t1", "t2"]
    assert [one.code for one in trace.findings] == ["compacted_history"]
    assert reading.counts.branches == 2
    assert not reading.gaps


def test_a_result_that_a_later_message_repeats_is_one_result(tmp_path: Path) -> None:
    repeated = {"id": "u2", "type": "user", "content": call()["result"]}
    assert lines(tmp_path, HEAD, ASKS, turn(call()), repeated, ENDS).counts.tool_results == 1
    own = {"id": "u2", "type": "user", "content": call("t2")["result"]}
    asked = turn(call(gives=None, status="executing"), call("t2", gives=None, status="executing"))
    told = lines(tmp_path, HEAD, ASKS, asked, own, ENDS).traces[0].calls
    assert [one.answered for one in told] == [False, True]


def test_results_of_a_whole_turn_may_stand_with_each_of_its_calls(tmp_path: Path) -> None:
    parts = [*call("t1", gives="one")["result"], *call("t2", gives="two")["result"]]
    calls = document(tmp_path, ASKS, turn(call("t1", result=parts), call("t2", result=parts)), ENDS).traces[0].calls
    assert [value_of(one.result) for one in calls if one.result] == [{"output": "one"}, {"output": "two"}]


# what is not read ----------------------------------------------------------------------------------------------------

HIDING = [
    {"id": "x", "type": "tool", "content": "rm"},
    {"x": {"toolCalls": [call()]}},
    {"name": "rm", "args": {}},
    turn(key="x", plan={"functionCall": {"name": "rm", "args": {}}}),
    {"id": "x", "type": "gemini", "content": [{"tool_call_id": "t9", "name": "rm", "args": {}}]},
    {"$set": {"messages": "[...]"}},
    {"$set": {}, "toolCalls": [call("t9")]},
]


@pytest.mark.parametrize("hiding", HIDING)
def test_what_may_hide_a_call_is_a_gap(tmp_path: Path, hiding: Fields) -> None:
    assert not lines(tmp_path, HEAD, ASKS, ENDS).gaps
    assert [gap.code for gap in lines(tmp_path, HEAD, ASKS, hiding, ENDS).gaps if gap.hides]


def test_a_call_beside_the_messages_of_a_document_is_a_gap(tmp_path: Path) -> None:
    path = tmp_path / "session.json"
    path.write_text(
        json.dumps({**HEAD, "messages": [ASKS, ENDS], "agents": [{"toolCalls": [call()]}]}), encoding="utf-8"
    )
    assert [gap.code for gap in read_evidence(path).gaps if gap.hides] == ["evidence_gap"]


def test_a_call_among_the_words_of_a_turn_is_told_once(tmp_path: Path) -> None:
    asked = {"functionCall": {"id": "t1", "name": "page", "args": {"to": "ida"}}}
    other = {"functionCall": {"id": "t2", "name": "page", "args": {"to": "bo"}}}
    trace = lines(tmp_path, HEAD, ASKS, turn(call(), content=[asked, other, {"text": "on it"}]), ENDS).traces[0]
    assert sorted(str(one.recorded_id) for one in trace.calls) == ["t1", "t2"]


def test_what_the_harness_notes_is_no_turn(tmp_path: Path) -> None:
    notes = [{"id": kind, "type": kind, "content": kind} for kind in ("info", "warning", "error")]
    trace = document(tmp_path, ASKS, *notes, ENDS).traces[0]
    assert [StepKind(kind) for kind in trace.kind][1:4] == [StepKind.OTHER, StepKind.OTHER, StepKind.ERROR]
    assert trace.turns == 1


@pytest.mark.parametrize("reading", [lambda path: lines(path, HEAD), document])
def test_a_session_without_a_message_is_no_trace(tmp_path: Path, reading: Any) -> None:
    with pytest.raises(EvidenceError, match="holds no message"):
        reading(tmp_path)


def test_lines_whose_head_is_lost_are_read(tmp_path: Path) -> None:
    reading = lines(tmp_path, ASKS, turn(call()), ENDS)
    assert (reading.evidence.format, len(reading.traces[0].calls)) == ("gemini-cli", 1)
