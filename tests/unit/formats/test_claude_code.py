"""Is a Claude Code session read as its writer meant it, and is nothing lost where it is damaged?"""

from __future__ import annotations

import contextlib
import json
import random
from typing import TYPE_CHECKING, Any

import pytest

from forensics.analysis.causality import causal_graph
from forensics.api import Options, examine, load
from forensics.core.evidence import Basis
from forensics.core.graph import EdgeKind
from forensics.core.jsonvalue import text_of
from forensics.core.trace import Boundary, Outcome, StepKind
from forensics.errors import ForensicsError
from tests.unit.formats.conftest import read_evidence

if TYPE_CHECKING:
    from pathlib import Path

    from forensics.report.documents import AuditDocument

SESSION = "0f0e0d0c-0001-4000-8000-00000000a001"
FORCED = Options(input_format="claude-code")
Fields = dict[str, Any]


def record(kind: str, uuid: str, parent: str | None, message: Fields | None = None, **more: Any) -> Fields:
    head = {"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": SESSION, "isSidechain": False}
    return {**head, **({} if message is None else {"message": message}), **more}


def said(uuid: str, parent: str | None, *blocks: Fields, message_id: str | None = None, **more: Any) -> Fields:
    usage = more.pop("usage", {"input_tokens": 10, "output_tokens": 5})
    identity = {} if message_id is None else {"id": message_id}
    message = {**identity, "role": "assistant", "model": "demo", "content": list(blocks), "usage": usage}
    message |= {"stop_reason": more.pop("stop_reason")} if "stop_reason" in more else {}
    return record("assistant", uuid, parent, message, **more)


def shown(uuid: str, parent: str | None, *blocks: Fields | str, **more: Any) -> Fields:
    content = blocks[0] if len(blocks) == 1 and isinstance(blocks[0], str) else list(blocks)
    return record("user", uuid, parent, {"role": "user", "content": content}, **more)


def words(what: str) -> Fields:
    return {"type": "text", "text": what}


def call(call_id: str, name: str = "Bash", **arguments: Any) -> Fields:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def result(call_id: str, content: Any = "ok", **more: Any) -> Fields:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **more}


def session(tmp_path: Path, *lines: Fields | bytes) -> Path:
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"".join((x if isinstance(x, bytes) else json.dumps(x).encode()) + b"\n" for x in lines))
    return path


def audit(path: Path) -> AuditDocument:
    return examine(path).audit()


SHORT = (
    shown("u1", None, "list it"),
    said("a1", "u1", call("t1", command="ls"), message_id="m1"),
    shown("u2", "a1", result("t1")),
    said("a2", "u2", words("done"), message_id="m2"),
)


# turns ---------------------------------------------------------------------------------------------------------------


def test_lines_with_one_message_id_are_one_turn_and_count_their_tokens_once(tmp_path: Path) -> None:
    path = session(
        tmp_path,
        shown("u1", None, "go"),
        said("a1", "u1", {"type": "thinking", "thinking": "two files"}, message_id="m1"),
        said("a2", "a1", words("Both."), message_id="m1"),
        said("a3", "a2", call("t1", path="a"), message_id="m1"),
        shown("u2", "a3", result("t1", "A")),
        said("a4", "a3", call("t2", path="b"), message_id="m1", usage={"input_tokens": 10, "output_tokens": 40}),
        shown("u3", "a4", result("t2", "B")),
        said("a5", "u3", words("end"), message_id="m2"),
    )
    (trace,) = load(path)
    counts = audit(path).counts
    assert [c.occurrence for c in trace.calls] == ["0.0", "0.1"]
    assert (counts.model_calls, counts.input_tokens, counts.output_tokens) == (2, 20, 45)
    first = trace.payload[trace.rows(StepKind.MODEL)[0]]
    assert first is not None
    assert text_of(first) == "two files\nBoth."


def test_what_bears_the_message_id_of_a_turn_was_asked_for_by_it_on_record(tmp_path: Path) -> None:
    words_first = (
        shown("u1", None, "go"),
        said("a1", "u1", words("Listing."), message_id="m1"),
        said("a2", "a1", call("t1", command="ls"), message_id="m1"),
        shown("u2", "a2", result("t1")),
    )
    (trace,) = load(session(tmp_path, *words_first))
    (asked,) = (edge for edge in causal_graph(trace).edges() if edge.kind is EdgeKind.REQUESTS)
    assert (asked.source, asked.target, asked.basis) == (1, 2, Basis.RECORDED)


def test_a_message_without_an_id_is_a_turn_of_its_own(tmp_path: Path) -> None:
    lines = (
        shown("u1", None, "go"),
        said("a1", "u1", call("t1")),
        shown("u2", "a1", result("t1")),
        said("a2", "u2", call("t2")),
        shown("u3", "a2", result("t2")),
    )
    (trace,) = load(session(tmp_path, *lines))
    assert [c.occurrence for c in trace.calls] == ["0.0", "1.0"]


def test_what_the_harness_said_in_the_models_place_is_no_turn(tmp_path: Path) -> None:
    synthetic = said("a3", "a2", words("API Error: 529"), message_id="m9", isApiErrorMessage=True)
    synthetic["message"]["model"] = "<synthetic>"
    (trace,) = load(session(tmp_path, *SHORT, synthetic))
    assert trace.turns == 2
    assert trace.kind[len(trace) - 1] == StepKind.ERROR


@pytest.mark.parametrize(("stop", "code"), [("tool_use", "shows none"), ("max_tokens", "was cut")])
def test_a_turn_that_ended_otherwise_than_it_stands_is_a_gap(tmp_path: Path, stop: str, code: str) -> None:
    path = session(tmp_path, *SHORT, said("a3", "a2", words("and"), message_id="m3", stop_reason=stop))
    (verdict,) = (t.verdict for t in audit(path).traces)
    assert verdict.level == "static"
    assert any(code in r.message for r in verdict.reasons)


def test_the_server_stands_in_the_name_of_an_mcp_tool(tmp_path: Path) -> None:
    lines = (shown("u1", None, "go"), said("a1", "u1", call("t1", "mcp__issues__list_all"), message_id="m1"))
    (trace,) = load(session(tmp_path, *lines, shown("u2", "a1", result("t1"))))
    assert [(c.tool, c.server) for c in trace.calls] == [("mcp__issues__list_all", "issues")]


# outcomes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "more", "expected"),
    [
        ("ok", {}, Outcome.RECORDED),
        ("cat: x: Permission denied", {"is_error": True}, Outcome.FAILED),
        ("The user doesn't want to proceed with this tool use.", {"is_error": True}, Outcome.DENIED),
        ("The user doesn't want to proceed with this tool use.", {}, Outcome.RECORDED),
        ("This command requires approval", {"is_error": True}, Outcome.DENIED),
        ("Permission to use Bash with command rm has been denied.", {"is_error": True}, Outcome.DENIED),
        ("PreToolUse:Bash hook error: blocked", {"is_error": True}, Outcome.DENIED),
        ("<tool_use_error>Sibling tool call errored</tool_use_error>", {"is_error": True}, Outcome.DENIED),
        ([{"type": "text", "text": "The user doesn't want to take this action"}], {"is_error": True}, Outcome.DENIED),
        ("Command timed out after 2m 0.0s", {"is_error": True}, Outcome.INDETERMINATE),
        ("[Request interrupted by user for tool use]", {}, Outcome.INDETERMINATE),
    ],
)
def test_what_a_result_says_of_its_call(tmp_path: Path, content: Any, more: Fields, expected: Outcome) -> None:
    lines = (SHORT[0], SHORT[1], shown("u2", "a1", result("t1", content, **more)))
    (trace,) = load(session(tmp_path, *lines))
    assert trace.calls[0].outcome is expected
    assert trace.calls[0].result is not None


def test_marks_of_the_record_say_it_as_well(tmp_path: Path) -> None:
    def outcome(**marks: Any) -> Outcome:
        (trace,) = load(session(tmp_path, SHORT[0], SHORT[1], shown("u2", "a1", result("t1", "no"), **marks)))
        return trace.calls[0].outcome

    assert outcome(toolDenialKind="user-rejected") is Outcome.DENIED
    assert outcome(toolUseResult="Error: exit 1") is Outcome.FAILED
    assert outcome(toolUseResult={"stdout": "", "interrupted": True}) is Outcome.INDETERMINATE


def test_an_interruption_leaves_its_call_without_a_result(tmp_path: Path) -> None:
    document = audit(session(tmp_path, *SHORT[:2], shown("u2", "a1", words("[Request interrupted by user]"))))
    assert document.counts.unanswered == ["t1"]
    assert {"unanswered_call", "incomplete_run"} <= {f.code for f in document.findings}


# sub-agents ----------------------------------------------------------------------------------------------------------


def test_a_side_chain_is_a_lane_that_its_call_began(tmp_path: Path) -> None:
    side = {"isSidechain": True}
    path = session(
        tmp_path,
        shown("u1", None, "go"),
        said("a1", "u1", call("t1", "Task", prompt="look for it"), message_id="m1"),
        shown("s1", None, "look for it", **side),
        said("s2", "s1", call("t2", "Read", file="x"), message_id="m2", **side),
        shown("s3", "s2", result("t2", "text"), **side),
        said("s4", "s3", words("found"), message_id="m3", **side),
        shown("u2", "a1", result("t1", "found")),
        said("a2", "u2", words("done"), message_id="m4"),
    )
    (trace,) = load(path)
    assert trace.agents == ["main", "sidechain-1"]
    assert [(c.agent, c.boundary, c.occurrence) for c in trace.calls] == [
        ("main", Boundary.SUB_AGENT, "0.0"),
        ("sidechain-1", Boundary.TOOL, "1.0"),
    ]
    (began,) = trace.rows(StepKind.AGENT)
    assert trace.parent[began] == trace.calls[0].step
    assert audit(path).traces[0].verdict.level == "inject"


def test_a_sub_agent_in_progress_lines_is_read_and_told_once(tmp_path: Path) -> None:
    inner = said("p1", None, call("t2", "Read", file="x"), message_id="m2")
    data = {"type": "agent_progress", "agentId": "abc", "message": inner}
    answer = {**data, "message": shown("p2", "p1", result("t2", "text"))}
    path = session(
        tmp_path,
        shown("u1", None, "go"),
        said("a1", "u1", call("t1", "Agent", prompt="p"), message_id="m1"),
        record("progress", "x1", "a1", data=data, parentToolUseID="t1"),
        record("progress", "x2", "x1", data=data, parentToolUseID="t1"),
        record("progress", "x3", "x2", data=answer, parentToolUseID="t1"),
        record("progress", "x4", "x3", data={"type": "bash_progress", "output": "…"}),
        shown("u2", "a1", result("t1", "done")),
        said("a2", "u2", words("done"), message_id="m4"),
    )
    (trace,) = load(path)
    assert [(c.agent, c.tool, c.answered) for c in trace.calls] == [
        ("main", "Agent", True),
        ("agent-abc", "Read", True),
    ]
    (began,) = trace.rows(StepKind.AGENT)
    assert trace.parent[began] == trace.calls[0].step
    assert audit(path).counts.duplicate_records == 0


def test_a_file_of_a_sub_agent_is_a_trace_of_its_own(tmp_path: Path) -> None:
    lines = [{**x, "isSidechain": True, "agentId": "a52"} for x in SHORT]
    (trace,) = load(session(tmp_path, *lines))
    assert (trace.id, trace.agents) == (f"{SESSION}.agent-a52", ["agent-a52"])


# history -------------------------------------------------------------------------------------------------------------


def test_history_written_again_is_told_once(tmp_path: Path) -> None:
    renamed = [{**x, "uuid": f"new-{x['uuid']}", "timestamp": "2026-09-01T10:00:00Z"} for x in SHORT[:2]]
    first = [{**x, "timestamp": "2026-09-01T10:00:00Z"} for x in SHORT[:2]]
    path = session(tmp_path, *first, *SHORT[2:], *first, SHORT[2], *renamed, shown("u3", "a2", "thanks"))
    document = audit(path)
    assert (document.counts.records, document.counts.duplicate_records) == (10, 5)
    assert [f.code for f in document.findings].count("duplicate_record") == 1
    assert [c.occurrence for c in document.traces[0].calls] == ["0.0"]


def test_the_same_words_at_another_time_are_no_duplicate(tmp_path: Path) -> None:
    first = shown("u1", None, "continue", timestamp="2026-09-01T10:00:01Z")
    second = shown("u2", "u1", "continue", timestamp="2026-09-01T10:00:02Z")
    assert audit(session(tmp_path, first, second)).counts.duplicate_records == 0


def test_an_id_used_again_in_a_later_turn_is_another_call_with_its_own_result(tmp_path: Path) -> None:
    path = session(
        tmp_path,
        *SHORT[:3],
        said("a2", "u2", call("t1", command="ls"), message_id="m2"),
        shown("u3", "a2", result("t1")),
    )
    (trace,) = load(path)
    assert [(c.occurrence, c.answered) for c in trace.calls] == [("0.0", True), ("1.0", True)]
    assert "duplicate_call_id" in {f.code for f in audit(path).findings}


def test_another_result_for_an_answered_call_contradicts_it(tmp_path: Path) -> None:
    document = audit(session(tmp_path, *SHORT, shown("u9", "a2", result("t1", "something else"))))
    assert "conflicting_results" in {f.code for f in document.findings}
    assert document.traces[0].verdict.level == "static"


def test_compaction_is_said_and_loses_nothing(tmp_path: Path) -> None:
    path = session(
        tmp_path,
        *SHORT,
        record("system", "c1", None, subtype="compact_boundary", content="Conversation compacted"),
        shown("u3", "c1", "This session is being continued …", isCompactSummary=True),
        said("a3", "u3", words("on"), message_id="m3"),
    )
    document = audit(path)
    (found,) = [f for f in document.findings if f.code == "compacted_history"]
    assert found.severity == "info"
    assert document.traces[0].verdict.level != "static"


def test_a_person_who_goes_back_makes_a_branch(tmp_path: Path) -> None:
    more = (shown("u3", "a2", "more"), said("a3", "u3", words("more"), message_id="m3"))
    assert audit(session(tmp_path, *SHORT, *more)).counts.branches == 1
    assert audit(session(tmp_path, *SHORT, *more, shown("u4", "a2", "rather this"))).counts.branches == 2


def test_a_line_cut_out_of_the_middle_is_a_gap(tmp_path: Path) -> None:
    lines = (*SHORT, shown("u3", "a2", "more"), said("a3", "u3", words("end"), message_id="m3"))
    assert audit(session(tmp_path, *lines)).traces[0].verdict.level != "static"
    (trace,) = audit(session(tmp_path, *lines[:3], *lines[4:])).traces
    assert trace.verdict.level == "static"
    assert "not in the file" in trace.verdict.reasons[-1].message


def test_a_file_without_its_beginning_is_no_proof_that_nothing_was_called(tmp_path: Path) -> None:
    assert audit(session(tmp_path, shown("u1", None, "hi"), SHORT[3])).traces[0].verdict.level == "static"
    whole = (shown("u1", None, "hi"), said("a1", "u1", words("hello"), message_id="m1"))
    assert audit(session(tmp_path, *whole)).traces[0].verdict.level == "dynamic"
    assert audit(session(tmp_path, shown("u1", "earlier", "hi"), whole[1])).traces[0].verdict.level == "static"


# damage --------------------------------------------------------------------------------------------------------------


def test_two_records_on_one_line_are_both_read(tmp_path: Path) -> None:
    glued = json.dumps(SHORT[1]).encode() + json.dumps({"type": "summary", "summary": "s", "leafUuid": "z"}).encode()
    path = session(tmp_path, SHORT[0], glued, *SHORT[2:])
    document = audit(path)
    counts = document.counts
    assert (counts.lines, counts.records, counts.recovered_records, counts.bad_lines) == (4, 5, 2, [])
    assert "recovered_record" in {f.code for f in document.findings}
    (trace,) = load(path)
    offsets = [(s.name, s.locator.line, s.locator.offset) for s in trace.steps() if s.locator.line == 2]
    start = len(json.dumps(SHORT[0])) + 1
    assert offsets[-1] == ("summary", 2, start + len(json.dumps(SHORT[1])))


def test_half_a_record_before_another_is_a_bad_line(tmp_path: Path) -> None:
    whole = json.dumps(SHORT[3]).encode()
    document = audit(session(tmp_path, *SHORT[:3], whole + whole[:40]))
    assert document.counts.bad_lines == [4]
    assert (document.counts.records, document.counts.recovered_records) == (4, 1)
    assert document.traces[0].verdict.level == "static"


def test_a_record_behind_nul_bytes_is_recovered(tmp_path: Path) -> None:
    document = audit(session(tmp_path, *SHORT[:2], b"\0" * 30 + json.dumps(SHORT[2]).encode(), SHORT[3]))
    assert document.counts.bad_lines == [3]
    assert document.counts.paired == 1
    assert {"nul_padding", "recovered_record"} <= {f.code for f in document.findings}


def test_a_key_that_stands_twice_refuses_its_call(tmp_path: Path) -> None:
    line = json.dumps(SHORT[1]).replace('"name": "Bash"', '"name": "Bash", "name": "Read"').encode()
    document = audit(session(tmp_path, SHORT[0], line, *SHORT[2:]))
    assert "duplicate_key" in {f.code for f in document.findings}
    assert document.traces[0].verdict.level == "static"


@pytest.mark.parametrize("extra", ['"id":1, ', '"id":1,', '"id": "t9", '])
def test_a_key_that_stands_twice_is_seen_whatever_its_length(tmp_path: Path, extra: str) -> None:
    line = json.dumps(SHORT[1]).replace('"id": "t1"', f'{extra}"id": "t1"').encode()
    document = audit(session(tmp_path, SHORT[0], line, *SHORT[2:]))
    assert "duplicate_key" in {f.code for f in document.findings}


def test_large_records_are_named_once(tmp_path: Path) -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJDRA9z" * 150_000}}
    path = session(tmp_path, *SHORT[:2], shown("u2", "a1", result("t1", [image])), shown("u3", "u2", image))
    document = audit(path)
    (found,) = [f for f in document.findings if f.code == "large_payload"]
    assert found.severity == "low"
    assert document.traces[0].handles == []


def test_an_orphan_result_makes_no_call(tmp_path: Path) -> None:
    document = audit(session(tmp_path, shown("u1", None, "x"), shown("u2", "u1", result("t9", "no", is_error=True))))
    assert document.counts.orphan_results == ["t9"]
    assert document.counts.tool_calls == 0


# the SDK's stream ----------------------------------------------------------------------------------------------------


def sdk(kind: str, **more: Any) -> Fields:
    return {"type": kind, "session_id": "s-1", "parent_tool_use_id": None, **more}


STREAM = (
    sdk("system", subtype="init", tools=["Bash"]),
    sdk("assistant", message={"id": "m1", "role": "assistant", "content": [call("t1", "Task", prompt="p")]}),
    sdk("assistant", parent_tool_use_id="t1", message={"id": "m2", "role": "assistant", "content": [call("t2")]}),
    sdk("user", parent_tool_use_id="t1", message={"role": "user", "content": [result("t2")]}),
    sdk("user", message={"role": "user", "content": [result("t1")]}),
    sdk("assistant", message={"id": "m3", "role": "assistant", "content": [words("done")]}),
    sdk("result", subtype="success", is_error=False, result="done", usage={"input_tokens": 7, "output_tokens": 9}),
)


def test_the_sdks_stream_is_a_session_as_lines_and_as_one_document(tmp_path: Path) -> None:
    lines = session(tmp_path, *STREAM)
    one = tmp_path / "stream.json"
    one.write_text(json.dumps(STREAM, indent=1))
    recording = tmp_path / "recording.json"
    sent = [{"direction": "recv", "message": message} for message in STREAM]
    recording.write_text(json.dumps({"metadata": {}, "messages": sent}, indent=1))
    for path in (lines, one, recording):
        (trace,) = load(path)
        assert (trace.id, trace.agents, trace.ended_normally) == ("s-1", ["main", "agent-t1"], True), path.name
        assert [(c.agent, c.answered) for c in trace.calls] == [("main", True), ("agent-t1", True)]
        counts = audit(path).counts
        assert (counts.records, counts.input_tokens, counts.output_tokens) == (7, 7, 9)


def test_a_run_that_failed_did_not_end(tmp_path: Path) -> None:
    failed = sdk("result", subtype="error_max_turns", is_error=True)
    document = audit(session(tmp_path, *STREAM[:-1], failed))
    assert "incomplete_run" in {f.code for f in document.findings}


HOOKED = {"stdout": "a.txt", "stderr": "", "interrupted": False}


def hook(response: Any) -> Fields:
    told = {"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_response": response, "tool_use_id": "t1"}
    return sdk("control_request", request_id="r1", request={"subtype": "hook_callback", "input": told})


@pytest.mark.parametrize("copy", [{}, {"tool_use_result": {**HOOKED, "more": 1}}])
@pytest.mark.parametrize(
    ("response", "disputes"),
    [
        (HOOKED, 0),
        (HOOKED["stdout"], 0),
        ([{"type": "text", "text": "a.txt"}], 0),
        ({"filePath": "a.txt"}, 0),
        ({**HOOKED, "stdout": "b.txt"}, 1),
        ("b.txt", 1),
        ([{"type": "text", "text": "b.txt"}], 1),
    ],
)
def test_a_hook_that_is_told_another_result_contradicts_it(
    tmp_path: Path, copy: Fields, response: Any, disputes: int
) -> None:
    shown = sdk("user", message={"role": "user", "content": [result("t1", "a.txt")]}, **copy)
    asked = sdk("assistant", message={"id": "m1", "role": "assistant", "content": [call("t1")]})
    (trace,) = load(session(tmp_path, STREAM[0], asked, hook(response), shown, *STREAM[-2:]))
    assert [block.code for block in trace.calls[0].blocks] == ["inconsistent_tuple"] * disputes


# contract ------------------------------------------------------------------------------------------------------------


def test_any_cut_and_any_changed_byte_raises_only_what_is_promised(tmp_path: Path) -> None:
    news = record("progress", "x", "a2", data={"type": "agent_progress"})
    whole = session(tmp_path, *SHORT, *STREAM, news).read_bytes()
    draw = random.Random(3)  # noqa: S311 - the same damage in every run
    path = tmp_path / "damaged"
    for _ in range(300):
        data = bytearray(whole[: draw.randrange(len(whole))] if draw.random() < 0.5 else whole)
        for _ in range(draw.randrange(4)):
            data[draw.randrange(len(data) or 1) : draw.randrange(len(data) or 1) + 1] = draw.randbytes(1)
        path.write_bytes(bytes(data))
        with contextlib.suppress(ForensicsError):
            load(path, FORCED)
        assert examine(path, FORCED).audit().evidence[0].status in {"read", "partial", "refused"}


def test_every_line_is_a_step_a_piece_of_a_turn_a_duplicate_or_a_gap(cases: Path) -> None:
    for path in sorted((cases / "traces" / "claude-code").glob("*.jsonl")):
        if not path.stat().st_size:
            continue
        reading = read_evidence(path)
        counts = reading.counts
        (trace,) = reading.traces
        stood = {trace.locator(row).line for row in range(len(trace))}
        pieces = _pieces_of_turns(path)
        told = {n for n in range(1, counts.lines + 1) if n in stood or n in pieces}
        assert len(told) + len(counts.bad_lines) + counts.duplicate_records == counts.lines, path.name
        assert counts.records + len(counts.bad_lines) == counts.lines


def _pieces_of_turns(path: Path) -> set[int]:
    """The lines that a turn's text was put together from."""
    seen: set[str] = set()
    pieces = set()
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        fields = json.loads(line)
        if fields["type"] == "assistant":
            identity = fields["message"]["id"]
            if identity in seen:
                pieces.add(number)
            seen.add(identity)
    return pieces


def test_real_sessions_are_counted_as_another_way_counts_them(cases: Path) -> None:
    for path in sorted((cases / "traces" / "claude-code").glob("*.jsonl")):
        if not path.stat().st_size:
            continue
        asked, answered = set(), set()
        for line in path.read_text(encoding="utf-8").splitlines():
            content = (json.loads(line).get("message") or {}).get("content")
            for block in content if isinstance(content, list) else []:
                asked |= {block["id"]} if block["type"] == "tool_use" else set()
                answered |= {block["tool_use_id"]} if block["type"] == "tool_result" else set()
        counts = audit(path).counts
        assert (counts.tool_calls, counts.tool_results) == (len(asked), len(answered)), path.name


# where the run began -------------------------------------------------------------------------------------------------


def _reads_where_it_is(tmp_path: Path, *, before: str) -> list[str]:
    first = shown("u1", None, "where are you", cwd=before, gitBranch="main")
    lines = (
        first,
        said("a1", "u1", call("t1", command="git worktree list"), message_id="m1", cwd=before),
        shown("u2", "a1", result("t1", "/work/trees/agent-7f3a9c21 [main]"), cwd="/work/trees/agent-7f3a9c21"),
        said("a2", "u2", call("t2", command="touch /work/trees/agent-7f3a9c21/x"), message_id="m2"),
        shown("u3", "a2", result("t2")),
    )
    document = audit(session(tmp_path, *lines))
    return [handle.value for handle in document.traces[0].handles]


def test_the_folder_in_which_a_run_began_is_minted_by_none_of_its_calls(tmp_path: Path) -> None:
    assert _reads_where_it_is(tmp_path, before="/work/trees/agent-7f3a9c21") == []


def test_a_folder_that_a_later_record_names_may_be_minted(tmp_path: Path) -> None:
    assert _reads_where_it_is(tmp_path, before="/work") == ["agent-7f3a9c21"]


# the SDK's pipe as YAML ----------------------------------------------------------------------------------------------

PIPE = """\
messages:
- response: {request_id: req_1, subtype: success}
  type: control_response
- {type: system, subtype: init, session_id: s1}
- message:
    content:
    - {type: tool_use, id: t1, name: Bash, input: {command: ls}}
    id: m1
    role: assistant
  session_id: s1
  type: assistant
- message:
    content:
    - {type: tool_result, tool_use_id: t1, content: "a\\nb"}
    role: user
  session_id: s1
  type: user
- message:
    content: [{type: text, text: done}]
    id: m2
    role: assistant
  session_id: s1
  type: assistant
- {type: result, subtype: success, is_error: false, session_id: s1}
"""


def test_a_recording_in_yaml_is_read_as_the_same_in_json(tmp_path: Path) -> None:
    (tmp_path / "pipe.yaml").write_text(PIPE, encoding="utf-8")
    (trace,) = load(tmp_path / "pipe.yaml")
    (one,) = trace.calls
    assert (trace.id, one.tool, one.occurrence, one.outcome) == ("s1", "Bash", "0.0", Outcome.RECORDED)
    document = audit(tmp_path / "pipe.yaml")
    assert (document.evidence[0].format, document.counts.records, document.findings) == ("claude-code", 6, [])
    assert document.traces[0].verdict.level == "dynamic"


def test_a_recording_in_yaml_that_breaks_off_is_never_cleared(tmp_path: Path) -> None:
    (tmp_path / "pipe.yaml").write_text(PIPE[: PIPE.index("text: done")], encoding="utf-8")
    document = audit(tmp_path / "pipe.yaml")
    assert [(f.code, [place.line for place in f.locators]) for f in document.findings][:1] == [
        ("container_truncated", [18])
    ]
    assert document.counts.paired == 1
    assert document.traces[0].verdict.level == "static"
