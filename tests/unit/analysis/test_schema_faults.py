"""Are calls that break the schema of their tool reported once for each way, and whole, fitting calls never?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from forensics.api import Options, examine

if TYPE_CHECKING:
    from pathlib import Path

    from forensics.report.documents import FindingRow

Fields = dict[str, Any]
SCHEMA = {"type": "object", "properties": {"user": {"type": "integer"}}, "required": ["user"]}


def found(tmp_path: Path, *arguments: str, schema: Any = SCHEMA, offered: bool = True) -> list[FindingRow]:
    """A request that offers one tool, and a turn with a call for each of these arguments."""
    tool = {"type": "function", "function": {"name": "get_user", "parameters": schema}}
    asked = [
        {"id": f"c{n}", "type": "function", "function": {"name": "get_user", "arguments": text}}
        for n, text in enumerate(arguments)
    ]
    messages = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "tool_calls": asked},
        *({"role": "tool", "tool_call_id": f"c{n}", "content": "ok"} for n in range(len(arguments))),
    ]
    path = tmp_path / "chat.json"
    path.write_text(json.dumps({"messages": messages, "tools": [tool] if offered else []}))
    return [f for f in examine(path).audit().findings if f.code == "arguments_violate_schema"]


def test_a_breach_names_the_call_and_the_declaration(tmp_path: Path) -> None:
    (one,) = found(tmp_path, '{"user": "five"}')
    assert (one.severity, one.basis, one.steps) == ("medium", "derived", [2])
    assert one.message == 'get_user: the arguments break the declared schema at /user: "five" is no integer'
    assert [place.pointer for place in one.locators] == ["/messages/1/tool_calls/0", "/tools"]


def test_each_way_is_told_once_with_all_its_calls(tmp_path: Path) -> None:
    first, second = found(tmp_path, '{"user": "a"}', "{}", '{"user": "b"}', '{"user": 5}')
    assert first.message.endswith("(2 calls)")
    assert (len(first.steps), len(second.steps)) == (2, 1)
    assert second.message.endswith("user is required and missing")


@pytest.mark.parametrize("text", ['{"user": 5}', '{"user": 5.0, "more": 1}', '{"user": ', "[]", '"x"', "null", ""])
def test_what_fits_or_is_no_object_breaks_nothing(text: str, tmp_path: Path) -> None:
    assert not found(tmp_path, text)


@pytest.mark.parametrize("schema", [None, {}, {"type": "OBJECT"}, "text", {"$ref": "http://127.0.0.1:9/"}])
def test_without_a_schema_that_can_be_judged_nothing_is_said(schema: Any, tmp_path: Path) -> None:
    assert not found(tmp_path, "{}", schema=schema)


def test_a_call_that_is_not_whole_is_not_judged(tmp_path: Path) -> None:
    assert not found(tmp_path, '{"user": "five", "user": "six"}')


def test_a_schema_from_an_inventory_counts(tmp_path: Path) -> None:
    inventory = tmp_path / "tools.json"
    inventory.write_text(json.dumps({"tools": [{"name": "get_user", "inputSchema": SCHEMA}]}))
    assert not found(tmp_path, "{}", offered=False)
    document = examine(tmp_path / "chat.json", Options(tools=inventory)).audit()
    (one,) = [f for f in document.findings if f.code == "arguments_violate_schema"]
    assert [(place.evidence, place.pointer) for place in one.locators][1] == (1, "/tools/0")
