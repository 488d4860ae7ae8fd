"""Is every edit of FastAIAgent's evidence found that another of its records contradicts? One edit at a time.

The SDK tells each fact more than once: a call in the turn, in its span and in every later prompt; a text in the turn
and in the next prompt or the root's output. What only one record tells is left out (`Row.later`: a later turn repeats
it).
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from forensics.core.reading import Reading

    Read = Callable[..., Reading]
    Attributes = dict[str, Any]

COLUMNS = "span_id, trace_id, parent_span_id, name, start_time, end_time, status, attributes, events"
MESSAGES, CALLS, TEXT = "gen_ai.request.messages", "gen_ai.response.tool_calls", "gen_ai.response.content"
FINISH, RESULT, ARGS = "gen_ai.response.finish_reason", "tool.result", "tool.args"
ALL_TRACES, TWO = None, 2
DATABASES = {
    "readonly_only": ALL_TRACES, "payment_branch": ALL_TRACES, "parallel_tools": ALL_TRACES, "tool_error": ALL_TRACES,
    "crashed_midrun": ALL_TRACES, "streaming": ALL_TRACES, "chain": ALL_TRACES, "pager_1.87.0": 1, "pager_1.94.0": TWO,
}  # fmt: skip


class Row(NamedTuple):
    """One row of the table, its attributes, and whether a later model turn of its trace repeats what it tells."""

    columns: tuple[Any, ...]
    attributes: Attributes
    later: bool

    @property
    def trace(self) -> str:
        return str(self.columns[1])

    def having(self, attributes: Attributes) -> tuple[Any, ...]:
        return (*self.columns[:7], json.dumps(attributes), self.columns[8])

    def with_column(self, index: int, value: object) -> tuple[Any, ...]:
        return (*self.columns[:index], value, *self.columns[index + 1 :])


def rows_of(path: Path) -> list[Row]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as database:
        found = database.execute(f"SELECT {COLUMNS} FROM spans ORDER BY rowid").fetchall()
    turns = [(number, row[1]) for number, row in enumerate(found) if row[3].startswith("llm.")]
    return [
        Row(row, json.loads(row[7]), any(later > number and trace == row[1] for later, trace in turns))
        for number, row in enumerate(found)
    ]


def written(path: Path, rows: list[tuple[Any, ...]]) -> Path:
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as database:
        database.execute(f"CREATE TABLE spans ({COLUMNS.replace('span_id', 'span_id TEXT PRIMARY KEY', 1)})")
        database.executemany("INSERT INTO spans VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
        database.execute("PRAGMA user_version = 28")
        database.commit()
    return path


# edits of one row ----------------------------------------------------------------------------------------------------


def without(attributes: Attributes, key: str) -> Attributes:
    return {k: v for k, v in attributes.items() if k != key}


def tool_edits(row: Row) -> Iterator[tuple[str, Attributes]]:
    told = row.attributes
    failed = "tool.error" in told
    if RESULT in told and (row.later or failed):
        for kind, changed in (("edited", "EDITED"), ("one more character", told[RESULT] + "z")):
            yield f"result: {kind}", {**told, RESULT: changed}
    if RESULT in told and not failed:
        yield "result: deleted", without(told, RESULT)
        yield "error: added", {**told, "tool.error": "boom"}
        yield "status: error", {**told, "tool.status": "error"}
        yield "status: unknown", {**told, "tool.status": "unknown"}
        if row.later and len(told[RESULT]) > len("timeout=30"):
            yield "result: cut", {**told, RESULT: told[RESULT][:-2] + "..."}
    if failed:
        yield "error: edited", {**told, "tool.error": "EDITED"}
        yield "error: deleted", without(told, "tool.error")
        yield "status: ok", {**told, "tool.status": "ok"}
    given = json.loads(told[ARGS])
    first = next(iter(given))
    yield "arguments: edited", {**told, ARGS: json.dumps({**given, first: "EDITED"})}
    yield "arguments: one removed", {**told, ARGS: json.dumps(without(given, first))}
    yield "arguments: deleted", without(told, ARGS)
    yield "status: deleted", without(told, "tool.status")
    yield "name: edited", {**told, "tool.name": "renamed_tool"}


def call_edits(told: Attributes, *, later: bool) -> Iterator[tuple[str, Attributes]]:
    calls = json.loads(told[CALLS])
    yield "calls: deleted", without(told, CALLS)
    yield "calls: one added", {**told, CALLS: json.dumps([*calls, {"id": "new", "name": "other", "arguments": {}}])}
    for index, call in enumerate(calls):
        changes = [("arguments", {"EDITED": 1}), ("name", "other"), *([("id", "zzz")] if later else [])]
        for key, changed in changes:
            edited = [*calls[:index], {**call, key: changed}, *calls[index + 1 :]]
            yield f"calls: {key} of {index}", {**told, CALLS: json.dumps(edited)}
        yield f"calls: {index} removed", {**told, CALLS: json.dumps(calls[:index] + calls[index + 1 :])}


def turn_edits(row: Row) -> Iterator[tuple[str, Attributes]]:
    told = row.attributes
    if CALLS in told:
        yield from call_edits(told, later=row.later)
    else:
        yield "finish: tool_calls", {**told, FINISH: "tool_calls"}
    if TEXT in told and (row.later or CALLS not in told):
        yield "text: edited", {**told, TEXT: "EDITED"}
        yield "text: deleted", without(told, TEXT)
    yield "finish: length", {**told, FINISH: "length"}
    yield "prompt: deleted", without(told, MESSAGES)
    for kind, messages in message_edits(json.loads(told[MESSAGES])):
        yield f"prompt: {kind}", {**told, MESSAGES: json.dumps(messages)}


def message_edits(messages: list[Attributes]) -> Iterator[tuple[str, list[Attributes]]]:
    for index, message in enumerate(messages):
        before, after, what = messages[:index], messages[index + 1 :], f"message {index} ({message['role']})"
        yield f"{what} deleted", [*before, *after]
        for key in ("content", "tool_call_id"):
            if message.get(key) is not None:
                yield f"{what} {key}", [*before, {**message, key: "EDITED"}, *after]
        calls = message.get("tool_calls") or []
        for place, call in enumerate(calls):
            yield f"{what} call {place} removed", [
                *before, {**message, "tool_calls": calls[:place] + calls[place + 1 :]}, *after
            ]  # fmt: skip
            for changed in (
                {**call, "id": "zzz"},
                {**call, "function": {**call["function"], "name": "other"}},
                {**call, "function": {**call["function"], "arguments": '{"EDITED": 1}'}},
            ):
                edited = {**message, "tool_calls": [*calls[:place], changed, *calls[place + 1 :]]}
                yield f"{what} call {place} changed", [*before, edited, *after]


def agent_edits(row: Row) -> Iterator[tuple[str, Attributes]]:
    for key in ("agent.input", "agent.output", "agent.system_prompt"):
        if key in row.attributes:
            yield f"{key} edited", {**row.attributes, key: "EDITED"}


Edit = tuple[str, str, list[tuple[Any, ...]]]
EDITS: tuple[tuple[str, Callable[[Row], Iterator[tuple[str, Attributes]]]], ...] = (
    ("tool.", tool_edits),
    ("llm.", turn_edits),
    ("agent.", agent_edits),
)


def edits(rows: list[Row], traces: list[str]) -> Iterator[Edit]:
    """Every edit with its kind, its trace and the rows that it leaves."""
    whole = [row.columns for row in rows]
    for number, row in enumerate(rows):
        if row.trace not in traces:
            continue
        before, after = whole[:number], whole[number + 1 :]
        name = row.columns[3]
        for head, kinds in EDITS:
            for kind, attributes in kinds(row) if name.startswith(head) else ():
                yield f"{name}: {kind}", row.trace, [*before, row.having(attributes), *after]
        if name.startswith(("tool.", "llm.")):
            yield f"{name}: deleted", row.trace, [*before, *after]
            yield f"{name}: in another trace", row.trace, [*before, row.with_column(1, "f" * 32), *after]
            yield f"{name}: twice", row.trace, [*whole, row.with_column(0, "d" * 16)]
        if name.startswith("tool."):
            yield f"{name}: span status", row.trace, [*before, row.with_column(6, "ERROR"), *after]
    yield from swapped(rows, traces)


def swapped(rows: list[Row], traces: list[str]) -> Iterator[Edit]:
    tools = [number for number, row in enumerate(rows) if row.later and RESULT in row.attributes]
    for one, other in pairwise(tools):
        a, b = rows[one], rows[other]
        if a.trace == b.trace and a.trace in traces and a.attributes[RESULT] != b.attributes[RESULT]:
            left = [row.columns for row in rows]
            left[one] = a.having({**a.attributes, RESULT: b.attributes[RESULT]})
            left[other] = b.having({**b.attributes, RESULT: a.attributes[RESULT]})
            yield f"{a.columns[3]}: result swapped", a.trace, left


def refuses(reading: Reading, trace: str) -> bool:
    """Whether something in the trace refuses every rerun: a gap, or a call that can't be injected."""
    gaps = any(gap.hides and gap.trace in (trace, None) for gap in reading.gaps)
    return gaps or any(call.blocks for t in reading.traces if t.id == trace for call in t.calls)


@pytest.mark.parametrize("name", DATABASES)
def test_every_edit_that_another_record_contradicts_is_found(
    cases: Path, read: Read, tmp_path: Path, name: str
) -> None:
    rows = rows_of(cases / "fastaiagent" / f"{name}.db")
    traces = list(dict.fromkeys(row.trace for row in rows))[: DATABASES[name]]
    path = tmp_path / f"{name}.db"
    untouched = read(written(path, [row.columns for row in rows]))
    assert not any(refuses(untouched, trace) for trace in traces)
    tried = list(edits(rows, traces))
    assert len(tried) >= len(rows) * 2
    missed = [(kind, trace) for kind, trace, left in tried if not refuses(read(written(path, left)), trace)]
    assert missed == []


def test_a_guardrail_that_changed_the_output_explains_it(cases: Path, read: Read, tmp_path: Path) -> None:
    rows = rows_of(cases / "fastaiagent/readonly_only.db")
    root = next(row for row in rows if row.columns[2] is None)
    changed = root.having({**root.attributes, "agent.output": "[masked]"})
    for action, gaps in (("none", 1), ("masked", 0)):
        told = json.dumps({"fastaiagent.guardrail.name": "pii", "fastaiagent.guardrail.action_taken": action})
        guardrail = ("a" * 16, root.trace, root.columns[0], "guardrail.pii", *root.columns[4:7], told, "[]")
        reading = read(written(tmp_path / "g.db", [*(r.columns for r in rows if r is not root), guardrail, changed]))
        assert len(reading.gaps) == gaps
        (found,) = (f for f in reading.traces[0].findings if f.code == "inconsistent_tuple")
        assert len(found.locators) == TWO
        assert (found.severity.value == "info") == (not gaps)


def test_a_middleware_may_cut_the_history(cases: Path, read: Read, tmp_path: Path) -> None:
    rows = rows_of(cases / "fastaiagent/readonly_only.db")
    last = rows[4]
    kept = json.loads(last.attributes[MESSAGES])[3:]
    asked = json.loads(last.attributes[MESSAGES])[:1]
    cut = last.having({**last.attributes, MESSAGES: json.dumps(asked + kept)})
    root = rows[5]
    trims = root.having({**root.attributes, "fastaiagent.middleware": ["trim_long_messages"]})
    for top, gaps in ((root.columns, 1), (trims, 0)):
        reading = read(written(tmp_path / "m.db", [*(r.columns for r in rows[:4]), cut, top]))
        assert [g.code for g in reading.gaps] == ["compacted_history"] * gaps
        assert [f.code for f in reading.traces[0].findings] == ["compacted_history"]


def test_with_capture_off_nothing_contradicts(cases: Path, read: Read, tmp_path: Path) -> None:
    gated = (MESSAGES, CALLS, TEXT, "gen_ai.request.tools", ARGS, RESULT)
    rows = [
        row.having({k: v for k, v in row.attributes.items() if k not in gated})
        for row in rows_of(cases / "fastaiagent/readonly_only.db")
    ]
    reading = read(written(tmp_path / "off.db", rows))
    assert [f.code for t in reading.traces for f in t.findings] == []
    assert [c.absence for c in reading.traces[0].calls] == ["not captured"] * TWO


def test_what_the_provider_ran_was_asked_for_by_no_turn(cases: Path, read: Read, tmp_path: Path) -> None:
    rows = rows_of(cases / "fastaiagent/readonly_only.db")
    tool = rows[3]
    ran = (*tool.columns[:7], json.dumps({**tool.attributes, "tool.origin": "provider"}), tool.columns[8])
    again = ("c" * 16, *ran[1:])
    reading = read(written(tmp_path / "p.db", [*(r.columns for r in rows), again]))
    assert not refuses(reading, tool.trace)
    assert [c.boundary.value for c in reading.traces[0].calls] == ["tool", "tool", "provider_tool"]
