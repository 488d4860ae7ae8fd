"""Are hints that tell nothing found, and hints that tell something left alone?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from forensics.api import examine

if TYPE_CHECKING:
    from pathlib import Path

    from forensics.report.documents import FindingRow

Fields = dict[str, Any]
STAMP = {"readOnlyHint": False, "destructiveHint": True}
DEFAULTS = {**STAMP, "idempotentHint": False, "openWorldHint": True}
READS = {"readOnlyHint": True}
GET, LIST, DELETE = (
    ("get_row", "Gets one row."),
    ("list_rows", "Lists the rows."),
    ("delete_row", "Deletes a row."),
)


def found(tmp_path: Path, *tools: tuple[tuple[str, str], Fields]) -> list[FindingRow]:
    """A server that lists these tools, the first of which is called."""
    listed = [
        {"name": name, "description": about, "inputSchema": {"type": "object"}, "annotations": hints}
        for (name, about), hints in tools
    ]
    lines: list[Fields] = [
        {"server": "rows", "msg": {"jsonrpc": "2.0", "id": 1, "result": {"tools": listed}}},
        {
            "server": "rows",
            "msg": {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": tools[0][0][0]}},
        },
        {"server": "rows", "msg": {"jsonrpc": "2.0", "id": 2, "result": {"content": []}}},
    ]
    path = tmp_path / "mcp.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return [f for f in examine(path).audit().findings if f.code == "annotation_uninformative"]


def test_one_set_of_hints_on_tools_that_read_and_tools_that_write(tmp_path: Path) -> None:
    (one,) = found(tmp_path, (GET, STAMP), (LIST, STAMP), (DELETE, STAMP))
    assert (one.severity, one.basis, one.confidence) == ("medium", "derived", "medium")
    assert one.message == (
        "all 3 tools of rows carry the same hints (readOnlyHint false, destructiveHint true), "
        "though get_row, list_rows only read by their words: the hints tell nothing"
    )
    assert len(one.steps) == 1
    assert [place.pointer for place in one.locators] == ["/msg/result/tools/0", "/msg/result/tools/1"]


def test_hints_that_are_what_absent_ones_mean(tmp_path: Path) -> None:
    (one,) = found(tmp_path, (GET, DEFAULTS), (DELETE, {"readOnlyHint": False}))
    assert one.message.startswith("the hints of rows are those that absent ones mean (readOnlyHint false, ")


@pytest.mark.parametrize(
    "tools",
    [
        ((GET, READS), (LIST, READS), (("find_row", "Finds a row."), READS)),
        ((GET, READS), (LIST, READS), (DELETE, STAMP)),
        ((GET, STAMP), (DELETE, STAMP)),
        ((DELETE, STAMP), (("drop_rows", "Drops all rows."), STAMP), (("send_row", "Sends a row."), STAMP)),
        ((GET, {}), (LIST, {}), (DELETE, {})),
        ((GET, {"title": "Get"}), (LIST, {"title": "List"}), (DELETE, {"title": "Delete"})),
        ((DELETE, DEFAULTS),),
        ((GET, {"readOnlyHint": False}),),
        ((("get_and_delete_row", "Gets a row and deletes it."), DEFAULTS),),
        ((("frobnicate", "Does a thing."), DEFAULTS),),
    ],
)
def test_hints_that_tell_something_or_are_not_there(
    tools: tuple[tuple[tuple[str, str], Fields], ...], tmp_path: Path
) -> None:
    assert not found(tmp_path, *tools)


def test_a_contradicted_server_is_reported_once(tmp_path: Path) -> None:
    assert not found(tmp_path, (GET, DEFAULTS), (LIST, DEFAULTS), (DELETE, READS))
