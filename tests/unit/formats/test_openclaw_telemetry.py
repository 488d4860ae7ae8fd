"""Are the events of OpenClaw's telemetry read together: the messages of its agents once, and what ran beside them?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from forensics.core.jsonvalue import text_of
from forensics.core.trace import Boundary, Outcome, StepKind
from tests.unit.formats.conftest import outcomes, read_evidence

if TYPE_CHECKING:
    from forensics.core.reading import Reading

Fields = dict[str, Any]
SAMPLE = Path(__file__).resolve().parents[2] / "contract" / "samples" / "openclaw-telemetry.jsonl"
MAIN, SUB = "agent:main:main", "agent:main:subagent:7"
USER: Fields = {"role": "user", "content": "go"}
DONE: Fields = {"role": "assistant", "content": [{"type": "text", "text": "done"}], "stopReason": "stop"}


def asks(call: str = "c_1", tool: str = "page", **arguments: Any) -> Fields:
    part = {"type": "toolCall", "id": call, "name": tool, "arguments": arguments}
    return {"role": "assistant", "content": [part], "stopReason": "toolUse"}


def gives(call: str = "c_1", tool: str = "page", said: str = "ok", **members: Any) -> Fields:
    return {"role": "toolResult", "toolCallId": call, "toolName": tool, "content": said, "isError": False, **members}


def event(kind: str, session: str = MAIN, **members: Any) -> Fields:
    return {"type": kind, "sessionKey": session, "agentId": "main", **members}


def begins(*messages: Fields, session: str = MAIN, prompt: str = "go") -> Fields:
    return event("agent.start", session, prompt=prompt, messages=list(messages))


def ends(*messages: Fields, session: str = MAIN, **members: Any) -> Fields:
    return event("agent.end", session, **{"success": True, **members}, messages=list(messages))


def starts(tool: str = "page", session: str = MAIN, **arguments: Any) -> Fields:
    return event("tool.start", session, toolName=tool, params=arguments)


def stops(tool: str = "page", session: str = MAIN, *, success: bool = True, **members: Any) -> Fields:
    return event("tool.end", session, toolName=tool, success=success, **members)


def read(tmp_path: Path, *events: Fields) -> Reading:
    path = tmp_path / "telemetry.jsonl"
    path.write_text("".join(f"{json.dumps(one)}\n" for one in events), encoding="utf-8")
    return read_evidence(path)


def said(reading: Reading, kind: StepKind) -> list[str]:
    trace = reading.traces[0]
    return [text_of(raw) for row in trace.rows(kind) if (raw := trace.payload[row]) is not None]


def test_a_run() -> None:
    reading = read_evidence(SAMPLE)
    assert reading.evidence.format == "openclaw-telemetry"
    assert [(place, tool, how) for place, tool, _, how in outcomes(reading)] == [
        ("0.0", "read", "recorded"),
        ("1.0", "page", "recorded"),
    ]
    assert said(reading, StepKind.USER) == ["Page whoever is on call."]
    assert said(reading, StepKind.MODEL) == ["The roster first.", "Paged Ida: pg_8812."]
    assert (reading.counts.records, reading.counts.input_tokens, reading.counts.output_tokens) == (8, 140, 27)
    assert not reading.gaps


def test_a_conversation_that_is_shown_again_is_told_once(tmp_path: Path) -> None:
    told = [USER, asks(), gives()]
    again = [USER, asks("c1"), gives("c1"), DONE]  # the ids are spelled otherwise
    reading = read(tmp_path, begins(), starts(), stops(), begins(*told), ends(*again))
    assert [(call.recorded_id, call.outcome) for call in reading.traces[0].calls] == [("c_1", Outcome.RECORDED)]
    assert (reading.traces[0].turns, said(reading, StepKind.USER)) == (2, ["go"])
    assert not reading.gaps


def test_a_result_may_be_shown_later_under_the_other_spelling(tmp_path: Path) -> None:
    reading = read(tmp_path, begins(USER, asks()), ends(USER, asks("c1"), gives("c1"), DONE))
    assert [call.outcome for call in reading.traces[0].calls] == [Outcome.RECORDED]


def test_what_ran_without_messages_is_told_by_its_events_alone(tmp_path: Path) -> None:
    inner = [begins(session=SUB, prompt="look"), starts("read", SUB, path="a"), stops("read", SUB), ends(session=SUB)]
    spawned = gives(details={"childSessionKey": SUB})
    reading = read(tmp_path, begins(), starts(), stops(), *inner, ends(USER, asks(), spawned, DONE))
    trace = reading.traces[0]
    assert [(one.tool, one.agent, one.outcome, one.boundary) for one in trace.calls] == [
        ("read", "main:subagent:7", Outcome.ABSENT, Boundary.TOOL),
        ("page", "main:main", Outcome.RECORDED, Boundary.SUB_AGENT),
    ]
    assert said(reading, StepKind.USER) == ["look", "go"]
    assert not reading.gaps


@pytest.mark.parametrize(
    ("events", "told"),
    [
        ([starts(a=1), stops(success=False, error="no")], [Outcome.FAILED]),
        ([starts(a=1), starts(a=2), stops(success=False), stops()], [Outcome.INDETERMINATE, Outcome.ABSENT]),
        ([starts(a=1)], [Outcome.ABSENT]),
    ],
)
def test_how_what_ran_ended(tmp_path: Path, events: list[Fields], told: list[Outcome]) -> None:
    reading = read(tmp_path, begins(), *events, ends(USER, DONE))
    assert [call.outcome for call in reading.traces[0].calls] == told


def test_what_another_session_ran_is_no_run_of_this_ones_call(tmp_path: Path) -> None:
    inner = [begins(session=SUB, prompt="look"), starts(session=SUB), stops(session=SUB), ends(session=SUB)]
    (trace,) = read(tmp_path, begins(), *inner, ends(USER, asks(), gives(), DONE)).traces
    assert [(one.agent, one.outcome) for one in trace.calls] == [
        ("main:subagent:7", Outcome.ABSENT),
        ("main:main", Outcome.RECORDED),
    ]


def test_only_lengths_are_told(tmp_path: Path) -> None:
    used = event("llm.usage", model="m", inputTokens=7, outputTokens=2)
    reading = read(
        tmp_path, event("agent.start", promptLength=9), used, starts(), stops(), event("agent.end", success=True)
    )
    assert (reading.traces[0].silent_turns, reading.counts.input_tokens) == ([0], 7)
    assert [call.outcome for call in reading.traces[0].calls] == [Outcome.ABSENT]


def test_what_was_left_out_is_said(tmp_path: Path) -> None:
    summary = {"role": "compactionSummary", "summary": "so far"}
    reading = read(tmp_path, ends(USER, asks(), gives(), DONE), ends(summary, DONE))
    assert [one.code for one in reading.traces[0].findings] == ["compacted_history"]
    assert said(reading, StepKind.SYSTEM) == ["so far"]


def test_a_run_that_failed(tmp_path: Path) -> None:
    trace = read(tmp_path, begins(), ends(USER, success=False, error="rate limit")).traces[0]
    assert (trace.ended_normally, len(trace.rows(StepKind.ERROR))) == (False, 1)


@pytest.mark.parametrize(
    "odd",
    [
        [stops("rm")],
        [begins(USER)],
        [event("tool.exec", toolName="rm", params={})],
        [event("strange", tool="rm", arguments={})],
        [event("message.in", seq=1), event("message.in", seq=4)],
        [event("message.in", seq=3)],  # it counts from 1
        [event("message.in", seq=1), event("message.in", seq=2), event("message.in", seq=2, at="another start")],
        [event("message.in", more={"tool": "rm", "arguments": {}})],
        [event("agent.end", success=True, messages="cut")],
        [ends({**DONE, "content": [{"type": "function", "function": {"name": "rm", "arguments": "{}"}}]})],
    ],
)
def test_what_may_hide_a_call_is_a_gap(tmp_path: Path, odd: list[Fields]) -> None:
    assert any(gap.hides for gap in read(tmp_path, begins(), ends(USER, DONE), *odd).gaps)


@pytest.mark.parametrize("name", ["user", "assistant", "page"])
def test_half_a_surrogate_in_a_name_is_read(tmp_path: Path, name: str) -> None:
    path = tmp_path / "odd.jsonl"
    path.write_text(SAMPLE.read_text("utf-8").replace(f'"{name}"', f'"{name}\\ud800"'), "utf-8")
    assert read_evidence(path).traces


def test_the_real_events(cases: Path) -> None:
    """The calls are those of the messages; the events between them were taken out, which is said."""
    (path,) = (cases / "traces" / "openclaw-telemetry").glob("*.jsonl")
    told = [json.loads(one) for one in path.read_text(encoding="utf-8").splitlines()]
    parts = [part for one in told for message in one.get("messages", []) for part in message["content"]]
    reading = read_evidence(path)
    assert len(reading.traces[0].calls) == sum(part["type"] == "toolCall" for part in parts)
    assert all(call.outcome is Outcome.RECORDED for call in reading.traces[0].calls)
    assert {gap.message.startswith("the events 2 to") for gap in reading.gaps[:1]} == {True}
