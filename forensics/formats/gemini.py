"""Is this a list of Gemini contents, and what does it say? The walk is that of all message lists."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.formats.shared.chat import read_chat
from forensics.formats.shared.chat_sniff import marks

if TYPE_CHECKING:
    from forensics.core.reading import EvidenceBuilder
    from forensics.formats.shared.reader import Look
    from forensics.formats.shared.source import Source

NAME = "gemini"
ABOUT = "Gemini contents: a bare list, a request, a request with its response, or one of them a line"
CARRIES = "calls, arguments, results; function declarations where the request was kept"
LACKS = "call ids (mostly), executions apart from results, times"
RECORDS_CALLS = False
SPANS_ARE_COMPLETE = False


def sniff(look: Look) -> int:
    """How surely these messages carry this API's marks, 0 to 100."""
    return marks(look).get(NAME, 0)


def read(source: Source, build: EvidenceBuilder) -> None:
    """Walk the messages. Raises CorruptEvidenceError where nothing of it is JSON."""
    read_chat(source, build)
