"""A walk is handed a document or the lines, is told when there is no more, and refuses an evidence that had none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from forensics.core.evidence import Evidence
from forensics.core.reading import EvidenceBuilder
from forensics.errors import CorruptEvidenceError
from forensics.formats.shared.json_lines import json_values
from forensics.formats.shared.source import open_source
from forensics.formats.shared.walks import walk_evidence

if TYPE_CHECKING:
    from pathlib import Path

    from forensics.formats.shared.document import Document
    from forensics.formats.shared.source import Source


class _Told:
    """What a walk was told, in order; each number is a record."""

    def __init__(self, build: EvidenceBuilder) -> None:
        self.build = build
        self.told: list[str] = []

    def document(self, _source: Source, document: Document) -> None:
        self.told.append(f"document {bytes(document.body).decode()}")
        self.build.counts.records += 1

    def line(self, one: tuple[Any, ...]) -> None:
        self.told.append(f"line {bytes(one[0]).decode()}")
        self.build.counts.records += bytes(one[0]).isdigit()

    def close(self) -> None:
        self.told.append("end")


def _walked(folder: Path, text: str) -> _Told:
    path = folder / "evidence"
    path.write_text(text)
    with open_source(str(path)) as source:
        build = EvidenceBuilder(Evidence(0, source.name, source.sha256, source.size), records_calls=True)
        walk = _Told(build)
        walk_evidence(source, build, walk, json_values(source, build), "number")
        return walk


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"a": 1}', ['document {"a": 1}', "end"]),
        ("[1,\n2]\n", ["document [1,\n2]\n", "end"]),
        ('1\n{"a": 2}\n', ["line 1", 'line {"a": 2}', "end"]),
    ],
)
def test_a_document_else_lines(text: str, told: list[str], tmp_path: Path) -> None:
    assert _walked(tmp_path, text).told == told


def test_the_end_of_a_cut_document_is_told(tmp_path: Path) -> None:
    walk = _walked(tmp_path, '[{"a": 1}, {"b')
    assert walk.told == ['document [{"a": 1}]', "end"]
    assert [gap.code for gap in walk.build.finish().gaps] == ["container_truncated"]
    assert walk.build.counts.lines == 0


def test_what_held_nothing_for_a_walk_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CorruptEvidenceError, match="number"):
        _walked(tmp_path, '{"a": 1}\n{"a": 2}\n')
