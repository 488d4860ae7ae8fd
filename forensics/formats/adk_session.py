"""What did the agents of a Google ADK session do? Its events in order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.formats.shared.adk_events import Conversation
from forensics.formats.shared.document import note_cut, open_document
from forensics.formats.shared.document_values import document_values
from forensics.formats.shared.fields import Fields, fields_of, items_in, items_of, text

if TYPE_CHECKING:
    from forensics.core.reading import EvidenceBuilder
    from forensics.formats.shared.reader import Look
    from forensics.formats.shared.source import Source

NAME = "google-adk"
ABOUT = "Google ADK session: its events, in snake or camel case"
CARRIES = "calls, arguments, results, agents, hand-offs, errors, times"
LACKS = "call ids (mostly), instructions, tool schemas, executions apart from results"
RERUN = "the instructions and schemas that the model was given: the agent has to bring them"
RECORDS_CALLS = True
SPANS_ARE_COMPLETE = False

_FIRST = 8
_NOTHING = msgspec.Raw(b"null")


def sniff(look: Look) -> int:
    """95 for events with an author and an invocation."""
    events = items_of(look.members().get("events", _NOTHING))[:_FIRST]
    return 95 if any(_is_event(fields_of(event)) for event in events) else 0


def _is_event(fields: Fields) -> bool:
    return "author" in fields and bool({"invocation_id", "invocationId"} & fields.keys())


def read(source: Source, build: EvidenceBuilder) -> None:
    """Tell the session. Raises CorruptEvidenceError where nothing of it is JSON."""
    document = open_document(source, build)
    fields = fields_of(document.body)
    conversation = Conversation(build.trace(text(fields, "id") or "session"))
    for item, spot, tainted in document_values(source, build, document, items_in(fields, "events"), "/events"):
        conversation.event(fields_of(item), spot, tainted)
        build.counts.records += 1
    conversation.close()
    note_cut(document, build)
