"""Is the text readable: 80 columns, verdict first, the same words with colour and without, every finding named?"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from forensics.cli.program import program
from forensics.report.terminal_page import cells

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = sorted(p for p in (ROOT / "samples").iterdir() if p.suffix in (".json", ".jsonl", ".db"))
GOLDEN = ROOT / "tests" / "golden"
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def text(*arguments: str | Path, **env: str) -> str:
    world = {"COLUMNS": "80", "NO_COLOR": "", "FORCE_COLOR": "", **env}
    return CliRunner().invoke(program, [str(a) for a in arguments], env=world).stdout


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
@pytest.mark.parametrize("command", ["audit", "inspect", "classify"])
def test_no_line_is_longer_than_80_cells(command: str, sample: Path) -> None:
    for line in text(command, sample).splitlines():
        assert cells(line) <= 80, line


@pytest.mark.parametrize("columns", ["40", "60", "120"])
def test_columns_is_respected(columns: str, samples: Path) -> None:
    longest = max(cells(line) for line in text("audit", samples / "pager.chat.json", COLUMNS=columns).splitlines())
    assert int(columns) - 20 < longest <= int(columns)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_colour_changes_no_word(sample: Path) -> None:
    plain, drawn = text("audit", sample), text("audit", sample, FORCE_COLOR="1")
    assert "\x1b[" not in plain
    assert "\x1b[" in drawn
    assert COLOUR.sub("", drawn) == plain


def test_no_color_wins(samples: Path) -> None:
    assert "\x1b" not in text("audit", samples / "pager.chat.json", FORCE_COLOR="1", NO_COLOR="1")


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_every_finding_code_and_the_coverage_are_said(sample: Path) -> None:
    document = json.loads(text("audit", sample, "--format", "json"))
    said = text("audit", sample)
    assert {f["code"] for f in document["findings"]} <= set(re.findall(r"[a-z]+(?:_[a-z]+)*", said))
    assert all(row["coverage"] in " ".join(said.split()) for row in document["evidence"])


def test_the_verdict_comes_first_and_the_sections_follow_in_order(samples: Path) -> None:
    lines = text("inspect", samples / "pager.chat.json").splitlines()
    titles = [line for line in lines if line and not line.startswith((" ", "REFUSED"))]
    assert lines[0] == "REFUSED under strict, level inject: trace-0 in pager.chat.json"
    assert lines[1].startswith("  decided by  step 6, pager.trigger: side-effecting and handle-returning")
    first, unknown, *others = titles
    assert (first, unknown.partition(":")[0]) == ("What took effect", "Effect unknown")
    assert others == ["Tools", "Handles", "Findings", "Reasons", "Evidence", "Steps", "Tuples"]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_the_level_is_explained_beside_a_refusal(sample: Path) -> None:
    said = text("audit", sample)
    refused = [level for level in ("inject", "static") if f"REFUSED under strict, level {level}" in said]
    assert all(f"  level       {level}: " in said for level in refused)
    assert refused or "CLEARED" in said


def test_a_step_of_several_files_is_told_as_that_of_its_own_file(samples: Path) -> None:
    files = samples / "pager.json", samples / "pager.db"
    said = " ".join(text("audit", *files).split())
    assert said.count("in its file") == 1
    assert "step 6 of pager.db, 12 less than here: forensics inspect FILE --step 6" in said
    assert "decided by step 18, pager.trigger" in said
    assert "pager.trigger" in text("inspect", files[1], "--step", "6")
    assert "in its file" not in text("audit", files[1])


def test_the_way_of_the_handle_is_told(samples: Path) -> None:
    said = " ".join(text("audit", samples / "pager.chat.json").split())
    assert (
        "pg_8812 minted in step 7 by pager.trigger -> model output 8, argument /page_id of incident.annotate 9, "
        "echo 10, final answer 11"
    ) in said


def test_a_rerun_stands_under_the_run_that_it_repeats(samples: Path) -> None:
    said = text("audit", samples / "pager.db")
    assert said.count("REFUSED under") == 1
    assert "pager.trigger executed again -> pg_9147 for the recorded pg_8812" in said


def test_equal_effects_stand_together_with_their_number(samples: Path) -> None:
    said = text("audit", samples / "double_charge.chat.json")
    assert "charge_card  2 times (steps 3, 9)" in said
    assert "minted ch_5501, ch_5502" in said


def test_what_an_agent_was_answered_is_no_part_of_how_its_call_ended(tmp_path: Path) -> None:
    """`may have taken effect {"error"…` would read as if the effect were the error."""
    path = tmp_path / "run.jsonl"
    call = {"type": "tool_call", "id": "c", "name": "pay", "args": {}}
    result = {"type": "tool_result", "call_id": "c", "error": "timed out", "is_error": True}
    path.write_text("".join(json.dumps(line) + "\n" for line in ({"type": "user", "text": "go"}, call, result)))
    said = text("audit", path)
    assert "may have taken effect, answered with timed out; " in said


def test_a_command_that_nothing_proves_to_only_read_is_not_said_to_add(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    lines: list[dict[str, Any]] = [{"type": "user", "text": "go"}]
    for number, command in enumerate(("git status", "git push origin main")):
        lines.append({"type": "tool_call", "id": f"c{number}", "name": "bash", "args": {"command": command}})
        lines.append({"type": "tool_result", "call_id": f"c{number}", "result": "fine"})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    said = text("audit", path)
    asked, _, pushed = said.partition("What took effect")[2].partition("git push")
    assert "returned fine; nothing proves that it only reads" in asked
    assert "returned fine; can't be undone" in pushed


def test_what_was_denied_or_failed_did_not_take_effect(tmp_path: Path) -> None:
    """Each ends a line of its own, and none lends another its result."""
    path = tmp_path / "run.jsonl"
    answers: list[dict[str, Any]] = [
        {"result": "denied by operator", "status": "denied"},
        {"result": "card declined", "is_error": True},
        {"result": "Error: card declined"},
        {"result": "Request timed out"},
        {"result": {"id": "ch_55029f"}},
        {"result": "already paid: ch_55029f"},
    ]
    lines: list[dict[str, Any]] = [{"type": "user", "text": "go"}]
    for number, answer in enumerate(answers):
        lines.append({"type": "tool_call", "id": f"c{number}", "name": "charge_card", "args": {"order": 7}})
        lines.append({"type": "tool_result", "call_id": f"c{number}", **answer})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    said = " ".join(text("audit", path).split())
    acted, _, rest = said.partition("Denied or failed")
    acted, apart = acted.partition("What took effect")[2], rest.partition("Tools")[0]
    assert acted.count("charge_card once") == 2
    assert "may have taken effect, answered with Request timed out; can't be undone" in acted
    assert "returned; can't be undone; minted ch_55029f" in acted
    assert apart.count("charge_card") == 3
    assert "denied, not run, answered with denied by operator" in apart
    assert "failed, answered with card declined; what it did before it failed is not told" in apart
    assert "charge_card 2 times (steps 5, 11)" in apart


def test_where_all_was_denied_nothing_took_effect(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    call = {"type": "tool_call", "id": "c", "name": "pay", "args": {}}
    result = {"type": "tool_result", "call_id": "c", "result": "no", "status": "denied"}
    path.write_text("".join(json.dumps(line) + "\n" for line in ({"type": "user", "text": "go"}, call, result)))
    said = " ".join(text("audit", path).split())
    assert "What took effect nothing: what might have was denied or failed, as its record or result says" in said


def test_classes_are_told_by_word_and_mark(samples: Path) -> None:
    rows = [line.split() for line in text("audit", samples / "pager.db").splitlines()]
    assert ["!#", "handle-returning", "irreversible", "handle", "words", "1x", "pager.trigger"] in rows
    assert ["=~", "idempotent", "none", "volatile", "words", "1x", "query_metrics"] in rows


def test_many_traces_are_a_table_and_the_gravest_in_full(samples: Path, tmp_path: Path) -> None:
    for number in range(11):
        (tmp_path / f"{number:02}.json").write_bytes((samples / "readonly.responses.json").read_bytes())
    (tmp_path / "99.json").write_bytes((samples / "double_charge.chat.json").read_bytes())
    said = text("audit", tmp_path)
    assert said.startswith("REFUSED 12 of 12 traces under strict\n")
    assert len([line for line in said.splitlines() if line.startswith("  refused  inject")]) == 12
    assert said.count("REFUSED under") == 3
    assert "charge_card  2 times" in said


def test_quiet_shows_the_verdict_alone(samples: Path) -> None:
    assert text("audit", "-q", samples / "pager.chat.json").count("\n") == 1


def test_quiet_has_no_heading_without_its_section(samples: Path) -> None:
    assert "to look at first" not in text("audit", samples, "-q")
    assert "named at the end" not in text("audit", samples, "-q")


def test_the_error_that_ended_a_run_is_told(samples: Path) -> None:
    told = " ".join(text("audit", samples / "crash.db").split())
    assert "the run ended with an error, __main__.ProviderError: provider returned 503 (step 5)" in told


def test_verbose_shows_the_evidence_for_each_class(samples: Path) -> None:
    assert "[words.write.repeating]" in text("audit", "-v", samples / "pager.chat.json")


def test_one_step_shows_its_bytes_and_their_digest(samples: Path) -> None:
    said = text("inspect", samples / "pager.chat.json", "--step", "7")
    assert said.startswith("Step 7: tool_result pager.trigger\n")
    assert '  | "{\\"status\\": \\"paged\\", \\"id\\": \\"pg_8812\\"}"' in said
    assert re.search(r"^  46 bytes\n  sha256 [0-9a-f]{64}$", said, re.MULTILINE)


def test_bytes_of_a_line_are_those_of_the_file(samples: Path) -> None:
    evidence = samples / "mailing.events.jsonl"
    document = json.loads(text("inspect", evidence, "--step", "0", "--format", "json"))
    (step,) = document["steps"]
    where = step["locator"]
    assert step["bytes"].encode() == evidence.read_bytes()[where["offset"] : where["offset"] + where["length"]]


# golden --------------------------------------------------------------------------------------------------------------


AS_IT_WAS = (
    "double_charge.chat.json",
    "pager.adk.json",
    "pager.agentdojo.json",
    "pager.agents.json",
    "pager.atif.json",
    "pager.chat.json",
    "pager.codex.jsonl",
    "pager.console.json",
    "pager.eval",
    "pager.inspect.json",
    "pager.langchain.otlp.jsonl",
    "pager.langfuse.otlp.jsonl",
    "pager.langgraph-history.json",
    "pager.langgraph.db",
    "pager.langsmith.json",
    "pager.logfire.json",
    "pager.mcp-2026.jsonl",
    "pager.mcp.jsonl",
    "pager.mlflow.json",
    "pager.monocle.json",
    "pager.pydantic-ai.otlp.jsonl",
    "pager.runstate.json",
    "pager.smolagents.otlp.jsonl",
    "pager.vcr.yaml",
    "pager.vercel.otlp.json",
)


@pytest.mark.parametrize("sample", AS_IT_WAS)
def test_text_is_as_it_was(sample: str) -> None:
    """`FORENSICS_GOLDEN=1 pytest tests/cli/test_text.py` writes the files anew; read the difference before you commit.

    The digest of the rules changes with every rule and is left out.
    """
    said = re.sub(r"rules sha256:[0-9a-f]+", "rules sha256:…", text("audit", ROOT / "samples" / sample))
    golden = GOLDEN / f"{Path(sample).stem}.audit.txt"
    if os.environ.get("FORENSICS_GOLDEN"):
        golden.write_text(said, encoding="utf-8")
    assert said == golden.read_text(encoding="utf-8")


def test_an_audit_of_a_rerun_alone_lists_only_what_it_ran(tmp_path: Path) -> None:
    lines = [
        {"type": "rerun", "trace": "r1", "rerun_of": "t1"},
        {"type": "tool_call", "trace": "r1", "call_id": "c1", "name": "send_page", "args": {"n": 1}},
        {"type": "tool_result", "trace": "r1", "call_id": "c1", "result": "sent", "disposition": "injected"},
        {"type": "tool_call", "trace": "r1", "call_id": "c2", "name": "send_mail", "args": {"n": 2}},
        {"type": "tool_call", "trace": "r1", "call_id": "c3", "name": "send_fax", "args": {}, "disposition": "missed"},
    ]
    path = tmp_path / "rerun.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    shown = CliRunner().invoke(program, ["audit", str(path)], env={"COLUMNS": "80"}).stdout
    effects = shown[shown.index("What took effect") : shown.index("Tools")]
    assert "send_page" not in effects
    assert "send_fax" not in effects
    assert "send_mail" in effects  # nothing says that it did not run
    assert "r1: rerun of t1 (recorded)" in shown
    assert "send_page injected" in shown


def test_what_may_only_have_read_is_not_told_as_an_effect(tmp_path: Path) -> None:
    """One word says that `Read` reads: too little to run it again, and no sign that it did anything."""
    acts = [("Read", {"file_path": "a.txt"}, "1 a"), ("Write", {"file_path": "a.txt", "content": "b"}, "ok")]
    lines: list[dict[str, Any]] = [{"type": "user", "text": "go"}]
    for number, (name, arguments, result) in enumerate(acts):
        lines.append({"type": "tool_call", "id": str(number), "name": name, "args": arguments})
        lines.append({"type": "tool_result", "call_id": str(number), "result": result})
    end = {"type": "model", "text": "Done."}
    path = tmp_path / "run.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in [*lines, end]))
    told = text("audit", path)
    effects, _, rest = told.partition("Effect unknown: ")
    unknown = rest.partition("\nTools\n")[0]
    assert "  Write  once" in effects[effects.index("What took effect") :]
    assert "  Read  once" not in effects
    assert "  Read  once" in unknown
    assert "  Write  once" not in unknown
    path.write_text("".join(json.dumps(line) + "\n" for line in [*lines[:3], end]))
    assert "nothing: no call of this run is known to change anything" in " ".join(text("audit", path).split())
