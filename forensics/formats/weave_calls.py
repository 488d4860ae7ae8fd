"""Are these calls of Weave (Weights & Biases), and what does each say? Exports and API answers (calls one a line, a
list), and what its SDK sends or keeps until it is sent: batches and logs in which a start and an end tell one call.

A call is one run of a function that was decorated as an op. What kind of op it is stands in its attributes, where
somebody told it. A plain op is a tool where a model asked for one of its name; what other ops that call no others may
do is not known, and a gap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.core.jsonvalue import text_of
from forensics.core.sanitise import one_line
from forensics.core.times import nanoseconds
from forensics.formats.shared.chunks import documents
from forensics.formats.shared.fields import (
    Fields,
    as_object,
    fields_of,
    is_text,
    items_of,
    json_inside,
    object_in,
    opens_with,
    present,
    text,
    unread_calls,
)
from forensics.formats.shared.halves import Halves, Identified
from forensics.formats.shared.observed import INPUT, OUTPUT, Record, first_below, span_of
from forensics.formats.shared.span_bodies import read_response
from forensics.formats.shared.span_walk import walk_spans

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.core.build import Spot
    from forensics.core.reading import EvidenceBuilder
    from forensics.core.trace import Payload
    from forensics.formats.shared.document import Document
    from forensics.formats.shared.reader import Look
    from forensics.formats.shared.source import Source

NAME = "weave"
ABOUT = "Weave calls (Weights & Biases): exports, API answers, batches of the SDK and the log that it keeps"
CARRIES = "the tree of ops, prompts, answers, executions, results, exceptions, tool schemas; times in µs"
LACKS = "call ids on executions, functions that are no ops; what the server keeps and a call only refers to"
RERUN = "functions that are no ops, and what a call only refers to"
RECORDS_CALLS = False
SPANS_ARE_COMPLETE = False

_LISTS = ("calls", "batch")
_WRAPPERS = ("call", "req")
_HALVES = ("start", "end")
_IDENTIFIES = frozenset({"project_id", "trace_id", "started_at"})
_KINDS = {
    "agent": "agent", "llm": "llm", "tool": "tool", "search": "retriever", "guardrail": "guardrail",
    "scorer": "evaluator",
}  # fmt: skip
_KINDS_BY_NAME = {
    "openai_agent_function": "tool", "openai_agent_agent": "agent", "openai_agent_guardrail": "guardrail",
    **dict.fromkeys(("openai.", "anthropic.", "mistralai.", "cohere.", "groq.", "litellm.", "cerebras."), "llm"),
    **dict.fromkeys(("google.genai.", "google.generativeai.", "vertexai.", "huggingface_hub."), "llm"),
}  # fmt: skip
"""By how the names of ops begin that integrations make, what those are to which they give no kind (older releases)."""
_UNSAID = "ops whose kind is not said"
_NO_CALLS = frozenset({"obj_create", "table_create", "file_create"})
"""What else the log of the SDK keeps."""
_READ = frozenset({"exception", "inputs", "output"})
_REFERENCE = "weave:///"
_DEEPEST = 8
_SURE = 95


def sniff(look: Look) -> int:
    """95 where the first records are calls, or hold some."""
    shown = [look.document] if look.document is not None else [*look.items(), *look.lines]
    return _SURE if any(_holds_a_call(fields) for fields in shown) else 0


def _holds_a_call(fields: Fields, depth: int = 0) -> bool:
    if _is_call(fields):
        return "op_name" in fields
    if depth >= _DEEPEST:
        return False
    inner = [fields[name] for name in (*_WRAPPERS, *(_HALVES if depth else ())) if name in fields]
    inner += [item for name in _LISTS if _is_list(fields.get(name)) for item in items_of(fields[name])[:2]]
    return any(_holds_a_call(fields_of(one), depth + 1) for one in inner)


def _is_call(fields: Fields) -> bool:
    """Whether an object is a call, or its end."""
    return "id" in fields and bool(_IDENTIFIES & fields.keys()) and ("op_name" in fields or "ended_at" in fields)


def _is_list(held: Payload | None) -> bool:
    return held is not None and opens_with(held, b"[")


def read(source: Source, build: EvidenceBuilder) -> None:
    """Read every call. Raises CorruptEvidenceError where the evidence holds none."""
    calls = _Calls(build)
    for document in documents(source, build, "call"):
        calls.read(document)
    spans = [span_of(record) for record in calls.records()]
    if not spans:
        raise source.holds_no("call of Weave's")
    walk_spans(spans, build)
    calls.say_what_is_elsewhere()
    for trace, session in calls.sessions.items():
        build.trace(trace).trace.session = session


class _Calls:
    """The calls of the evidence: what an end says is laid over what the start said."""

    def __init__(self, build: EvidenceBuilder) -> None:
        self._build = build
        self._halves = Halves(build, "call")
        self._elsewhere: dict[str, Spot] = {}
        self.sessions: dict[str, str] = {}

    def read(self, document: Document) -> None:
        """Read one value of the evidence."""
        self._halves.read(document, _found)

    def records(self) -> Iterator[Record]:
        """Every call as a record."""
        every = {call: self._halves.fields(call) for call in self._halves}
        parents = {text(fields, "parent_id") for fields in every.values()}
        kinds = {call: _kind_of(fields) for call, fields in every.items()}
        asked = {tool for call, kind in kinds.items() if kind == "llm" for tool in _asked_by(every[call])}
        for call, fields in every.items():
            name = _op_of(fields)
            tool = next((one for one in (name, name.rpartition(".")[2]) if one in asked), "")
            kind = kinds[call] or ("tool" if tool else "chain" if call in parents else "")
            yield self._record(call, fields, kind, tool or name)

    def _record(self, call: str, fields: Fields, kind: str, name: str) -> Record:
        record = Record(
            trace=text(fields, "trace_id") or call,
            id=call,
            parent=text(fields, "parent_id"),
            name=name,
            kind=kind or "op",
            start=nanoseconds(present(fields, "started_at")),
            end=nanoseconds(present(fields, "ended_at")),
            spot=self._halves.spot(call),
            foreign="" if kind else _UNSAID,
            tainted=self._halves.taint_of(call),
        )
        for member in unread_calls(fields, _READ):
            message = f"what looks like a call in a member that is not read ({one_line(member, 40)})"
            self._build.gap("evidence_gap", message, record.spot, trace=record.trace)
        if text(fields, "thread_id"):
            self.sessions.setdefault(record.trace, text(fields, "thread_id"))
        self._failure(record, fields)
        if kind in _WITH_CONTENT:
            self._content(record, fields)
        told = {attribute: (path,) for attribute, path in _integration(fields).facts.items()}
        for attribute, paths in (*told.items(), *_FACTS.items()):
            payload, pointer = first_below(fields, *paths)
            record.put(attribute, payload, pointer)
        return record

    def _failure(self, record: Record, fields: Fields) -> None:
        """What was raised: an object of its type, its message and where, written as text, or its text alone."""
        raised = present(fields, "exception")
        told = {} if raised is None else fields_of(json_inside(raised))
        record.error = present(told, "message") if "type" in told else raised
        if "type" in told:
            record.put("error.type", told["type"], self._halves.place_of(record.id, "exception"))

    def _content(self, record: Record, fields: Fields) -> None:
        """What the op was given, without the object that it is a method of, and what it returned."""
        given = {name: held for name, held in object_in(fields, "inputs").items() if name != "self"}
        made_by = _integration(fields)
        if made_by.names_its_tool:
            record.put("gen_ai.tool.name", present(given, "name"), "/inputs/name")
        elif "inputs" in fields:
            record.put(INPUT, as_object(given), self._halves.place_of(record.id, "inputs"))
        returned, pointer = first_below(fields, made_by.result, ("output",))
        if returned is None and record.kind == "llm" and record.error is None:
            message = "a model was asked, and what it answered is not in the file"
            self._build.gap("evidence_gap", message, record.spot, trace=record.trace)
        if returned is not None and not _refers(returned):
            record.put(OUTPUT, returned, pointer)
        told = [*given.values(), *([] if returned is None else [returned])]
        if any(f'"{_REFERENCE}'.encode() in bytes(held) for held in told):
            self._elsewhere.setdefault(record.trace, record.spot)

    def say_what_is_elsewhere(self) -> None:
        """A gap of each trace in which a model or a tool was given, or gave, what the server keeps."""
        for trace, spot in self._elsewhere.items():
            message = "what a model or a tool was given or returned is kept on the server, and only referred to here"
            self._build.gap("evidence_gap", message, spot, trace=trace)


_WITH_CONTENT = frozenset({"llm", "tool", "agent", "retriever"})


class _Integration(msgspec.Struct, frozen=True):
    """How an integration writes its ops: where the result stands, where it says what else, whether the tool is named
    among the inputs (which then are no arguments).
    """

    result: tuple[str, ...] = ("output",)
    facts: dict[str, tuple[str, ...]] = {}
    names_its_tool: bool = False


_INTEGRATIONS = {
    "langchain.": _Integration(
        ("output", "outputs"),
        {
            "gen_ai.tool.call.id": ("output", "extra", "tool_call_id"),
            "gen_ai.tool.definitions": ("output", "extra", "invocation_params", "tools"),
            "gen_ai.request.model": ("output", "extra", "metadata", "ls_model_name"),
        },
    ),
    "openai_agent_": _Integration(("output", "output"), names_its_tool=True),
}
"""By how the names of their ops begin."""
_ANY = _Integration()
_FACTS: dict[str, tuple[tuple[str, ...], ...]] = {
    "gen_ai.request.model": (("inputs", "model"), ("output", "model")),
    "gen_ai.usage.input_tokens": (
        ("output", "usage", "prompt_tokens"), ("output", "usage", "input_tokens"),
        ("output", "usage_metadata", "prompt_token_count"),
    ),
    "gen_ai.usage.output_tokens": (
        ("output", "usage", "completion_tokens"), ("output", "usage", "output_tokens"),
        ("output", "usage_metadata", "candidates_token_count"),
    ),
}  # fmt: skip
"""Where a call says what, in the order in which it is believed."""


def _kind_of(fields: Fields) -> str:
    """The kind that the attributes tell, or that the name of an integration's op does; "" where nobody told one."""
    told, name = text(object_in(object_in(fields, "attributes"), "weave"), "kind"), _op_of(fields)
    kind = _KINDS.get(told) or next((kind for head, kind in _KINDS_BY_NAME.items() if name.startswith(head)), "")
    return "embedding" if kind == "llm" and "embed" in name.lower() else kind


def _asked_by(fields: Fields) -> Iterator[str]:
    """The tools that a model asked for in its answer."""
    answer, _ = first_below(fields, _integration(fields).result, ("output",))
    if answer is not None:
        for message in read_response(answer).messages:
            yield from (part.tool for part in message.calls)


def _integration(fields: Fields) -> _Integration:
    name = _op_of(fields)
    return next((one for head, one in _INTEGRATIONS.items() if name.startswith(head)), _ANY)


def _op_of(fields: Fields) -> str:
    """The name of the op: the whole of it, or that in a reference (`weave:///entity/project/op/NAME:DIGEST`)."""
    named = text(fields, "op_name")
    if not named.startswith(_REFERENCE):
        return named
    return named.partition("/op/")[2].partition(":")[0] or named


def _refers(payload: Payload) -> bool:
    return is_text(payload) and text_of(payload).startswith(_REFERENCE)


def _found(data: Payload) -> Iterator[Identified]:
    """Every call in a value. Iterative: batches hold what was sent, which holds calls. What else the SDK sends and
    keeps (objects, tables, files) is no call.
    """
    todo: list[tuple[Payload, str]] = [(data, "")]
    while todo:
        held, pointer = todo.pop()
        if opens_with(held, b"["):
            todo.extend([(item, f"{pointer}/{i}") for i, item in enumerate(items_of(held))][::-1])
            continue
        fields = fields_of(held)
        if _is_call(fields):
            yield text(fields, "id"), fields, pointer
        elif text(fields, "type") not in _NO_CALLS:
            inner = [name for name in (*_LISTS, *_WRAPPERS, *_HALVES) if name in fields and _opens(fields[name])]
            todo.extend([(fields[name], f"{pointer}/{name}") for name in inner][::-1])
            if not inner or unread_calls(fields, frozenset(inner)):
                yield "", fields, pointer


def _opens(held: Payload) -> bool:
    return opens_with(held, b"{") or opens_with(held, b"[")
