"""Is a call that a Claude Code session tells in an unusual place a gap, and one that it repeats there none?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.unit.formats.conftest import read_evidence

if TYPE_CHECKING:
    from pathlib import Path

Fields = dict[str, Any]
CALL: Fields = {"type": "tool_use", "id": "t1", "name": "Write", "input": {"file_path": "x", "content": "y"}}
RESULT: Fields = {"type": "tool_result", "tool_use_id": "t1", "content": "ok"}
TEXT: Fields = {"type": "text", "text": "on it"}


def record(kind: str, uuid: str, parent: str | None, content: Any, **message: Any) -> Fields:
    told = {"role": kind, "content": content, **message}
    own = {"sessionId": "s1", "isSidechain": False, "version": "2.0", "uuid": uuid, "parentUuid": parent}
    return {**own, "type": kind, "message": told}


def asks(content: Any, kind: str = "assistant", **message: Any) -> Fields:
    return record(kind, "b", "a", content, **{"id": "m1", "model": "m", **message})


def answers(content: Any, kind: str = "user") -> Fields:
    return record(kind, "c", "b", content)


def beside(**members: Any) -> Fields:
    return {"sessionId": "s1", "isSidechain": False, "version": "2.0", "uuid": "d", "parentUuid": "c", **members}


def hiding(tmp_path: Path, *records: Fields) -> list[str]:
    last = record("assistant", "z", records[-1]["uuid"], [TEXT], id="m9", model="m", stop_reason="end_turn")
    path = tmp_path / "session.jsonl"
    told = (record("user", "a", None, "go"), *records, last)
    path.write_text("".join(f"{json.dumps(one)}\n" for one in told), encoding="utf-8")
    return [gap.code for gap in read_evidence(path).gaps if gap.hides]


@pytest.mark.parametrize(
    "records",
    [
        (asks([CALL], kind="agent_turn"), answers([RESULT], kind="agent_result")),
        ({k: v for k, v in asks([CALL]).items() if k != "type"},),
        (asks(CALL), answers(RESULT)),
        (asks([{**CALL, "type": "tool_invocation"}]), answers([{**RESULT, "type": "tool_outcome"}])),
        (asks([{k: v for k, v in CALL.items() if k != "type"}]),),
        (asks([TEXT], tool_calls=[{"id": "t1", "function": {"name": "rm", "arguments": "{}"}}]),),
        (asks([{"type": "group", "content": [CALL]}]), answers([{"type": "group", "content": [RESULT]}])),
        (asks([TEXT]), answers([CALL])),
        (asks([TEXT]), answers("x"), beside(type="progress", data={"type": "news", "message": asks([CALL])})),
        (asks([TEXT]), answers("x"), beside(type="attachment", attachment={"type": "x", "content": [CALL, RESULT]})),
        (asks([TEXT]), answers("x"), beside(type="queue-operation", operation=[asks([CALL]), answers([RESULT])])),
        (asks([TEXT]), answers("x"), beside(type="user", messages=[{"role": "user", "content": [CALL]}])),
        (asks([TEXT]), answers("x"), beside(type="agent_turn", message={"role": "assistant", "content": "hm"})),
        (
            asks([TEXT]),
            answers("x"),
            beside(type="tool", message={"role": "tool", "tool_name": "rm", "tool_input": {}}),
        ),
        (asks([TEXT]), answers("x"), beside(type="assistant", message={"role": "model", "parts": [{"text": "hm"}]})),
        (asks([TEXT]), answers("x"), beside(type="tool_execution_started", toolName="rm")),
        (beside(type="tool", name="rm", input={}), beside(type="tool", name="rm", input={}, uuid="e", parentUuid="d")),
    ],
)
def test_a_call_in_a_place_that_is_not_read_is_a_gap(tmp_path: Path, records: tuple[Fields, ...]) -> None:
    assert set(hiding(tmp_path, *records)) == {"evidence_gap"}


@pytest.mark.parametrize(
    "member",
    [
        {"type": "queue-operation", "operation": [asks([CALL]), answers([RESULT])]},
        {"type": "stream_event", "event": {"type": "content_block_start", "content_block": {**CALL, "input": {}}}},
        {"type": "control_request", "request": {"subtype": "can_use_tool", "tool_name": "Write", "input": {}}},
        {"type": "system", "subtype": "hook", "content": 'he said "tool_use"'},
        {"type": "tool_execution_started", "toolName": "Write"},
        {"type": "progress", "toolUseID": "t1", "data": {"type": "hook_progress", "hookEvent": "PreToolUse"}},
    ],
)
def test_a_call_that_is_told_elsewhere_is_none(tmp_path: Path, member: Fields) -> None:
    assert not hiding(tmp_path, asks([CALL]), answers([RESULT]), beside(**member))


def news(message: Fields, uuid: str = "n1", **more: Any) -> Fields:
    data = {"type": "agent_progress", "agentId": "a7", "message": message, "normalizedMessages": [], **more}
    return beside(type="progress", uuid=uuid, toolUseID="agent_msg_1", parentToolUseID="t1", data=data)


ITS_CALL, ITS_RESULT = {**CALL, "id": "s1"}, {**RESULT, "tool_use_id": "s1"}
ASKED = record("assistant", "i1", None, [ITS_CALL], id="im1", model="m")
ANSWERED = record("user", "i2", "i1", [ITS_RESULT])


def test_what_a_sub_agent_did_is_no_gap_in_the_news_of_it(tmp_path: Path) -> None:
    told = (news(ASKED), news(ANSWERED, "n2", normalizedMessages=[ASKED]))
    assert not hiding(tmp_path, asks([CALL]), *told, answers([RESULT]))
    assert not hiding(tmp_path, asks([CALL]), *told, *told, answers([RESULT]))  # as a resumed session repeats it


@pytest.mark.parametrize(
    "hidden",
    [
        news({**ASKED, "uuid": "i3"}, normalizedMessages=[{"content": [{**CALL, "id": "other"}]}]),
        {**news(ASKED), "calls": [{**CALL, "id": "other"}]},
        {**news(ASKED), "name": "rm", "input": {}},
        news(record("assistant", "i9", None, [{**CALL, "id": "other"}], id="im9")),  # the id of an earlier record
        news({**ASKED, "message": {"role": "model", "parts": [{"functionCall": {"id": "other", "name": "rm"}}]}}, "n5"),
    ],
)
def test_a_call_beside_what_a_sub_agent_did_is_a_gap(tmp_path: Path, hidden: Fields) -> None:
    told = (news({"type": "user", "uuid": "i0", "message": {"content": "go"}}), news(ANSWERED, "n3"))
    assert hiding(tmp_path, asks([CALL]), *told, news(ASKED, "n4"), hidden, answers([RESULT]))


def test_a_message_without_content_is_known_by_all_that_it_says(tmp_path: Path) -> None:
    spoken = beside(type="assistant", message={"role": "model", "parts": [{"text": "hm"}]})
    asked = {"role": "model", "parts": [{"functionCall": {"id": "t1", "name": "rm", "args": {}}}]}
    told = hiding(tmp_path, asks([TEXT]), answers("x"), spoken, beside(type="assistant", message=asked))
    assert told == ["evidence_gap"] * 3  # that neither message has content, and that the second asks for a call


def test_a_record_that_is_known_by_its_id_alone_is_looked_through_each_time(tmp_path: Path) -> None:
    first = beside(type="note", text="ok")
    assert not hiding(tmp_path, asks([TEXT]), answers("x"), first, first)
    assert hiding(tmp_path, asks([TEXT]), answers("x"), first, {**first, "tool_use": CALL}) == ["evidence_gap"]
