"""Which requests and answers does a log hold, however it is written?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from forensics.errors import CorruptEvidenceError, UnknownFormatError
from forensics.formats.shared.reader import look_at
from forensics.formats.shared.source import open_source
from forensics.replay.request_log import is_request_list, is_request_log, log_record, log_requests

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from forensics.formats.shared.source import Source
    from forensics.replay.recordings import Recording, Request


@pytest.fixture
def opened(tmp_path: Path) -> Callable[[str | bytes], Source]:
    def write(text: str | bytes) -> Source:
        path = tmp_path / "log"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return open_source(str(path))

    return write


def lines(*records: Any) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def only(recordings: tuple[Recording, ...]) -> Recording:
    (recording,) = recordings
    return recording


def one(opened: Callable[[str | bytes], Source], record: Any) -> Request:
    ((request,), _) = log_requests(opened(json.dumps([record])), 1)
    return request


CALL = {"tool": "page", "arguments": {"severity": "sev1"}}


@pytest.mark.parametrize(
    ("record", "kind", "value", "recorded_id"),
    [
        ({"kind": "model", "request": {"prompt": "x"}}, "model", {"prompt": "x"}, None),
        ({"kind": "llm", "request": "x"}, "model", "x", None),
        ({"kind": "tool", "request": CALL}, "tool", CALL, None),
        ({"kind": "tool", "id": "c1", "request": CALL}, "tool", CALL, "c1"),
        ({"kind": "tool", "request": {**CALL, "call_id": "c1"}}, "tool", CALL, "c1"),
        ({"kind": "tool", "request": {"name": "page", "args": {"severity": "sev1"}}}, "tool", CALL, None),
        ({"kind": "tool", "name": "page", "request": {"severity": "sev1"}}, "tool", CALL, None),
        ({"kind": "tool", "tool": "page", "args": {"severity": "sev1"}}, "tool", CALL, None),
        ({"tool": "page", "input": {"severity": "sev1"}, "ts": 3}, "tool", CALL, None),
        ({"kind": "tool", "request": {**CALL, "timeout": 3}}, "tool", {**CALL, "timeout": 3}, None),
        (
            {"id": "c1", "type": "function", "function": {"name": "page", "arguments": '{"severity": "sev1"}'}},
            "tool",
            {"tool": "page", "arguments": '{"severity": "sev1"}'},
            "c1",
        ),
        ({"messages": [{"role": "user"}]}, "model", {"messages": [{"role": "user"}]}, None),
        ({"kind": "cache", "request": {"k": 1}}, "cache", {"k": 1}, None),
        ("free text", "", "free text", None),
    ],
)
def test_one_request_in_its_forms(
    opened: Callable[[str | bytes], Source], record: Any, kind: str, value: Any, recorded_id: str | None
) -> None:
    request = one(opened, record)
    assert (request.kind, request.value, request.recorded_id) == (kind, value, recorded_id)


def test_an_http_request_is_one_whatever_says_so(opened: Callable[[str | bytes], Source]) -> None:
    held = {"method": "post", "url": "https://x.example/a", "headers": {"Accept": ["b"]}, "body": '{"q": 1}'}
    bare, inside = one(opened, held), one(opened, {"kind": "model", "request": held})
    assert bare.kind == inside.kind == "http"
    assert bare.value == inside.value == {"method": "POST", "uri": "https://x.example/a", "body": {"q": 1}}
    assert bare.beside == {"/headers/accept": "b"}


def test_answers_and_their_absence(opened: Callable[[str | bytes], Source]) -> None:
    record, reading = log_record(
        opened(
            lines(
                {"kind": "model", "request": "a", "response": "x"},
                {"kind": "tool", "request": CALL, "result": None, "agent": "b"},
                {"kind": "tool", "request": CALL, "error": "down"},
                {"kind": "model", "request": "c"},
            )
        ),
        0,
    )
    told = [(r.answer, r.missing, r.failed, r.request.lane) for r in record.recordings]
    assert told == [
        ("x", "", False, None),
        (None, "", False, "b"),
        ({"error": "down"}, "", True, None),
        (None, "the recording holds no answer", False, None),
    ]
    assert [r.request.locator.line for r in record.recordings] == [1, 2, 3, 4]
    assert reading.counts.records == 4


def test_what_stands_behind_a_damaged_line_is_in_doubt(opened: Callable[[str | bytes], Source]) -> None:
    good = lines({"kind": "model", "request": "a", "response": "x"})
    record, _ = log_record(opened(good + '{"kind": "model", "requ\n' + good), 0)
    first, second = record.recordings
    assert first.doubt == ""
    assert "1 lines before it can't be read" in second.doubt
    assert [f.code for f in record.findings] == ["malformed_line"]


def test_a_key_that_stands_twice_puts_a_record_in_doubt(opened: Callable[[str | bytes], Source]) -> None:
    text = '{"kind": "model", "request": {"p": 1, "p": 2}, "response": "x"}\n'
    assert "a key stands twice" in only(log_record(opened(text), 0)[0].recordings).doubt
    assert "a key stands twice" in log_requests(opened(text), 1)[0][0].doubt


def test_requests_must_all_be_known(opened: Callable[[str | bytes], Source]) -> None:
    with pytest.raises(CorruptEvidenceError, match="line 2"):
        log_requests(opened(lines({"request": "a"}) + "{broken\n"), 1)
    with pytest.raises(CorruptEvidenceError):
        log_requests(opened('[{"request": "a"}, {"requ'), 1)
    with pytest.raises(UnknownFormatError):
        log_requests(opened("[]"), 1)


@pytest.mark.parametrize(
    ("text", "log", "listed"),
    [
        (lines({"kind": "model", "request": 1, "response": 2}), True, True),
        (json.dumps([{"request": 1, "response": 2}]), True, True),
        (json.dumps([{"method": "GET", "uri": "/"}]), False, True),
        (lines({"jsonrpc": "2.0", "method": "x", "uri": "y", "request": 1, "kind": 2}), False, False),
        (lines({"type": "user", "text": "a"}), False, False),
        (json.dumps({"interactions": []}), False, False),
        ("no JSON", False, False),
        ("", False, False),
    ],
)
def test_what_is_taken_for_a_log(opened: Callable[[str | bytes], Source], text: str, log: bool, listed: bool) -> None:  # noqa: FBT001 - a table
    look = look_at(opened(text))
    assert (is_request_log(look), is_request_list(look)) == (log, listed)


def test_marks_and_blank_lines_are_passed_over(opened: Callable[[str | bytes], Source]) -> None:
    text = b"\xef\xbb\xbf" + b'{"request": "a", "kind": "model"}\r\n\r\n{"request": "b", "kind": "model"}'
    requests, _ = log_requests(opened(text), 1)
    assert [r.value for r in requests] == ["a", "b"]
    ((listed,), _) = log_requests(opened(b'\xef\xbb\xbf[{"request": "a"}]'), 1)
    assert listed.value == "a"
