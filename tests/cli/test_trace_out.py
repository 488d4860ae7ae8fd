"""Is a rerun that was written as a trace read like any other: by inspect, audit, compare, and by another rerun?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from forensics.cli.program import program

from .test_replay import REBUILT

if TYPE_CHECKING:
    from pathlib import Path

INJECT = ("--policy", "inject")


def forensics(*arguments: object) -> tuple[int, dict[str, Any]]:
    words = [*map(str, arguments), "--format", "json"]
    ended = CliRunner().invoke(program, words)
    document: dict[str, Any] = json.loads(ended.stdout)
    return ended.exit_code, document


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out" / "rerun.jsonl"


@pytest.mark.parametrize("name", REBUILT.split())
def test_it_is_read_back_as_the_rerun_that_it_was(samples: Path, name: str, out: Path) -> None:
    code, rerun = forensics("replay", samples / name, *INJECT, "--trace-out", out)
    assert code == 0
    _, audit = forensics("audit", out, *INJECT)
    (trace,) = audit["traces"]
    assert (trace["id"], trace["rerun_of"]["trace"]) == (rerun["rerun"], rerun["trace"])
    assert [call["tool"] for call in trace["calls"]] == [call["tool"] for call in rerun["calls"]]
    assert {one["did"] for one in trace["rerun_of"]["did"]} <= {"injected"}
    assert trace["verdict"]["cleared"] is True
    assert audit["counts"]["unanswered"] == audit["counts"]["orphan_results"] == []
    _, compared = forensics("compare", samples / name, out, "--trace", rerun["trace"])
    assert compared["divergences"] == []
    assert compared["result"] != "diverged"


def test_guardrails_and_approvals_are_read_back_as_they_were(tmp_path: Path, out: Path) -> None:
    rows = [
        {"type": "user", "text": "pay the bill"},
        {"type": "guardrail", "name": "no-secrets", "position": "input", "result": "pass", "reason": "none found"},
        {"type": "model", "text": "Paying."},
        {"type": "tool_call", "call_id": "c1", "name": "pay", "args": {"amount": 1}},
        {"type": "approval_request", "approval_id": "a1", "call_id": "c1", "ts": "2026-07-01T10:00:00Z"},
        {"type": "approval", "approval_id": "a1", "decision": "approve", "by": "Ana", "ts": "2026-07-01T10:01:00Z"},
        {"type": "tool_result", "call_id": "c1", "result": "paid"},
        {"type": "model", "text": "done"},
    ]
    source = tmp_path / "run.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert forensics("replay", source, *INJECT, "--trace-out", out)[0] == 0
    assert forensics("compare", source, out)[1]["result"] == "identical"


@pytest.mark.parametrize("name", ["pager.db", "readonly.responses.json", "pager.vcr.yaml"])
def test_it_can_be_rerun_itself(samples: Path, name: str, out: Path) -> None:
    forensics("replay", samples / name, *INJECT, "--trace-out", out)
    other = out.parents[1] / "again" / "rerun.jsonl"
    code, again = forensics("replay", out, *INJECT, "--trace-out", other)
    assert (code, again["comparison"]["result"]) == (0, "identical")
    first, second = (path.read_text().splitlines()[1:] for path in (out, other))
    named = ("trace", "agent")  # what was said to which agent is told by its turns
    assert [_without(named, line) for line in first] == [_without(named, line) for line in second]


def _without(names: tuple[str, ...], line: str) -> dict[str, Any]:
    return {name: value for name, value in json.loads(line).items() if name not in names}


def test_the_same_rerun_gives_the_same_file(samples: Path, out: Path) -> None:
    forensics("replay", samples / "pager.db", *INJECT, "--trace-out", out)
    before = out.read_bytes()
    forensics("replay", samples / "pager.db", *INJECT, "--trace-out", out, "--force")
    assert out.read_bytes() == before


def test_a_rerun_that_stopped_says_where(samples: Path, out: Path, tmp_path: Path) -> None:
    (tmp_path / "oncall.py").write_text(
        'def run(ports):\n    ports.tools.call("query_metrics", {"service": "checkout"})\n'
        '    ports.tools.call("pager.trigger", {"service": "checkout", "severity": "sev2"})\n'
    )
    agent = ("--agent", "oncall:run", "--path", tmp_path, "--trace-out", out)
    code, rerun = forensics("replay", samples / "pager.db", *INJECT, *agent)
    assert (code, rerun["stopped"]["code"]) == (1, "replay_miss")
    _, inspection = forensics("inspect", out)
    last = inspection["steps"][-1]
    assert (last["kind"], last["text"].startswith("replay_miss: ")) == ("error", True)
    _, audit = forensics("audit", out)
    assert [(one["tool"], one["did"]) for one in audit["traces"][0]["rerun_of"]["did"]] == [
        ("query_metrics", "injected"), ("pager.trigger", "missed"),
    ]  # fmt: skip


def test_a_refusal_writes_nothing_and_no_file_is_replaced(samples: Path, out: Path) -> None:
    assert forensics("replay", samples / "pager.db", "--trace-out", out)[0] == 1
    assert not out.exists()
    out.parent.mkdir()
    out.write_text("mine")
    words = ["replay", str(samples / "pager.db"), *INJECT, "--trace-out", str(out)]
    ended = CliRunner().invoke(program, words)
    assert (ended.exit_code, out.read_text(), "exists already" in ended.stderr) == (2, "mine", True)


def test_it_is_kept_as_a_case_with_the_trail_to_its_source(samples: Path, out: Path) -> None:
    _, rerun = forensics("replay", samples / "pager.db", *INJECT, "--trace-out", out)
    cases = out.parents[1] / "cases" / "cases.jsonl"
    code, case = forensics("case", "save", out, *INJECT, "--to", cases, "--with-evidence")
    assert code == 0
    assert case["source_trace_id"] == rerun["trace"]
    assert case["source"]["trace"] == rerun["rerun"]
    assert forensics("case", "run", cases)[1]["result"] == "passed"


def test_the_trail_names_what_the_first_rerun_changed(samples: Path, out: Path) -> None:
    changed = ("--set-prompt", "Page at once.", "--trace-out", out)
    code, rerun = forensics("replay", samples / "pager.db", *INJECT, *changed)
    assert "modification_without_effect" in {one["code"] for one in rerun["findings"]}, code
    _, case = forensics("case", "save", out, *INJECT, "--to", out.parents[1] / "cases" / "cases.jsonl")
    assert (case["modifications"], case["changes"]) == ({"prompt": "Page at once."}, {})
