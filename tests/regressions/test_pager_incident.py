"""Is the incident in which this project began told right, and alike from every format it is recorded in?"""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import forensics
from forensics.api import Options, examine

if TYPE_CHECKING:
    from forensics.report.documents import TraceRow

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "samples"
SHARED = ROOT.parent / "shared" / "cases"
ORIGINAL = "8433c342dbbe334809eb343535865ec2"
READONLY = SAMPLES / "policies" / "readonly.yaml"


def trace(path: Path, trace_id: str | None = None, policy: Path | str | None = None) -> TraceRow:
    document = examine(path, Options(policy=policy)).audit()
    return next(t for t in document.traces if trace_id in (None, t.id))


def shared(name: str) -> Path:
    if not SHARED.is_dir():
        pytest.skip("the shared cases are not here")
    return SHARED / name


def story(row: TraceRow) -> object:
    """What must be alike in every format: calls, classes, the way of the handle, the verdict."""
    return {
        "calls": [(c.occurrence, c.tool, c.arguments, c.outcome, c.class_) for c in row.calls],
        "tools": {t.name: (t.class_, t.labels, t.effect, t.result, t.rests_on) for t in row.tools},
        "handles": [
            (h.value, h.kind, h.minted.pointer, [(u.role, u.pointer, u.echo) for u in h.uses]) for h in row.handles
        ],
        "level": row.verdict.level,
        "reasons": [(r.code, r.tool) for r in row.verdict.policies.strict.reasons],
    }


ALIKE = (  # each with the tools' words
    "pager.console.json",
    "pager.db",
    "pager.eval",
    "pager.inspect.json",
    "pager.json",
    "pager.langchain.otlp.jsonl",
    "pager.langfuse.otlp.jsonl",
    "pager.langsmith.json",
    "pager.logfire.json",
    "pager.mlflow.json",
    "pager.otlp.jsonl",
    "pager.pydantic-ai.otlp.jsonl",
    "pager.vcr.yaml",
    "pager.vercel.otlp.json",
)
WITHOUT_A_MODEL = ("pager.mcp.jsonl", "pager.mcp-2026.jsonl")
ANOTHER_WAY = ("pager.monocle.json",)  # its prompts drop words and calls that it recorded before
WITHOUT_WORDS = (
    "pager.adk.json",
    "pager.agents.json",
    "pager.chat.json",
    "pager.langgraph-history.json",
    "pager.langgraph.db",
)


@pytest.mark.parametrize("name", [*ALIKE, *WITHOUT_A_MODEL, *ANOTHER_WAY])
def test_the_sample_is_refused_for_what_it_did(name: str) -> None:
    row = trace(SAMPLES / name)
    tools = {t.name: t for t in row.tools}
    assert row.verdict.level == "inject"
    assert not row.verdict.cleared
    assert [(r.code, r.tool) for r in row.verdict.reasons] == [
        ("unvouched", "query_metrics"),
        ("not_idempotent", "pager.trigger"),
        ("not_idempotent", "incident.annotate"),
    ]
    assert row.verdict.policies.inject.cleared
    assert set(tools["pager.trigger"].labels) == {"side-effecting", "handle-returning"}
    assert tools["incident.annotate"].labels == ["side-effecting"]
    assert (tools["query_metrics"].effect, tools["query_metrics"].rests_on) == ("none", "words")


@pytest.mark.parametrize("name", [*ALIKE, *WITHOUT_WORDS])
def test_the_page_is_followed_from_the_result_that_minted_it_to_the_answer(name: str) -> None:
    row = trace(SAMPLES / name)
    (handle,) = row.handles
    assert (handle.value, handle.minted.tool, handle.minted.pointer) == ("pg_8812", "pager.trigger", "/id")
    way = [(u.role, u.echo) for u in handle.uses if u.role != "branch"]
    assert way == [("model_output", False), ("argument", False), ("prompt", True), ("final_answer", False)]
    argument = next(u for u in handle.uses if u.role == "argument")
    assert argument.pointer == "/page_id"
    assert next(c for c in row.calls if c.step == argument.step).tool == "incident.annotate"


def test_three_records_of_the_incident_tell_the_same_story() -> None:
    told = [story(trace(SAMPLES / n)) for n in ("pager.db", "pager.json")]
    assert told[0] == told[1]


def test_a_rollout_and_what_another_project_makes_of_it_tell_the_same_calls() -> None:
    rollout, trajectory = (trace(SAMPLES / name) for name in ("pager.codex.jsonl", "pager.atif.json"))
    told = [
        [(c.occurrence, c.arguments, c.result_preview, c.outcome, c.class_) for c in row.calls]
        for row in (rollout, trajectory)
    ]
    assert told[0] == told[1]
    assert [c.tool for c in rollout.calls] == [f"mcp__oncall__{c.tool}" for c in trajectory.calls]


def test_the_shared_records_of_the_incident_tell_the_same_story() -> None:
    database = story(trace(shared("fastaiagent/pager_1.94.0.db"), ORIGINAL))
    assert story(trace(shared("fastaiagent/pager_1.94.0.json"))) == database
    assert story(trace(shared("generated/otlp-pager/pager_otlp.json"))) == database


def test_reruns_are_shown_with_what_each_did() -> None:
    document = examine(shared("fastaiagent/pager_1.94.0.db")).audit()
    reruns = {t.id: t.rerun_of for t in document.traces if t.rerun_of is not None}
    assert {r.trace for r in reruns.values()} == {ORIGINAL}
    assert {r.basis for r in reruns.values()} == {"recorded"}
    did = sorted(tuple((d.tool, d.did) for d in r.did) for r in reruns.values())
    assert [d[1] for d in did] == [
        ("pager.trigger", "blocked"),
        ("pager.trigger", "executed again"),
        ("pager.trigger", "stub"),
    ]
    paged = [f for f in document.findings if f.code == "replay_executed_side_effect"]
    assert any("pg_9147" in f.message and "pg_8812" in f.message for f in paged)


def test_an_older_database_marks_its_rerun_by_inference() -> None:
    document = examine(shared("fastaiagent/pager_1.87.0.db")).audit()
    (rerun,) = [t.rerun_of for t in document.traces if t.rerun_of is not None]
    assert rerun.basis == "inferred"
    assert rerun.trace in {t.id for t in document.traces}
    assert [d.executed for d in rerun.did] == [True, True, True]


# the guard -----------------------------------------------------------------------------------------------------------


def test_the_guard_raises_with_the_verdict_and_says_what_to_do() -> None:
    original = forensics.load(SAMPLES / "pager.json")[0]
    with pytest.raises(forensics.NonReplayableTraceError) as caught:
        forensics.assert_dynamically_replayable(original)
    message = str(caught.value)
    assert "step 6" in message
    assert "pager.trigger" in message
    assert "pg_8812" in message
    assert "static inspection" in message
    assert caught.value.verdict.level.value == "inject"
    assert forensics.assert_dynamically_replayable(original, policy="inject") is True


def test_a_read_only_trace_is_cleared_when_its_tools_are_vouched_for() -> None:
    for name in ("readonly.db", "readonly.responses.json"):
        original = forensics.load(SAMPLES / name)[0]
        assert forensics.assert_dynamically_replayable(original, policy=READONLY) is True
        assert forensics.clear(original, policy=READONLY).trace == original.id
        assert trace(SAMPLES / name, policy=READONLY).verdict.level == "dynamic"
        with pytest.raises(forensics.NonReplayableTraceError):
            forensics.assert_dynamically_replayable(original)


def test_without_one_policy_entry_it_is_not_cleared(tmp_path: Path) -> None:
    lines = READONLY.read_text("utf-8").split('  - tool: "get_config"')[0]
    fewer = tmp_path / "policy.yaml"
    fewer.write_text(lines, "utf-8")
    row = trace(SAMPLES / "readonly.db", policy=fewer)
    assert row.verdict.level == "inject"
    assert {r.tool for r in row.verdict.reasons} == {"get_config"}


def test_without_one_result_it_is_not_cleared(tmp_path: Path) -> None:
    copy = tmp_path / "readonly.db"
    shutil.copy(SAMPLES / "readonly.db", copy)
    with contextlib.closing(sqlite3.connect(copy)) as database:
        last = "SELECT max(rowid) FROM spans WHERE name LIKE 'llm.%'"
        database.execute(f"DELETE FROM spans WHERE rowid = ({last})")  # the only prompt that shows the result
        (text,) = database.execute("SELECT attributes FROM spans WHERE name = 'tool.get_config'").fetchone()
        without = {k: v for k, v in json.loads(text).items() if k != "tool.result"}
        database.execute("UPDATE spans SET attributes = ? WHERE name = 'tool.get_config'", (json.dumps(without),))
        database.commit()
    row = trace(copy, policy=READONLY)
    assert row.verdict.level == "static"
