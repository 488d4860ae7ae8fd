"""What is the timeline as a table of commas, and as JSON lines? One event a row, in UTC, with its evidence.

A cell of the CSV can be no formula; numbers stay numbers, and nothing is an empty cell. JSON lines lose nothing: what
has to be read back is read from them.
"""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

from forensics.core.sanitise import csv_cell
from forensics.report.incident.rows import TimelineRow, timeline_rows
from forensics.report.jsonout import json_lines

if TYPE_CHECKING:
    from forensics.report.incident.documents import ReportDocument

_FIELDS = TimelineRow.__struct_fields__
_HEADER = TimelineRow.__struct_encode_fields__


def csv_timeline(document: ReportDocument) -> bytes:
    """The timeline as CSV (RFC 4180: a header, CR LF, quotes where they are needed), in UTF-8."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(_HEADER)
    writer.writerows([_cell(getattr(row, field)) for field in _FIELDS] for row in timeline_rows(document))
    return text.getvalue().encode("utf-8")


def _cell(value: Any) -> str | int:
    if value is None:
        return ""
    if isinstance(value, int):
        return value
    return csv_cell(" ".join(value) if isinstance(value, list) else value)


def jsonl_timeline(document: ReportDocument) -> bytes:
    """The timeline as JSON lines; a field that says nothing is left out."""
    return json_lines(timeline_rows(document))
