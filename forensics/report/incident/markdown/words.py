"""How is a report written in Markdown? A text of the trace stands in a code span or a table's code cell, where nothing
is markup, a link or a mention.
"""

from __future__ import annotations

from sys import maxsize
from typing import TYPE_CHECKING, NamedTuple

from forensics.core.sanitise import markdown_cell, markdown_code, markdown_text
from forensics.report.terminal_page import short

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from forensics.report.documents import Place
    from forensics.report.incident.documents import ReportDocument, Share, Statement

CELL, LINE = 100, 300
_STEPS = 12
BLANK = "_(to be filled in)_"


class Ticket(NamedTuple):
    """A report, how many rows of a table or list a ticket takes, and how many characters of a text of the trace: None
    where all that the report has fits.
    """

    document: ReportDocument
    most: int
    width: int | None = None

    def quoted(self, text: str | None) -> str:
        """A text of the trace for a cell of a table, or nothing."""
        return cell(text, maxsize if self.width is None else self.width)

    def cuts(self, text: str) -> bool:
        """Whether less of a text stands here than in the report."""
        return self.width is not None and len(text) > self.width


def said(one: Statement) -> str:
    """A statement with how it is known."""
    at = f", {steps(one.steps)}" if one.steps else ""
    rule = f" by {markdown_code(short(one.rule, 100))}" if one.rule else ""
    other = f" Or: {markdown_text('; '.join(one.alternatives))}." if one.alternatives else ""
    return f"{markdown_text(short(one.text, 600))} ({one.basis}{rule}{at}){other}"


def steps(found: Sequence[int]) -> str:
    """Step numbers, the first twelve."""
    shown = ", ".join(map(str, found[:_STEPS]))
    return f"step{'s' if len(found) > 1 else ''} {shown}{' …' if len(found) > _STEPS else ''}"


def share(one: Share) -> str:
    """`2 of 3 calls`."""
    return f"{one.count} of {one.of} {one.what}"


def cell(text: str | None, limit: int = CELL) -> str:
    """A name or another short text for a cell of a table, or nothing."""
    return "" if not text else markdown_cell(short(text, limit))


def blank(value: str | None) -> str:
    """A value that a person gave, or the blank."""
    return BLANK if value is None else markdown_text(short(value, LINE))


def where(document: ReportDocument, at: Place) -> str:
    """`FILE line 7 byte 123+45 /pointer`."""
    parts = [document.custody.inputs[at.evidence].name]
    parts += [] if at.line is None else [f"line {at.line}"]
    parts += [] if at.member is None else [f"member {at.member}"]
    parts += [] if at.table is None else [f"{at.table} row {at.row}"]
    parts += [] if at.offset is None else [f"byte {at.offset}+{at.length or 0}"]
    return cell(" ".join([*parts, at.pointer or ""]).rstrip())


def table(most: int, head: Sequence[str], rows: Iterable[Sequence[str]], count: int) -> Iterator[str]:
    """A table of the first rows, and how many more there are."""
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for number, row in enumerate(rows):
        if number == most:
            break
        yield f"| {' | '.join(row)} |"
    yield ""
    yield from more(most, count)


def more(most: int, count: int) -> Iterator[str]:
    """How many rows are left out, if any."""
    if count > most:
        yield from ("", f"… and {count - most} more of {count}; the JSON report has all.", "")
