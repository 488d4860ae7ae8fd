"""What did an agent of the OpenAI Agents SDK do, as its trace exporter wrote it? Uploads of traces and spans, or the
flat records of a processor of one's own, in any order.

Children are exported before their parents and across several uploads. What a model was shown and said is in the file
only where its API is Chat Completions (`generation` spans); of Responses there is an id (FORMATS section 5).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.core.classes import ToolFacts
from forensics.core.jsonvalue import raw, text_of
from forensics.core.sanitise import one_line
from forensics.core.times import nanoseconds
from forensics.core.trace import StepKind
from forensics.formats.shared import span_names as names
from forensics.formats.shared.fields import (
    Fields,
    call_marks,
    fields_of,
    holds_a_call,
    is_text,
    items_of,
    present,
    text,
)
from forensics.formats.shared.json_lines import json_lines
from forensics.formats.shared.lost_arguments import lost_arguments
from forensics.formats.shared.span_walk import walk_spans
from forensics.formats.shared.spans import Span, shaped
from forensics.formats.shared.walks import walk_evidence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.core.build import Spot
    from forensics.core.reading import EvidenceBuilder
    from forensics.core.trace import Payload
    from forensics.formats.shared.document import Document
    from forensics.formats.shared.json_lines import JsonLine
    from forensics.formats.shared.reader import Look
    from forensics.formats.shared.source import Source

NAME = "openai-agents-traces"
ABOUT = "OpenAI Agents SDK traces: uploads ({data: [trace, trace.span]}) or flat records, one a line or one document"
CARRIES = "executions with arguments and results, agents, hand-offs, guardrails, errors, the span tree, times"
LACKS = "call ids, tool schemas; what the model was shown and said where its API is Responses"
RERUN = "the prompts (under Responses only an id is kept) and the schemas: the model can't be asked again from it"
RECORDS_CALLS = True
SPANS_ARE_COMPLETE = False

_OBJECTS = frozenset({"trace", "trace.span"})
_NULL = b"null"
_HOSTED = (
    "web_search", "file_search", "code_interpreter", "image_generation", "hosted_mcp", "hosted_", "x_search",
)  # fmt: skip
"""How the names of tools begin that the provider runs."""
_NAMED = 6


def sniff(look: Look) -> int:
    """95 for records or uploads of them."""
    shown = [look.document] if look.document is not None else [*look.lines, *look.items()]
    return 95 if any(_is_record(fields) or _uploaded(fields) for fields in shown) else 0


def _is_record(fields: Fields) -> bool:
    return text(fields, "object") in _OBJECTS


def _uploaded(fields: Fields) -> list[Payload]:
    """The records of an upload; none where it is none."""
    data = fields.get("data")
    items = items_of(data) if data is not None and not is_text(data) else []
    return items if items and _is_record(fields_of(items[0])) else []


def read(source: Source, build: EvidenceBuilder) -> None:
    """Read every record. Raises CorruptEvidenceError where there is none."""
    walk_evidence(source, build, _Export(build), json_lines(source, build), "trace and no span of the Agents SDK")


class _Export:
    """The records of one evidence: spans, and which traces were named by a record of their own."""

    def __init__(self, build: EvidenceBuilder) -> None:
        self.build = build
        self.spans: list[Span] = []
        self.traces: dict[str, tuple[Fields, Spot]] = {}
        self.offered: list[tuple[str, list[str], Spot]] = []

    def document(self, _source: Source, document: Document) -> None:
        """A record, an upload, or a list of either."""
        held, spot = document.body, document.spot
        for index, item in enumerate(items_of(held)):
            self._object(fields_of(item), spot.down(f"/{index}"), document.tainted)
        self._object(fields_of(held), spot, document.tainted)

    def line(self, line: JsonLine) -> None:
        """A record, or an upload: what it holds is counted, not the line."""
        self.build.counts.records -= 1
        self._object(line.fields, line.spot, line.tainted)

    def _object(self, fields: Fields, spot: Spot, tainted: str | None) -> None:
        """A record, or an upload of records."""
        uploaded = _uploaded(fields)
        for index, item in enumerate(uploaded):
            self.record(fields_of(item), spot.down(f"/data/{index}"), tainted)
        if fields and not uploaded:
            self.record(fields, spot, tainted)

    def record(self, fields: Fields, spot: Spot, tainted: str | None) -> None:
        """A trace, or a span of one."""
        self.build.counts.records += 1
        kind = text(fields, "object")
        if kind == "trace" and text(fields, "id"):
            self.traces.setdefault(text(fields, "id"), (fields, spot))
        elif kind == "trace.span" and text(fields, "id"):
            self.build.counts.spans += 1
            self.spans.append(_span(fields, spot, tainted))
            self._check(fields, spot)
            self._offers(fields, spot)
        else:
            message = f"a record that is neither a trace nor a span ({one_line(kind, 40)})"
            self.build.unread("malformed_line", message, spot)

    def _check(self, fields: Fields, spot: Spot) -> None:
        """A span of a kind that is not known, or of the user's own, that looks like a call; a call whose arguments are
        lost.
        """
        data = present(fields, "span_data")
        inner = fields_of(data) if data is not None else {}
        kind = text(inner, "type")
        if kind in _ATTRIBUTES:
            lost = lost_arguments(text(inner, "name"), inner, "input", as_text=True) if kind == "function" else ""
            if lost:
                self.build.gap("evidence_gap", lost, spot.down("/span_data"), trace=text(fields, "trace_id"))
            return
        own = present(inner, "data") if kind == "custom" else None
        looked_at = fields_of(own) if own is not None and not is_text(own) else inner
        if data is None or kind not in _TOLD_BY_NAME or call_marks(looked_at) or holds_a_call(data):
            message = f"a span of the kind {one_line(kind or '(none)', 40)}, which may hide a call"
            self.build.gap("evidence_gap", message, spot, trace=text(fields, "trace_id"))

    def _offers(self, fields: Fields, spot: Spot) -> None:
        """The names of the tools that an agent has."""
        data = present(fields, "span_data")
        tools = present(fields_of(data), "tools") if data is not None else None
        named = [text_of(item) for item in items_of(tools)] if tools is not None and not is_text(tools) else []
        if named:
            self.offered.append((text(fields, "trace_id"), named, spot.down("/span_data/tools")))

    def _tell_offered(self) -> None:
        """Name the tools; those that the provider runs would run inside a turn, of which this file holds an id."""
        silent = {span.trace for span in self.spans if span.name == "response"}
        for trace, named, spot in self.offered:
            builder = self.build.trace(trace)
            for name in named:
                locator = self.build.places.locator(spot.place, spot.pointer)
                builder.trace.facts.setdefault(name, ToolFacts(name, locator=locator))
            hosted = [name for name in named if name.startswith(_HOSTED)]
            if hosted and trace in silent:
                told = ", ".join(one_line(name, 40) for name in hosted[:_NAMED])
                message = f"the provider runs {told} inside turns, of which this file holds an id only"
                builder.gap("evidence_gap", message, spot)

    def close(self) -> None:
        """Tell the traces, and those of which only a part was exported here."""
        walk_spans(self.spans, self.build)
        self._tell_offered()
        held = {span.trace: span for span in self.spans}
        for trace, span in held.items():
            if trace not in self.traces:
                message = (
                    "the record of this trace is not in the evidence: it was exported elsewhere, perhaps with spans"
                )
                self.build.trace(trace).gap("header_missing", message, span.spot)
        for trace, (fields, spot) in self.traces.items():
            if trace not in held:
                builder = self.build.trace(trace)
                builder.step(StepKind.OTHER, spot, name=text(fields, "workflow_name") or "trace")
                builder.gap("evidence_gap", "none of the spans of this trace is in the evidence", spot)


# one span ------------------------------------------------------------------------------------------------------------


def _span(fields: Fields, spot: Spot, tainted: str | None) -> Span:
    data = present(fields, "span_data")
    inner = fields_of(data) if data is not None else {}
    kind = text(inner, "type")
    error = present(fields, "error")
    attributes: dict[str, Payload] = {}
    slots: list[str] = []
    for name, payload, pointer in _attributes(kind, inner):
        attributes[name] = payload
        slots.append(pointer)
    shape, values = shaped(attributes, slots)
    return Span(
        trace=text(fields, "trace_id"),
        id=text(fields, "id"),
        parent=text(fields, "parent_id"),
        name=text(inner, "name", "to_agent") or kind,
        start=nanoseconds(present(fields, "started_at")),
        end=nanoseconds(present(fields, "ended_at")),
        kind=0,
        failed=error is not None,
        status_message=_message(error),
        shape=shape,
        values=values,
        events=(),
        place=spot.place,
        pointer=spot.pointer,
        tainted=tainted,
    )


def _message(error: Payload | None) -> Payload | None:
    """What an error says: its message, or the whole of it where there is more."""
    if error is None or is_text(error):
        return error
    fields = fields_of(error)
    said = present(fields, "message")
    return error if said is None or present(fields, "data") is not None else said


_Row = tuple[str, str]
_ATTRIBUTES: dict[str, tuple[str, tuple[_Row, ...]]] = {
    "agent": ("invoke_agent", ((names.AGENT_NAME[0], "name"),)),
    "function": (
        "execute_tool",
        ((names.TOOL_NAME[0], "name"), (names.TOOL_ARGUMENTS[0], "input"), (names.TOOL_RESULT[0], "output")),
    ),
    "generation": (
        "chat",
        ((names.PROMPT[0], "input"), (names.ANSWER[0], "output"), (names.MODEL[0], "model")),
    ),
    "response": ("chat", ()),
    "handoff": ("handoff", ()),
    "guardrail": ("", ((names.GUARDRAIL_NAME[0], "name"), (names.GUARDRAIL_SAYS[1], "triggered"))),
}
"""For each kind of span the operation that it is in the words of the GenAI conventions, and its members by theirs."""
_TOLD_BY_NAME = frozenset({"custom", "mcp_tools", "transcription", "speech", "speech_group", "task", "turn"})
"""Kinds that are no calls of tools: the loop's own bookkeeping, lists of tools, voice models."""
_USAGE = (
    (names.INPUT_TOKENS[0], ("input_tokens", "prompt_tokens")),
    (names.OUTPUT_TOKENS[0], ("output_tokens", "completion_tokens")),
)


def _attributes(kind: str, inner: Fields) -> Iterator[tuple[str, Payload, str]]:
    """The members of a span as attributes, each with the pointer to it."""
    operation, rows = _ATTRIBUTES.get(kind, ("", ()))
    if operation:
        yield names.OPERATION[0], raw(operation), "/span_data/type"
    for name, member in rows:
        payload = inner.get(member)
        if payload is not None and bytes(payload) != _NULL:
            yield name, payload, f"/span_data/{member}"
    usage = present(inner, "usage") if operation == "chat" else None
    counted = fields_of(usage) if usage is not None else {}
    for name, members in _USAGE:
        for member in [m for m in members if m in counted][:1]:
            yield name, counted[member], f"/span_data/usage/{member}"
