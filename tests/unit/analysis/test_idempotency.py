"""Is a try under another idempotency key told, and are two acts that went well left alone?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from forensics.api import examine

if TYPE_CHECKING:
    from pathlib import Path

KEYED = {"amount": 10, "idempotency_key": "k-1"}


def told(tmp_path: Path, *tries: tuple[dict[str, Any], dict[str, Any] | None], tool: str = "charge_card") -> int:
    events: list[dict[str, Any]] = [{"type": "user", "text": "go"}]
    for n, (arguments, answer) in enumerate(tries):
        events.append({"type": "tool_call", "call_id": f"c{n}", "name": tool, "args": arguments})
        if answer is not None:
            events.append({"type": "tool_result", "call_id": f"c{n}", **answer})
    path = tmp_path / "events.jsonl"
    path.write_text("\n".join(map(json.dumps, events)), encoding="utf-8")
    return [f.code for f in examine(path).audit().findings].count("idempotency_key_changed")


OK, TIMED_OUT, FAILED = {"result": "ok"}, {"result": "?", "status": "timeout"}, {"error": "502 bad gateway"}
INTERNAL = {"error": {"code": -32603, "message": "Internal error"}}


@pytest.mark.parametrize("first", [TIMED_OUT, FAILED, INTERNAL, None])
@pytest.mark.parametrize(
    "second", [{"amount": 10, "idempotency_key": "k-2"}, {"idempotency_key": "k-2", "amount": 10}, {"amount": 10}]
)
def test_a_retry_under_another_key_is_told(
    tmp_path: Path, first: dict[str, Any] | None, second: dict[str, Any]
) -> None:
    assert told(tmp_path, (KEYED, first), (second, OK)) == 1


@pytest.mark.parametrize(
    "tries",
    [
        ((KEYED, TIMED_OUT), (KEYED, OK)),
        ((KEYED, OK), ({"amount": 10, "idempotency_key": "k-2"}, OK)),
        ((KEYED, FAILED), ({"amount": 11, "idempotency_key": "k-2"}, OK)),
        (({"amount": 10}, FAILED), ({"amount": 10}, OK)),
        (  # a server that refused the request ran nothing
            (KEYED, {"error": {"code": -32602, "message": "invalid amount"}}),
            ({"amount": 10, "idempotency_key": "k-2"}, OK),
        ),
        ((KEYED, {"result": "no", "status": "denied"}), ({"amount": 10, "idempotency_key": "k-2"}, OK)),
    ],
)
def test_other_tries_are_not(tmp_path: Path, tries: tuple[tuple[dict[str, Any], dict[str, Any]], ...]) -> None:
    assert told(tmp_path, *tries) == 0


def test_a_read_may_be_asked_under_any_key(tmp_path: Path) -> None:
    read = {"path": "a.txt", "request_id": "r-1"}
    assert told(tmp_path, (read, FAILED), ({**read, "request_id": "r-2"}, OK), tool="read_file") == 0


@pytest.mark.parametrize("name", ["idempotency_key", "Idempotency-Key", "clientToken", "request_id", "dedupe_key"])
def test_the_key_is_known_in_any_spelling(tmp_path: Path, name: str) -> None:
    assert told(tmp_path, ({"amount": 1, name: "a"}, TIMED_OUT), ({"amount": 1, name: "b"}, OK)) == 1
