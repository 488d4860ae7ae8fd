"""What did the agents of a Google ADK session do? Its events in order, each by the agent that it names as its author.

Stored calls mostly have no id: a result is joined with the open call of its author by name and order (FORMATS section
19; the model is ADK's `Event`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.core.build import Spot
from forensics.core.times import nanoseconds
from forensics.core.trace import StepKind
from forensics.formats.shared.document import note_cut, open_document
from forensics.formats.shared.fields import Fields, fields_of, is_true, items_in, items_of, object_in, present, text
from forensics.formats.shared.messages.telling import Doubts, Finder, taint, tell
from forensics.formats.shared.messages.vocabulary import parse_message

if TYPE_CHECKING:
    from forensics.core.build import TraceBuilder
    from forensics.core.reading import EvidenceBuilder
    from forensics.core.trace import Payload
    from forensics.formats.shared.document import Document
    from forensics.formats.shared.reader import Look
    from forensics.formats.shared.source import Source

NAME = "google-adk"
ABOUT = "Google ADK session: its events, in snake or camel case"
CARRIES = "calls, arguments, results, agents, hand-offs, errors, times"
LACKS = "call ids (mostly), instructions, tool schemas, executions apart from results"
RERUN = "the instructions and schemas that the model was given: the agent has to bring them"
RECORDS_CALLS = True
SPANS_ARE_COMPLETE = False

_USER = "user"
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
    session = _Session(build.trace(text(fields, "id") or "session"), document)
    finder = Finder(source, build.places, document.start)
    for at, item in enumerate(items_in(fields, "events")):
        session.event(item, f"/events/{at}", finder.place(item))
        build.counts.records += 1
    note_cut(document, build)


class _Session:
    """One session on its way to the builder: a lane for each agent."""

    def __init__(self, builder: TraceBuilder, document: Document) -> None:
        self.builder = builder
        self.document = document
        self.doubts = Doubts()

    def event(self, item: Payload, pointer: str, place: int) -> None:
        """Tell one event; a piece of a stream is repeated by the event that ends it."""
        fields = fields_of(item)
        if is_true(fields, "partial"):
            return
        at = nanoseconds(present(fields, "timestamp"))
        author = text(fields, "author")
        spot = Spot(self.document.spot.place, "", at)
        own = Spot(place if place >= 0 else spot.place, pointer, at)
        before = len(self.builder.trace.calls)
        content = present(fields, "content")
        if content is not None:
            lane = self.builder.lane("" if author == _USER else author, "" if author == _USER else author)
            message = msgspec.structs.replace(parse_message(content, f"{pointer}/content"), place=place)
            tell(self.builder, lane, (message,), spot)
            self.doubts.note(self.builder, (message,), spot)
        self._beside(fields, own, author)
        taint(self.builder, self.document.taint_of(item), own, before)

    def _beside(self, fields: Fields, spot: Spot, author: str) -> None:
        """What an event says besides its content: a hand-off, an error."""
        actions = object_in(fields, "actions")
        target = present(actions, "transfer_to_agent", "transferToAgent")
        if target is not None:
            self.builder.step(StepKind.HANDOFF, spot.down("/actions"), agent=author, payload=target)
        error = present(fields, "error_message", "errorMessage", "error_code", "errorCode")
        if error is not None:
            self.builder.step(StepKind.ERROR, spot, agent=author, payload=error)
