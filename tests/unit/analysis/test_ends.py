"""Is a result that is nothing but an error told apart from a report that speaks of one, in every format alike?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from forensics.analysis.ends import End, end_said
from forensics.api import examine

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from forensics.api import Examination

LOST = [
    "Command timed out after 2m 0.0s",
    "TimeoutError",
    "Request timed out.",
    "timed out",
    "Error: Request timed out",
    "ConnectionResetError: [Errno 104] Connection reset by peer",
    "504 Gateway Timeout",
    "HTTP 503 Service Unavailable",
    "read ECONNRESET",
    "upstream timeout after 30s",
    "socket hang up",
    "context deadline exceeded",
    "rpc error: code = DeadlineExceeded desc = context deadline exceeded",
    "Gateway timed out while waiting for the payment provider",
    "The payment gateway did not respond in time.",
    "No response from server",
    "curl: (28) Operation timed out after 30001 milliseconds with 0 bytes received",
    "Traceback (most recent call last):\n  File a.py\nrequests.exceptions.ReadTimeout: HTTPS",
    "Unexpected error: Connection closed",
    {"error": "timeout"},
    '{"error": "504 Gateway Timeout"}',
    {"status": 500, "error": "internal"},
    {"status_code": 502, "body": "bad gateway"},
    {"error": {"code": -32603, "message": "Internal error"}},
    [{"type": "text", "text": "Request timed out"}],
    {"content": [{"type": "text", "text": "Request timed out"}], "isError": True},
]
FAILED = [
    "Error: card declined",
    "Error: no such order",
    "fatal: not a git repository",
    "<tool_use_error>File has not been read yet.</tool_use_error>",
    "404 Not Found",
    "ConnectionRefusedError: [Errno 111] Connection refused",
    "ValueError: amount",
    "Failed to send: no recipient",
    "Session timed out",
    {"error": "card declined"},
    {"status_code": 404, "body": "no such order"},
]
DONE_BEFORE = [
    "already refunded: re_77Hq21",
    "Order 1042 was already refunded",
    {"status": "already_refunded"},
    {"message": "Invoice has already been paid"},
]
DOUBTFUL = [
    "Payment submitted, but confirmation timed out",
    {"id": 7, "status": "timeout"},
    {"id": 7, "status": "pending", "message": "confirmation timed out"},
    "Error: 3 of 9 rows\n" + "row\n" * 200,
]
NOTHING = [
    None,
    "",
    "ok",
    "Timeout set to 30s",
    "The timeout is 30s",
    "timeout: 30",
    "# gateway\ntimeout = 30\nretries = 2\n",
    "default: 5",
    "self._sock.settimeout(timeout)",
    "no timeouts",
    "0 errors",
    "Error rate: 2%",
    "Error: none",
    "Connection closed.",
    "Order cancelled",
    "500 rows deleted",
    "Created issue 'Request timed out on login'",
    "If it is already deleted, nothing happens",
    "a log\n" * 200 + "Request timed out",
    {"timeout": 30, "status": "ok"},
    {"status": 200, "body": "timeout"},
    {"code": 500, "name": "Gate 500"},
    {"hits": ["Request timed out"]},
    {"content": [{"type": "text", "text": "one"}, {"type": "text", "text": "Request timed out"}]},
]


@pytest.mark.parametrize(
    ("end", "result"),
    [
        *((End.OPEN, one) for one in LOST),
        *((End.FAILED, one) for one in FAILED),
        *((End.DONE_BEFORE, one) for one in DONE_BEFORE),
        *((End.DOUBTFUL, one) for one in DOUBTFUL),
        *((None, one) for one in NOTHING),
    ],
)
def test_what_a_result_says_of_its_end(end: End | None, result: Any) -> None:
    assert end_said(result) is end


@pytest.mark.parametrize(
    ("result", "end"),
    [
        ("Request timed out", End.OPEN),
        ("timeout", End.OPEN),
        ("Exit code 1\nall good until here\nfatal: Connection reset by peer", End.OPEN),
        ("Exit code 1\na test timed out\n1 failed", End.FAILED),
        ("card declined", End.FAILED),
        ({"reason": "timeout"}, End.OPEN),
        ("", None),
    ],
)
def test_what_is_marked_as_failed_says_more(result: Any, end: End | None) -> None:
    assert end_said(result, failed=True) is end


# the same incident in every format -----------------------------------------------------------------------------------

ORDER = {"order": "1042"}
PAID = json.dumps({"id": "ch_5502"})


def log(first: str) -> str:
    told = [
        {"type": "tool_call", "id": "a", "name": "charge_card", "args": ORDER},
        {"type": "tool_result", "call_id": "a", "result": first},
        {"type": "tool_call", "id": "b", "name": "charge_card", "args": ORDER},
        {"type": "tool_result", "call_id": "b", "result": PAID},
    ]
    return "\n".join(json.dumps(one) for one in [{"type": "user", "text": "pay"}, *told])


def chat(first: str) -> str:
    messages: list[Any] = [{"role": "user", "content": "pay"}]
    for call, said in (("a", first), ("b", PAID)):
        function = {"name": "charge_card", "arguments": json.dumps(ORDER)}
        asked = [{"id": call, "type": "function", "function": function}]
        messages += [
            {"role": "assistant", "content": None, "tool_calls": asked},
            {"role": "tool", "tool_call_id": call, "content": said},
        ]
    return json.dumps(messages)


def blocks(first: str) -> str:
    messages: list[Any] = [{"role": "user", "content": "pay"}]
    for call, said in (("a", first), ("b", PAID)):
        asked = {"type": "tool_use", "id": call, "name": "charge_card", "input": ORDER}
        answer = {"type": "tool_result", "tool_use_id": call, "content": said}
        messages += [{"role": "assistant", "content": [asked]}, {"role": "user", "content": [answer]}]
    return json.dumps({"model": "m", "max_tokens": 9, "messages": messages})


def spans(first: str) -> str:
    told = [("1", first), ("2", PAID)]
    rows = [
        {
            "traceId": "0" * 31 + "1",
            "spanId": "0" * 15 + number,
            "name": "execute_tool charge_card",
            "startTimeUnixNano": f"{number}000",
            "endTimeUnixNano": f"{number}900",
            "attributes": [
                {"key": key, "value": {"stringValue": value}}
                for key, value in (
                    ("gen_ai.operation.name", "execute_tool"),
                    ("gen_ai.tool.name", "charge_card"),
                    ("gen_ai.tool.call.id", number),
                    ("gen_ai.tool.call.arguments", json.dumps(ORDER)),
                    ("gen_ai.tool.call.result", said),
                )
            ],
        }
        for number, said in told
    ]
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": rows}]}]})


FORMATS = {"log.jsonl": log, "chat.json": chat, "blocks.json": blocks, "spans.json": spans}
ABOUT_EFFECTS = {"duplicate_side_effect", "possible_duplicate_side_effect", "unknown_outcome"}


def incident(tmp_path: Path, name: str, first: str) -> Examination:
    path = tmp_path / name
    path.write_text(FORMATS[name](first), encoding="utf-8")
    return examine(path)


def told(examined: Examination) -> Iterator[str]:
    return (one.code for one in examined.audit().findings if one.code in ABOUT_EFFECTS)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(
    ("first", "outcome", "codes"),
    [
        ("Request timed out", "indeterminate", ["possible_duplicate_side_effect", "unknown_outcome"]),
        ("Paid, but confirmation timed out", "recorded", ["possible_duplicate_side_effect", "unknown_outcome"]),
        ("Error: card declined", "recorded", []),
        ("already charged: ch_5501", "recorded", []),
        ("charged", "recorded", ["duplicate_side_effect"]),
    ],
)
def test_every_format_tells_the_same(tmp_path: Path, name: str, first: str, outcome: str, codes: list[str]) -> None:
    examined = incident(tmp_path, name, first)
    assert sorted(told(examined)) == codes
    assert [call.outcome for trace in examined.audit().traces for call in trace.calls] == [outcome, "recorded"]


def test_a_read_that_timed_out_is_no_unknown_outcome(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    read = {"type": "tool_call", "id": "a", "name": "bash", "args": {"command": "cat a.log"}}
    lines = [
        {"type": "user", "text": "go"},
        read,
        {"type": "tool_result", "call_id": "a", "result": "Request timed out"},
    ]
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    assert not list(told(examine(path)))


def test_a_marked_failure_keeps_its_mark(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    lines = [json.loads(line) for line in log("timed out").splitlines()]
    lines[2]["is_error"] = True
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    (analysis,) = examine(path).analyses
    first, second = analysis.trace.calls
    assert (first.outcome.value, first.marked) == ("indeterminate", "failed")
    assert (second.outcome.value, second.marked) == ("recorded", None)


def test_answers_with_the_same_members_are_told_apart_by_their_states(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    answers = [
        {"id": 1, "status": "ok"},
        {"id": 2, "status": "timeout"},
        {"id": 3, "status": 1},
        {"id": 4, "status": [1]},
    ]
    lines: list[Any] = [{"type": "user", "text": "pay"}]
    for answer in [*answers, *answers]:
        call = f"c{len(lines)}"
        lines += [
            {"type": "tool_call", "id": call, "name": "charge_card", "args": {"order": call}},
            {"type": "tool_result", "call_id": call, "result": answer},
        ]
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    assert [one.steps for one in examine(path).audit().findings if one.code == "unknown_outcome"] == [[3], [11]]
