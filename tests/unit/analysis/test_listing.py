"""Does an inventory beside a trace add what it declares, as a claim, and never more?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from forensics.analysis.inventory_files import read_tools
from forensics.api import Options, examine, exit_code
from forensics.errors import ConfigurationError, CorruptEvidenceError, EvidenceError

if TYPE_CHECKING:
    from forensics.report.documents import AuditDocument, ToolRow

_SHARED = Path(__file__).resolve().parents[4] / "shared"
Fields = dict[str, Any]
READS: Fields = {"name": "look_up", "description": "Looks up a word.", "annotations": {"readOnlyHint": True}}
POLICY = "schema: forensics/policy/v1\nname: t\nextends: strict\ntrust:\n  - server: words\n"


def log(tmp_path: Path, tool: str = "look_up", offered: Fields | None = None, server: str | None = None) -> Path:
    """A log in which one tool is called once."""
    messages: list[Fields] = [
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": tool, "arguments": {"word": "a"}}},
        {"jsonrpc": "2.0", "id": 2, "result": {"content": [{"type": "text", "text": "b"}]}},
    ]
    if offered is not None:
        messages.insert(0, {"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"inputSchema": {}, **offered}]}})
    lines = messages if server is None else [{"server": server, "msg": message} for message in messages]
    path = tmp_path / "mcp.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def inventory(tmp_path: Path, *tools: Fields, **more: Any) -> Path:
    path = tmp_path / "tools-list.json"
    path.write_text(json.dumps({"jsonrpc": "2.0", "id": 1, "result": {**more, "tools": list(tools)}}))
    return path


def audit(trace: Path, tools: Path | None, policy: str | None = None) -> AuditDocument:
    file = None
    if policy is not None:
        file = trace.with_name("policy.yaml")
        file.write_text(policy)
    return examine(trace, Options(tools=tools, policy=file)).audit()


def called(document: AuditDocument) -> ToolRow:
    return next(tool for tool in document.traces[0].tools if tool.calls)


def test_the_inventory_is_an_evidence_with_its_own_digest(tmp_path: Path) -> None:
    tools = inventory(tmp_path, READS)
    document = audit(log(tmp_path), tools)
    row = document.evidence[1]
    assert (row.name, row.status, row.format, row.coverage) == (tools.name, "read", "tools-list", "1 tool declared")
    assert row.size == tools.stat().st_size
    places = [piece.locator for piece in called(document).basis if piece.source == "declaration"]
    assert [(place.evidence, place.pointer) for place in places if place is not None] == [(1, "/result/tools/0")]


def test_what_it_declares_is_a_claim(tmp_path: Path) -> None:
    before, after = audit(log(tmp_path), None), audit(log(tmp_path), inventory(tmp_path, READS))
    assert called(before).effect == "unknown"
    assert (called(after).effect, called(after).rests_on) == ("none", "words")
    assert {piece.tier for piece in called(after).basis if piece.source == "declaration"} == {"claimed"}


def test_a_server_that_the_policy_trusts_vouches_by_the_inventory(tmp_path: Path) -> None:
    tools = inventory(tmp_path, READS, serverInfo={"name": "words", "version": "1.4.2"})
    assert called(audit(log(tmp_path), tools)).rests_on == "words"
    assert called(audit(log(tmp_path), tools, POLICY)).rests_on == "declaration"


@pytest.mark.parametrize(("pin", "rests_on"), [("1.4.*", "declaration"), ("2.*", "words"), ("1.4.2", "declaration")])
def test_a_version_pin_is_met_by_the_inventory_only(pin: str, rests_on: str, tmp_path: Path) -> None:
    about = {"name": "words", "version": "1.4.2"}
    policy = f'{POLICY}    version: "{pin}"\n'
    assert called(audit(log(tmp_path), inventory(tmp_path, READS, serverInfo=about), policy)).rests_on == rests_on
    assert called(audit(log(tmp_path, offered=READS, server="words"), None, policy)).rests_on == "words"


def test_a_digest_pin_is_met_by_that_inventory_and_no_other(tmp_path: Path) -> None:
    tools = inventory(tmp_path, {**READS, "server": "words"})
    digest = audit(log(tmp_path), tools).evidence[1].sha256
    pinned = f'{POLICY}    tools_digest: "sha256:{digest}"\n'
    assert called(audit(log(tmp_path), tools, pinned)).rests_on == "declaration"
    changed = inventory(tmp_path, {**READS, "server": "words"}, READS | {"name": "other"})
    assert called(audit(log(tmp_path), changed, pinned)).rests_on == "words"


def test_what_the_trace_declares_is_joined_and_never_replaced(tmp_path: Path) -> None:
    trace = log(tmp_path, offered={**READS, "description": "Deletes a word.", "annotations": {}})
    assert called(audit(trace, inventory(tmp_path, READS))).effect == "irreversible"
    milder = log(tmp_path, offered=READS)
    assert called(audit(milder, inventory(tmp_path, {**READS, "description": "Deletes a word."}))).effect != "none"


def test_another_server_s_tool_of_that_name_is_another_tool(tmp_path: Path) -> None:
    tools = inventory(tmp_path, {**READS, "server": "words"})
    document = audit(log(tmp_path, server="books"), tools, POLICY)
    assert (called(document).server, called(document).effect) == ("books", "unknown")


@pytest.mark.parametrize("name", ["mcp__words__look_up", "words__look_up", "words.look_up", "words/look_up"])
def test_a_name_with_its_server_in_front(name: str, tmp_path: Path) -> None:
    tools = inventory(tmp_path, {**READS, "server": "words"})
    assert called(audit(log(tmp_path, name, server="words"), tools)).effect == "none"
    assert called(audit(log(tmp_path, name, server="other"), tools)).effect == "unknown"


def test_which_of_two_tools_of_one_name_is_meant_can_not_be_told(tmp_path: Path) -> None:
    two = inventory(tmp_path, {**READS, "server": "words"}, {**READS, "server": "books"})
    assert called(audit(log(tmp_path), two, POLICY)).effect == "unknown"
    same = inventory(tmp_path, READS, READS)
    assert called(audit(log(tmp_path), same)).effect == "none"


def test_tools_that_only_the_inventory_names_are_listed_and_cost_their_server_its_words(tmp_path: Path) -> None:
    liar = {"name": "delete_word", "annotations": {"readOnlyHint": True}, "server": "words"}
    document = audit(log(tmp_path), inventory(tmp_path, {**READS, "server": "words"}, liar))
    assert [(tool.name, tool.calls) for tool in document.traces[0].tools] == [("look_up", 1), ("delete_word", 0)]
    assert called(document).effect == "unknown"
    (one,) = [f for f in document.findings if f.code == "annotation_contradicted"]
    assert [place.evidence for place in one.locators] == [1]


def test_the_exit_code_is_that_of_the_traces(tmp_path: Path) -> None:
    tools = inventory(tmp_path, READS)
    assert exit_code(examine(log(tmp_path), Options(tools=tools))) == exit_code(examine(log(tmp_path)))


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"tools": [{"description": "x"}]}', "no list"])
def test_an_inventory_that_lists_nothing_is_an_error_that_says_what_to_do(text: str, tmp_path: Path) -> None:
    path = tmp_path / "tools.json"
    path.write_text(text)
    with pytest.raises(CorruptEvidenceError) as raised:
        examine(log(tmp_path), Options(tools=path))
    assert (raised.value.code, bool(raised.value.hint)) == ("evidence_corrupt", True)


def test_an_inventory_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(EvidenceError) as raised:
        examine(log(tmp_path), Options(tools=tmp_path / "none.json"))
    assert raised.value.code == "evidence_missing"


def test_standard_input_holds_one_of_the_two() -> None:
    with pytest.raises(ConfigurationError):
        examine("-", Options(tools="-"))


# the forms -----------------------------------------------------------------------------------------------------------

FORMS: dict[str, object] = {
    "a list": [READS],
    "an MCP result": {"tools": [READS]},
    "an MCP response": {"jsonrpc": "2.0", "id": 3, "result": {"tools": [READS], "nextCursor": "x"}},
    "a list of responses": [{"result": {"tools": [READS]}}],
    "OpenAI Chat": {"model": "m", "tools": [{"type": "function", "function": {**READS, "parameters": {}}}]},
    "OpenAI Responses": [{"type": "function", **READS, "parameters": {}}],
    "Anthropic": {"tools": [{**READS, "input_schema": {}}]},
    "Gemini": {"tools": [{"functionDeclarations": [READS]}]},
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_lists_the_same_tool(form: str) -> None:
    (tool,) = read_tools(json.dumps(FORMS[form], indent=1).encode(), "tools")
    assert (tool.name, tool.description, tool.hints) == ("look_up", "Looks up a word.", {"readOnlyHint": True})


def test_pages_of_a_list_one_a_line() -> None:
    pages = [{"result": {"tools": [READS]}}, {"result": {"tools": [{**READS, "name": "b"}, {"name": "c"}]}}]
    tools = read_tools("\n".join(map(json.dumps, pages)).encode(), "tools", 7)
    places = [tool.locator for tool in tools]
    assert [(p.evidence, p.line, p.pointer) for p in places if p is not None] == [
        (7, 1, "/result/tools/0"),
        (7, 2, "/result/tools/0"),
        (7, 2, "/result/tools/1"),
    ]


def test_a_tool_that_a_provider_runs_goes_by_its_type() -> None:
    assert [tool.name for tool in read_tools(b'[{"type": "web_search"}]', "tools")] == ["web_search"]
    with pytest.raises(CorruptEvidenceError):
        read_tools(b'[{"type": "function"}]', "tools")


def test_the_corpus_s_own_lists_are_read() -> None:
    lists = sorted((_SHARED / "cases" / "traces" / "mcp-jsonrpc").glob("*signature.json"))
    if not lists:
        pytest.skip("the corpus of real traces is not here")
    assert all(read_tools(path.read_bytes(), path.name) for path in lists)
