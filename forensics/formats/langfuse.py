"""Are these observations of Langfuse, and what does each say? What its interface and API export (a trace with its
observations, lists and lines of them), and the batches that its SDKs send.

Observations that came by OpenTelemetry keep their attributes in `metadata`: what these say is read as in any span.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.core.jsonvalue import raw, text_of
from forensics.core.pointers import escape
from forensics.core.times import nanoseconds
from forensics.formats.shared.chunks import documents
from forensics.formats.shared.fields import Fields, fields_of, is_text, items_of, opens_with, present, text
from forensics.formats.shared.flattened import Flat
from forensics.formats.shared.halves import Halves, Identified
from forensics.formats.shared.observed import INPUT, OUTPUT, Record, below, first_below, is_tool_message, span_of
from forensics.formats.shared.records_in import records_in
from forensics.formats.shared.span_names import WANTED, OtherNames
from forensics.formats.shared.span_walk import walk_spans

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.core.reading import EvidenceBuilder
    from forensics.core.trace import Payload
    from forensics.formats.shared.document import Document
    from forensics.formats.shared.reader import Look
    from forensics.formats.shared.source import Source
    from forensics.formats.shared.spans import Span

NAME = "langfuse"
ABOUT = "Langfuse traces: exports of its interface and API, and the batches that its SDKs send"
CARRIES = "observation tree, prompts, answers, executions that are told as such, errors; times in ms"
LACKS = "often tools (recorded as plain spans, or only in answers), call ids, what instrumentations did not capture"
RERUN = "calls that instrumentations told in answers only, and what they did not capture"
RECORDS_CALLS = False
SPANS_ARE_COMPLETE = False

_KINDS = {
    "GENERATION": "llm", "TOOL": "tool", "AGENT": "agent", "RETRIEVER": "retriever", "GUARDRAIL": "guardrail",
    "EMBEDDING": "embedding", "EVALUATOR": "evaluator", "CHAIN": "chain", "SPAN": "", "EVENT": "",
}  # fmt: skip
_CREATED = {"span": "SPAN", "generation": "GENERATION", "event": "EVENT"}
_LISTS = ("observations", "batch", "data", "traces")
_MARKS = frozenset({"traceId", "parentObservationId", "parent_observation_id"})
_SURE = 95


def sniff(look: Look) -> int:
    """95 where the first records have the keys of an observation, or of a trace that holds some."""
    document = look.members()
    firsts = [document] if document else [*look.items()[:1], *look.lines[:1]]
    return _SURE if any(_holds_observations(fields) for fields in firsts) else 0


def _holds_observations(fields: Fields) -> bool:
    if _is_observation(fields):
        return True
    held = present(fields, "observations", "batch", "data")
    first = items_of(held)[:1] if held is not None and opens_with(held, b"[") else []
    inner = fields_of(first[0]) if first else {}
    if _is_observation(inner) or (text(inner, "type").endswith(("-create", "-update")) and "body" in inner):
        return True
    trace = present(fields, "trace")
    return trace is not None and "observations" in fields and "projectId" in fields_of(trace)


def _is_observation(fields: Fields) -> bool:
    return "type" in fields and bool(_MARKS & fields.keys()) and "id" in fields


def read(source: Source, build: EvidenceBuilder) -> None:
    """Read every observation. Raises CorruptEvidenceError where the evidence holds none."""
    reader = _Observations(build)
    for document in documents(source, build, "observation"):
        reader.read(document)
    spans = list(reader.spans())
    if not spans:
        raise source.holds_no("observation")
    walk_spans(spans, build)
    for trace, session in reader.sessions.items():
        build.trace(trace).trace.session = session


class _Observations:
    """The observations of the evidence: what an update says is laid over what created them."""

    def __init__(self, build: EvidenceBuilder) -> None:
        self._halves = Halves(build, "observation")
        self._names = OtherNames()
        self.sessions: dict[str, str] = {}

    def read(self, document: Document) -> None:
        """Read one value of the evidence."""
        self._halves.read(document, self._found)

    def _found(self, data: Payload) -> Iterator[Identified]:
        self.sessions.update(_sessions(data))
        return _found(data)

    def spans(self) -> Iterator[Span]:
        """Every observation as a span."""
        for told in self._halves:
            yield span_of(self._record(told))

    def _record(self, told: str) -> Record:
        fields = self._halves.fields(told)
        kind = text(fields, "type").upper()
        record = Record(
            trace=text(fields, "traceId", "trace_id"),
            id=told,
            parent=text(fields, "parentObservationId", "parent_observation_id"),
            name=text(fields, "name"),
            kind=_KINDS.get(kind, kind.lower()),
            start=nanoseconds(present(fields, "startTime", "start_time")),
            end=nanoseconds(present(fields, "endTime", "end_time")),
            spot=self._halves.spot(told),
            service=text(fields, "environment"),
            tainted=self._halves.taint_of(told),
        )
        if record.end < 0 and kind == "EVENT":
            record.end = record.start
        if text(fields, "level").upper() == "ERROR":
            record.error = present(fields, "statusMessage", "status_message") or fields["level"]
        self._otel_attributes(record, fields)
        if not record.kind and is_tool_message(present(fields, "output")):
            record.kind = "tool"
        self._content(record, fields)
        for name, paths in _FACTS.items():
            payload, pointer = first_below(fields, *paths)
            record.put(name, payload, pointer)
        record.kind = record.kind or "unknown"
        return record

    def _content(self, record: Record, fields: Fields) -> None:
        """Input and output, of what asks a model, acts or looks something up."""
        if record.kind in _WITHOUT_CONTENT:
            return
        for name, member in ((INPUT, "input"), (OUTPUT, "output")):
            if member in fields:
                record.put(name, fields[member], self._halves.place_of(record.id, member))

    def _otel_attributes(self, record: Record, fields: Fields) -> None:
        """The attributes of the OpenTelemetry span that an observation was made of."""
        found = below(fields, "metadata", "attributes")
        if found is None:
            return
        held, pointer = found
        for key, payload in fields_of(_opened(held)).items():
            known = WANTED.get(key)
            other = self._names[key] if known is None else None
            if known is not None:
                record.put(known, payload, f"{pointer}/{escape(key)}")
            elif other is not None and other.family:
                record.flat.append(Flat(other.family, key, payload, f"{pointer}/{escape(key)}"))


_WITHOUT_CONTENT = frozenset({"chain", "embedding", "evaluator", "guardrail", ""})
_FACTS: dict[str, tuple[tuple[str, ...], ...]] = {
    "gen_ai.request.model": (("model",), ("providedModelName",)),
    "gen_ai.usage.input_tokens": (("usageDetails", "input"), ("usage", "input"), ("promptTokens",)),
    "gen_ai.usage.output_tokens": (("usageDetails", "output"), ("usage", "output"), ("completionTokens",)),
}


def _found(data: Payload) -> Iterator[Identified]:
    """Every observation in a value: a trace holds its observations."""
    for held, fields, pointer in records_in(data, _around):
        if _is_event(fields):
            kind, told = text(fields, "type").partition("-")[0], fields_of(fields["body"])
            if kind != "trace" and "id" in told:
                yield text(told, "id"), {**_typed(kind), **told}, f"{pointer}/body"
        elif opens_with(held, b"{"):
            yield text(fields, "id"), fields, pointer


def _around(fields: Fields) -> list[str]:
    whole = _is_event(fields) or _is_observation(fields)
    return [] if whole else [k for k in _LISTS if k in fields and opens_with(fields[k], b"[")]


def _is_event(fields: Fields) -> bool:
    """Whether this is what the SDK sent of an observation or a trace."""
    return present(fields, "body") is not None and text(fields, "type").partition("-")[2] in ("create", "update")


def _sessions(data: Payload) -> Iterator[tuple[str, str]]:
    """The session of each trace that is told whole, in whichever of the containers."""
    items = items_of(data) if opens_with(data, b"[") else [data]
    for fields in (fields_of(item) for item in items):
        trace = fields_of(fields["trace"]) if "trace" in fields else fields
        session = text(trace, "sessionId", "session_id")
        if session and text(trace, "id") and not _is_observation(trace):
            yield text(trace, "id"), session


def _typed(kind: str) -> Fields:
    told = _CREATED.get(kind)
    return {} if told is None else {"type": raw(told)}


def _opened(payload: Payload) -> Payload | bytes:
    return text_of(payload).encode("utf-8", "surrogatepass") if is_text(payload) else payload
