"""How does the document of `forensics doctor` read?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.report.terminal_page import Span

if TYPE_CHECKING:
    from forensics.report.doctor_documents import DoctorDocument, ExtraRow, WayRow
    from forensics.report.terminal_page import Page

_COLUMN = 13
_LEVELS = {
    "wall": "a rerun that executes something can start here",
    "tripwire": "a rerun can start here if it only injects what is recorded",
}


def doctor(page: Page, document: DoctorDocument) -> None:
    """The level that a rerun reaches here, way by way; then the extras."""
    isolation = document.isolation
    level = isolation.level or "none"
    page.blank()
    page.line(
        Span("isolation", "title"),
        ": ",
        Span(level, "cleared" if isolation.executes else "medium"),
        f", {_LEVELS.get(level, 'a rerun can not start here')}",
        rest="  ",
    )
    for way in isolation.ways:
        _way(page, way)
    page.blank()
    page.line(Span("extras", "title"))
    for extra in document.extras:
        _extra(page, extra)
    system = document.system
    page.blank()
    page.line(Span(f"{system.platform} {system.machine}, Python {system.python}", "dim"), rest="  ")


def _way(page: Page, row: WayRow) -> None:
    page.field(row.way, f"{'yes' if row.level else 'no'}: {row.about}", column=_COLUMN)
    if row.why:
        page.field("", row.why, column=_COLUMN)
    if row.hint:
        page.field("", row.hint, column=_COLUMN)


def _extra(page: Page, row: ExtraRow) -> None:
    there = f"there ({row.version})" if row.version else "not there"
    page.field(row.name, f"{there}: {row.gives}", column=_COLUMN)
    if not row.version:
        page.field("", row.install, column=_COLUMN)
