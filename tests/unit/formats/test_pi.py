"""Are the sessions of Pi, OpenClaw and Factory Droid read entry by entry, with their branches and what they hide?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from forensics.core.jsonvalue import text_of, value_of
from forensics.core.trace import Outcome, StepKind
from tests.unit.formats.conftest import outcomes, read_evidence

if TYPE_CHECKING:
    from forensics.core.reading import Reading

Fields = dict[str, Any]
SAMPLE = Path(__file__).resolve().parents[2] / "contract" / "samples" / "pi.jsonl"
HEAD: Fields = {"type": "session", "version": 3, "id": "s1", "timestamp": "2026-11-02T09:00:00Z", "cwd": "/work"}
CALL: Fields = {"type": "toolCall", "id": "c1", "name": "page", "arguments": {"to": "ida"}}


def entry(key: str, parent: str | None, kind: str = "message", **members: Any) -> Fields:
    return {"type": kind, "id": key, "parentId": parent, "timestamp": "2026-11-02T09:00:01Z", **members}


def says(name: str, parent: str | None, *blocks: Fields, ends: str = "stop") -> Fields:
    return entry(name, parent, message={"role": "assistant", "content": list(blocks), "stopReason": ends, "model": "m"})


def gives(name: str, parent: str, **members: Any) -> Fields:
    told = {"role": "toolResult", "toolCallId": "c1", "toolName": "page", "content": "ok", "isError": False, **members}
    return entry(name, parent, message=told)


def asks(name: str, parent: str | None = None, text: str = "go") -> Fields:
    return entry(name, parent, message={"role": "user", "content": text})


def text_block(text: str) -> Fields:
    return {"type": "text", "text": text}


def read(tmp_path: Path, *entries: Fields) -> Reading:
    path = tmp_path / "session.jsonl"
    path.write_text("".join(f"{json.dumps(one)}\n" for one in entries), encoding="utf-8")
    return read_evidence(path)


RUN = (HEAD, asks("a"), says("b", "a", CALL, ends="toolUse"), gives("c", "b"), says("d", "c", text_block("done")))


def test_a_session_of_pi() -> None:
    reading = read_evidence(SAMPLE)
    (trace,) = reading.traces
    assert (reading.evidence.format, trace.id) == ("pi", "5f0e7a52-4c1b-4a55-9d0e-6a1f0c7b2d11")
    assert [(call.tool, call.agent, call.outcome) for call in trace.calls] == [
        ("roster_lookup", "", Outcome.RECORDED),
        ("pager_trigger", "", Outcome.RECORDED),
        ("bash", "user", Outcome.RECORDED),
    ]
    assert (reading.counts.input_tokens, reading.counts.output_tokens, reading.counts.branches) == (460, 48, 1)
    assert [text_of(raw) for raw in trace.surroundings] == ["/work/shop", trace.id]
    assert not reading.gaps


def test_a_session_of_factory_droid(tmp_path: Path) -> None:
    head = {"type": "session_start", "id": "s1", "title": "x", "cwd": "/work", "version": 2}
    call = {"type": "tool_use", "id": "c1", "name": "Execute", "input": {"command": "ls"}}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": "a.txt"}
    shown = entry("c", "b", message={"role": "user", "content": [result]})
    told = read(tmp_path, head, asks("a", "s1"), says("b", "a", call), shown, says("d", "c", text_block("a.txt")))
    assert told.evidence.format == "pi"
    assert [(call.tool, call.answered) for call in told.traces[0].calls] == [("Execute", True)]
    assert not told.gaps


def test_entries_of_the_first_version_have_no_ids(tmp_path: Path) -> None:
    bare = [{name: held for name, held in one.items() if name not in ("id", "parentId")} for one in RUN[1:]]
    reading = read(tmp_path, {**HEAD, "provider": "acme"}, *bare)
    assert (reading.evidence.format, len(reading.traces[0].calls), reading.gaps) == ("pi", 1, ())


@pytest.mark.parametrize(
    ("members", "outcome"),
    [({"cancelled": True}, Outcome.INDETERMINATE), ({"exitCode": 1}, Outcome.FAILED), ({}, Outcome.RECORDED)],
)
def test_what_a_person_ran_is_a_call_of_theirs(tmp_path: Path, members: Fields, outcome: Outcome) -> None:
    ran = {"role": "bashExecution", "command": "rm x", "output": "gone", "exitCode": 0, "cancelled": False, **members}
    call = read(tmp_path, HEAD, asks("a"), entry("b", "a", message=ran)).traces[0].calls[0]
    assert call.arguments is not None
    assert (call.tool, call.agent, call.turn, call.outcome) == ("bash", "user", -1, outcome)
    assert value_of(call.arguments) == {"command": "rm x"}


def test_two_entries_that_follow_the_same_one_are_a_branch(tmp_path: Path) -> None:
    reading = read(tmp_path, *RUN, asks("e", "a", "or so"), says("f", "e", text_block("so")))
    assert reading.counts.branches == 2
    assert reading.traces[0].turns == 3
    assert not reading.gaps


def test_an_entry_that_stands_again_is_told_once(tmp_path: Path) -> None:
    reading = read(tmp_path, *RUN, RUN[2])
    assert (len(reading.traces[0].calls), reading.counts.duplicate_records) == (1, 1)
    other = says("b", "a", {**CALL, "id": "c2"}, ends="toolUse")
    told = read(tmp_path, *RUN, other).traces[0]
    assert [call.recorded_id for call in told.calls] == ["c1", "c2"]
    assert "duplicate_record_id" in [one.code for one in told.findings]


def test_a_summary_is_told_and_hides_nothing(tmp_path: Path) -> None:
    summary = entry("e", "d", kind="compaction", summary="paged ida", firstKeptEntryId="d", tokensBefore=9)
    reading = read(tmp_path, *RUN, summary)
    assert [one.code for one in reading.traces[0].findings] == ["compacted_history"]
    assert not reading.gaps


HIDING = [
    asks("z", "gone"),
    entry("z", "d", kind="custom", customType="team", data={"calls": [CALL]}),
    entry("z", "d", kind="tool", name="rm", input={"path": "x"}),
    entry("z", "d", kind="tool_execution_start", toolName="rm"),
    entry("z", "d", kind="aside", message={"role": "assistant", "content": "hm"}),
    gives("z", "d", toolCallId="c2", details={"results": [{"messages": [{"role": "assistant", "content": [CALL]}]}]}),
    says("z", "d", text_block("half"), ends="length"),
    entry("z", "d", message={"role": "oracle", "content": "hm"}),
]


@pytest.mark.parametrize("hiding", HIDING)
def test_what_may_hide_a_call_is_a_gap(tmp_path: Path, hiding: Fields) -> None:
    assert not read(tmp_path, *RUN).gaps
    assert [gap.code for gap in read(tmp_path, *RUN, hiding).gaps if gap.hides]


@pytest.mark.parametrize("kind", ["custom", "label", "session_info", "model_change", "thinking_level_change"])
def test_what_the_harness_keeps_is_a_step_without_text(tmp_path: Path, kind: str) -> None:
    reading = read(tmp_path, *RUN, entry("z", "d", kind=kind, customType="x", data={"phase": 1}, label="here"))
    trace = reading.traces[0]
    assert (trace.step(len(trace) - 1).kind, trace.payload[len(trace) - 1]) == (StepKind.OTHER, None)
    assert not reading.gaps


def test_what_an_extension_says_to_the_model_is_told(tmp_path: Path) -> None:
    told = [
        entry("e", "d", kind="custom_message", customType="memory", content="ida left"),
        entry("f", "e", message={"role": "custom", "customType": "memory", "content": "ida is back"}),
        entry("g", "f", kind="branch_summary", fromId="d", summary="asked ida"),
    ]
    trace = read(tmp_path, *RUN, *told).traces[0]
    said = [text_of(raw) for row in trace.rows(StepKind.SYSTEM) if (raw := trace.payload[row]) is not None]
    assert said == ["ida left", "ida is back", "asked ida"]


def test_a_turn_that_was_broken_off(tmp_path: Path) -> None:
    broken = says("b", "a", ends="aborted")
    broken["message"]["errorMessage"] = "aborted by the person"
    reading = read(tmp_path, HEAD, asks("a"), broken)
    assert [step.kind for step in map(reading.traces[0].step, range(4))][-1] is StepKind.ERROR
    assert reading.traces[0].ended_normally is False


def test_outcomes_are_those_that_the_session_tells(tmp_path: Path) -> None:
    told = read(tmp_path, HEAD, asks("a"), says("b", "a", CALL), gives("c", "b", content="no such one", isError=True))
    assert outcomes(told) == [("0.0", "page", "no such one", "failed")]
