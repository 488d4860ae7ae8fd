"""Does the page of findings say something about every code that the program can emit, and about no other?"""

from __future__ import annotations

import re
from pathlib import Path

from forensics.core.findings import REASON_CODES

ROOT = Path(__file__).resolve().parents[2]
EMITTED = re.compile(r"\b(?:finding|Finding|Gap|Block|Reason)\(\s*\"([a-z_]+)\"")


def documented() -> set[str]:
    page = (ROOT / "docs" / "reference" / "findings.md").read_text(encoding="utf-8")
    return set(re.findall(r"^### (\w+)$", page, re.MULTILINE))


def emitted() -> set[str]:
    sources = (path.read_text(encoding="utf-8") for path in (ROOT / "forensics").rglob("*.py"))
    return {code for source in sources for code in EMITTED.findall(source)}


def test_every_section_is_about_a_code_of_the_catalogue() -> None:
    assert documented() <= REASON_CODES


def test_every_code_that_is_emitted_has_its_section() -> None:
    assert emitted() <= documented()
