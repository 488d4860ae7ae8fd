"""Are the rounds of VS Code's chat read as they were, with what the editor shows of each tool that ran?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from forensics.core.jsonvalue import text_of, value_of
from forensics.core.trace import Boundary, Outcome, StepKind
from forensics.errors import EvidenceError
from tests.unit.formats.conftest import outcomes, read_evidence

if TYPE_CHECKING:
    from forensics.core.reading import Reading

Fields = dict[str, Any]
SAMPLE = Path(__file__).resolve().parents[2] / "contract" / "samples" / "vscode-chat.json"


def asks(*calls: str, said: str = "hm") -> Fields:
    return {"response": said, "toolCalls": [{"id": one, "name": "page", "arguments": "{}"} for one in calls]}


def shows(call: str = "p1", tool: str = "copilot_page", **members: Any) -> Fields:
    told = {"kind": "toolInvocationSerialized", "toolId": tool, "toolCallId": call, "isComplete": True}
    return {**told, "isConfirmed": {"type": 1}, **members}


def request(*parts: Fields, name: str = "r1", rounds: Any = None, results: Any = None, **members: Any) -> Fields:
    metadata = {} if rounds is None else {"toolCallRounds": rounds, "toolCallResults": results or {}}
    told = {"requestId": name, "message": {"text": "go"}, "response": list(parts)}
    return {**told, "result": {"metadata": metadata}, **members}


def gives(call: str = "c1", said: Any = "ok") -> Fields:
    return {call: {"content": [{"value": said}]}}


RAN = request(shows(), rounds=[asks("c1"), asks(said="done")], results=gives())


def write(tmp_path: Path, *requests: Fields, **members: Any) -> Reading:
    path = tmp_path / "chat.json"
    told = {"responderUsername": "GitHub Copilot", "sessionId": "s-1", "requests": list(requests), **members}
    path.write_text(json.dumps(told), encoding="utf-8")
    return read_evidence(path)


def log(tmp_path: Path, *entries: Fields) -> Reading:
    path = tmp_path / "session.jsonl"
    path.write_text("".join(f"{json.dumps(one)}\n" for one in entries), encoding="utf-8")
    return read_evidence(path)


def begins(*requests: Fields) -> Fields:
    return {"kind": 0, "v": {"version": 3, "sessionId": "s-1", "requests": list(requests)}}


def test_a_session() -> None:
    reading = read_evidence(SAMPLE)
    (trace,) = reading.traces
    assert reading.evidence.format == "vscode-chat"
    assert outcomes(reading) == [
        ("0.0", "read_file", "checkout:\nIda", "recorded"),
        ("1.0", "mcp_pager_page", "pg_8812", "recorded"),
    ]
    assert [call.server for call in trace.calls] == [None, "pager"]
    said = [text_of(raw) for row in trace.rows(StepKind.MODEL) if (raw := trace.payload[row]) is not None]
    assert said == ["The roster first.", "Ida, then.", "Paged Ida: pg_8812."]
    assert [trace.step(row).name for row in (0, 1)] == ["renderedGlobalContext", "renderedUserMessage"]
    assert (reading.counts.records, reading.counts.input_tokens, reading.counts.output_tokens) == (1, 300, 40)
    assert not reading.gaps


def test_a_log_tells_the_same_as_a_document(tmp_path: Path) -> None:
    told = [
        write(tmp_path, RAN),
        log(tmp_path, begins(RAN)),
        log(tmp_path, begins(), {"kind": 2, "k": ["requests"], "v": [RAN]}),
        log(
            tmp_path,
            begins(),
            {"kind": 2, "k": ["requests"], "v": [{**RAN, "response": [], "result": None}]},
            {"kind": 2, "k": ["requests", 0, "response"], "v": [shows(isComplete=False)]},
            {"kind": 2, "k": ["requests", 0, "response"], "i": 0, "v": RAN["response"]},
            {"kind": 1, "k": ["requests", 0, "result"], "v": RAN["result"]},
        ),
    ]
    for reading in told:
        assert reading.evidence.format == "vscode-chat"
        assert outcomes(reading) == [("0.0", "page", "ok", "recorded")]
        assert reading.traces[0].turns == len(RAN["result"]["metadata"]["toolCallRounds"])
        assert not reading.gaps


def test_a_request_that_was_taken_back_is_told(tmp_path: Path) -> None:
    other = request(name="r2", rounds=[asks("c2")], results=gives("c2"))
    reading = log(tmp_path, begins(RAN), {"kind": 2, "k": ["requests"], "i": 0, "v": [other]})
    assert [call.recorded_id for call in reading.traces[0].calls] == ["c1", "c2"]
    assert [one.code for one in reading.traces[0].findings] == ["compacted_history"]
    assert not reading.gaps


def test_a_request_that_stands_twice_is_told_once(tmp_path: Path) -> None:
    for reading in (write(tmp_path, RAN, RAN), log(tmp_path, begins(RAN, RAN))):
        assert outcomes(reading) == [("0.0", "page", "ok", "recorded")]
        assert reading.counts.duplicate_records == 1
        assert not reading.gaps


@pytest.mark.parametrize("name", ["r1", ""])
def test_requests_that_no_id_tells_apart_are_told_all(name: str, tmp_path: Path) -> None:
    first = {**RAN, "requestId": name}
    other = request(name=name, rounds=[asks("c2")], results=gives("c2"))
    for reading in (write(tmp_path, first, other), log(tmp_path, begins(first, other))):
        (trace,) = reading.traces
        assert [call.recorded_id for call in trace.calls] == ["c1", "c2"]
        assert [one.code for one in trace.findings] == ["duplicate_record_id"] * bool(name)


@pytest.mark.parametrize(
    "entries",
    [
        [{"kind": 2, "k": ["requests"], "v": [RAN]}],  # the first entry is lost
        [begins(RAN), {"kind": 1, "k": ["requests", 4, "result"], "v": {}}],
        [begins(RAN), {"kind": 7}],
        [begins(RAN), {"kind": 1, "k": ["requests", 0, "result"], "v": {}}],  # its calls stand nowhere else
    ],
)
def test_a_log_that_may_have_lost_a_call_has_a_gap(tmp_path: Path, entries: list[Fields]) -> None:
    assert any(gap.hides for gap in log(tmp_path, *entries).gaps)


@pytest.mark.parametrize(
    ("part", "outcome"),
    [
        (shows(), Outcome.RECORDED),
        (shows(isConfirmed=True), Outcome.RECORDED),
        (shows(isConfirmed={"type": 0}), Outcome.DENIED),
        (shows(isConfirmed={"type": 5}), Outcome.DENIED),
        (shows(isConfirmed=False), Outcome.DENIED),
        (shows(resultDetails={"isError": True, "output": []}), Outcome.FAILED),
    ],
)
def test_the_editor_says_who_allowed_a_tool_and_how_it_ended(tmp_path: Path, part: Fields, outcome: Outcome) -> None:
    (call,) = write(tmp_path, request(part, rounds=[asks("c1")], results=gives())).traces[0].calls
    assert call.outcome is outcome


def test_parts_are_those_of_their_calls_by_id(tmp_path: Path) -> None:
    denied = shows("c2", isConfirmed={"type": 0})
    told = request(
        denied,
        rounds=[asks("c1__vscode-1", "c2__vscode-2")],
        results={**gives("c1__vscode-1"), **gives("c2__vscode-2")},
    )
    trace = write(tmp_path, told).traces[0]
    assert [call.outcome for call in trace.calls] == [Outcome.RECORDED, Outcome.DENIED]


def test_a_call_without_a_result_is_unanswered(tmp_path: Path) -> None:
    (call,) = write(tmp_path, request(rounds=[asks("c1")])).traces[0].calls
    assert [block.code for block in call.blocks] == ["unanswered_call"]


def test_what_a_sub_agent_ran_is_told_by_its_parts_alone(tmp_path: Path) -> None:
    outer = shows("c1", toolSpecificData={"kind": "subagent"})
    inner = shows("p2", "copilot_readFile", subAgentInvocationId="sub-1")
    trace = write(tmp_path, request(outer, inner, rounds=[asks("c1")], results=gives())).traces[0]
    assert [(call.boundary, call.agent, call.outcome) for call in trace.calls] == [
        (Boundary.SUB_AGENT, "", Outcome.RECORDED),
        (Boundary.TOOL, "sub-1", Outcome.ABSENT),
    ]


def test_a_tool_that_only_tools_call_is_part_of_anothers_work(tmp_path: Path) -> None:
    told = request(shows(), shows("p2", "vscode_editFile_internal"), rounds=[asks("c1")], results=gives())
    assert not write(tmp_path, told).gaps


def test_without_rounds_the_parts_are_told(tmp_path: Path) -> None:
    terminal = shows("p1", "run_in_terminal", toolSpecificData={"kind": "terminal", "commandLine": {"original": "ls"}})
    mcp = shows("p2", "mcp_x", resultDetails={"input": '{"a": 1}', "output": [{"value": "ok"}]}, isComplete=True)
    reading = write(
        tmp_path,
        request({"value": "Looking. "}, terminal, {"kind": "thinking", "value": "hm"}, mcp, {"value": "Done."}),
    )
    trace = reading.traces[0]
    assert [value_of(call.arguments) for call in trace.calls if call.arguments] == [{"command": "ls"}, {"a": 1}]
    assert [text_of(raw) for row in trace.rows(StepKind.MODEL) if (raw := trace.payload[row])] == ["Looking. Done."]
    assert [gap.hides for gap in reading.gaps] == [True]


def test_words_alone_are_no_gap_unless_they_were_cut(tmp_path: Path) -> None:
    plain = request({"kind": "markdownContent", "content": {"value": "Hello."}})
    assert not write(tmp_path, plain).gaps
    cut = write(tmp_path, {**plain, "isCanceled": True})
    assert (cut.traces[0].ended_normally, [gap.hides for gap in cut.gaps]) == (False, [True])


def test_summaries_and_errors_are_steps(tmp_path: Path) -> None:
    told = request(rounds=[asks()])
    told["result"]["metadata"]["summaries"] = [{"toolCallRoundId": "x", "text": "so far"}]
    told["result"]["errorDetails"] = {"message": "rate limit"}
    trace = write(tmp_path, told).traces[0]
    assert [StepKind(kind) for kind in trace.kind][-2:] == [StepKind.SYSTEM, StepKind.ERROR]
    assert [one.code for one in trace.findings] == ["compacted_history"]


@pytest.mark.parametrize(
    "odd",
    [
        request(shows(), shows("p2"), rounds=[asks("c1")], results=gives()),
        request(rounds=[asks()], results=gives("c9")),
        request({"kind": "toolResult", "toolName": "rm"}, rounds=[asks()]),
        request({"kind": "strange", "call": {"tool_calls": []}, "tool": "rm", "args": {}}, rounds=[asks()]),
        request(rounds=[asks()], more={"tool": "rm", "arguments": {}}),
        request(rounds=[{**asks(), "more": {"tool": "rm", "arguments": {}}}]),
        request(rounds=[{"type": "function", "function": {"name": "rm", "arguments": "{}"}}]),
        request(shows(more={"tool": "rm", "arguments": {}}), rounds=[asks("c1")], results=gives()),
        {**request(rounds=[asks()]), "tool": "rm", "arguments": {}},
    ],
)
def test_what_may_hide_a_call_is_a_gap(tmp_path: Path, odd: Fields) -> None:
    assert any(gap.hides for gap in write(tmp_path, odd).gaps)


def test_a_session_without_requests_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(EvidenceError):
        write(tmp_path)
