"""Are these spans as an SDK or a store writes them, one record each? A list, an object that holds one, one a line, or
indented records one below the other as a console exporter prints them.

The names of the fields differ from exporter to exporter (`span_records`). Log records that stand beside the spans
(CloudWatch) are told as events of the span that they name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.core.build import Spot
from forensics.core.sanitise import one_line
from forensics.formats.shared.chunks import documents
from forensics.formats.shared.dialects import MARKS
from forensics.formats.shared.fields import Fields, fields_of, items_of, opens_with, present, text
from forensics.formats.shared.span_logs import events_of, is_log
from forensics.formats.shared.span_names import ROLE_OF_KIND
from forensics.formats.shared.span_records import SpanRecords
from forensics.formats.shared.span_walk import walk_spans

if TYPE_CHECKING:
    from forensics.core.reading import EvidenceBuilder
    from forensics.core.trace import Payload
    from forensics.formats.shared.document import Document
    from forensics.formats.shared.reader import Look
    from forensics.formats.shared.source import Source
    from forensics.formats.shared.spans import Event, Span

NAME = "otel-spans"
ABOUT = "OpenTelemetry spans as records: lists, lines, console output, CloudWatch, Phoenix; any GenAI vocabulary"
CARRIES = "span tree, times, executions, errors; prompts, calls, results, tool schemas where content was captured"
LACKS = "content where capture was off; approvals; often the kind of a span and what the exporter dropped"
RERUN = "prompts and results where capture was off, and what the exporter dropped"
RECORDS_CALLS = False
SPANS_ARE_COMPLETE = False

_CONTEXTS = ("context", "spanContext", "_spanContext", "span_context")
_IDS = ("span_id", "spanId", "spanID", "SpanId", "context.span_id")
_HOLDERS = ("spans", "data", "traces", "items")
_OTHERS = frozenset({"run_type", "dotted_order", "object", "processes", "resourceSpans", "batches", "operationName"})
_KINDS = MARKS | frozenset(ROLE_OF_KIND) | {"gen_ai.operation.name"}
_PRINTED = (b'"span_id"', b'"spanId"', b'"context.span_id"')
_DEEPEST = 3
_SURE, _HELD, _BARE = 85, 75, 60


def sniff(look: Look) -> int:
    """85 for records with the ids of spans; 75 for an object that holds such; 60 for the attributes of one span."""
    document = look.document
    if document is not None:
        if _is_span(document):
            return _SURE
        held = next((document[name] for name in _HOLDERS if name in document), None)
        if held is not None and opens_with(held, b"[") and any(_is_span(fields_of(one)) for one in items_of(held)[:1]):
            return _HELD
        return _BARE if _is_bare(document) else 0
    if any(_is_span(one) for one in [*look.items()[:1], *look.lines[:1]]):
        return _SURE
    return _HELD if not look.lines and look.array is None and _is_printed(look.head) else 0


def _is_span(fields: Fields) -> bool:
    if not _OTHERS.isdisjoint(fields):
        return False
    context = next((fields_of(fields[name]) for name in _CONTEXTS if name in fields), {})
    return any(name in fields for name in _IDS) or any(name in context for name in _IDS)


def _is_bare(fields: Fields) -> bool:
    return any(name in fields for name in _KINDS)


def _is_printed(head: bytes) -> bool:
    """Whether indented records begin here, one below the other."""
    return head.lstrip()[:1] == b"{" and any(mark in head for mark in _PRINTED)


def read(source: Source, build: EvidenceBuilder) -> None:
    """Read every span. Raises CorruptEvidenceError where the evidence holds none."""
    reader = _SpanReader(build)
    for document in documents(source, build, "record of a span"):
        reader.document(document)
    spans = reader.finish()
    if not spans:
        raise source.holds_no("span")
    walk_spans(spans, build)


class _SpanReader:
    """Finds the records of spans in values that hold them."""

    def __init__(self, build: EvidenceBuilder) -> None:
        self._build = build
        self._records: list[tuple[Fields, int, str, str | None]] = []
        self._logs: dict[str, list[Event]] = {}
        self._lone_logs: list[Spot] = []

    def document(self, document: Document) -> None:
        """Read one value of the evidence."""
        self._value(document.body, document.spot.place, "", document.tainted, 0)

    def _value(self, held: Payload | memoryview, place: int, pointer: str, tainted: str | None, depth: int) -> None:
        if opens_with(held, b"["):
            for index, item in enumerate(items_of(held)):
                self._value(item, place, f"{pointer}/{index}", tainted, depth + 1)
            return
        fields = fields_of(held)
        inside = [name for name in _HOLDERS if name in fields and opens_with(fields[name], b"[")]
        if is_log(fields):
            self._log(fields, place, pointer)
        elif _is_span(fields) or (_is_bare(fields) and not inside):
            self._records.append((fields, place, pointer, tainted))
        elif inside and depth < _DEEPEST:
            self._check_whole(fields, inside, Spot(place, pointer))
            for name in inside:
                self._value(fields[name], place, f"{pointer}/{name}", tainted, depth + 1)
        elif fields or not opens_with(held, b"{"):
            self._strange(fields, Spot(place, pointer))

    def _strange(self, fields: Fields, spot: Spot) -> None:
        named = ", ".join(one_line(name, 40) for name in list(fields)[:4]) or "no object"
        message = f"no span: a value with {named}"
        self._build.unread("malformed_line", message, spot)

    def _check_whole(self, fields: Fields, inside: list[str], spot: Spot) -> None:
        """An export that counts its spans, or that names a next page, says itself whether it is whole."""
        count = text(fields, "span_count", "spanCount")
        held = len(items_of(fields[inside[0]]))
        more = present(fields, "next_cursor", "nextCursor", "nextToken", "next_token")
        if count.isdigit() and len(count) < len(str(2**63)) and int(count) > held:
            self._build.gap("evidence_gap", f"the export says that it has {count} spans and holds {held}", spot)
        if more is not None and bytes(more) not in (b'""', b"false"):
            self._build.gap("evidence_gap", "the export is one page of several, and the next one is not here", spot)

    def _log(self, fields: Fields, place: int, pointer: str) -> None:
        self._build.counts.records += 1
        told = events_of(fields, place, pointer)
        named = text(fields, *_IDS)
        self._logs.setdefault(named, []).extend(told)
        if not told:
            self._lone_logs.append(Spot(place, pointer))

    def finish(self) -> list[Span]:
        """The spans of the evidence, each with the log records that name it."""
        maker = SpanRecords(self._build)
        spans = []
        for fields, place, pointer, tainted in self._records:
            spans.append(maker.span(fields, Spot(place, pointer), tainted, logs=self._logs))
        known = {span.id for span in spans}
        lone = [Spot(e.place, e.pointer) for named, told in self._logs.items() if named not in known for e in told]
        for spot in (*self._lone_logs[:1], *lone[:1]):
            message = "log records that no span is there for, or whose content is in no form that is read"
            self._build.gap("evidence_gap", message, spot)
        return spans
