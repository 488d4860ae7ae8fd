"""In which order does a ticket tell a report? Part by part, as the document has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.report.incident.markdown.acts import causes, effects, timeline
from forensics.report.incident.markdown.found import findings, oversight, quality, tools
from forensics.report.incident.markdown.keeping import blanks, custody, obligations, privacy, regression, replay
from forensics.report.incident.markdown.opening import happened, header, verdict
from forensics.report.incident.markdown.words import CELL, Ticket

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from forensics.report.incident.documents import ReportDocument

MOST = 65_536
"""Characters of a ticket, by the least of those that take Markdown (an issue of GitHub)."""
_SIZES = ((40, None), (40, CELL), (20, CELL), (10, CELL), (5, CELL), (2, CELL))  # rows of a table, characters of a text
_PARTS: tuple[Callable[[Ticket], Iterator[str]], ...] = (
    header,
    verdict,
    happened,
    effects,
    timeline,
    causes,
    findings,
    tools,
    oversight,
    quality,
    replay,
    custody,
    privacy,
    obligations,
    blanks,
    regression,
)


def markdown(document: ReportDocument) -> bytes:
    """The report as Markdown (CommonMark with tables), in UTF-8: with as much of the texts, and as many rows, as a
    ticket takes.
    """
    written = (_written(Ticket(document, *size)) for size in _SIZES)
    text = next((text for text in written if len(text) <= MOST), None)
    return (_written(Ticket(document, *_SIZES[-1])) if text is None else text).encode("utf-8")


def _written(ticket: Ticket) -> str:
    lines = (line for part in _PARTS for line in part(ticket))
    return "\n".join(lines).rstrip("\n") + "\n"
