"""What does one record of a span say, however its exporter spells the names? Each field is looked for under every name
that an SDK or a store gives it; the result is the same `Span` that OTLP's reader makes.

Attributes may be one object, an object of objects (Phoenix), a list of keys and values (OTLP), or columns with a prefix
(a data frame); the names in them are then those of `span_names`.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

import msgspec

from forensics.core.findings import finding
from forensics.core.jsonvalue import decode, text_of
from forensics.core.pointers import escape
from forensics.core.sanitise import one_line
from forensics.core.times import nanoseconds
from forensics.core.trace import NOWHERE, Payload
from forensics.formats.shared.any_value import KeyValue, plain
from forensics.formats.shared.dialects import MARKS, Told, translate
from forensics.formats.shared.fields import Fields, fields_of, is_text, items_of, opens_with, present, text
from forensics.formats.shared.flattened import Flat
from forensics.formats.shared.span_names import FAMILIES, SERVICE, WANTED, OtherNames
from forensics.formats.shared.spans import Attributes, Event, Span, Spread, hex_id, say_lost_time, shaped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from forensics.core.build import Spot
    from forensics.core.reading import EvidenceBuilder

_CONTEXTS = ("context", "spanContext", "span_context", "_spanContext")
_TRACE = ("trace_id", "traceId", "traceID", "TraceId", "context.trace_id")
_SPAN = ("span_id", "spanId", "spanID", "SpanId", "context.span_id")
_PARENT = ("parent_span_id", "parentSpanId", "parent_id", "parentId", "ParentSpanId", "parentSpanID")
_PARENTS = ("parent", "parentSpanContext", "parent_span_context")
_NAME = ("name", "operationName", "span_name", "spanName", "SpanName")
_START = ("start_time", "startTime", "startTimeUnixNano", "start_time_unix_nano", "start")
_END = ("end_time", "endTime", "endTimeUnixNano", "end_time_unix_nano", "end")
_EVENTS = ("events", "span_events", "logs")
_DROPPED = ("droppedAttributesCount", "dropped_attributes_count", "dropped_attributes")
_DROPPED_EVENTS = ("droppedEventsCount", "dropped_events_count", "dropped_events")
_KIND_WORDS = {"UNSPECIFIED": 0, "INTERNAL": 1, "SERVER": 2, "CLIENT": 3, "PRODUCER": 4, "CONSUMER": 5}
_KIND_ATTRIBUTES = ("span.kind", "aws.span.kind")
_FAILED = frozenset({"2", "ERROR", "STATUS_CODE_ERROR", "STATUSCODE.ERROR"})
_COLUMN = "attributes."
_NO_ATTRIBUTES = (b"{}", b"[]", b'""', b'"{}"', b'"[]"')
_DEEPEST = 12
_PAIR = 2
_key_values = msgspec.json.Decoder(list[KeyValue]).decode
_HEADS = frozenset(head[:-1] for head in FAMILIES)


class SpanRecords:
    """Makes spans of records."""

    def __init__(self, build: EvidenceBuilder) -> None:
        self._build = build
        self._other_names = OtherNames()
        self._ids: dict[str, str] = {}

    def span(
        self,
        fields: Fields,
        spot: Spot,
        tainted: str | None = None,
        *,
        service: str = "",
        logs: Mapping[str, Sequence[Event]] = MappingProxyType({}),
    ) -> Span:
        """One record as a span; `spot` is where the record stands, `logs` what log records tell of the spans that they
        name.
        """
        counts = self._build.counts
        counts.spans += 1
        counts.records += 1
        loose = _attributes_of(fields)
        attributes, slots, flat, foreign, twice = self._sorted(loose, spot)
        context = next((fields_of(fields[name]) for name in _CONTEXTS if name in fields), {})
        recorded_id = text(fields, *_SPAN) or text(context, *_SPAN)
        trace = self._id(text(fields, *_TRACE) or text(context, *_TRACE), spot)
        if not loose and _holds_something_else(fields):
            name = one_line(text(fields, *_NAME), 60)
            message = f"a span without attributes that can be read ({name}): it may be a call"
            self._build.gap("evidence_gap", message, spot, trace=trace or None)
        happened = (*_events(fields, spot.pointer), *logs.get(recorded_id, ()))
        told = Told(attributes, slots, happened, spot.pointer)
        kinds = {name: payload for name, payload, _ in loose if name in _KIND_ATTRIBUTES}
        spread: dict[str, Spread] = {}
        if flat or not MARKS.isdisjoint(attributes):
            translate(told, flat)
            spread = told.spread
        start, end = self._times(fields, spot)
        return Span(
            trace,
            self._id(recorded_id, spot),
            self._id(_parent(fields), spot),
            text(fields, *_NAME),
            start,
            end,
            _kind(fields, kinds, javascript="spanContext" in fields or "_spanContext" in fields),
            _failed(fields),
            _status_message(fields),
            *shaped(attributes, slots, foreign),
            happened,
            spot.place,
            spot.pointer,
            service or _service(fields),
            twice or tainted,
            _lost(fields),
            spread,
        )

    def _sorted(
        self, loose: Iterable[Loose], spot: Spot
    ) -> tuple[Attributes, list[int | str], list[Flat], str, str | None]:
        """Attributes that are read with their places, those that are flattened, a vocabulary that is not read, and what
        taints them.
        """
        attributes: Attributes = {}
        slots: list[int | str] = []
        flat: list[Flat] = []
        foreign, tainted = "", None
        for name, payload, place in loose:
            known = WANTED.get(name)
            other = self._other_names[name] if known is None else None
            if known is not None and known not in attributes:
                attributes[known] = payload
                slots.append(place)
            elif known is not None and bytes(attributes[known]) != bytes(payload):
                tainted = self._twice(known, spot.down(place))
            elif other is not None and other.family:
                flat.append(Flat(other.family, name, payload, place))
            elif other is not None:
                foreign = foreign or other.vocabulary
        return attributes, slots, flat, foreign, tainted

    def _twice(self, name: str, spot: Spot) -> str:
        message = f"the attribute {name!r} stands twice with different values"
        self._build.found(
            finding("duplicate_key", message, locators=(self._build.places.locator(spot.place, spot.pointer),))
        )
        return "duplicate_key"

    def _times(self, fields: Fields, spot: Spot) -> tuple[int, int]:
        start, end = (self._time(present(fields, *names), spot) for names in (_START, _END))
        return start, end

    def _time(self, told: Payload | None, spot: Spot) -> int:
        moment = time_of(told)
        if moment < 0 and told is not None and bytes(told) not in (b'""', b"0", b'"0"'):
            say_lost_time(self._build, spot)
        return moment

    def _id(self, recorded: str, spot: Spot) -> str:
        known = self._ids.get(recorded)
        if known is None:
            known, was_base64 = hex_id(recorded.removeprefix("0x"))
            self._ids[recorded] = known
            if was_base64:
                self._build.once("id_encoding", "ids are base64, where hex is the rule: read as hex", spot)
        return known


def time_of(told: Payload | None) -> int:
    """A time as text, as a number, or as JavaScript's pair of seconds and nanoseconds; -1 where it is none."""
    if told is None or not opens_with(told, b"["):
        return nanoseconds(told)
    pair = items_of(told)
    seconds, rest = (bytes(part) for part in pair) if len(pair) == _PAIR else (b"", b"")
    if not (seconds.isdigit() and rest.isdigit() and len(seconds) < len(str(2**63)) and len(rest) < len(str(2**63))):
        return NOWHERE
    return nanoseconds(msgspec.Raw(str(int(seconds) * 10**9 + int(rest)).encode()))


# attributes ----------------------------------------------------------------------------------------------------------

Loose = tuple[str, Payload, str]
"""An attribute: its name, its value, and where it stands below the record."""


def _attributes_of(fields: Fields) -> list[Loose]:
    """Every attribute of a record, in whatever shape they stand. A record without ids is nothing but attributes."""
    if not any(name in fields for name in (*_SPAN, *_CONTEXTS, "attributes", "tags")):
        return [one for name, payload in fields.items() for one in _flattened(name, payload, f"/{escape(name)}", 0)]
    found: list[Loose] = []
    held = present(fields, "attributes")
    if held is not None:
        found.extend(_of_holder(held, "/attributes"))
    tags = present(fields, "tags")
    if tags is not None and opens_with(tags, b"["):
        found.extend(_of_pairs(tags, "/tags"))
    for name, payload in fields.items():
        if name.startswith(_COLUMN):
            found.extend(_flattened(name[len(_COLUMN) :], payload, f"/{escape(name)}", 0))
    kind = present(fields, "span_kind", "spanKind")
    if kind is not None and is_text(kind) and text_of(kind).upper().removeprefix("SPAN_KIND_") not in _KIND_WORDS:
        found.append(("openinference.span.kind", kind, "/span_kind" if "span_kind" in fields else "/spanKind"))
    return found


def _holds_something_else(fields: Fields) -> bool:
    """Whether a record does not say itself that its span has no attributes (`"attributes": {}`)."""
    held = present(fields, "attributes", "tags")
    return held is None or bytes(held) not in _NO_ATTRIBUTES


def _of_holder(held: Payload, pointer: str) -> Iterator[Loose]:
    """The attributes in an object, in a list of keys and values, or in the text of either."""
    if is_text(held):
        inner = text_of(held).encode("utf-8", "surrogatepass")
        held = msgspec.Raw(inner) if decode(inner).error is None else msgspec.Raw(b"{}")
        for name, payload, _ in _of_holder(held, pointer) if not is_text(held) else ():
            yield name, payload, pointer
    elif opens_with(held, b"["):
        yield from _of_pairs(held, pointer)
    else:
        for name, payload in fields_of(held).items():
            yield from _flattened(name, payload, f"{pointer}/{escape(name)}", 0)


def _of_pairs(held: Payload, pointer: str) -> Iterator[Loose]:
    """A list of attributes, each with its key: OTLP's with an AnyValue, Jaeger's with a type and the value itself."""
    try:
        listed = _key_values(held)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        listed = []
    for index, item in enumerate(items_of(held)):
        value = plain(listed[index].value) if listed else None
        fields = fields_of(item)
        if value is None:
            value = present(fields, "value")
        if value is not None:
            yield text(fields, "key"), value, f"{pointer}/{index}/value"


def _flattened(name: str, payload: Payload, pointer: str, depth: int) -> Iterator[Loose]:
    """An attribute, and what is nested in it as attributes of their own: a name that is read keeps its value whole."""
    opening = bytes(memoryview(payload)[:1])
    is_list = opening == b"[" and (name in _HEADS or depth > 0)
    if depth >= _DEEPEST or (name in WANTED and name not in _HEADS) or not (is_list or opening == b"{"):
        if bytes(payload) != b"null":
            yield name, payload, pointer
        return
    if is_list:
        told = [(str(index), item) for index, item in enumerate(items_of(payload))]
    else:
        told = list(fields_of(payload).items())
    for inner, value in told:
        yield from _flattened(f"{name}.{inner}", value, f"{pointer}/{escape(inner)}", depth + 1)


def _events(fields: Fields, pointer: str) -> Iterator[Event]:
    for name in _EVENTS:
        listed = present(fields, name)
        for index, item in enumerate(items_of(listed) if listed is not None else ()):
            inner = fields_of(item)
            place = f"{pointer}/{name}/{index}"
            holder = "fields" if "fields" in inner else "attributes"
            held = present(inner, holder)
            attributes = {n: p for n, p, _ in _of_event(held, holder)} if held is not None else {}
            named = text(inner, "name", "eventName", "event_name")
            yield Event(named or _named(attributes), attributes, place)


def _of_event(held: Payload, holder: str) -> Iterator[Loose]:
    if opens_with(held, b"["):
        yield from _of_pairs(held, f"/{holder}")
    else:
        for name, payload in fields_of(held).items():
            yield name, payload, ""


def _named(attributes: Attributes) -> str:
    """The name of an event that stands among its fields (Jaeger)."""
    for name in ("event", "event.name", "name"):
        if name in attributes:
            return text_of(attributes[name])
    return ""


# the rest of a record ------------------------------------------------------------------------------------------------


def _parent(fields: Fields) -> str:
    told = text(fields, *_PARENT)
    if told:
        return told
    holder = present(fields, *_PARENTS)
    if holder is not None:
        return text_of(holder) if is_text(holder) else text(fields_of(holder), *_SPAN)
    listed = present(fields, "references")
    above = [fields_of(one) for one in items_of(listed)] if listed is not None else []
    return next((text(one, *_SPAN) for one in above if text(one, "refType") in ("CHILD_OF", "")), "")


def _kind(fields: Fields, kinds: Attributes, *, javascript: bool) -> int:
    told = text(fields, "kind", "spanKind", "span_kind") or next((text_of(p) for p in kinds.values()), "")
    if told.isdigit() and len(told) == 1:
        return int(told) + javascript  # JavaScript's SDK counts from 0 for internal, OTLP from 1
    return _KIND_WORDS.get(told.upper().removeprefix("SPANKIND.").removeprefix("SPAN_KIND_"), 0)


def _failed(fields: Fields) -> bool:
    tags = present(fields, "tags")
    if tags is not None and any(
        (name == "error" and bytes(value) in (b"true", b'"true"'))
        or (name == "otel.status_code" and text_of(value) == "ERROR")
        for name, value, _ in _of_pairs(tags, "")
    ):
        return True
    status = present(fields, "status")
    told = text(fields, "status_code", "statusCode", "status")
    if status is not None and opens_with(status, b"{"):
        told = text(fields_of(status), "code", "status_code", "statusCode") or told
    return told.upper() in _FAILED


def _status_message(fields: Fields) -> Payload | None:
    status = present(fields, "status")
    inner = fields_of(status) if status is not None and opens_with(status, b"{") else {}
    said = present(inner, "message", "description") or present(fields, "status_message", "statusMessage")
    return None if said is None or bytes(said) == b'""' else said


def _service(fields: Fields) -> str:
    resource = present(fields, "resource")
    held = None if resource is None else present(fields_of(resource), "attributes")
    if held is None:
        return ""
    return next((text_of(payload) for name, payload, _ in _of_holder(held, "") if name == SERVICE), "")


def _lost(fields: Fields) -> str:
    attributes, events = text(fields, *_DROPPED), text(fields, *_DROPPED_EVENTS)
    lost = [word for word, count in (("attributes", attributes), ("events", events)) if count not in ("", "0")]
    return " and ".join(lost)
