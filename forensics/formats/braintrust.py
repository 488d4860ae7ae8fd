"""Are these spans of Braintrust, and what does each say? Rows of its logs and experiments: what its API gives
(`events`, `data`), a list of them, or one a line, as its exports write them.

Source: the rows that its SDKs log (`span_id`, `root_span_id`, `span_parents`, `span_attributes`). A row may be told in
parts, of which a later one is laid over those before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.core.jsonvalue import text_of
from forensics.core.times import nanoseconds
from forensics.formats.shared.chunks import documents
from forensics.formats.shared.fields import (
    Fields,
    as_object,
    fields_of,
    items_in,
    items_of,
    object_in,
    opens_with,
    present,
    text,
)
from forensics.formats.shared.halves import Halves, Identified
from forensics.formats.shared.observed import INPUT, OUTPUT, Record, first_below, is_tool_message, span_of
from forensics.formats.shared.records_in import records_in
from forensics.formats.shared.span_bodies import read_response
from forensics.formats.shared.span_walk import walk_spans

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.core.reading import EvidenceBuilder
    from forensics.core.trace import Payload
    from forensics.formats.shared.reader import Look
    from forensics.formats.shared.source import Source

NAME = "braintrust"
ABOUT = "Braintrust logs and experiments: rows of its API and of its exports, a list or one a line"
CARRIES = "span tree, prompts, answers, executions that are told as tools, errors; times in ms"
LACKS = "often call ids, and what functions without a type of their own did"
RERUN = "what plain functions called, and tool schemas that no request repeats"
RECORDS_CALLS = False
SPANS_ARE_COMPLETE = False

_KINDS = {
    "llm": "llm", "tool": "tool", "task": "chain", "eval": "chain", "preprocessor": "chain", "automation": "chain",
    "score": "evaluator", "classifier": "evaluator", "facet": "evaluator", "review": "evaluator",
}  # fmt: skip
_MARKS = frozenset({"span_id", "root_span_id", "span_attributes"})
_LISTS = ("events", "data", "rows")
_SURE = 95
_WITHOUT_CONTENT = frozenset({"chain", "evaluator", ""})
_UNSAID = "functions without a type of their own"
_FACTS: dict[str, tuple[tuple[str, ...], ...]] = {
    "gen_ai.request.model": (("metadata", "model"),),
    "gen_ai.tool.definitions": (("metadata", "tools"), ("metadata", "functions")),
    "gen_ai.tool.call.id": (("metadata", "tool_call_id"), ("metadata", "gen_ai.tool.call.id")),
    "gen_ai.usage.input_tokens": (("metrics", "prompt_tokens"),),
    "gen_ai.usage.output_tokens": (("metrics", "completion_tokens"),),
}
"""Where a row says what, in the order in which it is believed."""


def sniff(look: Look) -> int:
    """95 where the first records have the keys of a row."""
    document = look.members()
    firsts = [document] if document else [*look.items()[:1], *look.lines[:1]]
    return _SURE if any(_holds_rows(fields) for fields in firsts) else 0


def _holds_rows(fields: Fields) -> bool:
    held = (items_in(fields, name)[:1] for name in _LISTS if name in fields and opens_with(fields[name], b"["))
    return _is_row(fields) or any(_is_row(fields_of(first)) for items in held for first in items)


def _is_row(fields: Fields) -> bool:
    return fields.keys() >= _MARKS


def read(source: Source, build: EvidenceBuilder) -> None:
    """Read every row. Raises CorruptEvidenceError where the evidence holds none."""
    rows = Halves(build, "row of a span")
    for document in documents(source, build, "row"):
        rows.read(document, _found)
    spans = [span_of(record) for record in _records(rows)]
    if not spans:
        raise source.holds_no("row")
    walk_spans(spans, build)


def _records(rows: Halves) -> Iterator[Record]:
    """Every row as a record. What is typed as a plain function, or not at all, ran a tool where a model asked for one
    of its name, and stands around others where these name it; of another nothing tells what it did.
    """
    every = {told: rows.fields(told) for told in rows}
    above = {_parent(fields) for fields in every.values()}
    kinds = {told: _kind_of(fields) for told, fields in every.items()}
    asked = {tool for told, kind in kinds.items() if kind == "llm" for tool in _asked_by(every[told])}
    for told, fields in every.items():
        by_name = "tool" if _name_of(fields) in asked else "chain" if told in above else ""
        yield _record(rows, told, fields, kinds[told] or by_name)


def _kind_of(fields: Fields) -> str:
    kind = text(object_in(fields, "span_attributes"), "type").lower()
    return _KINDS.get(kind) or ("tool" if is_tool_message(present(fields, "output")) else "")


def _name_of(fields: Fields) -> str:
    return text(object_in(fields, "span_attributes"), "name")


def _asked_by(fields: Fields) -> Iterator[str]:
    """The tools that a model asked for in its answer."""
    answer = present(fields, "output")
    for message in () if answer is None else read_response(_as_answered(answer)).messages:
        yield from (part.tool for part in message.calls)


def _found(data: Payload) -> Iterator[Identified]:
    """Every row in a value: a list may stand in an answer of the API."""
    for _, fields, pointer in records_in(data, _around):
        yield text(fields, "span_id"), fields, pointer


def _around(fields: Fields) -> list[str]:
    return [] if _is_row(fields) else [k for k in _LISTS if k in fields and opens_with(fields[k], b"[")]


def _record(rows: Halves, told: str, fields: Fields, kind: str) -> Record:
    metrics = object_in(fields, "metrics")
    record = Record(
        trace=text(fields, "root_span_id"),
        id=told,
        parent=_parent(fields),
        name=_name_of(fields),
        kind=kind or "function",
        start=nanoseconds(present(metrics, "start") or present(fields, "created")),
        end=nanoseconds(present(metrics, "end")),
        spot=rows.spot(told),
        error=present(fields, "error"),
        foreign="" if kind else _UNSAID,
        tainted=rows.taint_of(told),
    )
    for name, member in ((INPUT, "input"), (OUTPUT, "output")):
        if member in fields and kind not in _WITHOUT_CONTENT:
            payload = _as_answered(fields[member]) if kind == "llm" else fields[member]
            record.put(name, payload, rows.place_of(told, member))
    for name, paths in _FACTS.items():
        record.put(name, *first_below(fields, *paths))
    return record


def _as_answered(payload: Payload) -> Payload:
    """What a model answered: the SDKs keep the choices of Chat Completions without the response around them."""
    if not opens_with(payload, b"["):
        return payload
    choices = items_of(payload)
    are_choices = bool(choices) and all("message" in fields_of(one) for one in choices)
    return as_object({"choices": payload}) if are_choices else payload


def _parent(fields: Fields) -> str:
    """The span that a row hangs under: the first of those that it names."""
    named = items_in(fields, "span_parents")
    return text_of(named[0]) if named else ""
