"""Does a reader that is not asked about an evidence have nothing to say of it?"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.errors import EvidenceError
from forensics.formats import registry
from forensics.formats.marks import MARKS, may_be
from forensics.formats.shared.reader import look_at
from forensics.formats.shared.source import Source, open_source

if TYPE_CHECKING:
    from forensics.formats.shared.reader import Look

ROOT = Path(__file__).resolve().parents[3]
FORMATS = registry.names()
NAMES = sorted(
    {re.split(r"[^\w$.]", mark)[0] for marks in MARKS.values() for mark in marks}
    | {"eventId", "eventType", "EventID", "name", "id", "params", "parentUuid", "session_id", "direction", "scopeSpans"}
    | {"values", "config", "checkpoint", "schema_version", "projectId", "ticks", "reward_info", "author", "x"}
    | {"uuid", "sessionId", "message", "parts"}
    | {"invocationId", "timestamp", "result", "error", "pipeline_name", "inputs", "start_time", "operationName"}
)
KINDS = ["tool_call", "function_call", "message", "user", "assistant", "trace.span", "event_msg", "session.start"]
KINDS += ["session", "session_start", "gemini"]
TEXTS = st.sampled_from([*KINDS, "ATIF-v1", "x", "tr-1", "mini-swe-agent-1", "span-create", "response"])
values = st.recursive(
    TEXTS | st.integers(0, 9) | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4),
    max_leaves=8,
)
objects = st.dictionaries(st.sampled_from(NAMES), values, min_size=1, max_size=6)
documents = (objects | st.lists(objects | values, max_size=3)).map(json.dumps)
logs = st.lists(objects.map(json.dumps) | documents | st.sampled_from(["", "{", "text", "interactions:"]), max_size=4)
evidence = documents | logs.map("\n".join) | objects.map(lambda one: json.dumps(one, indent=1))


def told(look: Look, names: tuple[str, ...]) -> dict[str, int]:
    return {name: registry.reader(name).sniff(look) for name in names}


def check(look: Look) -> None:
    asked = may_be(look, FORMATS)
    unasked = tuple(name for name in FORMATS if name not in asked)
    assert told(look, unasked) == dict.fromkeys(unasked, 0)


@given(evidence, st.booleans())
def test_who_is_not_asked_says_no(text: str, mark: Any) -> None:
    data = (b"\xef\xbb\xbf" if mark else b"") + text.encode()
    check(look_at(Source("x", memoryview(data), "")))


@pytest.mark.parametrize("folder", [ROOT / "samples", ROOT.parent / "shared" / "cases"], ids=lambda one: one.name)
def test_over_every_file(folder: Path) -> None:
    if not folder.is_dir():
        pytest.skip("the shared corpus is not here")
    for path in sorted(p for p in folder.rglob("*") if p.is_file() and p.stat().st_size < 1 << 20):
        try:
            source = open_source(str(path))
        except EvidenceError:
            continue
        with source:
            check(look_at(source))


def test_a_plain_log_asks_few() -> None:
    line = json.dumps({"kind": "tool", "tool": "search", "result": {"a": 1}, "ts": "2026-01-01T00:00:00Z"})
    look = look_at(Source("x", memoryview(f"{line}\n{line}\n".encode()), ""))
    assert set(may_be(look, FORMATS)) == {"event-log"}


def test_a_plain_log_with_the_usual_names_asks_no_reader_of_spans() -> None:
    usual = (
        "id",
        "call",
        "call_id",
        "tool",
        "name",
        "text",
        "trace",
        "session",
        "agent",
        "ts",
        "step",
        "data",
        "event",
    )
    line = json.dumps({"kind": "tool", "args": {"q": 1}, "seq": 3, "error": None, **dict.fromkeys(usual, "x")})
    look = look_at(Source("x", memoryview(f"{line}\n{line}\n".encode()), ""))
    spans = {"otlp", "otel-spans", "jaeger", "langfuse", "langsmith", "mlflow", "openai-agents-traces", "weave"}
    assert not spans & set(may_be(look, FORMATS))


def test_a_session_with_records_of_data_asks_no_reader_of_spans() -> None:
    records = [
        {"type": "user", "message": {"role": "user"}},
        {"type": "progress", "data": {"type": "hook"}, "call": "c1"},
    ]
    look = look_at(Source("x", memoryview("".join(f"{json.dumps(one)}\n" for one in records).encode()), ""))
    asked = set(may_be(look, FORMATS))
    assert "claude-code" in asked
    assert not asked & {
        "jaeger",
        "langfuse",
        "langsmith",
        "mlflow",
        "otel-spans",
        "openai-agents-traces",
        "weave",
        "pi",
    }


def test_a_name_that_no_table_knows_is_no_reason_to_leave_a_reader_out() -> None:
    assert MARKS.keys() <= set(FORMATS), "a format that went away"


def test_of_a_database_two_readers_are_asked_and_those_that_no_table_knows() -> None:
    look = look_at(Source("x", memoryview(b"SQLite format 3\x00" + bytes(100)), ""))
    assert set(may_be(look, (*FORMATS, "of-a-third-party"))) == {"fastaiagent-db", "langgraph-db", "of-a-third-party"}
