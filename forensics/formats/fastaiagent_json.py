"""Is this a trace that FastAIAgent exported as JSON, and which spans does it hold?

The export decodes the JSON texts inside attributes and writes durations in whole milliseconds instead of end times.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.core.build import Spot
from forensics.core.findings import finding
from forensics.core.jsonvalue import decode
from forensics.core.times import nanoseconds
from forensics.core.trace import NOWHERE
from forensics.errors import CorruptEvidenceError
from forensics.formats.shared.lines import BOM
from forensics.formats.shared.span_names import WANTED
from forensics.formats.shared.span_walk import walk_spans
from forensics.formats.shared.spans import Attributes, Event, Span
from forensics.formats.shared.vocabulary import Fields, fields_of, items_of, present, text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.core.reading import EvidenceBuilder
    from forensics.formats.shared.reader import Look
    from forensics.formats.shared.source import Source

NAME = "fastaiagent-json"
ABOUT = "FastAIAgent's own trace export (export-trace), one JSON document a trace"
CARRIES = "prompts, calls, executions, results, tool schemas, replay classes; times in µs, durations in ms"
LACKS = "end times, call ids on executions"
RECORDS_CALLS = True
SPANS_ARE_COMPLETE = True

_MARKS = frozenset({"export_version", "trace", "spans"})


def sniff(look: Look) -> int:
    """95 for a document with the keys of the export."""
    return 95 if look.document is not None and look.document.keys() >= _MARKS else 0


def read(source: Source, build: EvidenceBuilder) -> None:
    """Read every span of the document. Raises CorruptEvidenceError where it is no JSON."""
    body = source.data[len(BOM) :] if bytes(source.data[:3]) == BOM else source.data
    place = build.places.add(offset=0, length=len(body))
    decoded = decode(body)
    if decoded.error is not None or not isinstance(decoded.value, dict):
        raise CorruptEvidenceError(f"the export is no JSON object: {decoded.error}", hint="is the file whole?")
    tainted = build.faults(decoded.faults, Spot(place))
    fields = fields_of(body)
    build.dialect = text(fields, "sdk_version") or None
    trace = text(fields_of(fields["trace"]) if "trace" in fields else {}, "trace_id")
    spans = list(_spans(fields, trace, place, tainted, build))
    walk_spans(spans, build)


def _spans(fields: Fields, trace: str, place: int, tainted: str | None, build: EvidenceBuilder) -> Iterator[Span]:
    for index, item in enumerate(items_of(fields["spans"]) if "spans" in fields else []):
        told, pointer = fields_of(item), f"/spans/{index}"
        if not text(told, "span_id"):
            message = "a span that can't be read: it has no span_id"
            build.gap("malformed_line", message, Spot(place, pointer), trace=trace)
            build.found(finding("malformed_line", message, locators=(build.places.locator(place, pointer),)))
            continue
        build.counts.spans += 1
        build.counts.records += 1
        yield _span(told, trace, place, pointer, tainted)


def _span(told: Fields, trace: str, place: int, pointer: str, tainted: str | None) -> Span:
    start = nanoseconds(present(told, "started_at"))
    attributes, slots = _attributes(told)
    duration = text(told, "duration_ms")
    return Span(
        trace,
        text(told, "span_id").lower(),
        text(told, "parent_span_id").lower(),
        text(told, "name"),
        start,
        start + round(float(duration) * 1_000_000) if start >= 0 and _is_number(duration) else NOWHERE,
        0,
        text(told, "status").upper() == "ERROR",
        None,
        attributes,
        tuple(_events(told, pointer)),
        place,
        pointer,
        slots,
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


def _is_number(text_of_number: str) -> bool:
    return text_of_number.lstrip("-").replace(".", "", 1).isdigit()


def _events(told: Fields, pointer: str) -> Iterator[Event]:
    for index, item in enumerate(items_of(told["events"]) if "events" in told else []):
        fields = fields_of(item)
        attributes = fields_of(fields["attributes"]) if "attributes" in fields else {}
        yield Event(text(fields, "name"), attributes, f"{pointer}/events/{index}")
