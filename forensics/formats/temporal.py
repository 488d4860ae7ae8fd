"""What did an agent's workflow do? The history of a Temporal workflow execution, as CLI, UI or SDK export it.

Events are numbered from 1 without a hole, so that order is that of the numbers and a missing event is seen (FORMATS
section 17; the events are those of `temporal/api/history/v1`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.formats.shared.document import note_cut, open_document
from forensics.formats.shared.fields import fields_of, items_of, opens_with, present
from forensics.formats.shared.messages.telling import Finder, taint
from forensics.formats.shared.temporal.payloads import event_of, snake
from forensics.formats.shared.temporal.walk import HistoryWalk

if TYPE_CHECKING:
    from forensics.core.build import Spot, TraceBuilder
    from forensics.core.reading import EvidenceBuilder
    from forensics.core.trace import Payload
    from forensics.formats.shared.document import Document
    from forensics.formats.shared.fields import Fields
    from forensics.formats.shared.reader import Look
    from forensics.formats.shared.source import Source
    from forensics.formats.shared.temporal.payloads import Event

NAME = "temporal"
ABOUT = "Temporal workflow history (JSON): activities, child workflows, the model requests of agent plugins"
CARRIES = "activities with arguments, results, failures and times; prompts, calls and tool schemas of model activities"
LACKS = "call ids on activities, all attempts but the last, tools that run inside the workflow, encrypted payloads"
RERUN = "what runs inside the workflow's own code, and attempts but the last"
RECORDS_CALLS = True
SPANS_ARE_COMPLETE = False

_FIRST = 8
_IDS = ("workflow_id", "original_execution_run_id", "first_execution_run_id")


def sniff(look: Look) -> int:
    """95 for events of a history, in a document or in a list."""
    fields = look.members()
    listed = [fields_of(item) for item in items_of(fields["events"])[:_FIRST]] if "events" in fields else look.items()
    return 95 if any(_is_event(snake(item)) for item in listed) else 0


def _is_event(fields: Fields) -> bool:
    return {"event_id", "event_type"} <= fields.keys()


def read(source: Source, build: EvidenceBuilder) -> None:
    """Tell the history. Raises CorruptEvidenceError where nothing of it is JSON."""
    document = open_document(source, build)
    listed = opens_with(document.body, b"[")
    body = document.body if listed else fields_of(document.body).get("events", document.body)
    base = "" if listed else "/events"
    events, unread = _events(items_of(body), base, document, Finder(source, build.places, document.start))
    builder = build.trace(_name(events))
    for spot in unread:
        builder.gap("malformed_line", "an item that is no event", spot)
    _check_numbers(events, builder, build)
    walk = HistoryWalk(builder, build)
    for event, spot in events:
        walk.event(event, spot)
    walk.close()
    build.counts.records = len(events)
    taint(builder, document.tainted, document.spot)
    note_cut(document, build, builder.trace.id)


def _events(
    items: list[Payload], base: str, document: Document, finder: Finder
) -> tuple[list[tuple[Event, Spot]], list[Spot]]:
    """The events in the order of their numbers, each with its spot, and the spots of what is no event."""
    events: list[tuple[Event, Spot]] = []
    unread: list[Spot] = []
    for at, item in enumerate(items):
        event, place = event_of(item), finder.place(item)
        spot = document.spot.down(f"{base}/{at}")
        if event is None:
            unread.append(spot)
            continue
        placed = spot if place < 0 else msgspec.structs.replace(spot, place=place)
        events.append((event, msgspec.structs.replace(placed, at=event.at)))
    events.sort(key=lambda told: told[0].number)
    return events, unread


def _check_numbers(events: list[tuple[Event, Spot]], builder: TraceBuilder, build: EvidenceBuilder) -> None:
    """A hole in the numbers is an event that is missing; a number that stands twice is told once, the first time."""
    expected = 1
    kept: list[tuple[Event, Spot]] = []
    for event, spot in events:
        if event.number < expected:
            build.counts.duplicate_records += 1
            if kept and event != kept[-1][0]:
                builder.gap("evidence_gap", f"two events have the number {event.number}", spot)
            continue
        if event.number > expected:
            message = f"events {expected} to {event.number - 1} are missing"
            builder.gap("evidence_gap", message, spot)
        expected = event.number + 1
        kept.append((event, spot))
    events[:] = kept


def _name(events: list[tuple[Event, Spot]]) -> str:
    """The id of the workflow, as its first event has it."""
    first = events[0][0].attributes if events else {}
    told = present(first, *_IDS)
    return events[0][0].text(*_IDS) if told is not None else "workflow"
