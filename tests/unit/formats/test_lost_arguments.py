"""Is a call whose arguments are missing, renamed or of another type a gap, in each format that always writes them?"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from tests.unit.formats.conftest import hiding, read_records, read_value

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from forensics.core.reading import Reading

Fields = dict[str, Any]


def atif(folder: Path, call: Fields) -> Reading:
    step = {"step_id": 2, "source": "agent", "message": "", "tool_calls": [{"tool_call_id": "c1", **call}]}
    step["observation"] = {"results": [{"source_call_id": "c1", "content": "ok"}]}
    steps = [{"step_id": 1, "source": "user", "message": "go"}, step]
    agent = {"name": "demo", "version": "1"}
    return read_value(folder, {"schema_version": "ATIF-v1.6", "session_id": "s1", "agent": agent, "steps": steps})


def managed(folder: Path, call: Fields) -> Reading:
    told: list[Fields] = [
        {"type": "user.message", "content": [{"type": "text", "text": "go"}]},
        {"type": "span.model_request_start"},
        {"type": "agent.tool_use", "evaluated_permission": "allow", **call},
        {"type": "span.model_request_end", "is_error": False, "model_usage": {}},
        {"type": "agent.tool_result", "tool_use_id": "sevt_2", "content": [], "is_error": False},
    ]
    events = [{"id": f"sevt_{at}", "processed_at": f"2026-11-29T10:00:{at:02}Z", **one} for at, one in enumerate(told)]
    return read_records(folder, *events)


def runstate(folder: Path, call: Fields, kind: str = "function_call", member: str = "generated_items") -> Reading:
    asked = {"type": kind, "call_id": "c1", "id": "fc", **call}
    answer = {"type": "function_call_output", "call_id": "c1", "output": "ok"}
    items = [("tool_call_item", asked), ("tool_call_output_item", answer)]
    told = [{"type": name, "agent": {"name": "demo"}, "raw_item": raw} for name, raw in items]
    state = {"$schemaVersion": "1.15", "original_input": "go", "generated_items": told, "context": {}}
    if member == "model_responses":
        state |= {"generated_items": [], "model_responses": [{"output": [asked]}]}
    return read_value(folder, state)


def traces(folder: Path, call: Fields) -> Reading:
    whole = {"object": "trace", "id": "t1", "workflow_name": "demo", "group_id": None, "metadata": None}
    told = (
        ("a", None, {"type": "agent", "name": "demo", "handoffs": [], "tools": []}),
        ("f", "a", {"type": "function", "output": "ok", "mcp_data": None, **call}),
    )
    times = {"started_at": "2026-08-15T17:56:01+00:00", "ended_at": "2026-08-15T17:56:02+00:00", "error": None}
    spans = [
        {"object": "trace.span", "id": key, "trace_id": "t1", "parent_id": above, "span_data": data, **times}
        for key, above, data in told
    ]
    return read_records(folder, whole, *spans)


def pi(folder: Path, call: Fields, kind: str = "toolCall") -> Reading:
    asked = {"role": "assistant", "stopReason": "toolUse", "content": [{"type": kind, "id": "c1", **call}]}
    shown = {"role": "toolResult", "toolCallId": "c1", "toolName": "pay", "content": "ok", "isError": False}
    messages = [{"role": "user", "content": "go"}, asked, shown]
    head = {"type": "session", "version": 3, "id": "s1", "timestamp": "2026-11-02T09:00:00Z", "cwd": "/work"}
    entries = [
        {"type": "message", "id": str(at), "parentId": str(at - 1) if at else None, "message": message}
        for at, message in enumerate(messages)
    ]
    return read_records(folder, head, *entries)


OBJECT, TEXT = {"to": "bob"}, '{"to": "bob"}'
WRITTEN = [
    (atif, "function_name", "arguments", OBJECT, {}),
    (managed, "name", "input", OBJECT, {}),
    (runstate, "name", "arguments", TEXT, ""),
    (partial(runstate, member="model_responses"), "name", "arguments", TEXT, "{}"),
    (partial(runstate, kind="custom_tool_call"), "name", "input", "pay bob", ""),
    (partial(runstate, kind="code_interpreter_call"), "name", "code", "pay('bob')", ""),
    (traces, "name", "input", TEXT, ""),
    (pi, "name", "arguments", OBJECT, {}),
    (partial(pi, kind="tool_use"), "name", "input", OBJECT, {}),
]


@pytest.mark.parametrize("written", WRITTEN)
def test_arguments_that_are_lost(
    tmp_path: Path, written: tuple[Callable[[Path, Fields], Reading], str, str, object, object]
) -> None:
    read, tool, member, given, nothing = written
    before = hiding(read(tmp_path, {tool: "pay", member: given}))
    assert hiding(read(tmp_path, {tool: "pay", member: nothing})) == before

    def said(call: Fields) -> list[str]:
        return [one for one in hiding(read(tmp_path, {tool: "pay", **call})) if one not in before]

    missing = ["no arguments of pay stand where this format always writes them"]
    elsewhere = ["arguments of pay in a member that is not read"]
    assert said({}) == said({member: None}) == said({"handed": given}) == missing
    assert said({member.upper(): given}) == said({member: nothing, "params": given}) == elsewhere
    for other in (5, ["bob"], True):
        assert said({member: other}) == ["the arguments of pay are of a type that this format does not write"]


@pytest.mark.parametrize("read", [atif, managed, pi])
def test_an_object_that_is_written_as_a_text_is_one(tmp_path: Path, read: Callable[[Path, Fields], Reading]) -> None:
    call = {"name": "pay", "function_name": "pay"}
    for member in ("arguments", "input"):
        call[member] = TEXT
    assert hiding(read(tmp_path, call)) == []
    for member in ("arguments", "input"):
        call[member] = "pay bob"
    assert hiding(read(tmp_path, call)) == ["the arguments of pay are of a type that this format does not write"]
