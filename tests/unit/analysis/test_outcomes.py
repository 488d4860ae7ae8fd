"""Is a failure found that its record marks as ended well, and is a report about a failure left alone?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from forensics.analysis.inband import says_it_failed
from forensics.api import examine

if TYPE_CHECKING:
    from pathlib import Path

    from forensics.report.documents import FindingRow


@pytest.mark.parametrize(
    "result",
    [
        {"error": "card declined"},
        {"errors": [{"message": "no"}]},
        {"error": {"code": 404, "message": "no such order"}},
        {"success": False, "message": "limit reached"},
        {"ok": False, "error": "channel_not_found"},
        {"status": "error", "message": "timeout"},
        {"status": 500, "title": "Server error", "detail": "database"},
        {"statusCode": 403, "message": "Forbidden", "data": None},
        '{"error": "card declined"}',
        {"content": [{"type": "text", "text": '{"error": "card declined"}'}]},
        {"content": [], "structuredContent": {"success": False, "reason": "locked"}},
        {"is_error": True, "message": "no"},
    ],
)
def test_the_envelope_of_an_error(result: Any) -> None:
    assert says_it_failed(result)


@pytest.mark.parametrize(
    "result",
    [
        None,
        {},
        [],
        "Error: no such file",
        {"error": None},
        {"error": ""},
        {"error": "", "message": "ok"},
        {"id": 7, "state": "failed", "error": "out of memory"},
        {"status": "failed"},
        {"status": "failed", "tests": 12, "message": "3 of 12 failed"},
        {"ok": False},
        {"healthy": False, "message": "database down"},
        {"success": True, "message": "sent"},
        {"success": True, "error": "one recipient was skipped"},
        {"status": 200, "message": "fine"},
        {"data": {"user": {"id": 1}}, "errors": [{"message": "field is deprecated"}]},
        {"results": [{"error": "x"}]},
        {"code": 401, "name": "Gate 401"},
        {"content": [{"type": "text", "text": "fine"}, {"type": "text", "text": '{"error": "x"}'}]},
        {"content": [{"type": "text", "text": "the log says: error"}]},
    ],
)
def test_what_is_no_envelope_of_an_error(result: Any) -> None:
    assert not says_it_failed(result)


def mcp(tmp_path: Path, *answers: dict[str, Any], name: str = "send_mail") -> list[FindingRow]:
    """One call of a tool for each answer."""
    lines: list[dict[str, Any]] = []
    for number, answer in enumerate(answers, 1):
        params = {"name": name, "arguments": {"to": "a"}}
        lines.append({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})
        if answer:
            lines.append({"jsonrpc": "2.0", "id": number, **answer})
    path = tmp_path / "mcp.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return list(examine(path).audit().findings)


def texts(said: str, *, failed: bool = False) -> dict[str, Any]:
    return {"result": {"content": [{"type": "text", "text": said}], "isError": failed}}


def test_a_failure_that_is_recorded_as_ended_well_is_masked(tmp_path: Path) -> None:
    (one,) = [f for f in mcp(tmp_path, texts('{"error": "quota"}')) if f.code == "masked_failure"]
    assert (one.severity, one.basis, one.steps) == ("medium", "derived", [0, 1])


@pytest.mark.parametrize(
    "answer",
    [
        texts('{"error": "quota"}', failed=True),
        texts('{"sent": 1}'),
        {"error": {"code": -32000, "message": "down"}},
        {},
    ],
)
def test_a_failure_that_is_marked_is_not_masked(answer: dict[str, Any], tmp_path: Path) -> None:
    assert "masked_failure" not in {f.code for f in mcp(tmp_path, answer)}


def test_a_format_without_error_marks_masks_nothing(tmp_path: Path) -> None:
    asked = {"id": "1", "type": "function", "function": {"name": "send_mail", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "tool_calls": [asked]},
        {"role": "tool", "tool_call_id": "1", "content": '{"error": "quota"}'},
    ]
    path = tmp_path / "chat.json"
    path.write_text(json.dumps({"messages": messages}))
    assert "masked_failure" not in {f.code for f in examine(path).audit().findings}


def test_a_retry_after_a_failure_in_the_result_is_no_second_effect(tmp_path: Path) -> None:
    failed, sent = texts('{"error": "quota"}'), texts('{"status": "sent", "id": "m-1"}')
    twice = {"duplicate_side_effect", "possible_duplicate_side_effect"}
    assert not twice & {f.code for f in mcp(tmp_path, failed, sent)}
    assert twice & {f.code for f in mcp(tmp_path, sent, texts('{"status": "sent", "id": "m-2"}'))}


@pytest.mark.parametrize(
    ("name", "answer", "said"),
    [
        ("send_mail", {}, "has an effect and its end is not recorded"),
        ("frobnicate", {}, "may have an effect and its end is not recorded"),
        ("send_mail", {"error": {"code": -32001, "message": "Request timed out"}}, "does not tell how it ended"),
    ],
)
def test_an_unknown_outcome_says_what_is_not_known(
    name: str, answer: dict[str, Any], said: str, tmp_path: Path
) -> None:
    (one,) = [f for f in mcp(tmp_path, answer, name=name) if f.code == "unknown_outcome"]
    assert said in one.message


def test_a_read_without_an_answer_has_no_unknown_outcome(tmp_path: Path) -> None:
    offered = {"name": "get_mail", "description": "Gets a mail.", "inputSchema": {"type": "object"}}
    found = mcp(tmp_path, {"result": {"tools": [offered]}}, {}, name="get_mail")
    assert "unknown_outcome" not in {f.code for f in found}
