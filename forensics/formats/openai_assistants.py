"""What was said and run in the threads of an assistant? Messages, runs and the steps of runs, as OpenAI's Assistants
API and Azure's agents gave them: lists of them, one a line, or the events of a stream.

Source: the objects `thread.message`, `thread.run` and `thread.run.step` of that API. A step tells the calls of a turn
with what each gave back, or names the message that the model wrote; messages alone show no call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.core.build import Spot
from forensics.core.jsonvalue import text_of
from forensics.core.times import nanoseconds
from forensics.core.trace import Boundary, StepKind
from forensics.formats.shared.chunks import documents
from forensics.formats.shared.fields import (
    Fields,
    fields_of,
    items_in,
    items_of,
    object_in,
    opens_with,
    present,
    text,
    whole_number,
)
from forensics.formats.shared.halves import Halves, Identified
from forensics.formats.shared.messages.draft import Draft, part_of
from forensics.formats.shared.messages.telling import Doubts, Offers, taint, tell
from forensics.formats.shared.messages.vocabulary import in_place, message_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.core.build import TraceBuilder
    from forensics.core.reading import EvidenceBuilder
    from forensics.core.trace import Payload
    from forensics.formats.shared.reader import Look
    from forensics.formats.shared.source import Source

NAME = "openai-assistants"
ABOUT = "OpenAI Assistants and Azure agents: messages, runs and run steps of threads, lists or one a line"
CARRIES = "calls, arguments, results, tools that the provider ran, errors of runs, tools on offer (runs), times in s"
LACKS = "prompts as they were sent; results of some tools that the provider ran; calls where only messages were kept"
RERUN = "the assistant's instructions and tools where no run was kept, files and what was found in them"
RECORDS_CALLS = True
SPANS_ARE_COMPLETE = False

_SURE = 95
_MESSAGE, _RUN, _STEP = "thread.message", "thread.run", "thread.run.step"
_KINDS = (_MESSAGE, _STEP, _RUN)
_LISTED = frozenset({"run_steps", "runs"})
_HELD = ("data", "messages", "run")
_NO_CALLS = frozenset({"thread", "assistant"})
_CODE = "code_interpreter"
_UNFINISHED = frozenset({"failed", "expired", "cancelled", "incomplete"})
_NOT_HERE = "a message that the model wrote is not in the evidence"
_NO_STEPS = "the steps of a run are not in the evidence: what it called is not told"
_PIECE = "a piece of what was streamed, and the whole of it is not in the evidence"


def sniff(look: Look) -> int:
    """95 where the first records are objects of a thread, or hold a list of some."""
    document = look.members()
    firsts = [document] if document else [*look.items()[:1], *look.lines[:1]]
    return _SURE if any(_holds_objects(fields) for fields in firsts) else 0


def _holds_objects(fields: Fields) -> bool:
    kind = text(fields, "object")
    if kind.removesuffix(".delta") in _KINDS:
        return True
    holds = kind == "list" or not _LISTED.isdisjoint(fields)
    holds = holds or any(name in fields and opens_with(fields[name], b"{") for name in _HELD)
    return holds and any(text(found, "object").removesuffix(".delta") in _KINDS for found in _firsts(fields))


def _firsts(fields: Fields) -> Iterator[Fields]:
    """The first object in each member of a container, and in the list of each."""
    for held in fields.values():
        inner = fields_of(held) if opens_with(held, b"{") else {}
        yield inner
        listed = items_in(inner, "data")[:1] if "data" in inner else []
        yield from (fields_of(item) for item in listed or (items_of(held)[:1] if opens_with(held, b"[") else []))


def read(source: Source, build: EvidenceBuilder) -> None:
    """Tell every thread. Raises CorruptEvidenceError where the evidence holds no object of one."""
    objects = Halves(build, "object of a thread")
    for document in documents(source, build, "object"):
        objects.read(document, _found)
    threads: dict[str, list[_Object]] = {}
    for told in objects:
        one = _Object(objects, told)
        threads.setdefault(one.thread, []).append(one)
    if not threads:
        raise source.holds_no("object of a thread")
    for thread, held in threads.items():
        _Thread(build.trace(thread or "thread"), build, held).tell()


def _found(data: Payload) -> Iterator[Identified]:
    """Every object of a thread in a value, in the order in which it was made: the API lists the latest first."""
    todo: list[tuple[Payload, str]] = [(data, "")]
    while todo:
        held, pointer = todo.pop()
        if opens_with(held, b"["):
            items = [(item, f"{pointer}/{at}") for at, item in enumerate(items_of(held))]
            todo.extend(items if _latest_first(items) else items[::-1])
            continue
        fields = fields_of(held)
        kind = text(fields, "object")
        if kind.removesuffix(".delta") in _KINDS:
            yield text(fields, "id"), fields, pointer
        elif kind not in _NO_CALLS:
            inner = [name for name, one in fields.items() if opens_with(one, b"[") or opens_with(one, b"{")]
            todo.extend([(fields[name], f"{pointer}/{name}") for name in inner][::-1])
            if not inner and not (kind == "list" or text(fields, "event") == "done"):
                yield "", fields, pointer


def _latest_first(items: list[tuple[Payload, str]]) -> bool:
    made = [whole_number(fields_of(item), "created_at") for item, _ in (items[0], items[-1])] if items else [0, 0]
    return made[0] > made[1]


class _Object:
    """One object of a thread, whole."""

    def __init__(self, objects: Halves, told: str) -> None:
        self.id = told
        self.fields = objects.fields(told)
        self.kind = text(self.fields, "object")
        self.thread = text(self.fields, "thread_id")
        self.run = self.id if self.kind == _RUN else text(self.fields, "run_id")
        self.made = whole_number(self.fields, "created_at")
        spot = objects.spot(told)
        self.spot = Spot(spot.place, spot.pointer, nanoseconds(present(self.fields, "created_at")))
        self.tainted = objects.taint_of(told)

    @property
    def is_said_by_the_model(self) -> bool:
        """Whether it is a message of the assistant's."""
        return self.kind == _MESSAGE and text(self.fields, "role") == "assistant"


class _Thread:
    """One thread on its way to the builder."""

    def __init__(self, builder: TraceBuilder, build: EvidenceBuilder, held: list[_Object]) -> None:
        self.builder = builder
        self.build = build
        self.lane = builder.lane()
        self.doubts = Doubts()
        self.offers = Offers()
        self.held = sorted(held, key=lambda one: one.made)
        self.messages = {one.id: one for one in held if one.kind == _MESSAGE}
        self.stepped = {one.run for one in held if one.kind == _STEP}
        self.written = {_written_by(one.fields) for one in held if one.kind == _STEP}

    def tell(self) -> None:
        """Tell what is held, in the order in which it was made."""
        for one in self.held:
            before = len(self.builder.trace.calls)
            if one.kind == _STEP:
                self._step(one)
            elif one.kind == _MESSAGE:
                self._message(one)
            elif one.kind != _RUN:
                self.builder.gap("evidence_gap", _PIECE, one.spot)
            taint(self.builder, one.tainted, one.spot, before)
        for one in self.held:
            if one.kind == _RUN:
                self._run(one)

    def _message(self, one: _Object) -> None:
        if not one.is_said_by_the_model:
            self.builder.step(StepKind.USER, one.spot.down("/content"), payload=_words(one.fields))
        elif one.id not in self.written:
            self._turn(one, one)
            if one.run not in self.stepped:
                self.builder.gap("evidence_gap", _NO_STEPS, one.spot)

    def _turn(self, step: _Object, message: _Object | None) -> None:
        said = None if message is None else _words(message.fields)
        spot = step.spot if message is None else Spot(message.spot.place, message.spot.pointer, step.spot.at)
        self.builder.turn(self.lane, spot, text=said)
        if message is None:
            self.builder.gap("evidence_gap", _NOT_HERE, step.spot)

    def _step(self, one: _Object) -> None:
        usage = object_in(one.fields, "usage")
        self.build.counts.input_tokens += whole_number(usage, "prompt_tokens")
        self.build.counts.output_tokens += whole_number(usage, "completion_tokens")
        written = _written_by(one.fields)
        if written:
            self._turn(one, self.messages.get(written))
            return
        calls = items_in(object_in(one.fields, "step_details"), "tool_calls")
        self._ask(calls, one, "/step_details/tool_calls")
        self._show(calls, one)

    def _ask(self, calls: list[Payload], one: _Object, base: str) -> None:
        """The turn in which the model asked for these calls."""
        draft = Draft(in_place)
        draft.role = "assistant"
        for at, raw in enumerate(calls):
            call = _Call(fields_of(raw))
            part = part_of(call.name, call.id, call.given, f"{base}/{at}", call.boundary)
            draft.call(part, call.inner, freeform=call.name == _CODE)
        message = message_of(draft, {}, "")
        tell(self.builder, self.lane, (message,), one.spot)
        self.doubts.note(self.builder, (message,), one.spot)

    def _show(self, calls: list[Payload], one: _Object) -> None:
        """What they gave back. A step that ended has run what the provider runs; another may have."""
        draft = Draft(in_place)
        draft.role = "tool"
        status = text(one.fields, "status")
        failed = status == "failed"
        for at, raw in enumerate(calls):
            call = _Call(fields_of(raw))
            told = call.gave
            if told is None and failed:
                told = present(object_in(one.fields, "last_error"), "message")
            if told is not None or (status == "completed" and call.boundary is Boundary.PROVIDER_TOOL):
                part = part_of(call.name, call.id, told, f"/step_details/tool_calls/{at}")
                draft.result(part, call.inner, failed=failed and call.gave is None)
        if draft.results:
            tell(self.builder, self.lane, (message_of(draft, {}, ""),), one.spot)

    def _run(self, one: _Object) -> None:
        """What a run offered, what it waits for, and how it failed."""
        self.offers.note(self.builder, present(one.fields, "tools"), one.spot.down("/tools"))
        wanted = object_in(object_in(one.fields, "required_action"), "submit_tool_outputs")
        calls = items_in(wanted, "tool_calls")
        known = {call.recorded_id for call in self.builder.trace.calls}
        if any(text(fields_of(raw), "id") not in known for raw in calls):
            self._ask(calls, one, "/required_action/submit_tool_outputs/tool_calls")
        elif one.run not in self.stepped and not any(held.run == one.run for held in self.messages.values()):
            self.builder.gap("evidence_gap", _NO_STEPS, one.spot)
        error = present(one.fields, "last_error", "incomplete_details")
        if text(one.fields, "status") in _UNFINISHED and error is not None:
            self.builder.step(
                StepKind.ERROR, one.spot.down("/last_error"), payload=present(fields_of(error), "message")
            )


class _Call:
    """A call in a step: of a function, or of a tool that the provider runs and that names its members after itself."""

    def __init__(self, fields: Fields) -> None:
        kind = text(fields, "type")
        held = next((name for name in (kind, "function") if name in fields and opens_with(fields[name], b"{")), "")
        self.inner = object_in(fields, held) if held else fields
        self.id = text(fields, "id")
        self.name = text(self.inner, "name") or kind
        self.boundary = Boundary.TOOL if kind == "function" else Boundary.PROVIDER_TOOL
        self.given = present(self.inner, "arguments", "input", "requesturl", "query")
        self.gave = present(self.inner, "output", "outputs", "results")


def _written_by(fields: Fields) -> str:
    """The id of the message that a step wrote; "" where it is a step of calls."""
    return text(object_in(object_in(fields, "step_details"), "message_creation"), "message_id")


def _words(fields: Fields) -> Payload | None:
    """The words of a message: the one text, or what it holds as it stands."""
    content = present(fields, "content")
    if content is None or not opens_with(content, b"["):
        return content
    texts = [value for item in items_of(content) if (value := _value(fields_of(item))) is not None]
    return texts[0] if len(texts) == 1 and text_of(texts[0]) else content


def _value(part: Fields) -> Payload | None:
    said = part.get("text")
    return present(fields_of(said), "value") if said is not None and opens_with(said, b"{") else said
