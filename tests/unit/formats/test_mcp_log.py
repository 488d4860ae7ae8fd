"""Is a log of MCP messages read as executions, each with the answer that is its own?"""

from __future__ import annotations

import contextlib
import json
import random
from typing import TYPE_CHECKING, Any

import pytest

from forensics.api import Options, examine, load
from forensics.core.jsonvalue import value_of
from forensics.core.trace import Outcome, StepKind
from forensics.errors import ForensicsError, UnknownFormatError
from tests.unit.formats.conftest import read_evidence

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from forensics.core.trace import Call
    from forensics.report.documents import AuditDocument

FORCED = Options(input_format="mcp-jsonrpc")
Fields = dict[str, Any]


def ask(identity: object, method: str = "tools/call", **params: Any) -> Fields:
    return {"jsonrpc": "2.0", "id": identity, "method": method, "params": params}


def tool(identity: object, name: str = "get_item", **arguments: Any) -> Fields:
    return ask(identity, name=name, arguments=arguments)


def answer(identity: object, **result: Any) -> Fields:
    return {"jsonrpc": "2.0", "id": identity, "result": result}


def says(identity: object, said: str = "ok", **more: Any) -> Fields:
    return answer(identity, content=[{"type": "text", "text": said}], **more)


def fails(identity: object, message: str, code: int = -32603) -> Fields:
    return {"jsonrpc": "2.0", "id": identity, "error": {"code": code, "message": message}}


def log(tmp_path: Path, *lines: Fields | list[Fields] | bytes) -> Path:
    path = tmp_path / "mcp.jsonl"
    path.write_bytes(b"".join((x if isinstance(x, bytes) else json.dumps(x).encode()) + b"\n" for x in lines))
    return path


def calls(path: Path) -> Sequence[Call]:
    (trace,) = load(path)
    return trace.calls


def audit(path: Path) -> AuditDocument:
    return examine(path).audit()


def told(call: Call) -> Any:
    assert call.result is not None
    return value_of(call.result)


# executions ----------------------------------------------------------------------------------------------------------


def test_a_request_and_its_answer_are_an_execution_that_no_turn_asked_for(tmp_path: Path) -> None:
    (call,) = calls(log(tmp_path, tool(7, item=3), says(7, "three")))
    assert (call.tool, call.recorded_id, call.occurrence, call.outcome) == ("get_item", "7", "-.0", Outcome.RECORDED)
    assert call.arguments is not None
    assert value_of(call.arguments) == {"item": 3}
    assert told(call)["content"][0]["text"] == "three"


@pytest.mark.parametrize(
    "wrap",
    [
        lambda m, who: {"ts": "2026-09-01T10:00:00Z", "dir": "c2s" if who == "client" else "s2c", "msg": m},
        lambda m, who: {"origin": who, "payload": m},
        lambda m, who: {"direction": "outgoing" if who == "client" else "incoming", "message": json.dumps(m)},
        lambda m, _: m,
        lambda m, _: [m],
    ],
)
def test_envelopes_are_opened(tmp_path: Path, wrap: Any) -> None:
    path = log(tmp_path, wrap(tool("a", item=3), "client"), wrap(says("a"), "server"))
    (call,) = calls(path)
    assert (call.recorded_id, call.outcome) == ("a", Outcome.RECORDED)
    assert audit(path).counts.records == 2


def test_a_document_of_messages_is_a_log_as_well(tmp_path: Path) -> None:
    for whole in ([tool(1), says(1)], {"messages": [tool(1), says(1)]}):
        path = tmp_path / "log.json"
        path.write_text(json.dumps(whole, indent=1))
        assert [c.outcome for c in calls(path)] == [Outcome.RECORDED]


def test_text_logs_and_event_streams_hold_messages_too(tmp_path: Path) -> None:
    head = b"2026-09-01T10:00:00Z [issues] [info] Message from "
    desktop = (b"[info] Server started", head + b"client: " + json.dumps(tool(1)).encode())
    events = (b"event: message", b"data: " + json.dumps(says(1)).encode(), b": ping")
    path = log(tmp_path, *desktop, *events)
    assert [c.outcome for c in calls(path)] == [Outcome.RECORDED]
    assert audit(path).counts.bad_lines == []


def test_ids_belong_to_their_sender(tmp_path: Path) -> None:
    path = log(
        tmp_path,
        tool(1),
        ask(1, "sampling/createMessage", messages=[]),
        answer(1, role="assistant", content={"type": "text", "text": "hm"}, model="m"),
        says(1, "three"),
    )
    (call,) = calls(path)
    assert told(call)["content"][0]["text"] == "three"
    assert audit(path).counts.orphan_results == []


def test_ids_start_again_with_each_connection(tmp_path: Path) -> None:
    hello = ask(0, "initialize", protocolVersion="2025-11-25", capabilities={})
    server = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "issues", "version": "1"}}
    path = log(
        tmp_path,
        *(hello, answer(0, **server), tool(1, item=1)),
        *(hello, answer(0, **server), tool(1, item=2), says(1, "two")),
    )
    first, second = calls(path)
    assert (first.outcome, first.server) == (Outcome.ABSENT, "issues")
    assert (second.outcome, told(second)["content"][0]["text"]) == (Outcome.RECORDED, "two")
    assert audit(path).counts.unanswered == ["1#1"]


def test_connections_that_the_envelope_names_are_kept_apart(tmp_path: Path) -> None:
    def over(connection: str, message: Fields) -> Fields:
        return {"connection": connection, "msg": message}

    path = log(tmp_path, over("a", tool(1)), over("b", tool(1)), over("b", says(1, "B")), over("a", says(1, "A")))
    assert [told(call)["content"][0]["text"] for call in calls(path)] == ["A", "B"]


def test_two_requests_with_one_id_that_wait_together_are_ambiguous(tmp_path: Path) -> None:
    document = audit(log(tmp_path, tool(1, item=1), tool(1, item=2), says(1), says(1)))
    assert "ambiguous_pairing" in {f.code for f in document.findings}
    assert document.traces[0].verdict.level == "static"


def test_the_generation_without_initialize(tmp_path: Path) -> None:
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
    about = {"serverInfo": {"name": "shop", "version": "2"}, "resultType": "complete"}
    path = log(
        tmp_path,
        ask("d", "server/discover", _meta=meta),
        answer("d", **about),
        ask("q1", name="order", arguments={"n": 1}, _meta=meta),
        answer("q1", resultType="input_required", inputRequests={}),
        ask("q2", name="order", arguments={"n": 1}, _meta=meta),
        says("q2", "ordered", resultType="complete"),
    )
    first, second = calls(path)
    assert (first.outcome, second.outcome, second.server) == (Outcome.INDETERMINATE, Outcome.RECORDED, "shop")


# outcomes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        (says(1, "no such item", isError=True), Outcome.FAILED),
        (says(1, "gateway time-out", isError=True), Outcome.INDETERMINATE),
        (says(1, "rejected by the user", isError=True), Outcome.DENIED),
        (fails(1, "Unknown tool", -32602), Outcome.FAILED),
        (fails(1, "Method not found", -32601), Outcome.FAILED),
        (fails(1, "Internal error", -32603), Outcome.INDETERMINATE),
        (fails(1, "it broke", 0), Outcome.FAILED),
        (says(1, "MCP error -32603: it broke", isError=True), Outcome.INDETERMINATE),
        (fails(1, "Request timed out", -32001), Outcome.INDETERMINATE),
        (fails(1, "Request timed out", -32603), Outcome.INDETERMINATE),
        (fails(1, "Connection closed", -32000), Outcome.INDETERMINATE),
        (fails(1, "Session not found", -32001), Outcome.FAILED),
        (says(1, "the job timed out yesterday"), Outcome.RECORDED),
    ],
)
def test_what_an_answer_says_of_its_call(tmp_path: Path, reply: Fields, outcome: Outcome) -> None:
    path = log(tmp_path, tool(1), reply)
    (call,) = calls(path)
    assert call.outcome is outcome
    assert call.result is not None
    assert audit(path).traces[0].verdict.level != "static"


def test_a_call_that_was_given_up_may_have_taken_effect(tmp_path: Path) -> None:
    cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    path = log(tmp_path, tool(1, name="create_item"), cancelled)
    (call,) = calls(path)
    assert call.outcome is Outcome.INDETERMINATE
    assert [r.code for r in audit(path).traces[0].verdict.policies.inject.reasons] == ["unknown_outcome"]


def test_an_answer_without_its_call_is_an_orphan(tmp_path: Path) -> None:
    document = audit(log(tmp_path, tool(1), says(1), says(5, "lost")))
    assert document.counts.orphan_results == ["5"]


def test_everything_else_is_a_step(tmp_path: Path) -> None:
    path = log(
        tmp_path,
        ask(1, "ping"),
        answer(1),
        {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progress": 1}},
        {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "Parse error"}},
        {"level": "debug", "note": "a record of another kind"},
        tool(2),
        says(2),
    )
    (trace,) = load(path)
    kinds = [StepKind(kind).label for kind in trace.kind]
    assert kinds == ["other", "other", "other", "error", "other", "tool_call", "tool_result"]
    assert trace.ended_normally


# tools ---------------------------------------------------------------------------------------------------------------

LISTED = {"name": "get_item", "description": "Gets an item.", "inputSchema": {"type": "object"}}


def listed(identity: int, *tools: Fields) -> Fields:
    return answer(identity, tools=list(tools))


def test_a_list_of_tools_gives_schemas_and_hints(tmp_path: Path) -> None:
    (trace,) = load(log(tmp_path, listed(1, {**LISTED, "annotations": {"readOnlyHint": True}}), tool(2), says(2)))
    facts = trace.facts["get_item"]
    assert (facts.description, facts.input_schema, facts.hints) == (
        "Gets an item.",
        {"type": "object"},
        {"readOnlyHint": True},
    )
    assert facts.locator is not None
    assert facts.locator.pointer == "/result/tools/0"


def test_a_tool_that_is_listed_in_two_ways_keeps_no_hint(tmp_path: Path) -> None:
    other = {**LISTED, "annotations": {"readOnlyHint": True}}
    (trace,) = load(log(tmp_path, listed(1, LISTED), listed(2, other)))
    assert trace.facts["get_item"].hints == {}
    two = ({"server": "a", "msg": listed(1, other)}, {"server": "b", "msg": listed(1, other)})
    (trace,) = load(log(tmp_path, *two))
    facts = trace.facts["get_item"]
    assert (facts.server, facts.description, facts.hints) == (None, None, {})


def test_a_list_of_tools_alone_is_no_log(tmp_path: Path) -> None:
    path = tmp_path / "tools.json"
    for whole in (LISTED, {"tools": [LISTED]}):
        path.write_text(json.dumps(whole))
        with pytest.raises(UnknownFormatError, match="no log of calls") as caught:
            load(path)
        assert "classify" in caught.value.hint


# contract ------------------------------------------------------------------------------------------------------------


def test_any_cut_and_any_changed_byte_raises_only_what_is_promised(tmp_path: Path) -> None:
    lines = (listed(1, LISTED), tool(2, item=1), fails(2, "timed out"), [tool(3), tool(4)], says(3), says(4))
    whole = log(tmp_path, *lines).read_bytes()
    draw = random.Random(5)  # noqa: S311 - the same damage in every run
    path = tmp_path / "damaged"
    for _ in range(300):
        data = bytearray(whole[: draw.randrange(len(whole))] if draw.random() < 0.5 else whole)
        for _ in range(draw.randrange(4)):
            at = draw.randrange(len(data) or 1)
            data[at : at + 1] = draw.randbytes(1)
        path.write_bytes(bytes(data))
        with contextlib.suppress(ForensicsError):
            load(path, FORCED)
        assert examine(path, FORCED).audit().evidence[0].status in {"read", "partial", "refused"}


def test_every_record_is_a_step_or_a_gap(tmp_path: Path) -> None:
    lines = (listed(1, LISTED), tool(2), b'{"jsonrpc": "2.0", "id"', says(2), b"\0\0\0", tool(3), fails(3, "timed out"))
    reading = read_evidence(log(tmp_path, *lines), "mcp-jsonrpc")
    assert (reading.counts.lines, reading.counts.records, reading.counts.bad_lines) == (7, 5, [3, 5])
    assert sum(len(trace) for trace in reading.traces) == reading.counts.records
    assert len(reading.gaps) == 2


def test_deep_nesting_and_odd_members_do_no_harm(tmp_path: Path) -> None:
    deep = b"[" * 3000 + b"]" * 3000
    odd = ({"jsonrpc": "2.0", "id": {"a": 1}, "method": 5, "params": []}, {"jsonrpc": "2.0", "result": "x", "id": [1]})
    document = examine(log(tmp_path, tool(1), deep, *odd, ask(2, name=None, arguments="x")), FORCED).audit()
    assert document.counts.tool_calls == 2
