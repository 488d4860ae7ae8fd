"""What do the tests of the report's page share? Reports over samples and event logs, and a strict reader of HTML."""

from __future__ import annotations

import json
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from forensics.api import Options, examine
from forensics.report.incident.compose import ReportOptions, report_document

if TYPE_CHECKING:
    from forensics.report.incident.documents import ReportDocument

ROOT = Path(__file__).resolve().parents[4]
Report = Callable[..., "ReportDocument"]
_BLOCKS = {"dt", "dd", "li", "p", "td", "th", "div", "h1", "h2", "h3", "h4", "summary", "label"}
_VOID = {"meta", "link", "br", "input"}


@pytest.fixture
def report(tmp_path: Path) -> Report:
    """The report on a sample by its name, or on an event log of these rows."""

    def make(of: str | list[dict[str, Any]], **options: Any) -> ReportDocument:
        path = ROOT / "samples" / of if isinstance(of, str) else tmp_path / "log.jsonl"
        if not isinstance(of, str):
            path.write_text("".join(json.dumps(row) + "\n" for row in of))
        examined = examine([path], Options(input_format=None if isinstance(of, str) else "event-log"))
        return report_document(examined.examined, examined.policy, examined.rules.digest, 1, ReportOptions(**options))

    return make


class Page(HTMLParser):
    """A page whose every element must end where it should."""

    def __init__(self, content: bytes) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: list[str] = []
        self._open: list[str] = []
        self.feed(content.decode())
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        self.ids += [value or "" for name, value in attrs if name == "id"]
        if tag not in _VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag
        self.texts.append(" " if tag in _BLOCKS else "")

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] not in ("script", "style"):
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.texts).split())

    @property
    def fragments(self) -> set[str]:
        return {(value or "")[1:] for name, value in self.attributes if name == "href" and value != "data:,"}
