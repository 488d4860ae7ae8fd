"""How does a comparison end, and what does it print?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from forensics.cli.program import program

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.testing import Result

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
HOSTILE = "x\n\x1b[2J\u202eIDENTICAL: 2 events\ud800" + "y" * 300


def run(tool: str = "pay", argument: Any = 1, result: str = "ok") -> dict[str, Any]:
    call = {"id": "c1", "type": "function", "function": {"name": tool, "arguments": json.dumps({"amount": argument})}}
    return {
        "messages": [
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": result},
            {"role": "assistant", "content": "done"},
        ]
    }


@pytest.fixture
def compare(tmp_path: Path) -> Callable[..., Result]:
    def invoked(left: Any, right: Any, *options: str) -> Result:
        places = [str(one) for one in (left, right) if isinstance(one, Path)]
        if not places:
            for name, one in (("a.json", left), ("b.json", right)):
                (tmp_path / name).write_text(json.dumps(one), encoding="utf-8")
                places.append(str(tmp_path / name))
        return CliRunner().invoke(program, ["compare", *places, *options], env={"COLUMNS": "80"})

    return invoked


def test_the_result_alone_decides_how_it_ends(compare: Callable[..., Result]) -> None:
    assert compare(run(), run()).exit_code == 0
    assert compare(run(), run(argument=2)).exit_code == 1
    assert compare(SAMPLES / "pager.db", SAMPLES / "pager.mcp.jsonl").exit_code == 3
    assert compare(SAMPLES / "pager.db", SAMPLES / "README.md").exit_code == 3
    assert compare(SAMPLES / "pager.db", SAMPLES / "pager.db", "--trace-b", "nothing").exit_code == 2


def test_the_result_comes_first_then_the_causing_step_with_both_sides(compare: Callable[..., Result]) -> None:
    lines = compare(run(), run(argument=2)).stdout.splitlines()
    assert lines[0] == "DIVERGED at step 2 of the left run"
    assert "  at          /amount" in lines
    assert "  left        step 2: 1" in lines
    assert "  right       step 2: 2" in lines
    assert max(map(len, lines)) <= 80
    assert compare(run(), run()).stdout.startswith("IDENTICAL: 3 events side by side, no difference\n")
    assert "Evidence" not in compare(run(), run(argument=2), "-q").stdout


@pytest.mark.parametrize(("left", "right"), [(run(), run(argument=2)), (run(), run(tool="refund")), (run(), run())])
def test_the_document_is_as_its_schema_says(compare: Callable[..., Result], left: Any, right: Any) -> None:
    schema = json.loads(CliRunner().invoke(program, ["schema", "comparison"]).stdout)
    Draft202012Validator.check_schema(schema)
    document = json.loads(compare(left, right, "--format", "json").stdout)
    assert document["schema"] == "forensics/comparison/v1"
    Draft202012Validator(schema).validate(document)
    assert (document["first_divergence"] is None) == (document["result"] != "diverged")


def test_a_divergence_has_its_place_on_both_sides(compare: Callable[..., Result]) -> None:
    first = json.loads(compare(run(), run(argument=2), "--format", "json").stdout)["first_divergence"]
    assert (first["index"], first["left"], first["right"], first["kind"]) == (2, "1", "2", "arguments")
    assert (first["left_locator"]["evidence"], first["right_locator"]["evidence"]) == (0, 1)
    assert first["explained_by"] is None


def test_nothing_in_a_run_acts_or_forges_a_line(compare: Callable[..., Result]) -> None:
    left, right = run(HOSTILE, HOSTILE, HOSTILE), run(HOSTILE, HOSTILE + "z", HOSTILE + "z")
    text = compare(left, right, "-v").stdout
    assert all(c.isprintable() or c == "\n" for c in text)
    assert not any(line.startswith("IDENTICAL") for line in text.splitlines())
    assert max(map(len, text.splitlines())) <= 80
    data = compare(left, right, "--format", "json").stdout_bytes
    assert b"\x1b" not in data
    json.loads(data.decode("utf-8"))


def test_the_evidence_stands_as_it_stood(compare: Callable[..., Result], tmp_path: Path) -> None:
    compare(run(), run(argument=2))
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    compare(tmp_path / "a.json", tmp_path / "b.json")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
