"""How does an answer out of a corpus read? As a table cut at the width, its first rows alone where it is long."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.report.terminal_page import Span, cells, plural, short, value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forensics.report.query_documents import QueryDocument, QuestionsDocument
    from forensics.report.terminal_page import Page

_ROWS, _ROWS_VERBOSE = 200, 2_000
_CELL, _CELL_VERBOSE = 40, 200
_NUMBERS = ("INT", "DECIMAL", "DOUBLE", "FLOAT")


def query(page: Page, document: QueryDocument) -> None:
    """Lay out the answer to a question."""
    most, widest = (_ROWS_VERBOSE, _CELL_VERBOSE) if page.detail > 0 else (_ROWS, _CELL)
    shown = [[_cell(one, widest) for one in row] for row in document.rows[:most]]
    heads = [short(column.name, widest) for column in document.columns]
    widths = [max(map(cells, column)) for column in zip(heads, *shown, strict=True)]
    right = [any(word in column.type for word in _NUMBERS) and "[" not in column.type for column in document.columns]
    for style, row in (("title", heads), *(("", row) for row in shown)):
        line = _line(row, widths, right)
        start = len(line) - len(line.lstrip())
        page.row(Span(line[start:], style), first="  " + " " * start)
    page.more(len(document.rows) - most)
    if page.detail >= 0:
        cut = sum(widths) + 2 * len(widths) > page.width
        told = "; what is cut at the width stands in --format csv, json or jsonl" if cut else ""
        page.line(Span(f"{plural(len(document.rows), 'row')}{told}", "dim"), rest="  ")


def _cell(one: object, widest: int) -> str:
    return "" if one is None else value(one, widest)


def _line(texts: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    padded = (
        " " * (width - cells(text)) + text if numeric else text + " " * (width - cells(text))
        for text, width, numeric in zip(texts, widths, right, strict=True)
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
