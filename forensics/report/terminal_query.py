"""How does an answer out of a corpus read? As a table as wide as the page, its first rows alone where it is long.

The columns that the page has no room for follow each row by name, so that what answers is read whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.report.terminal_page import Span, cells, plural, short, value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forensics.report.query_documents import QueryDocument, QuestionsDocument
    from forensics.report.terminal_page import Page

_ROWS, _ROWS_VERBOSE = 200, 2_000
_CELL, _CELL_VERBOSE = 40, 200  # the widest column of a table
_TEXT, _TEXT_VERBOSE = 400, 2_000
_CUT = 2  # cells that a row leaves for the mark of what is cut
_NUMBERS = ("INT", "DECIMAL", "DOUBLE", "FLOAT")


def query(page: Page, document: QueryDocument) -> None:
    """Lay out the answer to a question."""
    most, widest, longest = (_ROWS_VERBOSE, _CELL_VERBOSE, _TEXT_VERBOSE) if page.detail > 0 else (_ROWS, _CELL, _TEXT)
    shown = [[_cell(one, longest) for one in row] for row in document.rows[:most]]
    heads = [short(column.name, widest) for column in document.columns]
    every = [max(map(cells, column)) for column in zip(heads, *shown, strict=True)]
    widths = every[: _beside(every, widest, page.width - _CUT)]
    right = [any(word in column.type for word in _NUMBERS) and "[" not in column.type for column in document.columns]
    if widths:
        _row(page, _line(heads, widths, right), "title")
    for row in shown:
        if widths:
            _row(page, _line(row, widths, right), "")
        for n in range(len(widths), len(row)):
            if row[n]:
                indent = "      " if n else "  "
                page.line(Span(f"{heads[n]} ", "dim"), row[n], first=indent, rest="        ")
    page.more(len(document.rows) - most)
    if page.detail >= 0:
        page.line(Span(plural(len(document.rows), "row"), "dim"), rest="  ")


def _beside(every: Sequence[int], widest: int, room: int) -> int:
    """How many of the columns stand beside each other in the room, none of them wider than is easily read."""
    at = 0
    for number, width in enumerate(every):
        at += 2 + width
        if width > widest or at > room:
            return number
    return len(every)


def _row(page: Page, line: str, style: str) -> None:
    start = len(line) - len(line.lstrip())
    page.row(Span(line[start:], style), first="  " + " " * start)


def _cell(one: object, widest: int) -> str:
    return "" if one is None else value(one, widest)


def _line(texts: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    padded = (
        " " * (width - cells(text)) + text if numeric else text + " " * (width - cells(text))
        for text, width, numeric in zip(texts, widths, right, strict=False)  # the first of them alone
    )
    return "  ".join(padded).rstrip()


def questions(page: Page, document: QuestionsDocument) -> None:
    """Lay out what can be asked."""
    page.line(Span("Ready questions", "title"))
    for one in document.questions:
        page.field(one.name, one.asks, column=24)
        for line in one.sql.split("\n") if page.detail > 0 else ():
            page.line(Span(line, "quote"), first="      ", rest="        ")
    page.title("Tables")
    for table in document.tables:
        page.blank()
        page.line(Span(table.name, "title"), f": {table.about}", rest="  ")
        for column in table.columns:
            kind = column.type if len(column.type) < len("TIMESTAMP[]") else "STRUCT[]"
            page.field(column.name, f"{kind:<10} {column.about}", column=20)
