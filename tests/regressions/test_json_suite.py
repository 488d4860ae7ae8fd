"""Does every text of the JSON Parsing Test Suite (https://github.com/nst/JSONTestSuite) come out as the docs say? Each
one as a whole file, as a line among good lines, and as the text of a call's arguments.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from forensics.api import examine
from forensics.core.findings import GROUP_OF
from forensics.report.jsonout import json_bytes

if TYPE_CHECKING:
    from forensics.report.documents import AuditDocument

_ROOT = Path(__file__).resolve().parents[2]
_SUITE = _ROOT.parent / "shared" / "cases" / "jsontestsuite" / "test_parsing"
_PAGE = _ROOT / "docs" / "reference" / "json.md"
_FILES = sorted(_SUITE.iterdir()) if _SUITE.is_dir() else []
_USUAL = frozenset({"incomplete_run", "unclassified_tool", "unvouched"})

pytestmark = pytest.mark.skipif(not _FILES, reason="the suite is not here")
each = pytest.mark.parametrize("file", _FILES, ids=lambda file: file.stem)

BEFORE = (
    b'{"type":"user","text":"x"}\n{"type":"tool_call","id":"c","name":"get","args":{}}\n'
    b'{"type":"tool_result","call_id":"c","result":"ok"}\n'
)
BEHIND = b'\n{"type":"model","text":"done"}\n'
SPREAD = frozenset({"y_array_with_1_and_newline", "y_object_with_newlines"})
"""Texts that stand on several lines: among lines they are several lines, none of them JSON."""


def audit(tmp_path: Path, data: bytes) -> AuditDocument:
    path = tmp_path / "evidence"
    path.write_bytes(data)
    document = examine(path).audit()
    assert json.loads(json_bytes(document))
    return document


def codes(document: AuditDocument) -> set[str]:
    """What was found about the reading; what the texts of the suite hold (DEL, backspace) is another matter."""
    return {f.code for f in document.findings if GROUP_OF[f.code] != "content"} - _USUAL


def as_arguments(tmp_path: Path, text: bytes) -> AuditDocument:
    function = {"name": "get", "arguments": text.decode("utf-8", "surrogateescape")}
    messages = [
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": "c", "content": "ok"},
        {"role": "assistant", "content": "done"},
    ]
    return audit(tmp_path, json.dumps(messages).encode())


@each
def test_as_a_whole_file_it_is_no_trace_and_no_damage(file: Path, tmp_path: Path) -> None:
    document = audit(tmp_path, file.read_bytes())
    (row,) = document.evidence
    assert row.error is not None
    assert (row.status, row.error.code, codes(document)) == ("refused", "format_unknown", set())
    if file.name.startswith("y_"):
        assert "JSON, but no trace" in row.error.message


@each
def test_as_a_line_among_others_it_is_read_or_a_bad_line(file: Path, tmp_path: Path) -> None:
    document = audit(tmp_path, BEFORE + file.read_bytes() + BEHIND)
    assert document.counts.tool_results == 1
    assert document.evidence[0].error is None
    if file.name.startswith("y_") and file.stem not in SPREAD:
        assert codes(document) <= {"duplicate_key", "dialect"}
        assert bool(document.counts.bad_lines) is ("dialect" in codes(document))
    if file.name.startswith("n_") and file.read_bytes().strip():
        assert document.counts.bad_lines or codes(document)
        assert not document.traces[0].verdict.cleared


@each
def test_as_arguments_it_is_read_or_told(file: Path, tmp_path: Path) -> None:
    document = as_arguments(tmp_path, file.read_bytes())
    (call,) = document.traces[0].calls
    assert call.tool == "get"
    if file.name.startswith("y_"):
        assert codes(document) <= {"duplicate_key"}
    if file.name.startswith("n_") and file.read_bytes().strip():
        assert codes(document)


def test_the_page_pins_what_the_standard_leaves_open(tmp_path: Path) -> None:
    rows = re.findall(r"^\| `(i_\S+)` \| (.*?) \| (.*?) \|$", _PAGE.read_text("utf-8"), re.MULTILINE)
    told = {name: (line, arguments) for name, line, arguments in rows}
    found = {
        file.stem: (
            _said(audit(tmp_path, BEFORE + file.read_bytes() + BEHIND)),
            _said(as_arguments(tmp_path, file.read_bytes())),
        )
        for file in _FILES
        if file.name.startswith("i_")
    }
    assert told == found


def _said(document: AuditDocument) -> str:
    return ", ".join(f"`{code}`" for code in sorted(codes(document))) or "read"
