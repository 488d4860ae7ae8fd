"""Does the file of duties name parts, codes and sources that are there, and say nothing as met?"""

from __future__ import annotations

import re

from forensics.core.findings import GROUP_OF
from forensics.report.incident.documents import ReportDocument
from forensics.report.incident.obligations import blanks, controls, obligations, tags_of

DAY = re.compile(r"20\d\d-\d\d-\d\d")


def test_every_duty_leads_to_parts_that_are_there() -> None:
    fields = set(ReportDocument.__struct_fields__)
    assert len(obligations()) >= 20
    for duty in obligations():
        assert set(duty.parts) <= fields
        assert bool(duty.parts) == (duty.here != "not_in_a_trace")
        assert duty.also_needed.strip()
        assert DAY.fullmatch(duty.as_of)


def test_no_text_says_that_a_duty_is_met() -> None:
    texts = [text for duty in obligations() for text in (duty.needs, duty.also_needed)]
    assert not [text for text in texts if re.search(r"\b(?:complian|fulfil|satisf|certif)", text, re.IGNORECASE)]


def test_tags_are_of_codes_that_are_there() -> None:
    for row in controls().tags:
        assert set(row.codes) <= set(GROUP_OF)
        assert DAY.fullmatch(row.as_of)
    assert tags_of("duplicate_side_effect") == [
        "ASI02 (OWASP Top 10 for Agentic Applications 2026)",
        "ASI08 (OWASP Top 10 for Agentic Applications 2026)",
    ]
    assert tags_of("encoding") == []


def test_blanks_have_names_of_their_own() -> None:
    names = [blank.name for blank in blanks()]
    assert len(set(names)) == len(names) >= 10
