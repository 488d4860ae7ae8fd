"""What did agent and customer do in the simulations of a tau2-bench file? Two principals: the customer, who is a model
as well, calls tools of its own, and `requestor` says whose a call and a result are.

A result names its call by `id`. Full-duplex (voice) simulations are told tick by tick (FORMATS section 10; the models
are those of tau2's `data_model`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.core.build import Spot
from forensics.core.jsonvalue import canonical, text_of
from forensics.core.messages import Message, Part
from forensics.core.times import nanoseconds
from forensics.core.trace import StepKind
from forensics.errors import UnknownFormatError
from forensics.formats.shared.document import note_cut, open_document
from forensics.formats.shared.fields import (
    as_object,
    fields_of,
    is_true,
    items_in,
    items_of,
    opens_with,
    present,
    text,
    whole_number,
)
from forensics.formats.shared.messages.telling import Doubts, Finder, Offers, taint, tell
from forensics.formats.shared.messages.vocabulary import joined, parse_message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.core.build import Lane, TraceBuilder
    from forensics.core.reading import EvidenceBuilder
    from forensics.core.trace import Payload
    from forensics.formats.shared.document import Document
    from forensics.formats.shared.fields import Fields
    from forensics.formats.shared.reader import Look
    from forensics.formats.shared.source import Source

NAME = "tau2"
ABOUT = "tau2-bench results: simulations with their messages or ticks, in one document or one file each"
CARRIES = "calls and results of the agent and of the customer, arguments, error flags, times, policy"
LACKS = "tool schemas (mostly), what the harness did to the environment before the run, executions apart from results"
RERUN = "the state of the environment that the tools change, the schemas (mostly), and the simulated customer"
RECORDS_CALLS = True
SPANS_ARE_COMPLETE = False

AGENT, CUSTOMER = "assistant", "user"
_POLICY = "/info/environment_info/policy"
_ENDED = frozenset({"user_stop", "agent_stop"})


def sniff(look: Look) -> int:
    """95 for results and for a simulation, alone or in a list; 80 for results whose simulations stand elsewhere."""
    fields = look.members()
    if _is_simulation(fields) or any(_is_simulation(one) for one in look.items()):
        return 95
    if "info" not in fields or "environment_info" not in fields_of(fields["info"]):
        return 0
    return 95 if "simulations" in fields else 80


def _is_simulation(fields: Fields) -> bool:
    """Whether these are the fields of one simulation; of one that breaks off, ticks tell as well."""
    told = {"messages", "ticks"} & fields.keys()
    return "task_id" in fields and bool(told) and ("termination_reason" in fields or "reward_info" in fields)


def read(source: Source, build: EvidenceBuilder) -> None:
    """Tell every simulation. Raises CorruptEvidenceError where nothing of it is JSON, UnknownFormatError for results
    whose simulations stand in files of their own.
    """
    document = open_document(source, build)
    results = fields_of(document.body) if opens_with(document.body, b"{") else {}
    walk = _Walk(build, document, Finder(source, build.places, document.start), results)
    for raw, pointer in _simulations(document.body, results):
        walk.simulation(raw, pointer)
    note_cut(document, build, walk.last)
    if not build.counts.records and document.cut is None:
        message = f"{source.name} holds no simulation"
        raise UnknownFormatError(message, hint="they stand beside it, in simulations/", code="no_trace")


def _simulations(body: Payload, results: Fields) -> Iterator[tuple[Payload, str]]:
    if _is_simulation(results):
        yield body, ""
        return
    listed, base = (results.get("simulations"), "/simulations") if results else (body, "")
    for index, raw in enumerate([] if listed is None else items_of(listed)):
        yield raw, f"{base}/{index}"


class _Walk:
    """The simulations of one evidence on their way to the builder."""

    def __init__(self, build: EvidenceBuilder, document: Document, finder: Finder, results: Fields) -> None:
        self.build = build
        self.document = document
        self.finder = finder
        self.doubts = Doubts()
        self.offers = Offers()
        self.names: dict[str, int] = {}
        self.last: str | None = None
        world = fields_of(fields_of(results["info"]).get("environment_info", _NOTHING)) if "info" in results else {}
        self.tools = present(world, "tool_defs")
        self.policy = present(world, "policy")

    def simulation(self, raw: Payload, pointer: str) -> None:
        """Tell one simulation."""
        fields = fields_of(raw)
        spot = self.document.spot.down(pointer)
        if not {"messages", "ticks"} & fields.keys():
            self.build.gap("evidence_gap", "a simulation without messages", spot)
            return
        self.build.counts.records += 1
        self.last = self._name(fields)
        builder = self.build.trace(self.last)
        one = _Simulation(builder, self, spot)
        one.begin(fields)
        self.offers.note(builder, self.tools, self.document.spot.down("/info/environment_info/tool_defs"))
        for index, item in enumerate(items_in(fields, "messages")):
            one.message(item, f"/messages/{index}")
        if present(fields, "messages") is None or not items_of(fields["messages"]):
            one.ticks(items_in(fields, "ticks"))
        one.end(fields)
        taint(builder, self.document.taint_of(raw), spot)

    def _name(self, fields: Fields) -> str:
        name = text(fields, "id") or f"task-{text(fields, 'task_id')}.{text(fields, 'trial')}"
        self.names[name] = number = self.names.get(name, 0) + 1
        return name if number == 1 else f"{name}#{number}"


class _Simulation:
    """One simulation: a lane for each principal."""

    def __init__(self, builder: TraceBuilder, walk: _Walk, spot: Spot) -> None:
        self.builder = builder
        self.walk = walk
        self.spot = spot
        self.agent = builder.lane("", AGENT)
        self.spoken: dict[str, list[Payload]] = {AGENT: [], CUSTOMER: []}
        self.said: dict[str, Spot] = {}

    def begin(self, fields: Fields) -> None:
        """The policy is the agent's system prompt; the simulation's own stands before that of the results."""
        own = present(fields, "policy")
        policy = own if own is not None else self.walk.policy
        spot = self.spot.down("/policy") if own is not None else self.walk.document.spot.down(_POLICY)
        if policy is not None:
            self.builder.step(StepKind.SYSTEM, spot, agent=AGENT, payload=policy)

    def _lane(self, principal: str) -> Lane:
        """The lane of a principal; the customer's begins when it first calls a tool."""
        return self.builder.lane(CUSTOMER, CUSTOMER) if principal == CUSTOMER else self.agent

    def message(self, raw: Payload, pointer: str) -> None:
        """Tell one message; one that holds several results is told result by result."""
        fields = fields_of(raw)
        results = items_in(fields, "tool_messages")
        for index, item in enumerate(results):
            self.message(item, f"{pointer}/tool_messages/{index}")
        if not results:
            self._tell(raw, fields, pointer)

    def _tell(self, raw: Payload, fields: Fields, pointer: str) -> None:
        place = self.walk.finder.place(raw)
        at = nanoseconds(present(fields, "timestamp"))
        spot = Spot(self.spot.place, self.spot.pointer, at)
        principal = text(fields, "requestor" if text(fields, "role") == "tool" else "role")
        acts = present(fields, "tool_calls") is not None and bool(items_of(fields["tool_calls"]))
        if principal == CUSTOMER and acts:  # a turn of its own, which the agent is not shown
            raw = as_object({**fields, "role": _ASSISTANT})
        message = msgspec.structs.replace(_read(raw, fields, pointer), place=place)
        lane = self._lane(principal if message.results or acts else AGENT)
        tell(self.builder, lane, (message,), spot)
        self.walk.doubts.note(self.builder, (message,), spot)
        self._count(fields, principal)

    def _count(self, fields: Fields, principal: str) -> None:
        usage = fields_of(fields["usage"]) if principal == AGENT and "usage" in fields else {}
        counts = self.walk.build.counts
        counts.input_tokens += whole_number(usage, "prompt_tokens")
        counts.output_tokens += whole_number(usage, "completion_tokens")

    # full duplex -----------------------------------------------------------------------------------------------------

    def ticks(self, ticks: list[Payload]) -> None:
        """Tell the ticks of a voice simulation: who spoke is told by pieces, which are put together turn by turn."""
        silent = False
        for index, raw in enumerate(ticks):
            fields = fields_of(raw)
            silent = self._speech(fields, f"/ticks/{index}") or silent
            for owner, principal in (("agent", AGENT), ("user", CUSTOMER)):
                self._acts(fields, owner, principal, index)
        for principal in (AGENT, CUSTOMER):
            self._spoke(principal)
        if silent:
            message = "a voice simulation whose speech was not kept: what was said and asked for is not recorded"
            self.builder.gap("evidence_gap", message, self.spot.down("/ticks"))

    def _speech(self, fields: Fields, pointer: str) -> bool:
        """Collect what was said in a tick; whether speech is missing."""
        missing = False
        for name, principal, other in (("agent_chunk", AGENT, CUSTOMER), ("user_chunk", CUSTOMER, AGENT)):
            chunk = fields_of(fields[name]) if name in fields else {}
            words = present(chunk, "content")
            if words is not None and bytes(words) != b'""':
                self._spoke(other)
                self.said.setdefault(principal, self._moment(fields, f"{pointer}/{name}"))
                self.spoken[principal].append(words)
            missing = missing or (bool(chunk) and "content" not in chunk)
        return missing

    def _moment(self, fields: Fields, pointer: str) -> Spot:
        return Spot(self.spot.place, self.spot.pointer + pointer, nanoseconds(present(fields, "timestamp")))

    def _spoke(self, principal: str) -> None:
        """Tell what a principal has said since it began to speak."""
        words, self.spoken[principal] = self.spoken[principal], []
        if not words:
            return
        spot = self.said.pop(principal)
        said = joined(words) if len(words) == 1 else msgspec.Raw(canonical("".join(text_of(w) for w in words)))
        if principal == AGENT:
            self.builder.turn(self.agent, spot, text=said)
        else:
            self.builder.step(StepKind.USER, spot, agent=AGENT, payload=said)

    def _acts(self, fields: Fields, owner: str, principal: str, index: int) -> None:
        """The calls of a principal in one tick are one turn; results follow in the same tick or a later one."""
        calls, results = f"{owner}_tool_calls", f"{owner}_tool_results"
        asked = present(fields, calls)
        if asked is not None and items_of(asked):
            self._spoke(principal)
            turn = as_object({"role": _ASSISTANT, "tool_calls": asked})
            spot = self._moment(fields, f"/ticks/{index}")
            tell(self.builder, self._lane(principal), (parse_message(turn, ""),), spot)
        for at, raw in enumerate(items_of(fields.get(results, _NOTHING))):
            self.message(raw, f"/ticks/{index}/{results}/{at}")

    def end(self, fields: Fields) -> None:
        """How it ended: both may stop it; everything else broke it off."""
        reason = present(fields, "termination_reason")
        if reason is None:
            return
        normally = text_of(reason).rsplit(".", 1)[-1].lower() in _ENDED
        self.builder.trace.ended_normally = normally
        if not normally:
            self.builder.step(StepKind.ERROR, self.spot.down("/termination_reason"), name="ended", payload=reason)


def _read(raw: Payload, fields: Fields, pointer: str) -> Message:
    """A message of tau2; a result says its call by `id` and a failure by `error`."""
    message = parse_message(raw, pointer)
    if text(fields, "role") != "tool":
        return message
    content = present(fields, "content")
    part = Part("", text(fields, "id", "tool_call_id") or None, content, "/content", failed=is_true(fields, "error"))
    return msgspec.structs.replace(message, results=(part,), text=None)


_NOTHING = msgspec.Raw(b"null")
_ASSISTANT = msgspec.Raw(b'"assistant"')
