"""Is there a page for every code of the catalogue and for no other, and does the documentation say the same?"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from forensics.core.findings import GROUP_OF, REASON_CODES, default_severity
from forensics.report.code_pages import REASONS_ONLY, CodePage, code_groups, code_pages
from forensics.report.codes_markdown import codes_page

ROOT = Path(__file__).resolve().parents[2]
EMITTED = re.compile(
    r"\b(?:finding|Finding|Gap|Block|Reason|gap|unread|once|block)\(\s*\"([a-z_]+)\"|\bbad_line\(\s*[\w.]+,\s*\"([a-z_]+)\""
)
LONGEST = 700


def emitted() -> set[str]:
    sources = (path.read_text(encoding="utf-8") for path in (ROOT / "forensics").rglob("*.py"))
    return {code for source in sources for codes in EMITTED.findall(source) for code in codes if code}


def test_every_code_has_its_page_in_its_group() -> None:
    assert code_pages().keys() == REASON_CODES
    for group in code_groups():
        assert {GROUP_OF.get(page.code, REASONS_ONLY) for page in group.codes} == {group.group}


def test_every_code_that_is_emitted_is_one_of_the_catalogue() -> None:
    assert emitted() <= REASON_CODES


def test_the_order_is_that_of_the_catalogue() -> None:
    order = [*GROUP_OF]
    found = [code for code in code_pages() if code in GROUP_OF]
    assert found == order


@pytest.mark.parametrize("page", code_pages().values(), ids=lambda page: page.code)
def test_every_page_is_sentences(page: CodePage) -> None:
    for text in (page.means, page.matters, page.example, page.does_not_prove, page.do):
        assert text == " ".join(text.split())
        assert text.endswith((".", "…", "`.", '".'))
        assert len(text) <= LONGEST
        assert text[0].isupper() or text[0] in "`="
    assert all((ROOT / "docs" / where).is_file() for where in page.see)


def test_the_documentation_is_written_from_the_pages() -> None:
    """CONTRIBUTING.md has the command that writes it anew."""
    assert (ROOT / "docs" / "reference" / "findings.md").read_text(encoding="utf-8") == codes_page()


def test_the_documentation_names_the_severity_of_each_finding() -> None:
    sections = re.split(r"^### ", codes_page(), flags=re.MULTILINE)[1:]
    said = {section.partition("\n")[0]: re.findall(r"\*\*Severity\*\*\s(\w+)\.", section) for section in sections}
    assert said.keys() == REASON_CODES
    for code, severities in said.items():
        assert severities == ([default_severity(code).value] if code in GROUP_OF else [])
