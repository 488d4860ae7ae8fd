"""Is a trace named once where the line of its verdict is too long for the screen?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Run

EVENTS = (
    {"type": "user", "text": "go"},
    {"type": "tool_call", "id": "c1", "name": "restock", "args": {"sku": "A"}},
    {"type": "tool_result", "call_id": "c1", "result": "done"},
)


@pytest.mark.parametrize(
    ("file", "columns", "lines"),
    [
        ("restock.events.jsonl", "80", 1),
        ("restock.events.jsonl", "60", 2),
        ("restocking-of-the-second-warehouse.events.jsonl", "80", 2),
    ],
)
def test_the_whole_name_of_a_file_stands_once(
    file: str, columns: str, lines: int, forensics: Run, tmp_path: Path
) -> None:
    (tmp_path / file).write_text("\n".join(map(json.dumps, EVENTS)), encoding="utf-8")
    said = forensics("audit", tmp_path / file, "-q", COLUMNS=columns).stdout.decode()
    assert said.startswith("REFUSED under strict")
    assert said.count(file) == 1
    assert len(said.splitlines()) == lines
