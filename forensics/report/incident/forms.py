"""In which forms can a report be written? One table of suffixes and names, whose renderers see only the document."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, cast

if TYPE_CHECKING:
    from forensics.report.incident.documents import ReportDocument

Renderer = Callable[["ReportDocument"], bytes]


class Form(NamedTuple):
    """One form: the suffix of its files, and the function that writes it, which is imported when it is needed."""

    suffix: str
    module: str
    function: str

    def bytes_of(self, document: ReportDocument) -> bytes:
        """The report in this form."""
        renderer = cast("Renderer", getattr(import_module(self.module), self.function))
        return renderer(document)


_HERE = "forensics.report.incident"

FORMS: dict[str, Form] = {
    "html": Form(".html", "forensics.report.html.report", "report_html"),
    "md": Form(".md", f"{_HERE}.markdown.ticket", "markdown"),
    "json": Form(".json", "forensics.report.jsonout", "json_bytes"),
    "sarif": Form(".sarif", f"{_HERE}.sarif", "sarif"),
    "csv": Form(".csv", f"{_HERE}.tables", "csv_timeline"),
    "jsonl": Form(".jsonl", f"{_HERE}.tables", "jsonl_timeline"),
    "oscal": Form(".oscal.json", f"{_HERE}.oscal", "oscal"),
    "junit": Form(".xml", f"{_HERE}.junit", "junit_xml"),
}
SUFFIXES: dict[str, Form] = {form.suffix: form for form in FORMS.values()}
