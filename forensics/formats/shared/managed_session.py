"""What does a session of Anthropic's managed agents tell, event by event? The walk over its events.

What the client sends comes back in the stream under an id, and is told once. Of the threads that an agent starts beside
the first one, the stream has only what they need the client for: each of them is a gap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.core.build import Execution, Spot
from forensics.core.jsonvalue import canonical, text_of, value_of
from forensics.core.late import late
from forensics.core.sanitise import one_line
from forensics.core.times import nanoseconds
from forensics.core.trace import Payload, StepKind
from forensics.formats.shared.call_words import sounds_like_a_call
from forensics.formats.shared.echoes import Echoes
from forensics.formats.shared.entry_chain import EntryChain
from forensics.formats.shared.fields import (
    Fields,
    as_object,
    fields_of,
    is_like_calls,
    is_text,
    is_true,
    items_in,
    names_a_tool,
    object_in,
    present,
    text,
    whole_number,
)
from forensics.formats.shared.lost_arguments import lost_arguments
from forensics.formats.shared.messages.draft import Draft, part_of
from forensics.formats.shared.messages.telling import Doubts, Offers, taint, tell
from forensics.formats.shared.messages.vocabulary import in_place, joined, parse_message
from forensics.formats.shared.rewritten import note_rewritten

if TYPE_CHECKING:
    from collections.abc import Callable

    from forensics.core.build import Lane, TraceBuilder
    from forensics.core.messages import Message
    from forensics.core.reading import EvidenceBuilder

_SESSION_IDS = "sesn_"
_PREVIEWS = frozenset({"event_start", "event_delta"})
_BY_THE_CLIENT = ("user.", "system.")
_ADDED = frozenset({"id", "processed_at", "session_thread_id"})
"""What the service adds to an event that the client sent."""
_ENDS = {"end_turn": True, "requires_action": None}
_GROWING = ("session.", "span.", "workflow_run.")
"""Families of events that tell of no call of the agent, whatever is added to them."""
_READ = frozenset({"content", "input", "agent"})
_PAGE = frozenset({"next_page", "first_id", "has_more", "last_id"})
"""What a list says of itself."""
_OF_A_CALL = late(rb'"(?:agent|user)\.\w*tool_\w+"')
"""The type of an event that is a call or a result, wherever it stands."""


class Event(msgspec.Struct, frozen=True, gc=False):
    """One event: its type, its fields, where it stands, and what makes it unsure (None: nothing)."""

    kind: str
    fields: Fields
    spot: Spot
    tainted: str | None

    @property
    def thread(self) -> str:
        """The thread that it is of; "" for the one whose events these are."""
        return text(self.fields, "session_thread_id") if self.kind in _CROSS_POSTED else ""


class _Turn(msgspec.Struct):
    """A turn of the model that may go on: its number, and what it said so far, which is told when it is over."""

    number: int
    said: list[Payload]


class Sessions:
    """The sessions of one evidence. Events say in no word whose they are: they belong to the one last named."""

    def __init__(self, build: EvidenceBuilder) -> None:
        self.build = build
        self.told: dict[str, Session] = {}
        self.name = ""
        self.before: list[tuple[Fields, Spot, str | None]] = []

    def named(self, value: Payload) -> None:
        """A text in an entry: where it names a session, what follows is of that one."""
        name = text_of(value)
        if name.startswith(_SESSION_IDS):
            self.name = name

    def record(self, fields: Fields, spot: Spot, tainted: str | None) -> None:
        """A session, an event of one, or what an entry says beside them."""
        kind = text(fields, "type")
        if kind == "session":
            self.name = text(fields, "id") or self.name
        elif fields and not fields.keys() - _PAGE and not _goes_on(fields):
            return
        self.build.counts.records += 1
        spot = Spot(spot.place, spot.pointer, nanoseconds(present(fields, "processed_at", "created_at")))
        if kind in KINDS or self.told:
            self._tell(fields, spot, tainted)
        else:
            self.before.append((fields, spot, tainted))

    def _tell(self, fields: Fields, spot: Spot, tainted: str | None) -> None:
        held = self.told.get(self.name) or self.told.pop("", None) or Session(self.build, self.name or "session")
        self.told[self.name] = held
        before, self.before = self.before, []
        for one in (*before, (fields, spot, tainted)):
            held.record(*one)

    def close(self) -> None:
        """Say what can be said only at the end."""
        for one in self.told.values():
            one.close()
            if len(self.told) > 1:
                one.gap(one.spot, "events of several sessions in one evidence, which do not say whose they are")
        self.build.counts.branches = len(self.told)


class Session:
    """The walk over the events of one session."""

    def __init__(self, build: EvidenceBuilder, name: str) -> None:
        self.build = build
        self.builder: TraceBuilder = build.trace(name)
        self.chain, self.echoes = EntryChain(build), Echoes()
        self.doubts, self.offers = Doubts(), Offers()
        self.spot = Spot(0)
        self.model = ""
        self.system: Payload | None = None
        self.agents: dict[str, str] = {}
        self.turns: dict[str, _Turn] = {}
        self.asked: dict[str, Lane] = {}
        self.denied: dict[str, Spot] = {}
        self.previewed: dict[str, Spot] = {}
        self.whole: set[str] = set()
        self.elsewhere: set[str] = set()
        self.requests = 0
        self.asking = False
        self.unheard: Spot | None = None
        self.ended: bool | None = None

    def record(self, fields: Fields, spot: Spot, tainted: str | None) -> None:
        """One record: the session, a preview of an event, or an event, unless it was told already."""
        self.spot = spot
        kind, name = text(fields, "type"), text(fields, "id")
        if kind in _PREVIEWS:
            self._preview(text(object_in(fields, "event"), "id") or text(fields, "event_id"), spot)
            return
        self.whole.add(name)
        if kind in KINDS and (self._is_again(name, fields, spot) or self._came_back(kind, fields)):
            return
        event, before = Event(kind, fields, spot, tainted), len(self.builder.trace.calls)
        KINDS.get(kind, Session.unknown)(self, event)
        self._look_through(event)
        taint(self.builder, tainted, spot, before)

    def _preview(self, name: str, spot: Spot) -> None:
        self.previewed.setdefault(name, spot)

    def _is_again(self, name: str, fields: Fields, spot: Spot) -> bool:
        """Whether the event stands in the evidence already; when it was processed may have been added since."""
        told = {member: held for member, held in fields.items() if member != "processed_at"}
        return self.chain.is_again(name, told, spot, self.builder)

    def _came_back(self, kind: str, fields: Fields) -> bool:
        """Whether an event of the client was told before: as it was sent, or as it came back."""
        if not kind.startswith(_BY_THE_CLIENT):
            return False
        said = {name: value_of(held) for name, held in fields.items() if name not in _ADDED}
        key = canonical({name: held for name, held in said.items() if held is not None and held is not False})
        return self.echoes.is_told(key, sent="id" not in fields)

    def _look_through(self, event: Event) -> None:
        for name, held in event.fields.items():
            if name not in _READ and _is_like_calls(held):
                self.gap(event.spot, f"what looks like a call in a member that is not read ({one_line(name, 40)})")

    def gap(self, spot: Spot, message: str) -> None:
        """Something that may hide a call."""
        self.builder.gap("evidence_gap", message, spot)

    def step(self, kind: StepKind, event: Event, member: str = "", name: str = "") -> int:
        """A step that an event is, with what one of its members holds."""
        payload = present(event.fields, member)
        at = event.spot if payload is None else event.spot.down(f"/{member}")
        return self.builder.step(kind, at, name=name or event.kind, agent=self._agent(event.thread), payload=payload)

    def _agent(self, thread: str) -> str:
        return self.agents.get(thread, "")

    def _lane(self, thread: str) -> Lane:
        return self.builder.lane(thread, self._agent(thread))

    # what is no event of the agent -------------------------------------------------------------------------------

    def head(self, event: Event) -> None:
        """The session as the API tells it."""
        self.agent(object_in(event.fields, "agent"), event.spot.down("/agent"))

    def updated(self, event: Event) -> None:
        """The session is set up otherwise from here on."""
        self.step(StepKind.OTHER, event)
        if present(event.fields, "agent") is not None:
            self.agent(object_in(event.fields, "agent"), event.spot.down("/agent"))

    def agent(self, agent: Fields, spot: Spot) -> None:
        """What an agent is given: its model, its system prompt, the tools that the client defines."""
        self.model = text(object_in(agent, "model"), "id") or text(agent, "model")
        self.agents[""] = text(agent, "name")
        system = present(agent, "system")
        if system is not None and system != self.system:
            self.builder.step(StepKind.SYSTEM, spot.down("/system"), agent=self._agent(""), payload=system)
            self.system = system
        own = [tool for tool in items_in(agent, "tools") if text(fields_of(tool), "type") == "custom"]
        if own:
            self.offers.note(self.builder, msgspec.Raw(b"[%b]" % b",".join(own)), spot.down("/tools"))

    def note(self, event: Event) -> None:
        """What the service tells of the state of things."""
        self.step(StepKind.OTHER, event)

    def unknown(self, event: Event) -> None:
        """A record of a type that no table knows: an event, an object of the API, or what stands beside them."""
        self.step(StepKind.OTHER, event)
        kind, fields = event.kind, event.fields
        if not fields or _goes_on(fields):
            self.gap(event.spot, "what else was listed stands on another page, or deeper than is read")
        elif names_a_tool(fields) or sounds_like_a_call(kind, named=False) or any(map(is_like_calls, fields.values())):
            self.gap(
                event.spot, f"a record of a type that is not known ({one_line(kind or 'none', 40)}) tells of calls"
            )
        elif "." in kind and not kind.startswith(_GROWING):
            self.gap(event.spot, f"an event of a type that is not known ({one_line(kind, 40)})")

    def error(self, event: Event) -> None:
        """Something went wrong in the session."""
        self.step(StepKind.ERROR, event, "error")
        self.ended = False

    def running(self, event: Event) -> None:
        """The session goes on."""
        self.note(event)
        self.ended = None

    def idle(self, event: Event) -> None:
        """The session waits: it ended its turn, or for the client."""
        self.note(event)
        self.ended = _ENDS.get(text(object_in(event.fields, "stop_reason"), "type"), False)

    def compacted(self, event: Event) -> None:
        """The model goes on from a summary."""
        note_rewritten(self.builder, self.step(StepKind.OTHER, event), event.spot)

    # requests of the model ---------------------------------------------------------------------------------------

    def asks_model(self, event: Event) -> None:
        """The model is asked: what it says and asks for from here on is one turn."""
        self._note_unheard()
        self._end_turn("")
        self.requests += 1
        self.asking, self.unheard = True, event.spot

    def model_answered(self, event: Event) -> None:
        """The request of the model ended; what it said stands before this."""
        usage = object_in(event.fields, "model_usage")
        self.build.counts.input_tokens += whole_number(usage, "input_tokens")
        self.build.counts.output_tokens += whole_number(usage, "output_tokens")
        self.asking = False
        if is_true(event.fields, "is_error"):
            self.step(StepKind.ERROR, event)
            self.unheard = None

    def _note_unheard(self) -> None:
        if self.unheard is not None:
            self.gap(self.unheard, "the model was asked, and what it answered is not in the evidence")
        self.unheard = None

    def _turn(self, event: Event) -> _Turn:
        held = self.turns.get(event.thread)
        if held is None:
            number = self.builder.turn(self._lane(event.thread), event.spot, model=self.model)
            held = self.turns[event.thread] = _Turn(number, [])
        if not event.thread:
            self.unheard = None
        return held

    def _turn_over(self, thread: str) -> None:
        """Others speak: what the model says next is another turn, unless it is told when it is asked."""
        if not self.asking or thread:
            self._end_turn(thread)

    def _end_turn(self, thread: str) -> None:
        turn = self.turns.pop(thread, None)
        if turn is not None:
            self.builder.words(turn.number, joined(turn.said))

    # what is said ------------------------------------------------------------------------------------------------

    def said(self, event: Event) -> None:
        """What is put before the model: by a person, as the system's, or by another agent."""
        self._turn_over("")
        role = "system" if event.kind.startswith("system.") else "user"
        tell(self.builder, self._lane(""), (self._message(event, role),), event.spot)

    def outcome(self, event: Event) -> None:
        """What the agent is to bring about."""
        self._turn_over("")
        self.step(StepKind.USER, event, "description")

    def answer(self, event: Event) -> None:
        """Words of the model."""
        turn, message = self._turn(event), self._message(event, "assistant")
        if message.text is not None:
            turn.said.append(message.text)

    def _message(self, event: Event, role: str) -> Message:
        told: Fields = {"role": msgspec.Raw(canonical(role))}
        if "content" in event.fields:
            told["content"] = event.fields["content"]
        message = parse_message(as_object(told), "")
        self.doubts.note(self.builder, (message,), event.spot)
        return message

    # calls -------------------------------------------------------------------------------------------------------

    def asks(self, event: Event) -> None:
        """The model asks for a call, which is allowed, refused, or waits for the client's word."""
        fields, lane, turn = event.fields, self._lane(event.thread), self._turn(event)
        name = text(fields, "id")
        draft = Draft(in_place)
        draft.call(part_of(text(fields, "name"), name, present(fields, "input"), "/input"), fields)
        (part,) = draft.calls
        self.builder.request(
            lane,
            turn.number,
            part.tool,
            part.recorded_id,
            part.payload,
            event.spot.down("/input"),
            server=text(fields, "mcp_server_name") or None,
            tainted=event.tainted or part.tainted,
        )
        lost = lost_arguments(part.tool, fields, "input")
        if lost:
            self.gap(event.spot, lost)
        self.asked[name] = lane
        permission = text(fields, "evaluated_permission")
        if permission == "ask":
            self.step(StepKind.APPROVAL_REQUEST, event, name=part.tool)
        elif permission == "deny":
            self.denied[name] = event.spot

    def confirms(self, event: Event) -> None:
        """The client lets a call run, or does not."""
        self.step(StepKind.APPROVAL, event, "deny_message", text(event.fields, "result"))
        if text(event.fields, "result") == "deny":
            self.denied[_call_of(event.fields)] = event.spot

    def shows(self, event: Event) -> None:
        """What a call gave back, to the service or by the client."""
        self._turn_over(event.thread)
        name, draft = _call_of(event.fields), Draft(in_place)
        draft.result(part_of("", name, present(event.fields, "content"), "/content"), event.fields)
        (part,) = draft.results
        self.builder.show(
            self.asked.get(name) or self._lane(event.thread),
            part.recorded_id,
            "",
            part.payload,
            event.spot.down("/content"),
            failed=part.failed,
            denied=part.denied or (part.failed and name in self.denied),
            unsettled=part.unsettled,
            tainted=event.tainted or part.tainted,
        )

    # what happens elsewhere --------------------------------------------------------------------------------------

    def thread(self, event: Event) -> None:
        """What becomes of a thread, which may be the one whose events these are."""
        name = text(event.fields, "session_thread_id")
        self.agents.setdefault(name, text(event.fields, "agent_name"))
        self.note(event)

    def begins_thread(self, event: Event) -> None:
        """Another agent begins: its events stand in a stream of its own."""
        name, agent = text(event.fields, "session_thread_id"), text(event.fields, "agent_name")
        self.agents[name] = agent
        self.step(StepKind.AGENT, event, name=agent)
        self._elsewhere(
            name, event, f"what the agent {one_line(agent or 'of another thread', 40)} did stands elsewhere"
        )

    def hands_over(self, event: Event) -> None:
        """A message to another agent."""
        agent = text(event.fields, "to_agent_name")
        self.step(StepKind.HANDOFF, event, "content", agent)
        if agent:
            name = text(event.fields, "to_session_thread_id")
            self._elsewhere(name, event, f"what the agent {one_line(agent, 40)} did stands elsewhere")

    def begins_run(self, event: Event) -> None:
        """Work in the background that the agent started."""
        name = text(event.fields, "workflow_run_id")
        self.step(StepKind.AGENT, event, name=text(event.fields, "name"))
        self._elsewhere(name, event, "what a workflow run did is not among the events of the session")

    def _elsewhere(self, name: str, event: Event, message: str) -> None:
        if name not in self.elsewhere:
            self.elsewhere.add(name)
            self.gap(event.spot, message)

    # the end -----------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Say what can be said only at the end: calls that were refused, and what is missing."""
        self._note_unheard()
        for thread in tuple(self.turns):
            self._end_turn(thread)
        for name, spot in self.denied.items():
            self._never_ran(name, spot)
        for name, spot in self.previewed.items():
            if name not in self.whole:
                self.gap(spot, "an event was begun to be told, and does not stand in the evidence")
        if self.builder.trace.turns and not self.requests:
            message = "no request of the model is among the events: other kinds of them may have been left out as well"
            self.gap(self.spot, message)
        self.builder.trace.ended_normally = self.ended

    def _never_ran(self, name: str, spot: Spot) -> None:
        lane = self.asked.get(name)
        rows = [] if lane is None else lane.calls.get(name)
        call = self.builder.trace.calls[rows[-1]] if rows else None
        if lane is not None and call is not None and not call.answered:
            self.builder.execute(lane, Execution(call.tool, spot, name, status="denied"))


def _goes_on(fields: Fields) -> bool:
    """Whether a list says that more of it stands on another page."""
    return present(fields, "next_page") is not None or is_true(fields, "has_more")


def _is_like_calls(held: Payload) -> bool:
    return is_like_calls(held) or (not is_text(held) and _OF_A_CALL.search(bytes(held)) is not None)


def _call_of(fields: Fields) -> str:
    return text(fields, "tool_use_id", "mcp_tool_use_id", "custom_tool_use_id")


_CALLS = ("agent.tool_use", "agent.mcp_tool_use", "agent.custom_tool_use")
_RESULTS = ("agent.tool_result", "agent.mcp_tool_result", "user.custom_tool_result", "user.tool_result")
_CROSS_POSTED = frozenset({*_CALLS, *_RESULTS, "user.tool_confirmation"})
KINDS: dict[str, Callable[[Session, Event], None]] = {
    "session": Session.head,
    "session.updated": Session.updated,
    "user.message": Session.said,
    "system.message": Session.said,
    "agent.thread_message_received": Session.said,
    "user.define_outcome": Session.outcome,
    "agent.message": Session.answer,
    **dict.fromkeys(_CALLS, Session.asks),
    **dict.fromkeys(_RESULTS, Session.shows),
    "user.tool_confirmation": Session.confirms,
    "span.model_request_start": Session.asks_model,
    "span.model_request_end": Session.model_answered,
    "agent.thread_context_compacted": Session.compacted,
    "session.error": Session.error,
    "session.status_running": Session.running,
    "session.status_idle": Session.idle,
    "session.thread_created": Session.begins_thread,
    "session.thread_status_running": Session.thread,
    "session.thread_status_idle": Session.thread,
    "agent.thread_message_sent": Session.hands_over,
    "workflow_run.created": Session.begins_run,
    **dict.fromkeys(
        [
            "agent.thinking",
            "session.deleted",
            "session.status_rescheduled",
            "session.status_terminated",
            "session.thread_status_rescheduled",
            "session.thread_status_terminated",
            "session.usage",
            "span.outcome_evaluation_end",
            "span.outcome_evaluation_ongoing",
            "span.outcome_evaluation_start",
            "user.interrupt",
        ],
        Session.note,
    ),
}
"""By the type of a record, what it is."""
