"""Is this an export of Jaeger, and which spans does it hold? Traces with their spans, and the processes they name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.core.build import Spot
from forensics.core.sanitise import one_line
from forensics.formats.shared.chunks import documents
from forensics.formats.shared.fields import Fields, fields_of, items_of, object_in, opens_with, present, text
from forensics.formats.shared.span_records import SpanRecords
from forensics.formats.shared.span_walk import walk_spans

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.core.reading import EvidenceBuilder
    from forensics.core.trace import Payload
    from forensics.formats.shared.reader import Look
    from forensics.formats.shared.source import Source
    from forensics.formats.shared.spans import Span

NAME = "jaeger"
ABOUT = "Jaeger's JSON: traces with spans, tags, logs and processes; any GenAI vocabulary in the tags"
CARRIES = "span tree, times in µs, executions, errors; prompts, calls, results where content was captured"
LACKS = "content where capture was off; links to other traces; approvals"
RERUN = "prompts and results where capture was off, and what sampling dropped"
RECORDS_CALLS = False
SPANS_ARE_COMPLETE = False

_DIGITS = 19


def sniff(look: Look) -> int:
    """90 for traces of Jaeger, or for one of them."""
    documents = [look.document] if look.document is not None else [*look.items()[:1], *look.lines[:1]]
    for fields in documents:
        data = present(fields, "data")
        traces = [fields_of(one) for one in items_of(data)[:1]] if data is not None and opens_with(data, b"[") else []
        if any(_is_trace(one) for one in (fields, *traces)):
            return 90
    return 0


def _is_trace(fields: Fields) -> bool:
    spans = present(fields, "spans")
    first = items_of(spans)[:1] if spans is not None and opens_with(spans, b"[") else []
    return any({"operationName", "spanID"} <= fields_of(one).keys() for one in first)


def read(source: Source, build: EvidenceBuilder) -> None:
    """Read every span. Raises CorruptEvidenceError where the evidence holds none."""
    reader = _JaegerReader(build)
    spans: list[Span] = []
    for document in documents(source, build, "trace"):
        spans.extend(reader.spans(document.body, document.spot.place, "", document.tainted))
    if not spans:
        raise source.holds_no("span")
    walk_spans(spans, build)


class _JaegerReader:
    """Takes traces apart into spans."""

    def __init__(self, build: EvidenceBuilder) -> None:
        self._build = build
        self._maker = SpanRecords(build)

    def spans(self, held: Payload, place: int, pointer: str, tainted: str | None) -> Iterator[Span]:
        """The spans of a response, of a list of traces or of one trace."""
        if opens_with(held, b"["):
            for index, item in enumerate(items_of(held)):
                yield from self.spans(item, place, f"{pointer}/{index}", tainted)
            return
        fields = fields_of(held)
        inside = [name for name in ("data", "spans") if name in fields and opens_with(fields[name], b"[")]
        if "spans" in inside:
            yield from self._trace(fields, place, pointer, tainted)
        elif inside:
            yield from self.spans(fields["data"], place, f"{pointer}/data", tainted)
        elif fields:
            named = ", ".join(one_line(name, 40) for name in list(fields)[:4])
            message = f"no trace of Jaeger: an object with {named}"
            self._build.unread("malformed_line", message, Spot(place, pointer))

    def _trace(self, trace: Fields, place: int, pointer: str, tainted: str | None) -> Iterator[Span]:
        processes = object_in(trace, "processes")
        services = {name: text(fields_of(process), "serviceName") for name, process in processes.items()}
        for index, item in enumerate(items_of(trace["spans"])):
            fields = fields_of(item)
            where = f"{pointer}/spans/{index}"
            if not fields:
                self._build.unread("malformed_line", "a span that is no object", Spot(place, where))
                continue
            inline = object_in(fields, "process")
            service = services.get(text(fields, "processID"), "") or text(inline, "serviceName")
            yield self._maker.span(_with_end(fields), Spot(place, where), tainted, service=service)


def _with_end(fields: Fields) -> Fields:
    """A span that says how long it took says when it ended."""
    start, took = (text(fields, name) for name in ("startTime", "duration"))
    if not (start.isdigit() and took.isdigit() and len(start) < _DIGITS and len(took) < _DIGITS):
        return fields
    return {**fields, "endTime": msgspec.Raw(str(int(start) + int(took)).encode())}
