"""How do the lists read: the formats that are read, and the entries of a policy file?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.report.terminal_evidence import policy_warnings
from forensics.report.terminal_page import Span, name, plural, short

if TYPE_CHECKING:
    from forensics.report.documents import FormatsDocument, PolicyCheckDocument
    from forensics.report.terminal_page import Page

_STATES = {"in force": "cleared", "expired": "refused", "unused": "medium"}


def formats(page: Page, document: FormatsDocument) -> None:
    """One paragraph a format."""
    for row in document.formats:
        page.blank()
        page.line(Span(row.name, "title"), f": {row.about}", rest="  ")
        page.field("carries", row.carries, column=11)
        page.field("lacks", row.lacks, column=11)
        page.field("a rerun", f"would miss {row.rerun_misses}", column=11)
        calls = "always records calls as such" if row.records_calls else "may hide calls in text"
        page.field("calls", calls, column=11)


def policy_check(page: Page, document: PolicyCheckDocument) -> None:
    """One line an entry, and below it what it changes."""
    policy = document.policy
    expiry = "" if policy.as_of is None else f", judged as of {policy.as_of}"
    page.line(Span("valid", "cleared"), f": policy {name(policy.name)}, extends {policy.base}{expiry}", rest="  ")
    for row in document.entries:
        page.blank()
        line = "" if row.line is None else f"line {row.line}: "
        until = "" if row.expires is None else f", expires {row.expires}"
        page.line(
            Span(row.state, _STATES.get(row.state, "")),
            f"  {line}{short(row.what, 300)}{until}",
            first="  ",
            rest="    ",
        )
        if row.because:
            page.field("because", short(row.because, 300), indent=4, column=13)
        if row.by:
            page.field("by", short(row.by, 100), indent=4, column=13)
        for change in row.changes:
            page.field("changes", short(change, 400), indent=4, column=13)
    page.blank()
    policy_warnings(page, policy)
    page.line(Span(f"{plural(len(document.entries), 'entry', 'entries')}; digest {policy.digest}", "dim"), rest="  ")
