"""Is everything read that stands before the damage of a document, with one finding, and nothing behind it guessed?"""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.api import examine
from forensics.core.evidence import Evidence
from forensics.core.reading import EvidenceBuilder
from forensics.formats.shared.document import find_document
from forensics.formats.shared.mending import mend
from forensics.formats.shared.source import Source

if TYPE_CHECKING:
    from forensics.report.documents import AuditDocument

SAMPLES = Path(__file__).parents[3] / "samples"
DOCUMENTS = ("pager.chat.json", "pager.json", "parallel.anthropic.json", "readonly.responses.json")
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=20,
)
MESSAGES = [{"role": "user", "content": f"m{n}"} for n in range(4)]


def kept(text: str | bytes) -> Any:
    found = mend(memoryview(text.encode() if isinstance(text, str) else text))
    return None if found is None else json.loads(found.text)


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
        assert {trace.verdict.level for trace in document.traces} <= {"static"}
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
        (
            '{"samples": [{"id": 1, "events": [{"a": 1}], "output": {"x": [1, ',
            {"samples": [{"id": 1, "events": [{"a": 1}]}]},
        ),
        ('{"samples": [{"messages": [{"a": 1}], "events": [{"b', {"samples": [{"messages": [{"a": 1}], "events": []}]}),
        ('{"version": "v1", "steps": [{"a": {"b"', {"version": "v1", "steps": []}),
        ('{"messages": [{"a": 1}, {"b": "\\q"}]}', {"messages": [{"a": 1}]}),
        ('{"messages": [{"a": 1}, {"b": "\\u00e', {"messages": [{"a": 1}]}),
        ('{"messages": [{"a": 1}, {"b": 2]', {"messages": [{"a": 1}]}),
        ('{"messages": [{"a": 1}, {"b": ' + "[" * 60_000, {"messages": [{"a": 1}]}),
        ('{"n": 1, "messages": [{"a": 1}], "t": 12', {"n": 1, "messages": [{"a": 1}]}),
        ('{"messages": [{"a": 1}]} and more', {"messages": [{"a": 1}]}),
        ('{"messages": [{"a": 1}]}{"messages": [{"b": 1}]}', {"messages": [{"a": 1}]}),
        ('{"messages": [{"a": NaN}, {"b": "\\ud800"}, {"c', {"messages": [{"a": float("nan")}, {"b": "\ud800"}]}),
    ],
)
def test_the_cut_goes_behind_the_last_whole_record(text: str, expected: Any) -> None:
    assert repr(kept(text)) == repr(expected)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "plain text",
        '"a text"',
        "12",
        "{",
        '{"type": "tool_call", "args": {"items": [1, 2',
        '{"messages": [{"role": "user", "content": "never closed',
        '{"messages": []',
        '{"messages": [{"a": "\udcff"}]}',
    ],
)
def test_what_holds_no_whole_record_is_left_alone(text: str) -> None:
    assert mend(memoryview(text.encode("utf-8", "surrogateescape"))) is None


@given(st.lists(VALUES, min_size=1, max_size=4), st.data())
def test_whole_items_before_a_cut_are_kept_and_nothing_else(value: list[object], data: st.DataObject) -> None:
    whole = json.dumps({"version": 1, "events": value}).encode()
    cut = data.draw(st.integers(len('{"version": 1, "events": ['), len(whole) - 1))
    mended = mend(memoryview(whole[:cut]))
    assert mended is not None
    assert whole.startswith(mended.text[: mended.kept])
    items = json.loads(mended.text)["events"]
    assert items == value[: len(items)]
    assert mended.why == "breaks off"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b'{"messages": [{"a": 1}, {"b', "breaks off"),
        (b'{"messages": [{"a": 1}]} tail', "stops to be JSON at byte 24"),
        (b'{"messages": [{"a": 1}, {"b": "\xff"}]}', "stops to be UTF-8 at byte 31"),
    ],
)
def test_what_ends_the_readable_part_is_said(text: bytes, why: str) -> None:
    found = mend(memoryview(text))
    assert found is not None
    assert found.why == why
    behind = mend(memoryview(text), 3)
    assert behind is not None
    assert behind.why == re.sub(r"\d+$", lambda number: str(int(number[0]) + 3), why)


def test_what_is_kept_stands_byte_for_byte_in_the_evidence() -> None:
    data = (SAMPLES / "pager.json").read_bytes()[:-300]
    found = mend(memoryview(data))
    assert found is not None
    assert found.text.startswith(data[: found.kept])
    assert set(found.text[found.kept :]) <= set(b"]}")


def test_a_large_document_takes_time_in_proportion() -> None:
    text = json.dumps({"messages": [{"role": "user", "content": ["x", {"y": [n]}]} for n in range(10_000)]})
    began = time.process_time()
    assert kept(text[:-4]) is not None
    assert kept('{"messages": [{"a": 1}, ' + "[" * 50_000) is not None
    assert kept('{"messages": [{"a": 1}, {"b": ' + '"\\' * 100_000) is not None
    assert kept('{"messages": [{"a": 1}, {"b": 1' + " " * 200_000 + "\v") is not None
    assert time.process_time() - began < 30


# a document among other evidences ------------------------------------------------------------------------------------


def found(text: str) -> Any:
    """The document that an evidence is, None for lines."""
    source = Source("x.json", memoryview(text.encode()), "")
    build = EvidenceBuilder(Evidence(0, "x.json", "", len(text), "openai-chat"), records_calls=False)
    document = find_document(source, build)
    return None if document is None else json.loads(bytes(document.body))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"messages": [{"a": 1}]}', {"messages": [{"a": 1}]}),
        ('\ufeff{"messages": [{"a": 1}, {', {"messages": [{"a": 1}]}),
        ('[\n{"a": 1},\n{"b": 2}\n', [{"a": 1}, {"b": 2}]),
        ('{"messages": [\n{"a": NaN},\n{"b": 2}\n]}', {"messages": [{"a": float("nan")}, {"b": 2}]}),
        ('{"type": "user"}\n{"type": "model", "items": [1, 2', None),
        ('{"type": "us\n{"type": "model"}\n{"type": "user"}\n', None),
        ('{"type": "user"}\n{"type": "model"}', None),
    ],
)
def test_a_document_is_told_from_lines(text: str, expected: Any) -> None:
    assert repr(found(text)) == repr(expected)
