"""What did an agent do that MLflow traced? `Trace.to_json()`, the spans of an artefact file, or one trace a line.

The state of a trace is that of its root: a tool that failed and was caught stands in its own span only (FORMATS section
13; the entities are those of `mlflow.entities`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.core.build import Spot
from forensics.core.jsonvalue import decode
from forensics.formats.shared.document import note_cut, open_document
from forensics.formats.shared.fields import fields_of, items_of, object_in, opens_with, present, text
from forensics.formats.shared.json_lines import json_values
from forensics.formats.shared.lines import lines
from forensics.formats.shared.messages.conversation import Locate, nowhere
from forensics.formats.shared.messages.telling import Finder, taint
from forensics.formats.shared.mlflow_spans import span_of
from forensics.formats.shared.span_walk import walk_spans
from forensics.formats.shared.spans import hex_id

if TYPE_CHECKING:
    from forensics.core.reading import EvidenceBuilder
    from forensics.core.trace import Payload
    from forensics.formats.shared.fields import Fields
    from forensics.formats.shared.reader import Look
    from forensics.formats.shared.source import Source
    from forensics.formats.shared.spans import Span

NAME = "mlflow"
ABOUT = "MLflow trace: Trace.to_json() of either schema, a list of them, one a line, or the spans of traces.json"
CARRIES = "prompts, calls, executions, results, failures, times in ns; tool schemas where the SDK's calls were traced"
LACKS = "call ids on executions (mostly), tools that were not traced, what a traced function without a kind is"
RERUN = "tools that were not traced, and the schemas where the SDK's calls were not"
RECORDS_CALLS = False
SPANS_ARE_COMPLETE = False

_FIRST = 8


def sniff(look: Look) -> int:
    """95 for a trace of MLflow's by its id or by the attributes of its spans."""
    return 95 if any(_is_trace(one) for one in (look.members(), *look.items(), *look.lines)) else 0


def _is_trace(fields: Fields) -> bool:
    listed = _spans_of(fields)
    if listed is None:
        return False
    spans = [fields_of(item) for item in items_of(listed)[:_FIRST]]
    info = object_in(fields, "info")
    named = text(info, "trace_id", "request_id").startswith("tr-") or "trace_metadata" in info
    return named or any(_has_marks(span) for span in spans)


def _has_marks(span: Fields) -> bool:
    """Whether a span carries the attributes that MLflow gives to each."""
    own = object_in(span, "attributes")
    return "mlflow.spanType" in own or "mlflow.traceRequestId" in own


def _spans_of(fields: Fields) -> Payload | None:
    """The list of spans of a trace, of its data, or of an artefact file."""
    data = fields_of(fields["data"]) if "data" in fields and not opens_with(fields["data"], b"[") else {}
    listed = present(data, "spans")
    return listed if listed is not None else present(fields, "spans")


def read(source: Source, build: EvidenceBuilder) -> None:
    """Tell every trace. Raises CorruptEvidenceError where nothing of it can be read."""
    traces = _Traces(build)
    if _are_lines(source):
        for value, spot, tainted in json_values(source, build):
            traces.trace(fields_of(value), spot, tainted)
    else:
        document = open_document(source, build)
        finder = Finder(source, build.places, document.start)
        items = items_of(document.body) if opens_with(document.body, b"[") else []
        for at, item in enumerate(items):
            traces.trace(fields_of(item), document.spot.down(f"/{at}"), document.taint_of(item), finder.place)
        if not items:
            traces.trace(fields_of(document.body), document.spot, document.tainted, finder.place)
        note_cut(document, build, traces.last)
    traces.tell()
    if not build.counts.records and not build.counts.bad_lines:
        raise source.holds_no("span of MLflow's")


def _are_lines(source: Source) -> bool:
    """Whether the file holds a trace a line: its first line alone is a document, and another follows."""
    first = next(iter(lines(source)), None)
    if first is None or bytes(first.data[:1]) != b"{" or decode(first.data).error is not None:
        return False
    return bool(bytes(source.data[first.offset + len(first.data) :]).strip())


class _Traces:
    """The traces of one evidence, collected before their spans are walked."""

    def __init__(self, build: EvidenceBuilder) -> None:
        self.build = build
        self.spans: list[Span] = []
        self.taints: list[tuple[str, str, Spot]] = []
        self.last: str | None = None

    def trace(self, fields: Fields, spot: Spot, tainted: str | None, locate: Locate = nowhere) -> None:
        """Note the spans of one trace; `locate` gives the place of a span that has one of its own."""
        listed = _spans_of(fields)
        info = object_in(fields, "info")
        metadata = object_in(info, "trace_metadata")
        self.build.dialect = self.build.dialect or text(metadata, "mlflow.trace_schema.version") or None
        items = [] if listed is None else items_of(listed)
        parents = {text(fields_of(item), "parent_span_id", "parent_id") for item in items}
        name = text(info, "trace_id", "request_id") or _own_id(items) or f"trace-{len(self.taints)}"
        base = spot.pointer + ("/data/spans" if "data" in fields else "/spans")
        for at, item in enumerate(items):
            self._span(fields_of(item), name, Spot(spot.place, f"{base}/{at}"), locate(item), parents)
        self.last = name
        if tainted:
            self.taints.append((name, tainted, spot))
        if text(info, "state", "status").upper().endswith("IN_PROGRESS"):
            self.build.gap("evidence_gap", "the trace was exported while it went on", spot, trace=name)

    def _span(self, told: Fields, trace: str, spot: Spot, place: int, parents: set[str]) -> None:
        own = text(told, "span_id") or text(object_in(told, "context"), "span_id")
        if not own:
            self.build.gap("malformed_line", "a span that can't be read: it has no span_id", spot, trace=trace)
            return
        self.build.counts.spans += 1
        self.build.counts.records += 1
        placed = place if place >= 0 else spot.place
        span, unread = span_of(told, trace, placed, spot.pointer, leaf=own not in parents)
        self.spans.append(span)
        if unread:
            self.build.gap("evidence_gap", unread, Spot(placed, spot.pointer), trace=trace)

    def tell(self) -> None:
        """Walk the spans of every trace, and mark what can be read in two ways."""
        walk_spans(self.spans, self.build)
        for name, code, spot in self.taints:
            taint(self.build.trace(name), code, spot)


def _own_id(items: list[Payload]) -> str:
    """The id of the trace as its first span has it."""
    first = fields_of(items[0]) if items else {}
    context = object_in(first, "context")
    return hex_id(text(first, "trace_id") or text(context, "trace_id"))[0]
