"""Is this a trace that FastAIAgent exported as JSON, and which spans does it hold?

The export decodes the JSON texts inside attributes and writes durations in whole milliseconds instead of end times.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.core.times import LAST, nanoseconds
from forensics.core.trace import NOWHERE
from forensics.formats.shared.document import note_cut, open_document
from forensics.formats.shared.fields import Fields, fields_of, items_in, object_in, present, text
from forensics.formats.shared.span_names import WANTED
from forensics.formats.shared.span_walk import walk_spans
from forensics.formats.shared.spans import Attributes, Event, Span, say_lost_time, shaped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.core.build import Spot
    from forensics.core.reading import EvidenceBuilder
    from forensics.formats.shared.document import Document
    from forensics.formats.shared.reader import Look
    from forensics.formats.shared.source import Source

NAME = "fastaiagent-json"
ABOUT = "FastAIAgent's own trace export (export-trace), one JSON document a trace"
CARRIES = "prompts, calls, executions, results, tool schemas, replay classes; times in µs, durations in ms"
LACKS = "end times, call ids on executions"
RERUN = "what the agent's own code mints, and payloads where capture was off"
RECORDS_CALLS = True
SPANS_ARE_COMPLETE = True

_MILLISECOND = 1_000_000
_MARKS = frozenset({"export_version", "trace", "spans"})


def sniff(look: Look) -> int:
    """95 for a document with the keys of the export."""
    return 95 if look.document is not None and look.document.keys() >= _MARKS else 0


def read(source: Source, build: EvidenceBuilder) -> None:
    """Read every span of the document. Raises CorruptEvidenceError where nothing of it is JSON."""
    document = open_document(source, build)
    fields = fields_of(document.body)
    build.dialect = text(fields, "sdk_version") or None
    trace = text(object_in(fields, "trace"), "trace_id")
    walk_spans(list(_spans(fields, trace, document, build)), build)
    note_cut(document, build)


def _spans(fields: Fields, trace: str, document: Document, build: EvidenceBuilder) -> Iterator[Span]:
    for index, item in enumerate(items_in(fields, "spans")):
        told, spot = fields_of(item), document.spot.down(f"/spans/{index}")
        if not text(told, "span_id"):
            message = "a span that can't be read: it has no span_id"
            build.unread("malformed_line", message, spot, trace=trace)
            continue
        build.counts.spans += 1
        build.counts.records += 1
        yield _span(told, trace, spot, document.tainted, build)


def _span(told: Fields, trace: str, spot: Spot, tainted: str | None, build: EvidenceBuilder) -> Span:
    start, end = _times(told, spot, build)
    attributes, slots = _attributes(told)
    return Span(
        trace,
        text(told, "span_id").lower(),
        text(told, "parent_span_id").lower(),
        text(told, "name"),
        start,
        end,
        0,
        text(told, "status").upper() == "ERROR",
        None,
        *shaped(attributes, slots),
        tuple(_events(told, spot.pointer)),
        spot.place,
        spot.pointer,
        tainted=tainted,
    )


_SECTIONS = ("attributes", "input", "output")


def _attributes(told: Fields) -> tuple[Attributes, tuple[str, ...]]:
    """The attributes that are read, and for each the object that holds it: the export parts them into three."""
    found: Attributes = {}
    slots: list[str] = []
    for section in _SECTIONS:
        for key, payload in fields_of(told[section]).items() if section in told else ():
            name = WANTED.get(key)
            if name is not None and name not in found and bytes(payload) != b"null":
                found[name] = payload
                slots.append(section)
    return found, tuple(slots)


def _times(told: Fields, spot: Spot, build: EvidenceBuilder) -> tuple[int, int]:
    """Start and end; what is told and can't be held is said to be lost."""
    began, lasted = present(told, "started_at"), text(told, "duration_ms")
    start = nanoseconds(began)
    end = start + _duration(lasted) if lasted else NOWHERE
    if start < 0 or not 0 <= end <= LAST:
        end = NOWHERE
    if (began is not None and start < 0) or (lasted and start >= 0 and end < 0):
        say_lost_time(build, spot)
    return start, end


def _duration(milliseconds: str) -> int:
    """Nanoseconds; beyond any time where the text is no number."""
    try:
        value = float(milliseconds)
    except ValueError:
        return LAST + 1
    return round(value * _MILLISECOND) if abs(value) * _MILLISECOND <= LAST else LAST + 1


def _events(told: Fields, pointer: str) -> Iterator[Event]:
    for index, item in enumerate(items_in(told, "events")):
        fields = fields_of(item)
        attributes = object_in(fields, "attributes")
        yield Event(text(fields, "name"), attributes, f"{pointer}/events/{index}")
