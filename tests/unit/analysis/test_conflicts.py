"""Does a declaration that contradicts the tool cost its server the trust in its words, and an honest one nothing?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from forensics.api import Options, examine

if TYPE_CHECKING:
    from pathlib import Path

    from forensics.report.documents import AuditDocument, FindingRow

READS = {"readOnlyHint": True}
FIND = {"name": "find_text", "description": "Searches text.", "annotations": READS}
Fields = dict[str, Any]


def audit(tmp_path: Path, *tools: Fields, server: str = "edit") -> AuditDocument:
    """Two servers: one with these tools, and an honest one; the first tool of each is called once."""
    honest = {"name": "look_up", "description": "Looks up a word.", "annotations": READS}
    lines = []
    for name, offered in ((server, tools), ("words", (honest,))):
        shown = [{"inputSchema": {"type": "object"}, **one} for one in offered]
        call = {"name": offered[0]["name"], "arguments": {"at": 1}}
        lines += [
            {"server": name, "msg": {"jsonrpc": "2.0", "id": 1, "result": {"tools": shown}}},
            {"server": name, "msg": {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}},
            {"server": name, "msg": {"jsonrpc": "2.0", "id": 2, "result": {"content": []}}},
        ]
    path = tmp_path / "mcp.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return examine(path).audit()


def contradicted(document: AuditDocument) -> list[str]:
    return [f.message for f in document.findings if f.code == "annotation_contradicted"]


@pytest.mark.parametrize(
    ("name", "description"),
    [
        ("replace_text", "Rewrites a range in a source file."),
        ("delete_file", None),
        ("delete_file", "Frees space."),
        ("apply", "Overwrites the file with the new text."),
        ("update_row", None),
        ("create_issue", "Creates an issue."),
    ],
)
def test_a_tool_that_says_a_write_contradicts_its_hint(tmp_path: Path, name: str, description: str | None) -> None:
    told = {} if description is None else {"description": description}
    (message,) = contradicted(audit(tmp_path, {"name": name, **told, "annotations": READS}))
    assert message.startswith(tuple(f"{name}: readOnlyHint is true, but {what} " for what in ("the", "its")))


@pytest.mark.parametrize(
    ("name", "description"),
    [
        ("run_query", "Runs a query."),
        ("open_page", "Opens a page."),
        ("get_update_status", "Gets the status of an update."),
        ("find_text", "Searches text."),
    ],
)
def test_a_word_that_may_be_harmless_contradicts_nothing(tmp_path: Path, name: str, description: str) -> None:
    assert not contradicted(audit(tmp_path, {"name": name, "description": description, "annotations": READS}))


@pytest.mark.parametrize(
    "hints",
    [
        {},
        {"readOnlyHint": False},
        {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": True},
        {"readOnlyHint": "true"},
    ],
)
def test_hints_that_claim_no_reading_contradict_nothing(tmp_path: Path, hints: Fields) -> None:
    tool = {"name": "delete_file", "description": "Deletes a file.", "annotations": hints}
    assert not contradicted(audit(tmp_path, tool))


def test_the_finding_names_the_call_and_the_declaration(tmp_path: Path) -> None:
    document = audit(tmp_path, {"name": "delete_file", "annotations": READS})
    (found,) = [f for f in document.findings if f.code == "annotation_contradicted"]
    assert (found.severity, len(found.steps)) == ("high", 1)
    assert found.locators[0].pointer == "/msg/result/tools/0"


def test_the_server_loses_its_words_and_another_keeps_them(tmp_path: Path) -> None:
    before = {t.name: t.effect for t in audit(tmp_path, FIND).traces[0].tools}
    after = audit(tmp_path, FIND, {"name": "delete_file", "annotations": READS}).traces[0]
    effects = {t.name: t.effect for t in after.tools}
    assert before == {"find_text": "none", "look_up": "none"}
    assert effects == {"find_text": "unknown", "look_up": "none", "delete_file": "irreversible"}
    assert {c.tool: c.effect for c in after.calls} == {"find_text": "unknown", "look_up": "none"}


def test_of_several_entries_the_one_that_counts_is_set_against_the_evidence(tmp_path: Path) -> None:
    """A delete is no contradiction of an entry that says irreversible, whatever a milder entry before it says."""
    said = [
        f'  - {{tool: delete_file, effect: {effect}, because: "{effect}", by: m}}\n'
        for effect in ("none", "overwriting")
    ]
    policy = tmp_path / "policy.yaml"
    policy.write_text("schema: forensics/policy/v1\nname: p\ntools:\n" + "".join(said), "utf-8")
    audit(tmp_path, {"name": "delete_file", "description": "Deletes a file for ever."})
    messages = contradicted(examine(tmp_path / "mcp.jsonl", Options(policy=policy)).audit())
    assert [message.split(",")[0] for message in messages] == [
        "delete_file: the policy says effect overwriting (overwriting (m))"
    ]


STEADY = """schema: forensics/policy/v1
name: p
tools:
  - {tool: get_rate, effect: none, result: RESULT, because: "frozen", by: m}
"""


def rates(tmp_path: Path, *calls: tuple[int, object], result: str) -> list[FindingRow]:
    """What an audit finds of calls `(argument, result)` of a tool of which the policy says that result."""
    events: list[Fields] = [{"type": "user", "text": "go"}]
    for n, (asked, given) in enumerate(calls):
        events += [
            {"type": "tool_call", "id": f"c{n}", "name": "get_rate", "args": {"at": asked}},
            {"type": "tool_result", "call_id": f"c{n}", "result": {"rate": given}},
        ]
    path, policy = tmp_path / "events.jsonl", tmp_path / "policy.yaml"
    path.write_text("".join(json.dumps({"seq": n, **one}) + "\n" for n, one in enumerate(events)), "utf-8")
    policy.write_text(STEADY.replace("RESULT", result), "utf-8")
    document = examine(path, Options(policy=policy)).audit()
    return [one for one in document.findings if one.code == "annotation_contradicted"]


def test_a_result_that_changed_is_set_against_an_entry_that_says_stable(tmp_path: Path) -> None:
    (found,) = rates(tmp_path, (1, 7), (2, 8), (1, 9), (1, 10), result="stable")
    assert (found.severity, found.steps) == ("low", [5])
    assert found.message == (
        "get_rate: the policy says result stable (frozen (m)), against: the same call with the same arguments gave "
        "another result in this trace"
    )


def test_where_it_did_not_change_or_nobody_says_stable_there_is_nothing_against_it(tmp_path: Path) -> None:
    assert rates(tmp_path, (1, 7), (2, 8), (1, 7), result="stable") == []
    assert rates(tmp_path, (1, 7), (1, 8), result="volatile") == []
