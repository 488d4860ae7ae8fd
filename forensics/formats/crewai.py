"""What did a crew or a flow of CrewAI do? The events of its bus: the batches that its tracing sends, a list of them, or
one a line.

An event that tells what began and one that tells what came of it are one span; the calls of an agent whose model has no
function calls stand in its words, and beside them as the events of the tools that ran.
"""

from __future__ import annotations

from functools import partial
from hashlib import blake2b
from itertools import count
from typing import TYPE_CHECKING

from forensics.core.build import Spot
from forensics.core.late import late
from forensics.core.sanitise import one_line
from forensics.core.times import nanoseconds
from forensics.core.trace import NOWHERE, StepKind
from forensics.formats.shared.call_words import sounds_like_a_call
from forensics.formats.shared.chunks import documents
from forensics.formats.shared.crewai.kinds import A2A, FAILURE, LLM, METHOD, NOT_RUN, RUNS, TOOL, is_known, phase_of
from forensics.formats.shared.crewai.pairing import Pairing
from forensics.formats.shared.crewai.prompts import left_out, says_nothing, writes_a_call
from forensics.formats.shared.crewai.records import span_of_thing
from forensics.formats.shared.crewai.values import opened
from forensics.formats.shared.fields import (
    Fields,
    call_marks,
    fields_of,
    is_like_calls,
    items_of,
    names_a_tool,
    object_in,
    opens_with,
    present,
    text,
    unread_calls,
    whole_number,
)
from forensics.formats.shared.halves import Halves, Identified
from forensics.formats.shared.messages.telling import Offers
from forensics.formats.shared.span_walk import walk_spans

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.core.reading import EvidenceBuilder
    from forensics.core.trace import Payload
    from forensics.formats.shared.document import Document
    from forensics.formats.shared.reader import Look
    from forensics.formats.shared.source import Source
    from forensics.formats.shared.spans import Span

NAME = "crewai"
ABOUT = "CrewAI events: the batches that its tracing sends, a list of events, or one event a line"
CARRIES = "prompts, answers, calls, executions with arguments and results, errors, agents, memory, tool schemas, times"
LACKS = "call ids of executions, whether a result came from the cache; what a flow's own methods did"
RERUN = "what the methods of a flow did, and the memory that was searched"
RECORDS_CALLS = True
SPANS_ARE_COMPLETE = False

_BATCH_OF = late(r"/batches/([^/?#]+)")
_ANSWERED = f"{LLM}_completed"
_NOTHING_SAID = "the model's answer is empty: what it asked for may not be recorded"
_UNANSWERED = "a request to a model of which no event tells the answer"
_OWN_CODE = "a method of a flow in which no event fell: what its own code did is not recorded"
_WRITTEN = "the model wrote down a call, and no event says what came of it"
_LEFT_OUT = "the prompt of a request shows a call or a result when it begins that it does not show when it ends"
_ELSEWHERE = "an agent elsewhere was asked (A2A): what it did is not recorded"


def sniff(look: Look) -> int:
    """95 for batches and for events."""
    shown = [look.document] if look.document is not None else [*look.lines, *look.items()]
    return 95 if any(_is_event(fields) or _is_request(fields) or _events_in(fields) for fields in shown) else 0


def _is_event(fields: Fields) -> bool:
    """Whether it is an event: one that a batch holds, or one as the bus tells it."""
    if "event_data" in fields:
        return "type" in fields and "event_id" in fields
    return "source_fingerprint" in fields and "type" in fields and is_known(text(fields, "type"))


def _is_request(fields: Fields) -> bool:
    """Whether it is a request of the tracing: the head of a batch, its events, or its end."""
    return "body" in fields and "/tracing/" in text(fields, "uri")


def _events_in(fields: Fields) -> bool:
    held = present(fields, "events")
    return held is not None and opens_with(held, b"[") and any(_is_event(fields_of(one)) for one in items_of(held)[:1])


def read(source: Source, build: EvidenceBuilder) -> None:
    """Read every event. Raises CorruptEvidenceError where the evidence holds none."""
    log = _Log(build)
    for document in documents(source, build, "event of CrewAI"):
        log.read(document)
    log.tell()
    if not build.counts.records:
        raise source.holds_no("event of CrewAI")


class _Batch:
    """The events of one run on their way to spans, and what was said of them beside."""

    def __init__(self, name: str, pairing: Pairing) -> None:
        self.name = name
        self.pairing = pairing
        self.events = 0
        self.latest = Spot(NOWHERE)
        self.expected: tuple[int, Spot] | None = None
        self.written: dict[str, Spot] = {}
        self.offered: dict[bytes, tuple[Payload, Spot]] = {}
        self.head: Spot | None = None
        self.asks_elsewhere = False
        self.prompts: dict[str, Payload] = {}


class _Log:
    """The events of one evidence, by run."""

    def __init__(self, build: EvidenceBuilder) -> None:
        self.build = build
        self.halves = Halves(build, "event")
        self.batches: dict[str, _Batch] = {}
        self._numbers = count()
        self._loose: _Batch | None = None

    # what holds events -------------------------------------------------------------------------------------------

    def read(self, document: Document) -> None:
        """Read one value of the evidence."""
        self.halves.read(document, partial(self._found, document.spot))

    def _found(self, spot: Spot, body: Payload) -> Iterator[Identified]:
        if opens_with(body, b"["):
            for index, item in enumerate(items_of(body)):
                yield from self._holder(fields_of(item), item, spot, f"/{index}")
        else:
            yield from self._holder(fields_of(body), body, spot, "")

    def _holder(self, fields: Fields, whole: Payload, spot: Spot, pointer: str) -> Iterator[Identified]:
        """An event, a request of the tracing, or what else holds events."""
        if _is_event(fields):
            yield from self._event(self._loose_batch(fields), fields, whole, spot.down(pointer), pointer)
        elif _is_request(fields):
            batch = self._batch(_batch_named(text(fields, "uri")) or text(object_in(fields, "body"), "trace_id"))
            self._look_beside(batch, fields, frozenset({"body"}), spot.down(pointer))
            yield from self._request(batch, object_in(fields, "body"), spot, f"{pointer}/body")
        elif "events" in fields:
            yield from self._request(self._batch(text(fields, "batch_id", "trace_id")), fields, spot, pointer)
        elif text(fields, "type"):
            yield from self._event(self._loose_batch(fields), fields, whole, spot.down(pointer), pointer)
        else:
            self.build.unread("malformed_line", "a record that is no event and holds none", spot.down(pointer))

    def _batch(self, name: str) -> _Batch:
        name = name or "trace-0"
        return self.batches.setdefault(name, _Batch(name, Pairing(self._numbers)))

    def _loose_batch(self, fields: Fields) -> _Batch:
        """The run of an event that stands in no batch: a new one where one begins and nothing else has not ended."""
        phase = phase_of(text(fields, "type"))
        begins = phase is not None and phase.begins and phase.family in RUNS
        if self._loose is None or (begins and self._loose.pairing.things and not self._loose.pairing.is_open):
            self._loose = self._batch(f"trace-{len(self.batches)}")
        return self._loose

    def _request(self, batch: _Batch, body: Fields, spot: Spot, pointer: str) -> Iterator[Identified]:
        """What a request says: the head of a batch, some of its events, how many there are."""
        at = spot.down(pointer)
        self._note_count(batch, body, at)
        if "execution_context" in body:
            batch.head = at
        events = present(body, "events")
        if events is None:
            return
        listed = items_of(events)
        metadata = object_in(body, "batch_metadata")
        expected = whole_number(metadata, "events_count")
        if present(metadata, "events_count") is not None and expected != len(listed):
            message = f"{len(listed)} events stand in a batch that says it has {expected}"
            self.build.gap("evidence_gap", message, at, trace=batch.name)
        for index, item in enumerate(listed):
            below = f"{pointer}/events/{index}"
            yield from self._event(batch, fields_of(item), item, spot.down(below), below)

    def _note_count(self, batch: _Batch, body: Fields, at: Spot) -> None:
        """How many events were sent, whether all could be, and what stands beside them that looks like calls."""
        self._look_beside(batch, body, frozenset({"events"}), at)
        if present(body, "final_event_count") is not None:
            batch.expected = whole_number(body, "final_event_count"), at
        if text(body, "status") == "failed":
            message = "the tracing says of this batch that it failed: events of it may be missing"
            self.build.gap("evidence_gap", message, at, trace=batch.name)

    # one event ---------------------------------------------------------------------------------------------------

    def _event(self, batch: _Batch, outer: Fields, whole: Payload, at: Spot, pointer: str) -> Iterator[Identified]:
        """One event: the id of the span that it tells of, what it says, and where."""
        kind, name = text(outer, "type"), text(outer, "event_id")
        if batch.pairing.is_again(name, whole):
            self.build.counts.duplicate_records += 1
            self.build.once("duplicate_record", f"the event {one_line(name, 40)} stands twice", at)
            return
        batch.events, batch.latest = batch.events + 1, at
        held = object_in(outer, "event_data") if "event_data" in outer else outer
        facts = {**_agent_in(held), **held, **{key: outer[key] for key in _IDS if present(outer, key) is not None}}
        self._look_beside(batch, outer if "event_data" in outer else {}, _READ_OF_AN_EVENT, at)
        below = f"{pointer}/event_data" if "event_data" in outer else pointer
        self._look_at(batch, kind, facts, at)
        thing = self._thing(batch, kind, facts, nanoseconds(present(outer, "timestamp")))
        if thing:
            self._compare_prompts(batch, thing, facts, at)
            yield thing, held if kind != FAILURE else {key: held[key] for key in ("failure",) if key in held}, below

    def _compare_prompts(self, batch: _Batch, thing: str, facts: Fields, at: Spot) -> None:
        """A request tells its prompt when it begins and when it ends: what the later one leaves out is not read."""
        shown = present(facts, "messages")
        if shown is None:
            return
        before = batch.prompts.setdefault(thing, shown)
        if left_out(before, shown):
            self.build.gap("evidence_gap", _LEFT_OUT, at, trace=batch.name)

    def _thing(self, batch: _Batch, kind: str, facts: Fields, at: int) -> str:
        """The id of what the event tells of; "" where it tells of nothing."""
        phase = phase_of(kind)
        if kind == FAILURE:
            tool = batch.pairing.tool_of(facts)
            return "" if tool is None else tool.id
        if phase is None:
            return ""
        if phase.begins:
            return batch.pairing.begin(phase.family, text(facts, "event_id"), facts, at).id
        return batch.pairing.end(phase.family, facts, at, kind if phase.failed else "").id

    def _look_at(self, batch: _Batch, kind: str, facts: Fields, at: Spot) -> None:
        """What an event says beside what it tells of."""
        asker = text(facts, "agent_role")
        phase = phase_of(kind)
        if kind.startswith(A2A) and not batch.asks_elsewhere:
            batch.asks_elsewhere = True
            self.build.gap("evidence_gap", _ELSEWHERE, at, trace=batch.name)
        elif not kind.startswith(A2A) and not is_known(kind) and _may_be_a_call(kind, facts):
            message = f"an event of the type {one_line(kind or '(none)', 40)}, which may be a call"
            self.build.gap("evidence_gap", message, at, trace=batch.name)
        if is_known(kind):
            self._look_beside(batch, facts, _READ, at)
        if kind in NOT_RUN or kind == FAILURE or (phase is not None and phase.family == TOOL):
            batch.written.pop(asker, None)
        elif phase is not None and phase.family == LLM:
            self._model(batch, kind, facts, at, begins=phase.begins)

    def _look_beside(self, batch: _Batch, fields: Fields, read: frozenset[str], at: Spot) -> None:
        """A gap where a member that is not read looks like a call."""
        for name in unread_calls(fields, read):
            message = f"what looks like a call in a member that is not read ({one_line(name, 40)})"
            self.build.gap("evidence_gap", message, at, trace=batch.name)

    def _model(self, batch: _Batch, kind: str, facts: Fields, at: Spot, *, begins: bool) -> None:
        """A call that a model wrote down before it is asked again, the tools that it is offered, an answer that is
        empty.
        """
        asker = text(facts, "agent_role")
        unanswered = batch.written.pop(asker, None)
        if unanswered is not None:
            self.build.gap("evidence_gap", _WRITTEN, unanswered, trace=batch.name)
        tools, said = present(facts, "tools"), present(facts, "response")
        if begins and tools is not None:
            batch.offered.setdefault(blake2b(tools, digest_size=16).digest(), (tools, at))
        if said is not None and writes_a_call(said):
            batch.written[asker] = at
        if kind == _ANSWERED and says_nothing(facts):
            self.build.gap("evidence_gap", _NOTHING_SAID, at, trace=batch.name)

    # the end -----------------------------------------------------------------------------------------------------

    def tell(self) -> None:
        """Tell the runs, and what of each is not in the evidence."""
        spans: list[Span] = []
        for batch in self.batches.values():
            self._tell_offers(batch)
            spans += [span_of_thing(batch.name, one, self.halves) for one in batch.pairing.things.values()]
        walk_spans(spans, self.build)
        for batch in self.batches.values():
            self._tell_beside(batch)

    def _tell_offers(self, batch: _Batch) -> None:
        offers = Offers()
        for tools, at in batch.offered.values():
            offers.note(self.build.trace(batch.name), opened(tools), at)

    def _tell_beside(self, batch: _Batch) -> None:
        builder = self.build.trace(batch.name)
        for at in batch.written.values():
            builder.gap("evidence_gap", _WRITTEN, at)
        for thing in batch.pairing.things.values():
            if thing.family == LLM and not thing.ended:
                builder.gap("evidence_gap", _UNANSWERED, self.halves.spot(thing.id))
        for thing in batch.pairing.without_inside(METHOD):
            builder.gap("evidence_gap", _OWN_CODE, self.halves.spot(thing.id))
        if batch.pairing.is_open:
            builder.gap("evidence_gap", "the events end before what they tell of has ended", batch.latest)
        if batch.expected is not None and batch.expected[0] != batch.events:
            message = f"{batch.events} events of this batch stand in the evidence, and {batch.expected[0]} were sent"
            builder.gap("evidence_gap", message, batch.expected[1])
        if not batch.events and batch.head is not None:
            builder.step(StepKind.OTHER, batch.head, name="batch")
            builder.gap("evidence_gap", "none of the events of this batch is in the evidence", batch.head)


_READ_OF_AN_EVENT = frozenset({"event_data"})
_READ = frozenset(
    {"agent", "crew", "failure", "messages", "output", "response", "result", "results", "task", "tool", "tool_args"}
    | {"tool_call", "tool_class", "tools", "inputs", "params", "state"}
)
"""Members of events that are read, or hold what a program was made of or worked on."""
_IDS = ("event_id", "parent_event_id", "started_event_id")


def _agent_in(held: Fields) -> Fields:
    """The role of the agent whose event it is, where the agent itself stands in the event."""
    role = object_in(held, "agent").get("role") if "agent" in held else None
    return {} if role is None else {"agent_role": role}


def _batch_named(uri: str) -> str:
    found = _BATCH_OF.search(uri)
    return "" if found is None else found.group(1)


def _may_be_a_call(kind: str, facts: Fields) -> bool:
    """Whether an event of a type that is not known may tell of a call."""
    if not kind or "tool_name" in facts or call_marks(facts) or any(map(is_like_calls, facts.values())):
        return True
    return sounds_like_a_call(kind, named=names_a_tool(facts))
