"""How is an answer out of a corpus handed on? As a table of commas that no spreadsheet calculates, or as JSON lines."""

from __future__ import annotations

import csv
import io
from collections import Counter
from typing import TYPE_CHECKING

from forensics.core.sanitise import csv_cell
from forensics.report.jsonout import compact, json_lines

if TYPE_CHECKING:
    from forensics.report.query_documents import QueryDocument


def query_csv(document: QueryDocument) -> bytes:
    """The answer as CSV with a head; lists and structures as JSON."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\r\n")
    table.writerow([csv_cell(column.name) for column in document.columns])
    table.writerows([_cell(value) for value in row] for row in document.rows)
    return out.getvalue().encode("utf-8", "backslashreplace")


def query_lines(document: QueryDocument) -> bytes:
    """The answer as JSON lines, an object a row."""
    names = _apart([column.name for column in document.columns])
    return json_lines(dict(zip(names, row, strict=True)) for row in document.rows)


def _cell(value: object) -> object:
    if value is None or isinstance(value, (int, float)):
        return value
    return csv_cell(value if isinstance(value, str) else compact(value).decode())


def _apart(names: list[str]) -> list[str]:
    """The names of the columns, so that no two are one key."""
    taken = Counter(names)
    seen: Counter[str] = Counter()
    found = []
    for name in names:
        seen[name] += 1
        found.append(name if taken[name] == 1 else f"{name}_{seen[name]}")
    return found
