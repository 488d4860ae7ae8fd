"""What did Cline do in a session? The file of its messages, with calls and results as Anthropic's API writes them.

A summary that replaced earlier messages stands as a message of its own, marked as one (FORMATS section 7).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.core.build import Spot
from forensics.core.times import nanoseconds
from forensics.core.trace import StepKind
from forensics.formats.shared.document import note_cut, open_document
from forensics.formats.shared.fields import (
    Fields,
    fields_of,
    items_in,
    object_in,
    present,
    text,
    whole_number,
)
from forensics.formats.shared.messages.telling import Doubts, Finder, taint, tell
from forensics.formats.shared.messages.vocabulary import parse_message

if TYPE_CHECKING:
    from forensics.core.reading import EvidenceBuilder
    from forensics.formats.shared.reader import Look
    from forensics.formats.shared.source import Source

NAME = "cline"
ABOUT = "Cline session: the file of its messages (session.messages.json)"
CARRIES = "calls, arguments, results, system prompt, times, tokens"
LACKS = "tool schemas, approvals, executions apart from results, what stood before a summary"
RERUN = "the schemas, what stood before a summary, and the files that its tools read"
RECORDS_CALLS = True
SPANS_ARE_COMPLETE = False

_MARKS = frozenset({"version", "updated_at", "agent", "messages"})
_SUMMARY = "compaction_summary"


def sniff(look: Look) -> int:
    """95 for the keys of the file."""
    fields = look.members()
    return 95 if fields.keys() >= _MARKS and "sessionId" in fields else 0


def read(source: Source, build: EvidenceBuilder) -> None:
    """Tell the session. Raises CorruptEvidenceError where nothing of it is JSON."""
    document = open_document(source, build)
    fields = fields_of(document.body)
    agent = text(fields, "agent")
    builder = build.trace(text(fields, "sessionId") or "session")
    lane = builder.lane("", agent)
    doubts, finder = Doubts(), Finder(source, build.places, document.start)
    system = present(fields, "system_prompt")
    if system is not None:
        builder.step(StepKind.SYSTEM, document.spot.down("/system_prompt"), agent=agent, payload=system)
    for at, item in enumerate(items_in(fields, "messages")):
        told = fields_of(item)
        pointer = f"/messages/{at}"
        spot = Spot(document.spot.place, "", nanoseconds(present(told, "ts")))
        message = msgspec.structs.replace(parse_message(item, pointer), place=finder.place(item))
        before = len(builder.trace.calls)
        tell(builder, lane, (message,), spot)
        doubts.note(builder, (message,), spot)
        taint(builder, document.taint_of(item), spot.down(pointer), before)
        if _is_summary(told):
            builder.gap("compacted_history", "what was said before was replaced by a summary", spot.down(pointer))
        _count(told, build)
        build.counts.records += 1
    note_cut(document, build)


def _is_summary(message: Fields) -> bool:
    return text(object_in(message, "metadata"), "kind") == _SUMMARY


def _count(message: Fields, build: EvidenceBuilder) -> None:
    metrics = object_in(message, "metrics")
    build.counts.input_tokens += whole_number(metrics, "inputTokens")
    build.counts.output_tokens += whole_number(metrics, "outputTokens")
