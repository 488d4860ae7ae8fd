"""Does an explanation name the causes and the consequences of a step, edge by edge, values first?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

import forensics
from forensics.cli.program import program
from forensics.report.terminal_page import cells

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = sorted(p for p in (ROOT / "samples").iterdir() if p.suffix in (".json", ".jsonl", ".db"))
PAGER = ROOT / "samples" / "pager.db"


def text(*arguments: object, **env: str) -> str:
    world = {"COLUMNS": "80", "NO_COLOR": "", "FORCE_COLOR": "", **env}
    result = CliRunner().invoke(program, ["explain", *map(str, arguments)], env=world)
    assert result.exit_code == 0, result.output
    return result.stdout


def document(*arguments: object) -> Any:
    return json.loads(text(*arguments, "--format", "json"))


def log(folder: Path, rows: list[dict[str, Any]]) -> Path:
    path = folder / "trace.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_every_step_has_an_explanation_as_its_schema_says(sample: Path) -> None:
    schema = json.loads(CliRunner().invoke(program, ["schema", "explanation"]).stdout)
    inspected = json.loads(CliRunner().invoke(program, ["graph", str(sample)]).stdout)
    for step in [row["index"] for row in inspected["steps"]]:
        found = document(sample, step)
        Draft202012Validator(schema).validate(found)
        assert found["step"]["index"] == step
        named = {end for way in ("why", "led_to") for e in found[way]["direct"] for end in (e["source"], e["target"])}
        assert named <= {step, *(row["index"] for row in found["steps"])}
        for line in text(sample, step).splitlines():
            assert cells(line) <= 80, line


def test_the_way_of_the_handle_comes_first() -> None:
    said = " ".join(text(PAGER, 9).split())
    assert said.startswith("Step 9: tool_call incident.annotate trace 7ef89abcca00f6bce355fba87301f3ef in pager.db")
    why = said.partition("Why it happened: 9 steps in all ")[2]
    assert why.startswith(
        "values from pg_8812 of step 7, tool_result pager.trigger, stands in the argument /page_id of this step "
        "(inferred). asked by step 8, model function-model, asked for this step (recorded): Page pg_8812 is out; "
        "annotating it. further back, nearest first step 6, tool_call pager.trigger, returned step 7 (recorded): "
    )
    assert "What it led to: 2 steps in all returned this step returned step 10, tool_result incident.annotate" in said


def test_what_a_result_led_to_names_every_use() -> None:
    said = " ".join(text(PAGER, 7).split()).partition("What it led to")[2]
    for use in (
        "pg_8812 of this step stands in the model output of step 8, model function-model (inferred).",
        "pg_8812 of this step stands in the argument /page_id of step 9, tool_call incident.annotate (inferred).",
        "pg_8812 of this step stands in the echo of step 10, tool_result incident.annotate (inferred).",
        "pg_8812 of this step stands in the final answer of step 11, model function-model (inferred).",
        "this step was shown to step 8, model function-model (derived)",
    ):
        assert use in said


def test_both_slices_are_those_of_the_graph(tmp_path: Path) -> None:
    (trace,) = forensics.load(ROOT / "samples" / "double_charge.chat.json")
    graph = forensics.graph(trace)
    from forensics.report.graph_document import CAUSES

    for row in range(len(trace)):
        found = document(ROOT / "samples" / "double_charge.chat.json", row)
        for way, rows in (("why", graph.backward(row, CAUSES)), ("led_to", graph.forward(row, CAUSES))):
            far = "source" if way == "why" else "target"
            reached = [e[far] for e in found[way]["further"]]
            direct = {e[far] for e in found[way]["direct"] if e["kind"] != "next"}
            assert found[way]["steps"] == len(rows)
            assert len(reached) == len(set(reached))
            assert {*reached, *direct} == set(rows)


def test_a_turn_that_was_only_shown_a_value_may_rest_on_it(tmp_path: Path) -> None:
    path = log(
        tmp_path,
        [
            {"type": "model", "text": "create it"},
            {"type": "tool_call", "call_id": "a", "name": "create_ticket", "args": {"title": "x"}},
            {"type": "tool_result", "call_id": "a", "result": {"status": "created", "id": "TCK_48213"}},
            {"type": "model", "text": "it was created"},
        ],
    )
    said = " ".join(text(path, 3).split())
    assert (
        "may rest on TCK_48213 of step 2, tool_result create_ticket, was shown to this step, which may rest on it "
        "(inferred)."
    ) in said
    (shown,) = [e for e in document(path, 3)["why"]["direct"] if e["kind"] == "value"]
    assert (shown["basis"], shown["values"][0]["role"]) == ("inferred", "branch")
    assert "may decide TCK_48213 of this step was shown to step 3" in " ".join(text(path, 2).split())


def test_a_retry_is_told_as_one(tmp_path: Path) -> None:
    call = {"type": "tool_call", "name": "close_ticket", "args": {"id": 1}}
    path = log(
        tmp_path,
        [
            {"type": "model", "text": "close"},
            {**call, "call_id": "a"},
            {"type": "tool_result", "call_id": "a", "result": "x", "error": "timed out"},
            {"type": "model", "text": "again"},
            {**call, "call_id": "b"},
            {"type": "tool_result", "call_id": "b", "result": "ok"},
        ],
    )
    assert "retry of this step repeats step 1, tool_call close_ticket (inferred)" in " ".join(text(path, 4).split())
    assert "retried by step 4, tool_call close_ticket, repeats this step (inferred)" in " ".join(text(path, 1).split())


def test_what_is_left_out_is_counted(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"type": "user", "text": "go"}]
    for n in range(40):
        rows += [
            {"type": "model", "text": "t"},
            {"type": "tool_call", "call_id": f"c{n}", "name": "get_it", "args": {}},
            {"type": "tool_result", "call_id": f"c{n}", "result": "ok"},
        ]
    path = log(tmp_path, rows)
    said = text(path, 120)
    assert "Why it happened: 120 steps in all" in said
    assert "    … 104 more, use --format json" in said
    assert "more, use" not in text(path, 120, "-v")
    assert len(document(path, 120)["why"]["further"]) == 119


def test_sequence_alone_is_told_and_not_followed(tmp_path: Path) -> None:
    path = log(tmp_path, [{"type": "model", "text": "one"}, {"type": "model", "text": "two"}])
    said = " ".join(text(path, 1).split())
    assert "Why it happened follows this step comes after step 0, model (derived): one" in said
    assert "What it led to nothing that the record shows" in said


def test_colour_changes_no_word() -> None:
    import re

    drawn = text(PAGER, 9, FORCE_COLOR="1")
    assert "\x1b[" in drawn
    assert re.sub(r"\x1b\[[0-9;]*m", "", drawn) == text(PAGER, 9)


def test_the_number_of_a_step_tells_its_trace() -> None:
    assert text(PAGER, 18).startswith("Step 18: tool_call pager.trigger\n  trace       b8e63f8c")


def test_a_step_out_of_range_names_the_range() -> None:
    result = CliRunner().invoke(program, ["explain", str(PAGER), "24"])
    assert result.exit_code == 2
    assert "there is no step 24: the steps are 0 to 23" in result.stderr


def test_a_rerun_says_whose(samples: Path) -> None:
    audit = json.loads(CliRunner().invoke(program, ["audit", str(PAGER), "--format", "json"]).stdout)
    rerun = next(t["id"] for t in audit["traces"] if "rerun_of" in t)
    said = " ".join(text(PAGER, 6, "--trace", rerun).split())
    assert f"trace {rerun} in pager.db, a rerun of {audit['traces'][0]['id']}" in said
