"""In which order does a ticket tell a report? Part by part, as the document has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.report.incident.markdown.acts import causes, effects, timeline
from forensics.report.incident.markdown.found import findings, oversight, quality, tools
from forensics.report.incident.markdown.keeping import blanks, custody, obligations, privacy, regression, replay
from forensics.report.incident.markdown.opening import happened, header, verdict
from forensics.report.incident.markdown.words import Ticket

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from forensics.report.incident.documents import ReportDocument

MOST = 65_536
"""Characters of a ticket, by the least of those that take Markdown (an issue of GitHub)."""
_ROWS = (40, 20, 10, 5, 2)  # of a table or list
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
    """The report as Markdown (CommonMark with tables), in UTF-8: with as many rows as fit into a ticket."""
    text = _written(Ticket(document, _ROWS[0]))
    for most in _ROWS[1:]:
        if len(text) <= MOST:
            break
        text = _written(Ticket(document, most))
    return text.encode("utf-8")


def _written(ticket: Ticket) -> str:
    lines = (line for part in _PARTS for line in part(ticket))
    return "\n".join(lines).rstrip("\n") + "\n"
