"""Is everything read that stands before the damage of a document, with one finding, and nothing behind it guessed?"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from forensics.api import examine
from forensics.formats.shared.broken import Recovered, recovered
from forensics.formats.shared.source import Source

if TYPE_CHECKING:
    from forensics.report.documents import AuditDocument

SAMPLES = Path(__file__).parents[3] / "samples"
DOCUMENTS = ("pager.chat.json", "pager.json", "parallel.anthropic.json", "readonly.responses.json")
MESSAGES = [{"role": "user", "content": f"m{n}"} for n in range(4)]


def recover(text: bytes | str) -> Recovered | None:
    data = text.encode() if isinstance(text, str) else text
    return recovered(Source("x.json", memoryview(data), ""))


def kept(text: str) -> Any:
    found = recover(text)
    return None if found is None else json.loads(bytes(found.source.data).removeprefix(b"\xef\xbb\xbf"))


def audit(tmp_path: Path, data: bytes) -> AuditDocument:
    path = tmp_path / "cut.json"
    path.write_bytes(data)
    return examine(path).audit()


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_cut_anywhere_is_read_up_to_there(name: str, tmp_path: Path) -> None:
    data = (SAMPLES / name).read_bytes()
    whole = audit(tmp_path, data)
    steps = 0
    for end in range(len(data) // 40, len(data) - 2, max(1, len(data) // 40)):
        document = audit(tmp_path, data[:end])
        if document.evidence[0].status == "refused":
            assert not steps
            continue
        assert document.evidence[0].status == "partial"
        assert [f.code for f in document.findings].count("container_truncated") == 1
        assert "malformed_line" not in {f.code for f in document.findings}
        assert {trace.verdict.level for trace in document.traces} == {"static"}
        assert document.counts.records <= whole.counts.records
        assert sum(trace.steps for trace in document.traces) >= steps
        steps = sum(trace.steps for trace in document.traces)
    assert steps


def test_the_finding_names_what_is_not_read(tmp_path: Path) -> None:
    data = json.dumps({"messages": MESSAGES}).encode()
    end = data.index(b'"m3"')
    (one,) = [f for f in audit(tmp_path, data[:end]).findings if f.code == "container_truncated"]
    (place,) = one.locators
    assert place.offset == data.index(b"m2") + len('m2"}')
    assert place.offset + (place.length or 0) == end
    assert (one.severity, one.basis) == ("medium", "recorded")
    assert one.message.startswith("the document breaks off; ")


@pytest.mark.parametrize("garbage", ["#", "}", "]", '{"a" 1}', "\x00" * 40, "tru", "01"])
def test_damage_in_the_middle_ends_what_is_read(garbage: str, tmp_path: Path) -> None:
    text = json.dumps({"messages": MESSAGES}).replace('{"role": "user", "content": "m2"}', garbage)
    document = audit(tmp_path, text.encode())
    assert document.traces[0].steps == 2
    (one,) = [f for f in document.findings if f.code == "container_truncated"]
    assert "stops to be JSON at byte" in one.message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"messages": [{"a": 1}, {"a": [{"b": 1}, {"c"', {"messages": [{"a": 1}]}),
        ('[{"role": "user"}, {"role": "assistant", "content": [{"items": [{"x": 1}, {', [{"role": "user"}]),
        (
            '[{"messages": [{"a": 1}]}, {"messages": [{"b": 2}, {"c',
            [{"messages": [{"a": 1}]}, {"messages": [{"b": 2}]}],
        ),
        (
            '{"resourceSpans": [{"resource": {}, "scopeSpans": [{"spans": [{"x": 1}, {"y": 2, "attributes": [{"k": 1}',
            {"resourceSpans": [{"resource": {}, "scopeSpans": [{"spans": [{"x": 1}]}]}]},
        ),
        ('{"request": {"messages": [{"a": 1}]}, "response": {"choices": [{"x"', {"request": {"messages": [{"a": 1}]}}),
        ('{"n": 1, "messages": [{"a": 1}], "t": 12', {"n": 1, "messages": [{"a": 1}]}),
        ('{"messages": [{"a": 1}]} and more', {"messages": [{"a": 1}]}),
        ('{"messages": [{"a": 1}]}{"messages": [{"b": 1}]}', {"messages": [{"a": 1}]}),
        ('{"messages": [{"a": NaN}, {"b": "\\ud800"}, {"c', {"messages": [{"a": float("nan")}, {"b": "\ud800"}]}),
        ('\ufeff{"messages": [{"a": 1}, {', {"messages": [{"a": 1}]}),
    ],
)
def test_the_cut_goes_behind_the_last_whole_record(text: str, expected: Any) -> None:
    assert repr(kept(text)) == repr(expected)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "plain text",
        "{",
        '{"type": "tool_call", "args": {"items": [1, 2',
        '{"messages": [{"role": "user", "content": "never closed',
        '{"messages": []',
        '{"messages": [{"a": 1}]}',
        '[{"a": 1}]',
        '{"type": "user"}\n{"type": "model", "items": [1, 2',
        '{"type": "us\n{"type": "model"}\n{"type": "user"}\n',
        '{"messages": [{"a": "\udcff"}]}',
    ],
)
def test_what_is_whole_or_lines_or_holds_no_whole_record_is_left_alone(text: str) -> None:
    assert recover(text.encode("utf-8", "surrogateescape")) is None


def test_what_is_kept_stands_byte_for_byte_in_the_evidence() -> None:
    data = (SAMPLES / "pager.json").read_bytes()
    found = recover(data[:-300])
    assert found is not None
    assert bytes(found.source.data).startswith(data[: found.end])
    assert set(bytes(found.source.data)[found.end :]) <= set(b"]}")


def test_a_large_document_takes_time_in_proportion() -> None:
    text = json.dumps({"messages": [{"role": "user", "content": ["x", {"y": [n]}]} for n in range(10_000)]})
    began = time.monotonic()
    assert recover(text[:-4]) is not None
    assert recover('{"messages": [{"a": 1}, ' + "[" * 50_000) is not None
    assert recover('{"messages": [{"a": 1}, {"b": ' + '"\\' * 100_000) is not None
    assert time.monotonic() - began < 30
