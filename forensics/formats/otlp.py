"""Is this OpenTelemetry's OTLP in JSON, and which spans does it hold? One request, an array of them, or one a line.

What exporters write beside the standard is read as well: base64 ids (protobuf's own JSON), numbers for texts and texts
for numbers, `instrumentationLibrarySpans` of before 2022 (FORMATS section 1).
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, cast

import msgspec
from msgspec import UNSET

from forensics.core.build import Spot
from forensics.core.findings import finding
from forensics.core.jsonvalue import Decoded, canonical, decode, text_of
from forensics.core.pointers import escape
from forensics.core.sanitise import one_line
from forensics.formats.shared.any_value import ABSENT, KeyValue, plain
from forensics.formats.shared.dialects import MARKS, Told, translate
from forensics.formats.shared.document import is_value, note_cut, open_document
from forensics.formats.shared.fields import Fields, fields_of, items_of, opens_with
from forensics.formats.shared.flattened import Flat
from forensics.formats.shared.lines import lines, plain_start
from forensics.formats.shared.request_outline import Begins, outline_of
from forensics.formats.shared.span_columns import SpanColumns
from forensics.formats.shared.span_names import SERVICE, SHARED, WANTED, OtherNames
from forensics.formats.shared.span_rows import SpanRows, Stand
from forensics.formats.shared.span_walk import walk_rows
from forensics.formats.shared.spans import (
    Attributes,
    Event,
    Span,
    Spread,
    hex_id,
    nanoseconds,
    say_lost_time,
    shaped,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from forensics.core.reading import EvidenceBuilder
    from forensics.core.trace import Payload
    from forensics.formats.shared.lines import Line
    from forensics.formats.shared.reader import Look
    from forensics.formats.shared.source import Source

Text = bytes | memoryview | msgspec.Raw

NAME = "otlp"
ABOUT = "OpenTelemetry OTLP/JSON, any GenAI vocabulary: one request, an array of them, or one a line; Grafana Tempo"
CARRIES = "span tree, times in ns, executions, errors; prompts, calls, results, tool schemas where content was captured"
LACKS = "content where capture was off (the default of most instrumentations); approvals"
RERUN = "prompts and results where capture was off (the default of most instrumentations), and what sampling dropped"
RECORDS_CALLS = False
SPANS_ARE_COMPLETE = False

_DAMAGED_HEAD = 4096  # bytes in which a document that is no JSON still shows what it was


class _Event(msgspec.Struct, gc=False):
    name: str = ""
    attributes: list[KeyValue] | None = None


class _Status(msgspec.Struct, gc=False):
    code: int | str | None = None
    message: msgspec.Raw = ABSENT


class _Span(msgspec.Struct, rename="camel", gc=False):
    trace_id: str
    span_id: str
    parent_span_id: str | None = None
    name: str = ""
    kind: int | str | None = None
    start_time_unix_nano: int | float | str | None = None
    end_time_unix_nano: int | float | str | None = None
    attributes: list[KeyValue] | None = None
    events: list[_Event] | None = None
    status: _Status | None = None
    dropped_attributes_count: int | float | str | None = None
    dropped_events_count: int | float | str | None = None


class _Resource(msgspec.Struct, gc=False):
    attributes: list[KeyValue] | None = None


class _Scope(msgspec.Struct, gc=False):
    spans: list[_Span] | None = None


class _ResourceSpans(msgspec.Struct, rename="camel", gc=False):
    resource: _Resource | None = None
    scope_spans: list[_Scope] | None = None
    instrumentation_library_spans: list[_Scope] | None = None


class _Request(msgspec.Struct, rename="camel", gc=False):
    resource_spans: list[_ResourceSpans] | None = None
    batches: list[_ResourceSpans] | None = None


class _LooseScope(msgspec.Struct, gc=False):
    spans: list[msgspec.Raw] | None = None


class _LooseResourceSpans(msgspec.Struct, rename="camel", gc=False):
    resource: msgspec.Raw = ABSENT
    scope_spans: list[_LooseScope] | None = None
    instrumentation_library_spans: list[_LooseScope] | None = None


class _LooseRequest(msgspec.Struct, rename="camel", gc=False):
    resource_spans: list[_LooseResourceSpans] | None = None
    batches: list[_LooseResourceSpans] | None = None


_request = msgspec.json.Decoder(_Request).decode
_loose = msgspec.json.Decoder(_LooseRequest).decode
_one_span = msgspec.json.Decoder(_Span).decode
_one_resource = msgspec.json.Decoder(_Resource).decode
_array = msgspec.json.Decoder(list[msgspec.Raw]).decode

_NOTHING = (b"", b'""', b"null")
_SEVERAL = 2
_NAMED = 4
_TOGETHER = 64  # spans that are read in columns
_SMALL = 1 << 25  # bytes of an evidence whose spans are all kept: to read them again takes longer
_SHORT = 64  # bytes of a value that is kept once for all spans that have it
_NO_TIME = _NO_COUNT = (None, "", 0, "0")
_SIGNALS = {"resourceLogs": "log records", "resourceMetrics": "metrics", "resourceProfiles": "profiles"}
_KNOWN_MEMBERS = (
    frozenset({"resourceSpans", "batches", *_SIGNALS}),
    frozenset({"resource", "scopeSpans", "instrumentationLibrarySpans", "schemaUrl", "deprecatedScopeSpans"}),
    frozenset({"scope", "instrumentationLibrary", "spans", "schemaUrl", "deprecatedSpans"}),
)
"""Of a request, of a resource's spans, of a scope's spans. What stands beside them is no OTLP and may hold spans."""
_BELOW = (("resourceSpans", "batches"), ("scopeSpans", "instrumentationLibrarySpans"), ())
_REFUSED = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_FAILED = (2, "2", "STATUS_CODE_ERROR", "ERROR", "Error")
_KINDS = {"UNSPECIFIED": 0, "INTERNAL": 1, "SERVER": 2, "CLIENT": 3, "PRODUCER": 4, "CONSUMER": 5}


def sniff(look: Look) -> int:
    """95 for OTLP; 40 where it is damaged and its beginning says so."""
    documents = [look.document] if look.document is not None else [*look.items()[:1], *look.lines]
    if any("resourceSpans" in fields for fields in documents):
        return 95
    if any(_is_tempo(fields) for fields in documents):
        return 90
    return 40 if not documents and b'"resourceSpans"' in look.head[:_DAMAGED_HEAD] else 0


def _is_tempo(fields: Fields) -> bool:
    inner = fields_of(fields["trace"]) if "trace" in fields and opens_with(fields["trace"], b"{") else fields
    batches = inner.get("batches")
    first = fields_of(items_of(batches)[0]) if batches is not None and items_of(batches) else {}
    return "resourceSpans" in inner or not {"scopeSpans", "instrumentationLibrarySpans"}.isdisjoint(first)


def read(source: Source, build: EvidenceBuilder) -> None:
    """Read every span. Raises CorruptEvidenceError where the evidence is no OTLP at all."""
    reader = _OtlpReader(source, build)
    if _is_document(source):
        reader.document(source)
    else:
        for line in lines(source):
            reader.line(line)
    if not len(reader.rows) and not build.counts.records:
        raise source.holds_no("span")
    reader.say_what_stands_beside()
    rows = reader.rows
    del reader  # with what only reading needs
    walk_rows(rows, build)


def _is_document(source: Source) -> bool:
    """Whether the whole evidence is one JSON value, on however many lines; only its outline is looked at. What is none,
    and whose first line is none either, is a damaged document.
    """
    if not is_value(source.data[plain_start(source) :]):
        first = list(islice(lines(source), 2))
        return len(first) < _SEVERAL or decode(first[0].data).error is not None
    return True


class _OtlpReader:
    """Takes requests apart into spans."""

    def __init__(self, source: Source, build: EvidenceBuilder) -> None:
        self.build = build
        self._ids: dict[str, str] = {}
        self._shared: dict[str, str] = {}
        self._values: dict[bytes, Payload] = {}
        self._other_names = OtherNames()
        self._columns = SpanColumns(self._other_names, says_more, kind_of)
        self.rows = SpanRows(source.data, self._columns.again)
        self._is_small = source.size <= _SMALL
        self._beside: dict[str, list[Spot]] = {}

    # containers --------------------------------------------------------------------------------------------------

    def document(self, source: Source) -> None:
        """Read an evidence that is one request or an array of them. Raises CorruptEvidenceError where it is no JSON."""
        start = plain_start(source)
        body = source.data[start:]
        place = self.build.places.add(offset=start, length=len(body))
        if self._in_columns(body, place):
            return
        decoded = decode(body)
        if decoded.error is None:
            self._requests(decoded, body, place, self.build.faults(decoded.faults, Spot(place)))
            return
        document = open_document(source, self.build)
        self._requests(decode(document.body), document.body, document.spot.place, document.tainted)
        note_cut(document, self.build)

    def line(self, line: Line) -> None:
        """Read one line, a request or an array of them."""
        self.build.counts.lines += 1
        place = self.build.places.add(line=line.number, offset=line.offset, length=len(line.data))
        if self._in_columns(line.data, place):
            return
        decoded = decode(line.data)
        if decoded.error is not None or not isinstance(decoded.value, (dict, list)):
            code = "nul_padding" if b"\x00" in bytes(line.data) else "malformed_line"
            message = f"line {line.number} is no request: {decoded.error or 'no JSON object'}"
            self.build.bad_line(line.number, code, message, Spot(place))
        else:
            self._requests(decoded, line.data, place, self.build.faults(decoded.faults, Spot(place)))

    def _in_columns(self, text: memoryview, place: int) -> bool:
        """Read a request that is written in one way only, its usual spans in columns; else nothing is read."""
        outline = outline_of(text)
        if outline is None:
            return False
        before, start = len(self.rows), self.build.places.bounds(place)[0]
        begins = Begins(text)
        odd: list[tuple[msgspec.Raw, Stand, int]] = []
        for listed in outline:
            service = self._loose_service(ABSENT if listed.resource is UNSET else listed.resource)
            stand = Stand(place, listed.above, service)
            for first in range(0, len(listed.spans), _TOGETHER):
                some = listed.spans[first : first + _TOGETHER]
                told = self._columns.read(some, stand, first)
                if told is None:
                    self.rows.forget(before)
                    return False
                self._keep(some, told, None if self._is_small else begins.of(some), start, stand, first)
                odd.extend((one, stand, first + index) for index, one in enumerate(some) if told[index] is None)
        self._count(len(self.rows) - before)
        for one, stand, index in odd:
            self._loose_span(one, place, stand.pointer(index), stand.service, None)
        return True

    def _keep(  # noqa: PLR0917 - what was read of spans, and where they stand
        self,
        some: Sequence[msgspec.Raw],
        told: list[Span | None],
        begins: list[int] | None,
        start: int,
        stand: Stand,
        first: int,
    ) -> None:
        """Keep those spans that were told: as rows where it is known, and of use, at which offsets they begin."""
        rows = [row for row, span in enumerate(told) if span is not None]
        spans, at = [span for span in told if span is not None], [(stand, first + row) for row in rows]
        if begins is None:
            self.rows.keep(spans, at)
        else:
            self.rows.add_all(spans, [start + begins[row] for row in rows], [len(some[row]) for row in rows], at)

    def _count(self, spans: int) -> None:
        self.build.counts.spans += spans
        self.build.counts.records += spans

    def _requests(self, decoded: Decoded, text: Text, place: int, tainted: str | None) -> None:
        if decoded.faults and not _is_plain(text):
            text = canonical(decoded.value)
        if isinstance(decoded.value, dict) and isinstance(decoded.value.get("trace"), dict):  # Tempo's second API
            self._check(decoded.value["trace"], place, "/trace")
            self._request(fields_of(text)["trace"], place, "/trace", tainted)
        elif isinstance(decoded.value, list):
            for index, request in enumerate(_array(text)):
                self._check(decoded.value[index], place, f"/{index}")
                self._request(request, place, f"/{index}", tainted)
        else:
            self._check(decoded.value, place, "")
            self._request(text, place, "", tainted)

    def _check(self, request: object, place: int, pointer: str) -> None:
        """Whether a value is a request of spans and nothing else. An empty object is one without any."""
        if not isinstance(request, dict) or not request:
            return
        if _KNOWN_MEMBERS[0].isdisjoint(request):
            named = ", ".join(one_line(member, 40) for member in islice(request, _NAMED))
            self._spoiled(place, pointer, f"no OTLP request: an object with {named}")
            return
        for signal in _SIGNALS:
            if request.get(signal):
                self._beside.setdefault(signal, []).append(Spot(place, f"{pointer}/{signal}"))
        for member, above in sorted(_unknown_members(request)):
            message = f"{one_line(member, 40)} is no member of an OTLP request, and what it holds is not read"
            self._spoiled(place, f"{pointer}{above}/{escape(member)}", message)

    def say_what_stands_beside(self) -> None:
        """Requests of other signals: what stands only there counts as not captured."""
        for signal, spots in self._beside.items():
            number = f"{len(spots)} requests" if len(spots) > 1 else "a request"
            message = f"{number} of {_SIGNALS[signal]} not read: what stands only there counts as not captured"
            locators = (self.build.places.locator(spots[0].place, spots[0].pointer),)
            self.build.found(finding("dialect", message, locators=locators))

    def _request(self, text: Text, place: int, pointer: str, tainted: str | None) -> None:
        try:
            request = _request(text)
        except _REFUSED:
            self._by_span(text, place, pointer, tainted)
            return
        for where, resource in _resources(request):
            service = self._service(resource.resource)
            for above, spans in _scopes(resource, f"{pointer}{where}"):
                for index, span in enumerate(spans):
                    self._span(span, place, f"{above}{index}", service, tainted)

    def _by_span(self, text: Text, place: int, pointer: str, tainted: str | None) -> None:
        """A request in which something has another type than OTLP says, span by span: what can't be read is a gap."""
        try:
            request = _loose(text)
        except _REFUSED as error:
            self._spoiled(place, pointer, f"no OTLP request: {error}")
            return
        for where, resource in _resources(request):
            service = self._loose_service(resource.resource)
            for above, spans in _scopes(resource, f"{pointer}{where}"):
                for index, one in enumerate(spans):
                    self._loose_span(one, place, f"{above}{index}", service, tainted)

    def _loose_service(self, resource: msgspec.Raw) -> str:
        try:
            return self._service(_one_resource(resource)) if resource is not ABSENT else ""
        except _REFUSED:
            return ""

    def _loose_span(self, one: msgspec.Raw, place: int, pointer: str, service: str, tainted: str | None) -> None:
        try:
            span = _one_span(one)
        except _REFUSED as error:
            self._spoiled(place, pointer, f"a span that can't be read: {error}")
            return
        self._span(span, place, pointer, service, tainted)

    def _spoiled(self, place: int, pointer: str, message: str) -> None:
        spot = Spot(place, pointer)
        self.build.unread("malformed_line", message, spot)

    def _service(self, resource: _Resource | None) -> str:
        for attribute in (resource.attributes if resource is not None else None) or ():
            if attribute.key == SERVICE:
                return text_of(plain(attribute.value) or ABSENT)
        return ""

    # one span ----------------------------------------------------------------------------------------------------

    def _span(self, span: _Span, place: int, pointer: str, service: str, tainted: str | None) -> None:
        self._count(1)
        attributes, slots, flat, foreign, twice = self._attributes(span.attributes or (), place, pointer)
        events = tuple(self._events(span.events, pointer)) if span.events else ()
        spread: dict[str, Spread] = {}
        if flat or not MARKS.isdisjoint(attributes):
            told = Told(attributes, slots, events, pointer)
            translate(told, flat)
            spread = told.spread
        status, ids, parent = span.status, self._ids, span.parent_span_id
        start, end = nanoseconds(span.start_time_unix_nano), nanoseconds(span.end_time_unix_nano)
        if (start < 0 and span.start_time_unix_nano not in _NO_TIME) or (
            end < 0 and span.end_time_unix_nano not in _NO_TIME
        ):
            say_lost_time(self.build, Spot(place, pointer))
        self.rows.keep(
            [
                Span(
                    ids.get(span.trace_id) or self._id(span.trace_id, place, pointer),
                    ids.get(span.span_id) or self._id(span.span_id, place, pointer),
                    ids.get(parent) or self._id(parent, place, pointer) if parent else "",
                    self._shared.setdefault(span.name, span.name),
                    start,
                    end,
                    kind_of(span.kind),
                    _has_failed(status),
                    _message(status),
                    *shaped(attributes, slots, foreign),
                    events,
                    place,
                    self._shared.setdefault(pointer, pointer),
                    service,
                    twice or tainted,
                    _lost(span) if span.dropped_attributes_count or span.dropped_events_count else "",
                    spread,
                )
            ]
        )

    def _attributes(
        self, told: Iterable[KeyValue], place: int, pointer: str
    ) -> tuple[Attributes, list[int | str], list[Flat], str, str | None]:
        """The attributes that are read, where each stands, those that are flattened, a vocabulary that is not read, and
        what taints them.
        """
        attributes: Attributes = {}
        slots: list[int | str] = []
        flat: list[Flat] = []
        foreign, tainted = "", None
        for slot, attribute in enumerate(told):
            name = WANTED.get(attribute.key)
            if name is None:
                other = self._other_names[attribute.key]
                if other is not None and other.family:
                    item = plain(attribute.value)
                    if item is not None:
                        flat.append(Flat(other.family, attribute.key, item, slot))
                elif other is not None:
                    foreign = foreign or other.vocabulary
                continue
            payload: Payload | None = attribute.value.string_value
            if payload is ABSENT:
                payload = plain(attribute.value)
            if payload is None:
                continue
            if name in SHARED and len(payload) <= _SHORT:
                payload = self._values.setdefault(bytes(payload), payload)
            if name in attributes:
                spot = Spot(place, f"{pointer}/attributes/{slot}")
                tainted = self._twice(name, attributes[name], payload, spot) or tainted
                continue
            attributes[name] = payload
            slots.append(slot)
        return attributes, slots, flat, foreign, tainted

    def _twice(self, name: str, one: Payload, other: Payload, spot: Spot) -> str | None:
        """A name that stands twice in an attribute list: two readers may see two stories."""
        if bytes(one) == bytes(other):
            return None
        message = f"the attribute {name!r} stands twice with different values"
        locator = self.build.places.locator(spot.place, spot.pointer)
        self.build.found(finding("duplicate_key", message, locators=(locator,)))
        return "duplicate_key"

    def _events(self, events: list[_Event], pointer: str) -> Iterator[Event]:
        for index, event in enumerate(events):
            told = ((a.key, plain(a.value)) for a in event.attributes or ())
            attributes = {key: payload for key, payload in told if payload is not None}
            yield Event(event.name, attributes, f"{pointer}/events/{index}")

    def _id(self, recorded: str, place: int, pointer: str) -> str:
        known = self._ids.get(recorded)
        if known is None:
            known, was_base64 = hex_id(recorded)
            self._ids[recorded] = known
            if was_base64:
                message = "ids are base64, where OTLP's JSON has hex: read as hex"
                self.build.once("id_encoding", message, Spot(place, pointer))
        return known


def _is_plain(text: Text) -> bool:
    """Whether the fast reader takes the text as it stands; else it is written again from what the slow one read."""
    try:
        msgspec.json.decode(text)
    except _REFUSED:
        return False
    return True


def _resources(request: Any) -> Iterator[tuple[str, Any]]:
    """The spans of each resource of a request, typed or not, with the pointer of each; Tempo calls them batches."""
    for member, resources in (("resourceSpans", request.resource_spans), ("batches", request.batches)):
        for index, resource in enumerate(resources or ()):
            yield f"/{member}/{index}", resource


def _scopes(resource: _ResourceSpans | _LooseResourceSpans, pointer: str) -> Iterator[tuple[str, list[Any]]]:
    """The spans of each scope of a resource, typed or not, with the pointer that their index follows."""
    members = (
        ("scopeSpans", resource.scope_spans),
        ("instrumentationLibrarySpans", resource.instrumentation_library_spans),
    )
    for member, scopes in members:
        for s, scope in enumerate(cast("list[_Scope | _LooseScope]", scopes or [])):
            yield f"{pointer}/{member}/{s}/spans/", list(scope.spans or ())


def _unknown_members(request: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The members of a request, of its resources and scopes that OTLP does not have and that hold a list or an object,
    each with the pointer of what is around it.
    """
    todo: list[tuple[object, str, int]] = [(request, "", 0)]
    while todo:
        holder, pointer, level = todo.pop()
        if not isinstance(holder, dict):
            continue
        if not holder.keys() <= _KNOWN_MEMBERS[level]:
            for member in holder.keys() - _KNOWN_MEMBERS[level]:
                if holder[member] and isinstance(holder[member], (dict, list)):
                    yield member, pointer
        for member in _BELOW[level]:
            below = holder.get(member)
            for index, one in enumerate(below if isinstance(below, list) else ()):
                todo.append((one, f"{pointer}/{member}/{index}", level + 1))


def _has_failed(status: _Status | None) -> bool:
    return status is not None and status.code in _FAILED


def _message(status: _Status | None) -> Payload | None:
    return status.message if status is not None and bytes(status.message) not in _NOTHING else None


def says_more(member: str, value: bytes) -> bool:
    """Whether a member that is no attribute says more of a span than that it was and ended well."""
    try:
        span = _one_span(b'{"traceId":"","spanId":"","' + member.encode() + b'":' + value + b"}")
    except _REFUSED:
        return True
    return bool(span.events or _has_failed(span.status) or _message(span.status) or _lost(span))


def _lost(span: _Span) -> str:
    """What the exporter says that it left out of a span: attributes, events, or both."""
    attributes, events = span.dropped_attributes_count not in _NO_COUNT, span.dropped_events_count not in _NO_COUNT
    return "attributes and events" if attributes and events else "attributes" * attributes + "events" * events


def kind_of(recorded: int | str | None) -> int:
    """The number of a kind of span; 0 where none is told."""
    if isinstance(recorded, int):
        return recorded
    return _KINDS.get((recorded or "").removeprefix("SPAN_KIND_"), 0)
