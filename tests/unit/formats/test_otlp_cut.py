"""Does an OTLP file that lost lines tell of a call more often than it ran?"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from forensics.api import examine

if TYPE_CHECKING:
    from collections.abc import Callable

    from forensics.report.documents import AuditDocument, TraceRow

SAMPLE = Path(__file__).parents[3] / "samples" / "pager.otlp.jsonl"
ROOT = len(SAMPLE.read_text().splitlines()) - 1
ONCE = {"query_metrics": 1, "pager.trigger": 1, "incident.annotate": 1}
NAME = "gen_ai.agent.name"


def audit(tmp_path: Path, text: str) -> AuditDocument:
    path = tmp_path / "cut.otlp.jsonl"
    path.write_text(text)
    return examine(path).audit()


def changed(change: Callable[[dict[str, Any], int], None], without: int = ROOT) -> str:
    """The sample without one line, each span changed."""
    lines = [json.loads(line) for line in SAMPLE.read_text().splitlines()]
    del lines[without]
    for number, line in enumerate(lines):
        change(line["resourceSpans"][0]["scopeSpans"][0]["spans"][0], number)
    return "".join(json.dumps(line) + "\n" for line in lines)


def set_text(span: dict[str, Any], name: str, text: str) -> None:
    for attribute in span["attributes"]:
        if attribute["key"] == name:
            attribute["value"] = {"stringValue": text}


def tools(row: TraceRow) -> Counter[str]:
    return Counter(call.tool for call in row.calls)


def check_story(document: AuditDocument) -> TraceRow:
    """Each call once, the page on its way to the note, and a trace that is refused for what is missing."""
    (row,) = document.traces
    assert tools(row) == ONCE
    assert [c.occurrence for c in row.calls] == ["0.0", "1.0", "2.0"]
    (handle,) = row.handles
    assert (handle.value, handle.minted.tool) == ("pg_8812", "pager.trigger")
    assert [u.role for u in handle.uses if not u.echo and u.role != "branch"] == [
        "model_output",
        "argument",
        "final_answer",
    ]
    assert "duplicate_call_id" not in {f.code for f in document.findings}
    assert "orphan_span" in {f.code for f in document.findings}
    assert not row.verdict.cleared
    assert row.verdict.level == "static"
    return row


@pytest.mark.parametrize("kept", [0, 1, 40, 600, -2])
def test_the_last_line_is_cut(tmp_path: Path, kept: int) -> None:
    lines = SAMPLE.read_text().splitlines(keepends=True)
    row = check_story(audit(tmp_path, "".join(lines[:-1]) + lines[-1][:kept]))
    assert {t.name for t in row.tools} == set(ONCE)
    assert len(row.tools) == len(ONCE)


@pytest.mark.parametrize("dropped", range(ROOT + 1))
def test_a_dropped_line_adds_no_call(tmp_path: Path, dropped: int) -> None:
    (row,) = audit(tmp_path, changed(lambda _span, _number: None, dropped)).traces
    assert tools(row) <= Counter(ONCE)
    assert not row.verdict.cleared


@pytest.mark.parametrize("dropped", range(ROOT))
def test_the_root_and_another_line(tmp_path: Path, dropped: int) -> None:
    lines = SAMPLE.read_text().splitlines(keepends=True)[:ROOT]
    del lines[dropped]
    (row,) = audit(tmp_path, "".join(lines)).traces
    assert tools(row) <= Counter(ONCE)
    assert row.verdict.level == "static"


def test_each_span_under_another_lost_span(tmp_path: Path) -> None:
    """Spans between the agent and its turns were lost too: the ids of the calls join what asked and what ran."""

    def apart(span: dict[str, Any], number: int) -> None:
        span["parentSpanId"] = f"{number + 1:016x}"

    check_story(audit(tmp_path, changed(apart)))


@pytest.mark.parametrize("dropped", range(ROOT))
def test_each_under_another_and_one_is_lost(tmp_path: Path, dropped: int) -> None:
    def apart(span: dict[str, Any], number: int) -> None:
        span["parentSpanId"] = f"{number + 1:016x}"

    lines = changed(apart).splitlines(keepends=True)
    del lines[dropped]
    (row,) = audit(tmp_path, "".join(lines)).traces
    assert tools(row) <= Counter(ONCE)
    assert row.verdict.level == "static"


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("gen_ai.tool.call.arguments", '{"service": "checkout", "severity": "sev9"}'),
        ("gen_ai.tool.call.result", '{"status": "paged", "id": "pg_9999"}'),
    ],
)
def test_records_that_disagree_still_do(tmp_path: Path, name: str, text: str, apart: bool) -> None:  # noqa: FBT001
    def change(span: dict[str, Any], number: int) -> None:
        if span["name"] == "execute_tool pager.trigger":
            set_text(span, name, text)
        if apart:
            span["parentSpanId"] = f"{number + 1:016x}"

    document = audit(tmp_path, changed(change))
    assert "inconsistent_tuple" in {f.code for f in document.findings}
    assert document.traces[0].verdict.level == "static"


@pytest.mark.parametrize("apart", [False, True])
def test_a_tool_of_another_name_is_another_call(tmp_path: Path, apart: bool) -> None:  # noqa: FBT001
    def change(span: dict[str, Any], number: int) -> None:
        if span["name"] == "execute_tool pager.trigger":
            set_text(span, "gen_ai.tool.name", "pager.resolve")
        if apart:
            span["parentSpanId"] = f"{number + 1:016x}"

    document = audit(tmp_path, changed(change))
    assert {"inconsistent_tuple", "duplicate_call_id"} & {f.code for f in document.findings}
    assert document.traces[0].verdict.level == "static"


def test_two_named_agents_are_not_one(tmp_path: Path) -> None:
    """Two agents that number their calls alike, and whose spans are both lost: two runs of each tool."""

    def name_all(agent: str, parent: str) -> Callable[[dict[str, Any], int], None]:
        def change(span: dict[str, Any], number: int) -> None:
            span["parentSpanId"] = parent
            span["attributes"] = [a for a in span["attributes"] if a["key"] != NAME]
            span["attributes"].append({"key": NAME, "value": {"stringValue": agent}})
            if agent == "second":
                span["spanId"] = f"{number + 100:016x}"

        return change

    text = changed(name_all("first", "00000000000000f1")) + changed(name_all("second", "00000000000000f2"))
    (row,) = audit(tmp_path, text).traces
    assert tools(row) == dict.fromkeys(ONCE, 2)


def test_two_lost_agents_that_only_their_tools_name(tmp_path: Path) -> None:
    def under(agent: str, parent: str, first: int) -> Callable[[dict[str, Any], int], None]:
        def change(span: dict[str, Any], number: int) -> None:
            span["parentSpanId"], span["spanId"] = parent, f"{number + first:016x}"
            set_text(span, NAME, agent)

        return change

    text = changed(under("first", "00000000000000f1", 1)) + changed(under("second", "00000000000000f2", 100))
    (row,) = audit(tmp_path, text).traces
    assert tools(row) == dict.fromkeys(ONCE, 2)
    assert not [c.occurrence for c in row.calls if c.occurrence.startswith("-")]


def test_a_turn_beside_the_agent_that_ran_its_tools(tmp_path: Path) -> None:
    """The tools hang under an agent's span, the turns that asked for them under another that is lost."""

    def change(span: dict[str, Any], _number: int) -> None:
        if span["name"].startswith("chat"):
            span["parentSpanId"] = "00000000000000f1"
        elif span["name"].startswith("invoke_agent"):
            span["parentSpanId"] = "00000000000000f2"

    lines = [json.loads(line) for line in SAMPLE.read_text().splitlines()]
    for number, line in enumerate(lines):
        change(line["resourceSpans"][0]["scopeSpans"][0]["spans"][0], number)
    (row,) = audit(tmp_path, "".join(json.dumps(line) + "\n" for line in lines)).traces
    assert tools(row) == ONCE
    assert row.verdict.level == "static"


def test_the_sub_agent_of_a_lost_agent_stays_another(tmp_path: Path) -> None:
    """A second agent's span is there and hangs with the first one's turns under the span that is lost."""

    def inside(span: dict[str, Any], number: int) -> None:
        lost, own, first = "f25f2c3c71300ccc", "00000000000000a1", 100
        span["parentSpanId"] = lost if span["name"].startswith("invoke_agent") else own
        span["spanId"] = own if span["name"].startswith("invoke_agent") else f"{number + first:016x}"
        set_text(span, NAME, "helper")

    whole = changed(inside, 0).splitlines(keepends=True)
    second = json.loads(SAMPLE.read_text().splitlines()[0])
    inside(second["resourceSpans"][0]["scopeSpans"][0]["spans"][0], 50)
    text = changed(lambda _span, _number: None) + json.dumps(second) + "\n" + "".join(whole)
    (row,) = audit(tmp_path, text).traces
    assert tools(row) == dict.fromkeys(ONCE, 2)
    assert not [c.occurrence for c in row.calls if c.occurrence.startswith("-")]
    assert row.verdict.level == "static"
