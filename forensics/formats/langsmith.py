"""Are these runs of LangSmith, and what does each say? Exports and API answers (one run, a list, lines, with child runs
inside), and the bodies that its SDKs send (`post` and `patch`, of which two may tell one run).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.core.jsonvalue import raw, text_of
from forensics.core.times import nanoseconds
from forensics.formats.shared.chunks import documents
from forensics.formats.shared.fields import Fields, fields_of, items_of, opens_with, present, text
from forensics.formats.shared.halves import Halves, Identified
from forensics.formats.shared.observed import INPUT, OUTPUT, Record, first_below, span_of
from forensics.formats.shared.span_walk import walk_spans

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.core.reading import EvidenceBuilder
    from forensics.core.trace import Payload
    from forensics.formats.shared.document import Document
    from forensics.formats.shared.reader import Look
    from forensics.formats.shared.source import Source
    from forensics.formats.shared.spans import Span

NAME = "langsmith"
ABOUT = "LangSmith runs: exports, API answers, and the batches that its SDKs send"
CARRIES = "run tree, prompts, calls, executions, results, errors, pauses, tool schemas; times in µs"
LACKS = "streamed answers that were never put together; what a resumed thread did before (it is another trace)"
RERUN = "what a resumed thread did before: that is another trace"
RECORDS_CALLS = True
SPANS_ARE_COMPLETE = False

_KINDS = {
    "llm": "llm", "tool": "tool", "chain": "chain", "retriever": "retriever", "embedding": "embedding",
    "prompt": "prompt", "parser": "chain",
}  # fmt: skip
_BATCH = ("post", "patch")
_LISTS = (*_BATCH, "runs", "data")
_MARKS = frozenset({"run_type", "dotted_order", "parent_run_id"})
_SURE = 95


def sniff(look: Look) -> int:
    """95 where the first records have the keys of a run."""
    document = look.members()
    if document:
        held = next((document[k] for k in _LISTS if k in document and opens_with(document[k], b"[")), None)
        first = items_of(held)[:1] if held is not None else []
        return _SURE if _is_run(document) or any(_is_run(fields_of(one)) for one in first) else 0
    return _SURE if any(_is_run(one) for one in [*look.items()[:1], *look.lines[:1]]) else 0


def _is_run(fields: Fields) -> bool:
    return bool(_MARKS & fields.keys()) and bool(fields.keys() & {"inputs", "outputs", "start_time", "id"})


def read(source: Source, build: EvidenceBuilder) -> None:
    """Read every run. Raises CorruptEvidenceError where the evidence holds none."""
    reader = _Runs(build)
    for document in documents(source, build, "run"):
        reader.read(document)
    spans = list(reader.spans())
    if not spans:
        raise source.holds_no("run")
    walk_spans(spans, build)
    for trace, session in reader.sessions().items():
        build.trace(trace).trace.session = session


class _Runs:
    """The runs of the evidence: what a patch says is laid over what the post said."""

    def __init__(self, build: EvidenceBuilder) -> None:
        self._halves = Halves(build, "run")
        self._traces: dict[str, str] = {}

    def read(self, document: Document) -> None:
        """Read one value of the evidence."""
        self._halves.read(document, _found)

    def spans(self) -> Iterator[Span]:
        """Every run as a span."""
        for run in self._halves:
            yield span_of(self._record(run))

    def sessions(self) -> dict[str, str]:
        """The session of each trace: the thread that its runs name in their metadata."""
        found: dict[str, str] = {}
        for run in self._halves:
            session, _ = first_below(self._halves.fields(run), *_SESSION)
            if session is not None:
                found.setdefault(self._trace(run), text_of(session))
        return found

    def _record(self, run: str) -> Record:
        fields = self._halves.fields(run)
        kind = text(fields, "run_type").lower()
        record = Record(
            trace=self._trace(run),
            id=run,
            parent=self._parent(run),
            name=text(fields, "name"),
            kind=_KINDS.get(kind, kind or "chain"),
            start=nanoseconds(present(fields, "start_time")),
            end=nanoseconds(present(fields, "end_time")),
            spot=self._halves.spot(run),
            error=present(fields, "error"),
            service=text(fields, "session_name"),
            tainted=self._halves.taint_of(run),
        )
        if record.kind not in _WITHOUT_CONTENT:
            for name, member in ((INPUT, "inputs"), (OUTPUT, "outputs")):
                if member in fields:
                    record.put(name, fields[member], self._halves.place_of(run, member))
        for name, paths in _FACTS.items():
            payload, pointer = first_below(fields, *paths)
            record.put(name, payload, pointer)
        return record

    def _parent(self, run: str) -> str:
        fields = self._halves.fields(run)
        ids = [_last_id(part) for part in text(fields, "dotted_order").split(".")]
        above = ids[-2] if len(ids) > 1 else ""
        return text(fields, "parent_run_id") or above

    def _trace(self, run: str) -> str:
        """The trace that a run names, else the one of the runs above it, else the root's id."""
        way: dict[str, None] = {}
        told = self._traces.get(run, "")
        while not told and run in self._halves and run not in way:
            way[run] = None
            fields = self._halves.fields(run)
            told = text(fields, "trace_id") or _last_id(text(fields, "dotted_order").partition(".")[0])
            run = self._parent(run) or run
            told = told or self._traces.get(run, "")
        self._traces.update(dict.fromkeys(way, told or run))
        return told or run


_SESSION = tuple(("extra", "metadata", name) for name in ("thread_id", "session_id", "conversation_id"))
_WITHOUT_CONTENT = frozenset({"chain", "prompt", "embedding"})
_FACTS: dict[str, tuple[tuple[str, ...], ...]] = {
    "gen_ai.tool.call.id": (("extra", "tool_call_id"),),
    "gen_ai.request.model": (
        ("extra", "invocation_params", "model"), ("extra", "invocation_params", "model_name"),
        ("extra", "metadata", "ls_model_name"), ("inputs", "model"),
    ),
    "gen_ai.tool.definitions": (
        ("extra", "invocation_params", "tools"), ("extra", "invocation_params", "functions"), ("inputs", "tools"),
    ),
    "gen_ai.usage.input_tokens": (
        ("outputs", "usage_metadata", "input_tokens"), ("outputs", "usage", "prompt_tokens"),
        ("outputs", "usage", "input_tokens"), ("outputs", "llm_output", "token_usage", "prompt_tokens"),
        ("prompt_tokens",),
    ),
    "gen_ai.usage.output_tokens": (
        ("outputs", "usage_metadata", "output_tokens"), ("outputs", "usage", "completion_tokens"),
        ("outputs", "usage", "output_tokens"), ("outputs", "llm_output", "token_usage", "completion_tokens"),
        ("completion_tokens",),
    ),
}  # fmt: skip
"""Where a run says what, in the order in which it is believed."""


def _found(data: Payload) -> Iterator[Identified]:
    """Every run in a value. Iterative: runs hold runs."""
    todo: list[tuple[Payload, str, str]] = [(data, "", "")]
    while todo:
        held, pointer, parent = todo.pop()
        if opens_with(held, b"["):
            todo.extend([(item, f"{pointer}/{i}", parent) for i, item in enumerate(items_of(held))][::-1])
            continue
        fields = fields_of(held)
        lists = [] if _is_run(fields) else [k for k in _LISTS if k in fields and opens_with(fields[k], b"[")]
        if lists:
            todo.extend([(fields[name], f"{pointer}/{name}", parent) for name in lists][::-1])
            continue
        inner = fields.pop("child_runs", None)
        if parent:
            fields.setdefault("parent_run_id", raw(parent))
        run = text(fields, "id", "run_id") or _last_id(text(fields, "dotted_order"))
        yield run if _is_run(fields) else "", fields, pointer
        if inner is not None and opens_with(inner, b"["):
            todo.append((inner, f"{pointer}/child_runs", run))


def _last_id(order: str) -> str:
    """The id in the last part of a dotted order: `20261129T203944558732Z<id>`."""
    return order.rpartition(".")[2].partition("Z")[2]
