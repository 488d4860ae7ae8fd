"""Is a session of OpenCode read alike from an export, from what its server says, and from what a run printed?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from forensics.core.jsonvalue import text_of
from forensics.core.trace import Boundary, Outcome, StepKind
from forensics.errors import EvidenceError
from tests.unit.formats.conftest import outcomes, read_evidence

if TYPE_CHECKING:
    from forensics.core.reading import Reading

Fields = dict[str, Any]
SAMPLE = Path(__file__).resolve().parents[2] / "contract" / "samples" / "opencode.json"
TIMES = {"start": 1790000001500, "end": 1790000001700}


def message(key: str, role: str, *parts: Fields, **info: Any) -> Fields:
    own = {"id": key, "sessionID": "ses_1", "role": role, "time": {"created": 1790000000000}, **info}
    told = [{"id": f"{key}-{at}", "sessionID": "ses_1", "messageID": key, **part} for at, part in enumerate(parts)]
    return {"info": own, "parts": told}


def words(text: str, **members: Any) -> Fields:
    return {"type": "text", "text": text, **members}


def tool(name: str = "page", call: str = "c1", **state: Any) -> Fields:
    told = {"status": "completed", "input": {"to": "ida"}, "output": "ok", "metadata": {}, "time": TIMES, **state}
    return {"type": "tool", "callID": call, "tool": name, "state": told}


ASKS = message("m1", "user", words("page ida"))
ENDS = message("m9", "assistant", words("done"))


def write(tmp_path: Path, content: Any) -> Reading:
    path = tmp_path / "session.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return read_evidence(path)


def export(tmp_path: Path, *messages: Fields) -> Reading:
    return write(tmp_path, {"info": {"id": "ses_1", "directory": "/work"}, "messages": list(messages)})


def lines(tmp_path: Path, *records: Fields) -> Reading:
    path = tmp_path / "session.jsonl"
    path.write_text("".join(f"{json.dumps(one)}\n" for one in records), encoding="utf-8")
    return read_evidence(path)


def test_an_export() -> None:
    reading = read_evidence(SAMPLE)
    (trace,) = reading.traces
    assert (reading.evidence.format, trace.id) == ("opencode", "ses_5d1f0b7c2ffe")
    assert [(one[1], one[3]) for one in outcomes(reading)] == [
        ("roster_lookup", "recorded"),
        ("pager_trigger", "recorded"),
    ]
    assert (reading.counts.input_tokens, reading.counts.output_tokens, reading.counts.records) == (330, 35, 4)
    said = [text_of(raw) for row in trace.rows(StepKind.MODEL) if (raw := trace.payload[row]) is not None]
    assert said == ["The roster first.", "Paged Ida: pg_8812."]
    assert [text_of(raw) for raw in trace.surroundings] == ["/work/shop", trace.id]
    assert not reading.gaps


def test_every_container_tells_the_same(tmp_path: Path) -> None:
    asks = message("m2", "assistant", {"type": "step-start"}, tool(), {"type": "step-finish", "reason": "tool-calls"})
    session = (ASKS, asks, ENDS)
    updated = [{"type": "message.updated", "properties": {"info": one["info"]}} for one in session]
    parts = [part for one in session for part in one["parts"]]
    told = [{"type": "message.part.updated", "properties": {"part": part}} for part in parts]
    expected = export(tmp_path, *session)
    for reading in (write(tmp_path, list(session)), lines(tmp_path, *session), lines(tmp_path, *updated, *told)):
        assert reading.evidence.format == "opencode"
        assert outcomes(reading) == outcomes(expected) == [("0.0", "page", "ok", "recorded")]
        assert list(reading.traces[0].kind) == list(expected.traces[0].kind)
        assert not reading.gaps


def test_what_a_run_printed(tmp_path: Path) -> None:
    asks = message("m2", "assistant", {"type": "step-start"}, tool(), {"type": "step-finish", "reason": "tool-calls"})
    kinds = {"step-start": "step_start", "tool": "tool_use", "step-finish": "step_finish", "text": "text"}
    parts = [part for one in (asks, ENDS) for part in one["parts"]]
    printed = [{"type": kinds[p["type"]], "timestamp": 1790000001000, "sessionID": "ses_1", "part": p} for p in parts]
    failed = {"type": "error", "timestamp": 1790000002000, "sessionID": "ses_1", "error": {"name": "APIError"}}
    reading = lines(tmp_path, *printed, failed)
    (trace,) = reading.traces
    assert outcomes(reading) == [("0.0", "page", "ok", "recorded")]
    assert (trace.id, trace.turns, StepKind(trace.kind[len(trace) - 1])) == ("ses_1", 2, StepKind.ERROR)
    assert not reading.gaps


@pytest.mark.parametrize(
    ("state", "outcome"),
    [
        ({}, Outcome.RECORDED),
        ({"status": "error", "error": "no such one"}, Outcome.FAILED),
        ({"status": "error", "error": "The user rejected permission to use this tool call."}, Outcome.DENIED),
        ({"status": "error", "error": "Tool execution aborted"}, Outcome.INDETERMINATE),
        ({"status": "error", "error": "x", "metadata": {"interrupted": True}}, Outcome.INDETERMINATE),
        ({"status": "running"}, Outcome.ABSENT),
        ({"status": "pending"}, Outcome.ABSENT),
    ],
)
def test_how_a_call_ended(tmp_path: Path, state: Fields, outcome: Outcome) -> None:
    (call,) = export(tmp_path, ASKS, message("m2", "assistant", tool(**state)), ENDS).traces[0].calls
    assert call.outcome is outcome
    assert call.answered is (state.get("status") not in ("running", "pending"))


def test_what_a_call_reaches(tmp_path: Path) -> None:
    hosted = {**tool("search", "c3"), "metadata": {"providerExecuted": True}}
    calls = (tool(), tool("task", "c2"), hosted, tool("team", "c4", metadata={"sessionId": "ses_2"}))
    trace = export(tmp_path, ASKS, message("m2", "assistant", *calls), ENDS).traces[0]
    agent = Boundary.SUB_AGENT
    assert [one.boundary for one in trace.calls] == [Boundary.TOOL, agent, Boundary.PROVIDER_TOOL, agent]


def test_a_message_of_several_steps_is_several_turns(tmp_path: Path) -> None:
    begin = {"type": "step-start"}
    asks = message("m2", "assistant", begin, tool(call="c1"), begin, tool(call="c2"), begin, words("done"))
    trace = export(tmp_path, ASKS, asks).traces[0]
    assert [call.occurrence for call in trace.calls] == ["0.0", "1.0"]
    assert trace.turns == 3


def test_the_last_word_on_a_part_counts(tmp_path: Path) -> None:
    info = {"type": "message.updated", "properties": {"info": message("m2", "assistant")["info"]}}
    states: tuple[Fields, ...] = ({"status": "pending", "input": {}}, {"status": "running"}, {})
    told = [message("m2", "assistant", tool(**state))["parts"][0] for state in states]
    updates = [{"type": "message.part.updated", "properties": {"part": part}} for part in told]
    assert outcomes(lines(tmp_path, info, *updates)) == [("0.0", "page", "ok", "recorded")]


def test_each_session_of_a_log_is_a_trace(tmp_path: Path) -> None:
    other = json.loads(json.dumps(message("m5", "assistant", tool())).replace("ses_1", "ses_2"))
    reading = lines(tmp_path, ASKS, other, ENDS)
    assert [(trace.id, len(trace.calls)) for trace in reading.traces] == [("ses_1", 0), ("ses_2", 1)]


HIDING = [
    message("x", "assistant", {"type": "gadget", "run": "rm"}),
    message("x", "assistant", words("half"), finish="length"),
    message("x", "assistant", {"type": "step-finish", "reason": "tool-calls"}),
]


@pytest.mark.parametrize("hiding", HIDING)
def test_what_may_hide_a_call_is_a_gap(tmp_path: Path, hiding: Fields) -> None:
    assert not export(tmp_path, ASKS, ENDS).gaps
    assert [gap.code for gap in export(tmp_path, ASKS, hiding, ENDS).gaps if gap.hides]


def test_a_call_beside_the_messages_is_a_gap(tmp_path: Path) -> None:
    beside = [
        {"info": {"id": "ses_1"}, "messages": [ASKS, ENDS], "agents": [{"name": "rm", "args": {}}]},
        [{**ASKS, "calls": [{"tool": "rm", "input": {}}]}, ENDS],
    ]
    assert [[gap.code for gap in write(tmp_path, one).gaps if gap.hides] for one in beside] == [["evidence_gap"]] * 2


@pytest.mark.parametrize("line", [{"type": "x", "toolCalls": [{"name": "rm"}]}, {"name": "rm", "args": {}}])
def test_a_line_that_is_not_read_and_holds_a_call_is_a_gap(tmp_path: Path, line: Fields) -> None:
    assert [gap.code for gap in lines(tmp_path, ASKS, line, ENDS).gaps if gap.hides]
    assert not lines(tmp_path, ASKS, {"type": "session.idle", "properties": {"sessionID": "ses_1"}}, ENDS).gaps


def test_other_parts_are_told_as_what_they_are(tmp_path: Path) -> None:
    parts = (
        {"type": "retry", "attempt": 1, "error": {"name": "APIError"}},
        {"type": "patch", "hash": "x", "files": []},
        {"type": "compaction", "auto": True},
        {"type": "subtask", "prompt": "look", "agent": "explore"},
    )
    trace = export(tmp_path, ASKS, message("m2", "user", *parts), ENDS).traces[0]
    assert [StepKind(kind) for kind in trace.kind][2:5] == [StepKind.ERROR, StepKind.OTHER, StepKind.USER]
    assert [one.code for one in trace.findings] == ["compacted_history"]


def test_an_error_of_a_message(tmp_path: Path) -> None:
    trace = export(tmp_path, ASKS, message("m2", "assistant", error={"name": "MessageAbortedError"})).traces[0]
    assert (StepKind(trace.kind[len(trace) - 1]), trace.ended_normally) == (StepKind.ERROR, False)


@pytest.mark.parametrize("stored", [ASKS["info"], tool() | {"id": "p", "messageID": "m2", "sessionID": "ses_1"}])
def test_one_record_of_the_storage_is_no_session(tmp_path: Path, stored: Fields) -> None:
    with pytest.raises(EvidenceError, match="one record of OpenCode's storage"):
        write(tmp_path, stored)


def test_an_export_without_a_message_is_no_trace(tmp_path: Path) -> None:
    path = tmp_path / "session.json"
    path.write_text(json.dumps({"info": {"id": "ses_1"}, "messages": []}), encoding="utf-8")
    with pytest.raises(EvidenceError, match="holds no message"):
        read_evidence(path, "opencode")
