"""Is a Codex rollout read as turns, calls and outcomes, of both generations and from a damaged file?"""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest

from forensics.core.jsonvalue import text_of
from forensics.core.trace import Absence, Boundary, Outcome, StepKind
from forensics.errors import CorruptEvidenceError
from tests.unit.formats.conftest import read_evidence

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from forensics.core.reading import Reading
    from forensics.core.trace import Call

Fields = dict[str, Any]
AT = "2026-06-17T10:07:16.815Z"


def record(kind: str, payload: Fields) -> Fields:
    return {"timestamp": AT, "type": kind, "payload": payload}


def item(kind: str, **fields: Any) -> Fields:
    return record("response_item", {"type": kind, **fields})


def event(kind: str, **fields: Any) -> Fields:
    return record("event_msg", {"type": kind, **fields})


def says(text: str, role: str = "assistant") -> Fields:
    return item("message", role=role, content=[{"type": "output_text", "text": text}])


def asks(call_id: str, command: str = "ls", name: str = "exec_command", **more: Any) -> Fields:
    return item("function_call", name=name, arguments=json.dumps({"cmd": command}), call_id=call_id, **more)


def gives(call_id: str, output: Any) -> Fields:
    return item("function_call_output", call_id=call_id, output=output)


META = record("session_meta", {"id": "s1", "cwd": "/srv", "base_instructions": {"text": "Be careful."}})
DONE = "Chunk ID: a6\nWall time: 0.6 seconds\nProcess exited with code {}\nOutput:\nfine"


def write(tmp_path: Path, *lines: Fields | bytes) -> Path:
    path = tmp_path / "rollout.jsonl"
    path.write_bytes(b"".join((x if isinstance(x, bytes) else json.dumps(x).encode()) + b"\n" for x in lines))
    return path


@pytest.fixture
def reading(tmp_path: Path) -> Callable[..., Reading]:
    def read(*lines: Fields | bytes, head: Fields = META) -> Reading:
        return read_evidence(write(tmp_path, head, *lines))

    return read


def calls(reading: Reading) -> Sequence[Call]:
    (trace,) = reading.traces
    return trace.calls


def test_a_turn_is_a_run_of_items_and_its_calls_are_parallel(reading: Callable[..., Reading]) -> None:
    found = reading(
        says("go", "user"), says("looking"), asks("c1"), asks("c2", "pwd"), gives("c1", "a"), gives("c2", "b"),
        says("done"),
    )  # fmt: skip
    assert [c.occurrence for c in calls(found)] == ["0.0", "0.1"]
    assert found.counts.model_calls == 2
    (trace,) = found.traces
    assert trace.id == "s1"
    turns = [trace.step(row) for row in trace.rows(StepKind.MODEL)]
    assert [text_of(t.payload) for t in turns if t.payload is not None] == ["looking", "done"]
    assert not found.gaps


@pytest.mark.parametrize(
    ("output", "outcome"),
    [
        (DONE.format(0), Outcome.RECORDED),
        (DONE.format(1), Outcome.FAILED),
        ("Exit code: 2\nWall time: 0 seconds\nOutput:\nno", Outcome.FAILED),
        (json.dumps({"output": "no", "metadata": {"exit_code": 3}}), Outcome.FAILED),
        ({"content": "no", "success": False}, Outcome.FAILED),
        ("exec command rejected by user", Outcome.DENIED),
        ("patch rejected by user", Outcome.DENIED),
        ("This action was rejected due to unacceptable risk.", Outcome.DENIED),
        ("aborted by user after 5.0s", Outcome.INDETERMINATE),
        ("Wall time: 3.1 seconds\naborted by user", Outcome.INDETERMINATE),
        ("command timed out after 10000 milliseconds", Outcome.INDETERMINATE),
        ("execution error: no such file", Outcome.FAILED),
        ([{"type": "input_text", "text": DONE.format(1)}], Outcome.FAILED),
    ],
)
def test_an_output_says_how_its_call_ended(reading: Callable[..., Reading], output: Any, outcome: Outcome) -> None:
    (call,) = calls(reading(asks("c1"), gives("c1", output)))
    assert call.outcome is outcome
    assert call.result is not None


@pytest.mark.parametrize("printed", ["exec command rejected by user", "Exit code: 1", "aborted by user"])
def test_what_a_command_printed_says_nothing_about_its_outcome(reading: Callable[..., Reading], printed: str) -> None:
    (call,) = calls(reading(asks("c1"), gives("c1", DONE.format(0) + "\n" + printed)))
    assert call.outcome is Outcome.RECORDED


def test_an_event_says_what_the_text_of_an_output_does_not(reading: Callable[..., Reading]) -> None:
    declined = event("patch_apply_end", call_id="c1", success=False, status="declined", changes={})
    asked = item("custom_tool_call", call_id="c1", name="apply_patch", input="*** Begin Patch")
    (call,) = calls(reading(asked, declined, item("custom_tool_call_output", call_id="c1", output="no")))
    assert call.outcome is Outcome.DENIED


def test_a_call_that_ended_and_was_not_shown_is_not_lost(reading: Callable[..., Reading]) -> None:
    invocation = {"server": "crm", "tool": "add_note", "arguments": {"id": 7}}
    over = event("mcp_tool_call_end", call_id="c9", invocation=invocation, result={"Ok": {"content": []}})
    (call,) = calls(reading(says("hm"), over))
    assert (call.tool, call.server, call.outcome, call.turn) == ("add_note", "crm", Outcome.RECORDED, -1)


def test_a_call_that_ended_without_an_output_takes_its_outcome_from_the_event(reading: Callable[..., Reading]) -> None:
    over = event("exec_command_end", call_id="c1", exit_code=1, status="failed", aggregated_output="no")
    (call,) = calls(reading(asks("c1"), over, event("turn_aborted", reason="interrupted")))
    assert (call.outcome, call.occurrence) == (Outcome.FAILED, "0.0")


def test_a_namespace_is_part_of_the_name_and_says_the_server(reading: Callable[..., Reading]) -> None:
    tool = {"type": "function", "name": "_get", "description": "Reads.", "parameters": {"type": "object"}}
    looked = item("tool_search_call", call_id="s", execution="client", arguments={"query": "x"})
    found = item("tool_search_output", call_id="s", tools=[{"type": "namespace", "name": "mcp__crm", "tools": [tool]}])
    reading_ = reading(looked, found, asks("c1", name="_get", namespace="mcp__crm"), gives("c1", "ok"))
    search, call = calls(reading_)
    assert (search.tool, search.boundary, search.outcome) == ("tool_search", Boundary.TOOL, Outcome.RECORDED)
    assert (call.tool, call.server) == ("mcp__crm_get", "crm")
    assert reading_.traces[0].facts["mcp__crm_get"].description == "Reads."


def test_a_name_and_its_namespace_are_told_apart_where_neither_has_the_line_between(
    reading: Callable[..., Reading],
) -> None:
    tool = {"type": "function", "name": "page_out", "description": "Pages.", "parameters": {"type": "object"}}
    offered = item(
        "tool_search_output", call_id="s", tools=[{"type": "namespace", "name": "mcp__ops", "tools": [tool]}]
    )
    reading_ = reading(offered, asks("c1", name="page_out", namespace="mcp__ops"), gives("c1", "ok"))
    call = calls(reading_)[-1]
    assert (call.tool, call.server) == ("mcp__ops__page_out", "ops")
    assert reading_.traces[0].facts["mcp__ops__page_out"].description == "Pages."


def completed(kind: str, **fields: Any) -> Fields:
    return event("item_completed", item={"type": kind, **fields})


MCP_ITEM = {"server": "crm", "tool": "add_note", "arguments": {"id": 7}}


@pytest.mark.parametrize(
    ("over", "tool", "outcome"),
    [
        (completed("McpToolCall", id="c9", **MCP_ITEM, status="completed", result={"content": []}), "add_note",
         Outcome.RECORDED),
        (completed("McpToolCall", id="c9", **MCP_ITEM, status="failed", error={"message": "no"}), "add_note",
         Outcome.FAILED),
        (completed("McpToolCall", id="c9", **MCP_ITEM, status="failed",
                   error={"message": "user cancelled MCP tool call"}), "add_note", Outcome.DENIED),
        (completed("CommandExecution", id="c9", command=["ls"], status="failed", exit_code=3, aggregated_output=""),
         "exec_command", Outcome.FAILED),
        (completed("FileChange", id="c9", changes={"a": {}}, status="declined"), "apply_patch", Outcome.DENIED),
        (completed("DynamicToolCall", id="c9", tool="look", arguments={}, status="completed",
                   content_items=[{"text": "x"}]), "look", Outcome.RECORDED),
    ],
)  # fmt: skip
def test_a_call_that_only_a_completed_item_holds_is_not_lost(
    reading: Callable[..., Reading], over: Fields, tool: str, outcome: Outcome
) -> None:
    (call,) = calls(reading(says("hm"), over))
    assert (call.tool, call.outcome) == (tool, outcome)


def test_a_completed_item_says_how_the_call_of_an_interrupted_turn_ended(reading: Callable[..., Reading]) -> None:
    over = completed("CommandExecution", id="c1", command=["ls"], status="failed", exit_code=1, aggregated_output="no")
    (call,) = calls(reading(asks("c1"), over, event("turn_aborted", reason="interrupted")))
    assert (call.outcome, call.occurrence) == (Outcome.FAILED, "0.0")


@pytest.mark.parametrize(("second", "hints"), [(True, {"readOnlyHint": True}), (False, {})])
def test_what_the_server_hinted_at_is_a_fact_while_it_says_the_same(
    reading: Callable[..., Reading], *, second: bool, hints: dict[str, object]
) -> None:
    lines: list[Fields] = []
    for call_id, hint in (("c1", True), ("c2", second), ("c3", True)):
        over = completed("McpToolCall", id=call_id, **MCP_ITEM, status="completed", readOnlyHint=hint, result={})
        lines += [asks(call_id, name="add_note", namespace="mcp__crm"), over, gives(call_id, "ok")]
    facts = reading(*lines).traces[0].facts["mcp__crm__add_note"]
    assert (facts.server, facts.hints) == ("crm", hints)


def test_completed_words_and_searches_are_held_against_the_items(reading: Callable[..., Reading]) -> None:
    words = {"content": [{"type": "Text", "text": "only here"}]}
    assert any(g.hides for g in reading(says("x"), completed("AgentMessage", id="m", **words)).gaps)
    assert not reading(says("only here"), completed("AgentMessage", id="m", **words)).gaps
    assert any(g.hides for g in reading(says("x"), completed("WebSearch", id="w", query="x")).gaps)


def test_a_search_of_the_provider_has_no_recorded_result(reading: Callable[..., Reading]) -> None:
    search = item("web_search_call", status="completed", action={"type": "search", "query": "x"})
    (call,) = calls(reading(search, event("web_search_end", call_id="ws_1", query="x")))
    assert (call.boundary, call.outcome) == (Boundary.PROVIDER_TOOL, Outcome.ABSENT)
    assert call.absence is Absence.NOT_CAPTURED


def test_a_search_that_ended_and_was_not_asked_for_is_a_gap(reading: Callable[..., Reading]) -> None:
    assert any(g.hides for g in reading(says("x"), event("web_search_end", call_id="ws_1", query="x")).gaps)


def test_words_that_only_an_event_holds_are_a_gap_and_are_kept(reading: Callable[..., Reading]) -> None:
    found = reading(says("one"), event("agent_message", message="one"), event("agent_message", message="two"))
    assert [g.code for g in found.gaps] == ["evidence_gap"]
    (trace,) = found.traces
    assert [text_of(s.payload) for s in trace.steps() if s.name == "agent_message" and s.payload] == ["two"]


def test_compaction_and_roll_back_are_said(reading: Callable[..., Reading]) -> None:
    found = reading(
        says("one"), record("compacted", {"message": "so far", "replacement_history": [{"type": "message"}]}),
        event("thread_rolled_back", num_turns=1),
    )  # fmt: skip
    (trace,) = found.traces
    assert [f.code for f in trace.findings] == ["compacted_history", "compacted_history"]
    assert found.counts.branches == 2
    assert not found.gaps


def test_the_end_of_a_task_is_the_end_of_the_run(reading: Callable[..., Reading]) -> None:
    done, stopped = event("task_complete"), event("turn_aborted", reason="interrupted")
    assert reading(says("x"), done).traces[0].ended_normally is True
    assert reading(says("x"), done, event("task_started"), stopped).traces[0].ended_normally is False


def test_a_sub_agent_and_an_approval_are_steps_of_their_kind(reading: Callable[..., Reading]) -> None:
    found = reading(
        asks("c1", name="spawn_agent"), event("sub_agent_activity", agent_id="a1"), gives("c1", "a1"),
        event("exec_approval_request", call_id="c2", command=["rm"]),
    )  # fmt: skip
    (trace,) = found.traces
    assert calls(found)[0].boundary is Boundary.SUB_AGENT
    assert len(trace.rows(StepKind.AGENT)) == len(trace.rows(StepKind.APPROVAL_REQUEST)) == 1


def test_a_file_from_before_records_had_a_payload(reading: Callable[..., Reading]) -> None:
    head = {"id": "old", "timestamp": AT, "instructions": "Be careful.", "git": {}}
    shell = {"type": "local_shell_call", "call_id": "c1", "status": "completed", "action": {"command": ["ls"]}}
    found = reading(
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]},
        shell,
        {"type": "function_call_output", "call_id": "c1", "output": "a"},
        head=head,
    )
    assert found.evidence.format == "codex-cli"
    (call,) = calls(found)
    assert (call.tool, call.outcome, found.traces[0].id) == ("local_shell", Outcome.RECORDED, "old")


def test_a_file_without_its_head_may_have_lost_calls(tmp_path: Path) -> None:
    found = read_evidence(write(tmp_path, says("x")))
    assert [(g.code, g.hides) for g in found.gaps] == [("header_missing", True)]


def test_an_unknown_record_that_looks_like_a_call_is_a_gap(reading: Callable[..., Reading]) -> None:
    found = reading(record("side_channel", {"tool": "rm", "arguments": {}}), record("world_state", {"a": 1}))
    assert [g.hides for g in found.gaps] == [True]
    assert len(found.traces[0]) == 3


# damage --------------------------------------------------------------------------------------------------------------

RUN = (META, says("go", "user"), asks("c1"), gives("c1", DONE.format(0)), says("done"))


@pytest.mark.parametrize(
    ("news", "hides"),
    [
        (event("exec_command_begin", call_id="c7", command=["rm", "x"]), True),
        (event("tool_execution_started", tool_name="rm"), True),
        (event("browser_action", call_id="c7", action="click"), True),
        (event("item_completed", item={"type": "BrowserAction", "id": "i1", "name": "click", "arguments": {}}), True),
        (event("exec_command_begin", call_id="c1", command=["ls"]), False),
        (event("token_count", info=None), False),
    ],
)
def test_news_of_a_call_that_no_item_holds_is_a_gap(
    reading: Callable[..., Reading],
    news: Fields,
    hides: bool,  # noqa: FBT001
) -> None:
    found = reading(asks("c1"), gives("c1", DONE.format(0)), news, says("done"))
    assert any(gap.hides for gap in found.gaps) is hides


def test_bytes_that_are_no_utf_8_are_kept_and_taint_their_call(tmp_path: Path) -> None:
    line = json.dumps(gives("c1", "caf# ok")).encode().replace(b"#", b"\xe9")
    found = read_evidence(write(tmp_path, META, asks("c1"), line))
    (call,) = calls(found)
    assert call.result is not None
    assert text_of(call.result) == "caf\udce9 ok"
    assert [b.code for b in call.blocks] == ["encoding"]
    assert [f.code for f in found.findings] == ["encoding"]
    assert found.counts.recovered_records == 1
    assert found.partial


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-8-sig"])
def test_another_encoding_tells_the_same_run(tmp_path: Path, encoding: str) -> None:
    plain = write(tmp_path, *RUN)
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    other = tmp_path / "other"
    other.write_bytes((mark + plain.read_text("utf-8").replace("\n", "\r\n")).encode(encoding))
    one, two = read_evidence(plain), read_evidence(other)
    assert [bytes(p or b"") for p in one.traces[0].payload] == [bytes(p or b"") for p in two.traces[0].payload]
    assert one.counts == two.counts


def test_gzip_is_unpacked_and_a_cut_is_said(tmp_path: Path) -> None:
    packed = gzip.compress(write(tmp_path, *RUN).read_bytes())
    whole = tmp_path / "rollout.jsonl.gz"
    whole.write_bytes(packed)
    assert read_evidence(whole).counts.records == len(RUN)


def test_records_run_together_and_nul_bytes_are_read_around(tmp_path: Path) -> None:
    glued = json.dumps(asks("c1")).encode() + json.dumps(gives("c1", "a")).encode()
    found = read_evidence(write(tmp_path, META, glued, b"\x00\x00" + json.dumps(says("x")).encode()))
    assert found.counts.recovered_records == 3
    assert found.counts.bad_lines == [3]
    assert calls(found)[0].outcome is Outcome.RECORDED


def test_a_line_cut_in_the_middle_is_a_bad_line(tmp_path: Path) -> None:
    found = read_evidence(write(tmp_path, META, asks("c1"), json.dumps(gives("c1", "a")).encode()[:40], says("x")))
    assert found.counts.bad_lines == [3]
    assert any(g.hides for g in found.gaps)


def test_a_file_without_one_record_is_corrupt(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"{nothing\n")
    with pytest.raises(CorruptEvidenceError):
        read_evidence(path, "codex-cli")


COUNTED = {  # calls as an independent count has them: items of the kinds *_call in each file
    "agentv__1f_4427577930_2.jsonl": 59, "agentv__4f_7325a9ab13_0.jsonl": 70, "agentv__8d_1ecb6dc628_0.jsonl": 86,
    "agentv__a5_7b22d8d4bd_0.jsonl": 105, "agentv__a8_54a7cb1c1f_0.jsonl": 59, "agentv__b9_220e73bdf9_1.jsonl": 111,
}  # fmt: skip


@pytest.mark.parametrize("name", COUNTED)
def test_real_rollouts_have_the_calls_that_were_counted(cases: Path, name: str) -> None:
    found = read_evidence(cases / "traces" / "codex-cli" / name)
    assert found.evidence.format == "codex-cli"
    assert sum(len(t.calls) for t in found.traces) == COUNTED[name]
    assert not any(g.hides for g in found.gaps)


DAMAGED = ("codex.jsonl.gz", "codex_utf16_bom.jsonl", "codex_utf8_bom_crlf.jsonl", "codex_latin1_byte.jsonl")


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_rollouts_are_read_whole(cases: Path, name: str) -> None:
    found = read_evidence(cases / "damaged" / name)
    assert (found.counts.records, len(calls(found)), found.counts.bad_lines) == (92, 23, [])
