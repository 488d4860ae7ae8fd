"""What do the events of OpenClaw's telemetry tell together? The messages of each agent as they grow, and what ran.

An agent that begins or ends shows its whole conversation so far; what is new in it is told there. A tool that ran tells
neither its call nor its result: it is compared with what the messages ask for, tool and arguments alike, and where none
of them asks for it, it is a call of which nothing else is known. (Histories spell the ids of calls otherwise when they
are shown again: they are taken for what they were first.)
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from typing import TYPE_CHECKING

import msgspec

from forensics.core.build import Execution, Spot
from forensics.core.jsonvalue import canonical, value_of
from forensics.core.messages import Message
from forensics.core.sanitise import one_line
from forensics.core.times import nanoseconds
from forensics.core.trace import Boundary, StepKind
from forensics.formats.shared.call_words import tells_of_a_tool
from forensics.formats.shared.fields import (
    Fields,
    as_object,
    fields_of,
    is_like_calls,
    items_in,
    object_in,
    opens_with,
    present,
    spelled,
    text,
    unread_calls,
    whole_number,
)
from forensics.formats.shared.messages.telling import Doubts, taint, tell
from forensics.formats.shared.messages.vocabulary import parse_message
from forensics.formats.shared.rewritten import note_rewritten

if TYPE_CHECKING:
    from forensics.core.build import Lane, TraceBuilder
    from forensics.core.messages import Part
    from forensics.core.reading import EvidenceBuilder
    from forensics.core.trace import Payload
    from forensics.formats.shared.json_lines import JsonLine

_BEGINS, _ENDS, _STARTED, _ENDED, _USED = "agent.start", "agent.end", "tool.start", "tool.end", "llm.usage"
_SAID = frozenset({"message.in", "message.sending", "message.out"})
KINDS = frozenset({_BEGINS, _ENDS, _STARTED, _ENDED, _USED, *_SAID})
"""The kinds of events."""
_PUT_IN = frozenset({"compactionSummary", "branchSummary", "custom"})
"""Roles of messages that the harness or an extension puts before the model."""
_READ = frozenset({"messages", "params"})
_READ_OF_A_MESSAGE = frozenset({"content", "details", "function_call", "parts", "tool_calls", "usage"})
_PREFIX, _RAN = "agent:", "ran:"
_LEFT_OUT = "an agent was shown less than before: what it was shown earlier is told all the same"


class _Shown(msgspec.Struct):
    """A message that a conversation shows for the first time: its fields, and itself as it is told."""

    fields: Fields
    message: Message


class _Event(msgspec.Struct):
    """An event: its kind, its fields, where it stands, what taints it, the messages that are new in it, and whether it
    shows less than was shown before.
    """

    kind: str
    fields: Fields
    spot: Spot
    tainted: str | None
    fresh: list[_Shown] = []
    shorter: bool = False


class Telemetry:
    """The events of one file. `shown` are the messages of each conversation so far, by what they say; `asked` are the
    calls that messages ask for, by session, tool and arguments.
    """

    def __init__(self, build: EvidenceBuilder) -> None:
        self.build = build
        self.builder: TraceBuilder = build.trace("telemetry")
        self.events: list[_Event] = []
        self.shown: defaultdict[str, Counter[bytes]] = defaultdict(Counter)
        self.asked: Counter[bytes] = Counter()
        self.first_id: dict[str, str] = {}
        self.last: dict[str, tuple[int, str]] = {}
        self.waiting: defaultdict[tuple[str, str], deque[_Event]] = defaultdict(deque)
        self.prompt: dict[str, bytes] = {}
        self.doubts = Doubts()
        self.number = -1

    # reading -----------------------------------------------------------------------------------------------------

    def line(self, one: JsonLine) -> None:
        """Take the next event."""
        fields = one.fields
        spot = Spot(one.spot.place, "", nanoseconds(present(fields, "ts")))
        event = _Event(text(fields, "type"), fields, spot, one.tainted, [])
        self._follow(event)
        if event.kind in (_BEGINS, _ENDS):
            self._grow(event)
        self.events.append(event)

    def _follow(self, event: _Event) -> None:
        """The events of one start of the plugin are numbered without a hole."""
        if "seq" not in event.fields:
            return
        number, before = whole_number(event.fields, "seq"), self.number
        self.number = number
        if number <= before:
            before = 0  # the plugin started anew
        if before < 0:
            before = min(number, 1) - 1  # it counts from 1
        if number > before + 1:
            message = f"the events {before + 1} to {number - 1} are not in the file"
            self.builder.gap("evidence_gap", message, event.spot)

    def _grow(self, event: _Event) -> None:
        """Take what is new in the conversation that an agent shows."""
        name = text(event.fields, "sessionKey")
        items = items_in(event.fields, "messages")
        self.last[name] = (len(self.events) if items else self.last.get(name, (-1, ""))[0], event.kind)
        left = Counter(self.shown[name])
        for at, item in enumerate(items):
            fields = fields_of(item)
            message = parse_message(item, f"/messages/{at}")
            message = msgspec.structs.replace(message, finish=spelled(text(fields, "stopReason")) or message.finish)
            key = _key_of(message)
            if left[key] > 0:
                left[key] -= 1
                continue
            self.shown[name][key] += 1
            event.fresh.append(_Shown(fields, self._with_first_ids(message)))
            self.asked.update(_call_key(name, part.tool, part.payload) for part in message.calls)
        event.shorter = bool(items) and any(left.values())

    def _with_first_ids(self, message: Message) -> Message:
        def first(part: Part) -> Part:
            name = part.recorded_id or ""
            bare = "".join(filter(str.isalnum, name))
            return msgspec.structs.replace(part, recorded_id=self.first_id.setdefault(bare, name) or None)

        calls, results = tuple(map(first, message.calls)), tuple(map(first, message.results))
        return msgspec.structs.replace(message, calls=calls, results=results)

    # telling -----------------------------------------------------------------------------------------------------

    def tell(self) -> None:
        """Tell all events, in the order of the file."""
        for at, event in enumerate(self.events):
            before = len(self.builder.trace.calls)
            self._tell(at, event)
            taint(self.builder, event.tainted, event.spot, before)
        for waiting in self.waiting.values():
            for begun in waiting:
                self._ran(begun, None)
        for name, (_, kind) in self.last.items():
            if kind == _BEGINS:
                message = f"{one_line(name, 60)} began and its end is not in the file: its tools alone tell what it did"
                self.builder.gap("evidence_gap", message, self.events[-1].spot)

    def _tell(self, at: int, event: _Event) -> None:
        self._look_beside(event.fields, _READ, event.spot)
        if event.kind in (_BEGINS, _ENDS):
            self._agent(at, event)
        elif event.kind == _STARTED:
            self.waiting[_whose(event)].append(event)
        elif event.kind == _ENDED:
            self._tool_ended(event)
        elif event.kind == _USED:
            self._used(event)
        else:
            said = present(event.fields, "content")
            self.builder.step(StepKind.OTHER, event.spot, name=event.kind or "event", payload=said)
            self._look_through(event)

    def _lane(self, name: str) -> Lane:
        return self.builder.lane(name, name.removeprefix(_PREFIX))

    def _agent(self, at: int, event: _Event) -> None:
        """An agent begins or ends, with what is new in its conversation."""
        name = text(event.fields, "sessionKey")
        lane = self._lane(name)
        step = self.builder.step(StepKind.AGENT, event.spot, name=event.kind, agent=lane.agent)
        if event.shorter:
            note_rewritten(self.builder, step, event.spot, _LEFT_OUT)
        self._prompted(at, event, lane)
        for one in event.fresh:
            self._say(one, event.spot, lane)
        held = present(event.fields, "messages")
        if held is not None and not opens_with(held, b"["):
            self.builder.gap("evidence_gap", "messages of an agent that are no list", event.spot.down("/messages"))
        error = present(event.fields, "error")
        if error is not None:
            self.builder.step(StepKind.ERROR, event.spot.down("/error"), agent=lane.agent, payload=error)
        if event.kind == _ENDS:
            self.builder.trace.ended_normally = None if error is None else False

    def _prompted(self, at: int, event: _Event, lane: Lane) -> None:
        """What an agent is asked, unless a conversation that is shown from here on has it."""
        name, asked = text(event.fields, "sessionKey"), present(event.fields, "prompt")
        if asked is None or self.last[name][0] >= at or self.prompt.get(name) == bytes(asked):
            return
        self.prompt[name] = bytes(asked)
        self.builder.step(StepKind.USER, event.spot.down("/prompt"), agent=lane.agent, payload=asked)

    def _say(self, one: _Shown, spot: Spot, lane: Lane) -> None:
        """Tell a message of a conversation, at its own time."""
        at = nanoseconds(present(one.fields, "timestamp"))
        place = Spot(spot.place, spot.pointer, at if at >= 0 else spot.at)
        role = text(one.fields, "role")
        if role in _PUT_IN:
            said, below = present(one.fields, "summary", "content"), place.down(one.message.pointer)
            self.builder.step(StepKind.SYSTEM, below, name=role, agent=lane.agent, payload=said)
            return
        if one.message.says_model:
            self.builder.respond(lane, one.message, place, model=text(one.fields, "model"))
            usage = object_in(one.fields, "usage")
            self._count(usage, "input", "output")
        else:
            tell(self.builder, lane, (one.message,), place)
        self.doubts.note(self.builder, (one.message,), place)
        self._look_beside(one.fields, _READ_OF_A_MESSAGE, place.down(one.message.pointer))
        if "childSessionKey" in object_in(one.fields, "details"):
            self._was_a_sub_agents(lane, one.message)

    def _was_a_sub_agents(self, lane: Lane, message: Message) -> None:
        for part in message.results:
            for row in lane.calls.get(part.recorded_id or ""):
                self.builder.trace.calls[row].boundary = Boundary.SUB_AGENT

    def _count(self, usage: Fields, read: str, written: str) -> None:
        self.build.counts.input_tokens += whole_number(usage, read)
        self.build.counts.output_tokens += whole_number(usage, written)

    def _used(self, event: _Event) -> None:
        """A model answered; of an agent that shows no conversation, what it said is not recorded."""
        name = text(event.fields, "sessionKey")
        if self.last.get(name, (-1, ""))[0] >= 0:
            self.builder.step(StepKind.OTHER, event.spot, name=_USED)
            return
        self._count(event.fields, "inputTokens", "outputTokens")
        self.builder.silent_turn(self._lane(name), event.spot, model=text(event.fields, "model"))

    # what ran ----------------------------------------------------------------------------------------------------

    def _tool_ended(self, event: _Event) -> None:
        """A tool ended: the one of that name that began first in that session. Where several are under way, and it
        failed, it is not known which of them did.
        """
        waiting = self.waiting[_whose(event)]
        if not waiting:
            message = f"{one_line(text(event.fields, 'toolName'), 60)} ended that did not begin in the file"
            self.builder.gap("evidence_gap", message, event.spot)
            return
        self._ran(waiting.popleft(), event, sure=not waiting)

    def _ran(self, begun: _Event, ended: _Event | None, *, sure: bool = True) -> None:
        """A tool that ran; one that a message asks for is told there."""
        tool, arguments = text(begun.fields, "toolName"), present(begun.fields, "params")
        key = _call_key(text(begun.fields, "sessionKey"), tool, arguments)
        if self.asked[key] > 0:
            self.asked[key] -= 1
            return
        error = None if ended is None else present(ended.fields, "error")
        failed = ended is not None and bytes(ended.fields.get("success", b"true")) == b"false"
        ran = Execution(
            tool,
            begun.spot,
            arguments=arguments,
            error=error if failed and sure else None,
            status="" if ended is None else "ok" if not failed else "error" if sure else "unsettled",
            ended=ended is not None,
            start=begun.spot.at,
            end=-1 if ended is None else ended.spot.at,
        )
        lane = self._lane(text(begun.fields, "sessionKey"))
        self.builder.execute(self.builder.lane(f"{_RAN}{lane.agent}", lane.agent), ran)  # it is none that was asked for

    def _look_beside(self, fields: Fields, read: frozenset[str], spot: Spot) -> None:
        """A gap where a member that is not read looks like a call."""
        for name in unread_calls(fields, read):
            message = f"what looks like a call in a member that is not read ({one_line(name, 40)})"
            self.builder.gap("evidence_gap", message, spot)

    def _look_through(self, event: _Event) -> None:
        """A gap where an event of another kind may be a call."""
        if event.kind not in KINDS and (
            not event.kind or is_like_calls(as_object(event.fields)) or tells_of_a_tool(event.kind, event.fields)
        ):
            what = one_line(event.kind or "(none)", 40)
            self.builder.gap("evidence_gap", f"an event of a kind that is not known ({what}) may be a call", event.spot)


def _whose(event: _Event) -> tuple[str, str]:
    return text(event.fields, "sessionKey"), text(event.fields, "toolName")


def _call_key(session: str, tool: str, arguments: Payload | None) -> bytes:
    """A tool with its arguments, however they are spelled, in one session."""
    return canonical([session, tool, None if arguments is None else value_of(arguments)])


def _key_of(message: Message) -> bytes:
    """What a message says, without the ids of its calls."""
    parts = [message.role.encode("utf-8", "surrogatepass"), b"" if message.text is None else bytes(message.text)]
    for part in (*message.calls, *message.results):
        parts.extend((part.tool.encode("utf-8", "surrogatepass"), b"" if part.payload is None else bytes(part.payload)))
    return b"\0".join(parts)
