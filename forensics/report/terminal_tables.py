"""How do the lists read: the formats that are read, and the entries of a policy file?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import UNSET

from forensics.report.terminal_evidence import policy_warnings
from forensics.report.terminal_page import Span, name, plural, short

if TYPE_CHECKING:
    from forensics.report.documents import FormatsDocument, PolicyCheckDocument
    from forensics.report.terminal_page import Page

_SHOWN = 20
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
    if any(row.changes for row in document.entries):
        page.line(Span("changes: before the arrow without that entry alone, after it with it", "dim"), rest="  ")
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
        if row.hint:
            page.field("hint", row.hint, indent=4, column=13)
        if row.because:
            page.field("because", short(row.because, 300), indent=4, column=13)
        if row.by:
            page.field("by", short(row.by, 100), indent=4, column=13)
        for change in row.changes:
            page.field("changes", short(change, 400), indent=4, column=13)
        if not (row.changes or row.line is None or document.changes is UNSET or row.state != "in force"):
            page.field("changes", Span("nothing alone: without it the same would count", "dim"), indent=4, column=13)
    _whole_policy(page, document)
    page.blank()
    policy_warnings(page, policy)
    page.line(Span(f"{plural(len(document.entries), 'entry', 'entries')}; digest {policy.digest}", "dim"), rest="  ")


def _whole_policy(page: Page, document: PolicyCheckDocument) -> None:
    """What all entries together change beside the shipped policy, and what is refused all the same."""
    if document.changes is UNSET or document.refused is UNSET:
        return
    page.title(f"All entries together, beside {document.policy.base}")
    for change in document.changes[:_SHOWN]:
        page.field("changes", short(change, 400), indent=4, column=13)
    page.more(len(document.changes) - _SHOWN, 4)
    if not document.changes:
        page.line("nothing: every class and level is the same", first="    ")
    for refused in document.refused[:_SHOWN]:
        page.line(Span("still refused", "refused"), f": {short(refused, 600)}", first="    ", rest="      ")
    page.more(len(document.refused) - _SHOWN, 4)
