"""What happens to a dry run whose recording or requests are damaged or hostile? Told or stopped, never a fault."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from forensics.api_match import match
from forensics.errors import ForensicsError
from forensics.report.jsonout import json_bytes
from forensics.report.terminal import lines_of
from forensics.testing.mutations import mutations, truncations

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from forensics.report.documents import MatchingDocument

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
LOG = "".join(
    json.dumps(record) + "\n"
    for record in (
        {"kind": "model", "request": {"prompt": "a", "n": [1, {"x": 2.5}]}, "response": {"text": "one"}},
        {"kind": "tool", "id": "c1", "lane": "x", "request": {"tool": "page", "arguments": "{}"}, "response": "pg_1"},
        {"kind": "tool", "id": "c2", "lane": "x", "request": {"tool": "page", "arguments": "{}"}, "response": "pg_2"},
        {"kind": "http", "request": {"method": "POST", "uri": "http://h/", "body": '{"a": 1}'}, "response": {"s": 1}},
    )
).encode()
HELD = {
    "log": LOG,
    "cassette": (SAMPLES / "pager.vcr.yaml").read_bytes(),
    "trace": (SAMPLES / "mailing.events.jsonl").read_bytes(),
}


def outcome(recording: Path, requests: Path) -> MatchingDocument | None:
    """The document, written in both forms; None where it was said that nothing could be told."""
    try:
        document = match(recording, requests).document()
    except ForensicsError:
        return None
    json.loads(json_bytes(document).decode("utf-8"))
    lines_of(document)
    return document


def damaged(data: bytes, count: int) -> Iterator[bytes]:
    yield from (one.data for one in mutations(data, 6, count))
    yield from (one.data for one in truncations(data, 12))


@pytest.fixture
def written(tmp_path: Path) -> Callable[[str, bytes], Path]:
    def write(name: str, data: bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(data)
        return path

    return write


@pytest.mark.parametrize("kind", HELD)
def test_a_damaged_recording_serves_what_it_holds_or_nothing(
    kind: str, written: Callable[[str, bytes], Path], request: pytest.FixtureRequest
) -> None:
    whole = written("requests", HELD[kind])
    expected = [row.asked for row in match(whole, whole).document().requests]
    for data in damaged(HELD[kind], min(request.config.getoption("--mutations"), 300)):
        document = outcome(written("recording", data), whole)
        if document is not None:
            assert [row.asked for row in document.requests] == expected
            served = [row.recorded for row in document.requests if row.recorded is not None]
            assert len(served) == len(set(served)) == document.counts.served


@pytest.mark.parametrize("kind", HELD)
def test_damaged_requests_are_answered_or_stopped(
    kind: str, written: Callable[[str, bytes], Path], request: pytest.FixtureRequest
) -> None:
    whole = written("recording", HELD[kind])
    answers = [row.served for row in match(whole, whole).document().requests]
    for data in damaged(HELD[kind], min(request.config.getoption("--mutations"), 300)):
        document = outcome(whole, written("requests", data))
        if document is not None:
            assert all(row.served in answers for row in document.requests if row.status == "served")


ODD: list[dict[str, object]] = [
    {"kind": "http", "request": {"foo": 1}},
    {"kind": "http", "request": {"uri": 1, "body": 2}},
    {"kind": "http", "request": None},
    {"kind": {}, "request": [], "response": {}},
    {"kind": "tool", "request": {"function": {"name": []}}},
    {"kind": "tool", "request": {"function": {}, "name": "x"}},
    {"kind": "tool", "request": "text", "tool": "x"},
    {"request": {"method": "GET", "uri": "", "headers": [1, {"name": None}], "body": {"string": None}}},
    {"request": {"method": "GET", "uri": "h", "headers": "x", "body": 5}, "response": None},
    {"request": {"method": "x", "url": "y", "body": {"jsonrpc": 1, "method": "tools/call", "id": {}, "params": []}}},
    {"request": {"": {"": ["\ud800"]}}, "response": "\ud800", "lane": "\ud800", "id": "\ud800"},
]


@pytest.mark.parametrize("record", ODD)
def test_odd_requests_are_matched_like_any_other(
    record: dict[str, object], written: Callable[[str, bytes], Path]
) -> None:
    log = written("log", json.dumps([{"response": 1, **record}]).encode())
    document = outcome(log, log)
    assert document is not None
    assert document.result == "served"
    stopped = outcome(log, written("other", json.dumps([{**record, "request": {"z": 1}}]).encode()))
    assert stopped is not None
    assert stopped.result == "miss"
