"""Are inventories and lists of calls read in every form, and classified in their order?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner, Result

from forensics.cli.program import program

if TYPE_CHECKING:
    from pathlib import Path

TOOLS: list[dict[str, Any]] = [
    {
        "name": "get_invoice",
        "server": "billing",
        "description": "Get one invoice.",
        "annotations": {"readOnlyHint": True},
    },
    {"name": "send_invoice", "server": "billing", "description": "Send an invoice by mail."},
]


def classify(option: str, path: Path, *more: str) -> Result:
    return CliRunner().invoke(program, ["classify", option, str(path), *more])


def rows(result: Result) -> list[dict[str, Any]]:
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def as_lines() -> str:
    return "".join(json.dumps(tool) + "\n" for tool in TOOLS)


def as_table() -> str:
    head = "tool_name\tserver\tdescription\tannotations\n"
    return head + "".join(
        "\t".join([tool["name"], tool["server"], tool["description"], json.dumps(tool.get("annotations", {}))]) + "\n"
        for tool in TOOLS
    )


def as_mcp() -> str:
    listed = [{key: value for key, value in tool.items() if key != "server"} for tool in TOOLS]
    return json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"server": "billing", "tools": listed}})


@pytest.mark.parametrize("form", [as_lines, as_table, as_mcp, lambda: json.dumps(TOOLS)])
def test_every_form_of_an_inventory_says_the_same(form: Any, tmp_path: Path) -> None:
    path = tmp_path / "tools"
    path.write_text(form(), encoding="utf-8")
    found = rows(classify("--tools", path, "--format", "jsonl"))
    assert [(r["name"], r["server"], r["effect"]) for r in found] == [
        ("get_invoice", "billing", "none"),
        ("send_invoice", "billing", "irreversible"),
    ]
    assert found[0]["rests_on"] == "words"


def test_one_tool_may_stand_on_many_lines(tmp_path: Path) -> None:
    path = tmp_path / "tool.json"
    path.write_text(json.dumps({"name": "get_item", "description": "Gets an item."}, indent=2), encoding="utf-8")
    (found,) = rows(classify("--tools", path, "--format", "jsonl"))
    assert found["name"] == "get_item"


def test_one_tool_that_says_a_key_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "tool.json"
    path.write_text('{\n"name": "get_item",\n"name": "drop_item"\n}', encoding="utf-8")
    assert classify("--tools", path).exit_code == 3


def test_a_trusted_server_s_declaration_counts(tmp_path: Path) -> None:
    tools, policy = tmp_path / "tools.jsonl", tmp_path / "policy.yaml"
    tools.write_text(as_lines())
    policy.write_text("schema: forensics/policy/v1\nname: t\nextends: strict\ntrust:\n  - server: billing\n")
    found = rows(classify("--tools", tools, "--policy", str(policy), "--format", "jsonl"))
    assert found[0]["rests_on"] == "declaration"


def test_calls_are_classified_by_arguments_and_result(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    calls = [
        {"tool": "http_request", "arguments": {"method": "DELETE", "url": "/a"}},
        {"tool": "lookup", "arguments": {}, "result": {"status": "created", "id": "abc"}},
        {"tool": "lookup", "arguments": {}},
    ]
    path.write_text("".join(json.dumps(call) + "\n" for call in calls))
    found = rows(classify("--calls", path, "--format", "jsonl"))
    assert [r["tool"] for r in found] == ["http_request", "lookup", "lookup"]
    assert found[0]["effect"] not in ("none", "unknown")
    assert found[1]["effect"] not in ("none", "unknown")
    assert any(piece["source"] == "result" for piece in found[1]["basis"])
    assert all(piece["source"] != "result" for piece in found[2]["basis"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "lists nothing"),
        ('{"name": "a"}\nnot json\n', "line 2: "),
        ('{"name": "a"}\n{"x": 1}\n[]\n', "no object with a name: line 2, line 3"),
        ('{"name": "a", "name": "b"}\n{"name": "c"}\n', "stands 2 times"),
        ("name\tdescription\n\tx\n", "line 2"),
    ],
)
def test_a_faulty_inventory_is_refused_with_its_line(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "tools.jsonl"
    path.write_text(text)
    result = classify("--tools", path)
    assert result.exit_code == 3
    assert result.stdout == ""
    assert said in result.stderr


def test_the_text_reads_like_an_argument(tmp_path: Path) -> None:
    path = tmp_path / "tools.jsonl"
    path.write_text(as_lines() + '{"name": "frobnicate"}\n')
    said = " ".join(classify("--tools", path).stdout.split())
    assert said.startswith(
        "=~ idempotent and volatile: get_invoice of billing effect none, result volatile; rests on words"
    )
    assert "no weight declaration (claimed): " in said
    assert "for * name (pack): the name says 'get' -> effect none [words.read" in said
    assert "change if your policy file trusts the server billing (its declarations then count) -> idempotent" in said
    assert "change if an entry of your policy file says effect none, result stable -> idempotent" in said
    assert "missing two independent kinds of evidence" in said


def test_the_document_carries_the_same_argument(tmp_path: Path) -> None:
    path = tmp_path / "tools.jsonl"
    path.write_text(as_lines())
    reads, sends = rows(classify("--tools", path, "--format", "jsonl"))
    assert [reads["basis"][place]["source"] for place in reads["argument"]["decided"]] == ["name", "description"]
    assert [reads["basis"][place]["source"] for place in reads["argument"]["without_weight"]] == ["declaration"]
    assert reads["argument"]["missing"][0].startswith("somebody who vouches for it")
    assert [change["rests_on"] for change in reads["argument"]["changes"]] == ["declaration", "words", "operator"]
    assert sends["argument"]["against"] == []
    assert {sends["basis"][place]["effect"] for place in sends["argument"]["decided"]} == {"irreversible"}


def test_tools_of_a_trace_stand_once_whatever_the_number_of_runs(samples: Path) -> None:
    found = rows(CliRunner().invoke(program, ["classify", str(samples / "pager.db"), "--format", "jsonl"]))
    assert [r["name"] for r in found] == ["query_metrics", "pager.trigger", "incident.annotate"]
    assert {"side-effecting", "handle-returning"} <= set(found[1]["labels"])


def test_source_alone_lists_its_tools_and_beside_a_trace_adds_what_their_code_does(
    samples: Path, tmp_path: Path
) -> None:
    code = tmp_path / "tools.py"
    code.write_text("import os\n\n@tool\ndef query_metrics(name):\n    os.remove(name)\n")
    (alone,) = rows(CliRunner().invoke(program, ["classify", "--source", str(code), "--format", "jsonl"]))
    assert (alone["name"], alone["effect"], alone["scope"]) == ("query_metrics", "overwriting", "local")
    evidence = ["classify", str(samples / "pager.db"), "--format", "jsonl"]
    before, after = (rows(CliRunner().invoke(program, [*evidence, *more]))[0] for more in ([], ["--source", str(code)]))
    assert (before["effect"], after["effect"]) == ("none", "overwriting")
    (piece,) = [piece for piece in after["basis"] if piece["source"] == "code"]
    assert piece["locator"] == {"evidence": 1, "line": 5, "member": "tools.py"}  # evidence 0 is the trace


def test_no_place_in_the_source_is_one_in_the_evidence(samples: Path, tmp_path: Path) -> None:
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text("import os\n\n@tool\ndef query_metrics(name):\n    os.remove(name)\n")
    inventory = tmp_path / "tools.jsonl"
    inventory.write_text(json.dumps({"name": "query_metrics", "annotations": {"readOnlyHint": True}}))
    beside = [str(samples / name) for name in ("pager.db", "readonly.db")]
    more = ["--tools", str(inventory), "--source", str(tmp_path), "--format", "jsonl"]
    places = {
        (piece["locator"].get("member", ""), piece["locator"]["evidence"])
        for row in rows(CliRunner().invoke(program, ["classify", *beside, *more]))
        for piece in row["basis"]
        if piece.get("locator")
    }
    assert {(member, number) for member, number in places if member.endswith(".py")} == {("a.py", 3), ("b.py", 4)}
    assert {number for member, number in places if not member.endswith(".py")} <= {0, 1, 2}


def test_source_that_cannot_be_parsed_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def (:\n")
    (tmp_path / "b.py").write_text("@tool\ndef get_a(): ...\n")
    result = CliRunner().invoke(program, ["classify", "--source", str(tmp_path), "--format", "jsonl"])
    assert result.exit_code == 3
    assert "a.py: line 1" in result.stderr
    assert json.loads(result.stdout)["name"] == "get_a"


@pytest.mark.parametrize("more", [[], ["--calls", "x", "--source", "y"]])
def test_what_cannot_be_asked_together_is_a_usage_error(more: list[str]) -> None:
    assert CliRunner().invoke(program, ["classify", *more]).exit_code == 2


def test_several_folders_are_learnt_from_together(tmp_path: Path) -> None:
    for run in ("a", "b"):
        (tmp_path / run).mkdir()
        lines = [
            {"type": "tool_call", "id": f"{run}1", "name": "get_page", "args": {"id": 1}},
            {"type": "tool_result", "call_id": f"{run}1", "result": "x"},
        ]
        (tmp_path / run / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    where = [str(tmp_path / run) for run in ("a", "b")]
    (tool,) = rows(CliRunner().invoke(program, ["classify", *where, "--format", "jsonl"]))
    said = [piece["says"] for piece in tool["basis"] if piece["source"] == "behaviour"]
    assert said == ["1 of 1 repetitions of an equal call agreed with the first, over 2 runs"]


def test_an_inventory_stands_beside_a_trace(samples: Path, tmp_path: Path) -> None:
    path = tmp_path / "tools.jsonl"
    path.write_text('{"name": "query_metrics", "server": "ops", "description": "Gets a metric."}\n')
    found = rows(classify("--tools", path, str(samples / "pager.chat.json"), "--format", "jsonl"))
    assert (found[0]["name"], found[0]["server"]) == ("query_metrics", "ops")


def test_an_inventory_stands_beside_a_list_of_calls(tmp_path: Path) -> None:
    tools, calls = tmp_path / "tools.jsonl", tmp_path / "calls.jsonl"
    tools.write_text(as_lines())
    calls.write_text('{"tool": "get_invoice", "arguments": {}}\n{"tool": "get_invoice", "server": "other"}\n')
    found = rows(classify("--tools", tools, "--calls", str(calls), "--format", "jsonl"))
    assert [(r["tool"], r["server"], r["effect"]) for r in found] == [
        ("get_invoice", "billing", "none"),
        ("get_invoice", "other", "unknown"),
    ]


def test_one_thing_is_classified_at_a_time(samples: Path, tmp_path: Path) -> None:
    assert CliRunner().invoke(program, ["classify"]).exit_code == 2
    assert classify("--calls", tmp_path / "calls.jsonl", str(samples / "pager.db")).exit_code == 2
