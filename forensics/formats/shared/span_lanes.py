"""Which conversation does a span belong to? One lane for each, told apart by agent and by what the prompts repeat."""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING

import msgspec

from forensics.core.build import Lane
from forensics.core.jsonvalue import canonical, unfold, value_of
from forensics.core.trace import NOWHERE, Payload, StepKind
from forensics.formats.shared import span_names as names
from forensics.formats.shared.span_names import Role
from forensics.formats.shared.span_order import NO_PARENT, nearest_above
from forensics.formats.shared.span_roles import AGENTS

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator

    from forensics.core.build import TraceBuilder
    from forensics.core.messages import Message, Part
    from forensics.formats.shared.span_cast import Cast
    from forensics.formats.shared.span_messages import Said


_AROUND = frozenset({Role.GUARDRAIL, Role.AGENT, Role.TOOL})
JUDGE = "guardrail "
"""What stands before the name of a guardrail, where that asks a model and so is a lane of its own."""
_SEVERAL = 2


class Scope(msgspec.Struct, eq=False):
    """The conversations inside one agent span, or inside one tool that asks a model itself; the last begun last.

    `heard` and `asked` say in which of them a message was last shown or said, and a call asked for by its id; `waiting`
    in which calls of a tool may still wait for their execution. `detached`: no agent or tool span stands around it.
    """

    key: str
    agent: str
    detached: bool = False
    lanes: list[Lane] = []
    heard: dict[bytes, Lane] = {}
    asked: dict[str, Lane] = {}
    waiting: dict[str, list[Lane]] = {}
    asked_model: bool = False
    last_text: Payload | None = None
    last_turn: int = NOWHERE


class _Told(msgspec.Struct, frozen=True):
    """Ids that a lane tells of, or the rows of the calls that have them; `by_model`: its turns asked for them."""

    scope: Scope
    lane: Lane
    ids: list[str | None] | tuple[str, ...] | range
    by_model: bool = False


class Scopes:
    """The scopes of one trace, by the agent or tool span around them."""

    def __init__(self, cast: Cast, builder: TraceBuilder) -> None:
        self._cast = cast
        self._builder = builder
        self._scopes: dict[tuple[int, str], Scope] = {}
        self._agents: dict[int, str] = {NO_PARENT: ""}
        self._spoken: dict[str, dict[bytes, Lane]] = {}
        self._unfiled: dict[str, list[tuple[Message, Lane]]] = {}  # said, and not looked for by anybody yet
        self._seen: dict[str, tuple[Scope | None, Lane | None]] = {}
        self._to_note: list[_Told] = []
        self._teller: Scope | None = None
        self._are_several = False
        self._lost = _lost_agents(cast)
        self._judge_above = nearest_above(cast.tree, cast.roles, _AROUND) if Role.GUARDRAIL in cast.roles else None

    def around(self, row: int) -> Scope:
        """The scope in which a span stands. Where no agent span is above it, that of the agent that is named; a model
        that a guardrail asks has a conversation of its own, apart from the agent's.
        """
        judged = NO_PARENT if self._judge_above is None else self._judge_above[row]
        if judged != NO_PARENT and self._cast.roles[judged] is Role.GUARDRAIL:
            span = self._cast.spans[judged]
            name = f"{JUDGE}{span.text(names.GUARDRAIL_NAME) or span.name}"
            self._builder.trace.judges.add(name)
            return self._at(judged, name)
        above = self._cast.scope[row]
        return self._at(above, self._named(row) if above == NO_PARENT else "")

    def inside(self, row: int) -> Scope:
        """The scope that an agent span opens."""
        return self._at(row, "")

    def _at(self, row: int, named: str) -> Scope:
        scope = self._scopes.get((row, named))
        if scope is None:
            key = named if row == NO_PARENT else self._cast.spans[row].id
            scope = self._scopes[row, named] = Scope(key, named or self.agent(row), row == NO_PARENT)
        return scope

    def agent(self, row: int) -> str:
        """The name of the agent that a span is, or that stands around it; "" where none does."""
        cast = self._cast
        if row != NO_PARENT and cast.roles[row] is not Role.AGENT:
            row = cast.agent[row]
        name = self._agents.get(row)
        if name is None:
            span = cast.spans[row]
            name = span.text(names.AGENT_NAME) or span.name.removeprefix("invoke_agent ").removeprefix("agent.")
            self._agents[row] = name
        return name

    def server(self, row: int) -> str:
        """For a format without servers the agent's or the service's name stands for it (CONTRACT: trust)."""
        named = self.agent(row)
        if named:
            return named
        return self._named(row) or self._cast.spans.service(row)

    def _named(self, row: int) -> str:
        """The agent that a span names, or that is the only one that can be its."""
        return self._cast.spans.agent(row) or self._lost.get(row, "")

    def _new_lane(self, scope: Scope) -> Lane:
        lane = self._builder.lane(f"{scope.key}#{len(scope.lanes)}", scope.agent)
        scope.lanes.append(lane)
        return lane

    def shown(self, scope: Scope, said: Said | None) -> Lane:
        """The lane that a prompt continues: the one whose words it repeats; a fresh prompt begins its own."""
        told = [m for m in said.messages if m.step_kind is not StepKind.SYSTEM] if said is not None else []
        spoken = [m for m in told if m.says_model or m.results]
        lane = (
            self._repeated(scope, spoken or told) or self._continued(scope, spoken) or self._told_apart(scope, spoken)
        )
        if lane is None:
            is_fresh = bool(told) and not spoken and bool(scope.lanes) and scope.lanes[-1].fed
            lane = self._new_lane(scope) if is_fresh or not scope.lanes else scope.lanes[-1]
        for message in told:
            scope.heard[message.key] = lane
        return lane

    def _repeated(self, scope: Scope, messages: list[Message]) -> Lane | None:
        """The latest lane that a message of the prompt was heard in."""
        return next((scope.heard[m.key] for m in reversed(messages) if m.key in scope.heard), None)

    def _continued(self, scope: Scope, spoken: list[Message]) -> Lane | None:
        """An agent that is run again may go on where an earlier run left off: its words are in the prompt."""
        earlier = self._spoken_by(scope.agent) if scope.agent and not scope.lanes else None
        if not earlier:
            return None
        lane = next((earlier[key] for m in reversed(spoken) for key in _keys(m) if key in earlier), None)
        if lane is not None:
            scope.lanes.append(lane)
        return lane

    def _spoken_by(self, agent: str) -> dict[bytes, Lane]:
        """What an agent of that name said so far, with the lanes."""
        spoken = self._spoken.setdefault(agent, {})
        for message, lane in self._unfiled.pop(agent, ()):
            spoken[message.key] = lane
            spoken.update((_without_id(part), lane) for part in message.calls)
        return spoken

    def _told_apart(self, scope: Scope, spoken: list[Message]) -> Lane | None:
        """Where the agent's span is lost: the lane whose calls the prompt shows by their ids."""
        if not spoken:
            return None
        self._note_all()
        ids = (part.recorded_id for message in reversed(spoken) for part in (*message.calls, *message.results))
        lane = next((lane for recorded_id in ids if (lane := self._apart(scope, recorded_id)) is not None), None)
        if lane is not None and lane not in scope.lanes:
            scope.lanes.append(lane)
        return lane

    def _apart(self, scope: Scope, recorded_id: str | None) -> Lane | None:
        """The one lane of the trace that told of a call by this id, where it is of another scope and the agent's span
        around either is lost. Scopes of two agents that are both named are never one.
        """
        other, lane = self._seen.get(recorded_id or "", (None, None))
        if other is None or other is scope or not (scope.detached or other.detached):
            return None
        return None if scope.agent and other.agent and scope.agent != other.agent else lane

    def _note_later(self, told: _Told) -> None:
        """An id that two lanes tell of says nothing. Where one scope tells of all ids, nobody asks who told of them."""
        self._to_note.append(told)
        self._are_several = self._are_several or self._teller not in (None, told.scope)
        self._teller = told.scope

    def _note_all(self) -> None:
        """Note the ids that were told of since this was done last."""
        ids_of = self._builder.trace.calls.recorded_ids
        for told in self._to_note:
            for recorded_id in filter(None, ids_of(told.ids) if isinstance(told.ids, range) else told.ids):
                if told.by_model:
                    told.scope.asked[recorded_id] = told.lane
                _, known = self._seen.setdefault(recorded_id, (told.scope, told.lane))
                if known is not told.lane:
                    self._seen[recorded_id] = (None, None)
        self._to_note.clear()

    def said(self, scope: Scope, lane: Lane, *messages: Message, calls: range | None = None) -> None:
        """Model turns of this lane said this, and asked for these calls, where they have rows of their own already."""
        for message in messages:
            if message.key:
                scope.heard[message.key] = lane
            for part in message.calls:
                waiting = scope.waiting.setdefault(part.tool, [])
                if not waiting or waiting[-1] is not lane:
                    waiting.append(lane)
        ids = [part.recorded_id for message in messages for part in message.calls] if calls is None else calls
        self._note_later(_Told(scope, lane, ids, by_model=True))
        if scope.agent:
            compared = [message for message in messages if message.key]
            self._unfiled.setdefault(scope.agent, []).extend(zip(compared, repeat(lane)))

    def asked(self, scope: Scope, tool: str, recorded_id: str) -> Lane:
        """The lane whose model asked for a call, else the latest one."""
        if self._is_alone(scope):
            lane = scope.lanes[0] if scope.lanes else self._new_lane(scope)
        else:
            self._note_all()
            lane = self._asked_apart(scope, recorded_id) or self._asked_inside(scope, tool, recorded_id)
        if recorded_id:
            self._note_later(_Told(scope, lane, (recorded_id,)))
        return lane

    def has_asked(self, scope: Scope, recorded_id: str) -> bool:
        """Whether a turn of a scope asked for a call by that id. Where it is alone, only of a call that waits."""
        if self._is_alone(scope) and not any(lane.fed for lane in scope.lanes):
            return any(lane.unexecuted.with_id(recorded_id) is not None for lane in scope.lanes)
        self._note_all()
        return recorded_id in scope.asked

    def _is_alone(self, scope: Scope) -> bool:
        """Whether a scope has one lane at most, and no other tells of any id."""
        return len(scope.lanes) < _SEVERAL and not self._are_several and self._teller in (None, scope)

    def _asked_apart(self, scope: Scope, recorded_id: str) -> Lane | None:
        """The lane of another scope that waits for the execution of just this call."""
        if recorded_id in scope.asked:
            return None
        lane = self._apart(scope, recorded_id)
        calls = self._builder.trace.calls
        waits = lane is not None and any(calls[row].executed is None for row in lane.calls.get(recorded_id, ()))
        return lane if waits else None

    def _asked_inside(self, scope: Scope, tool: str, recorded_id: str) -> Lane:
        if len(scope.lanes) < _SEVERAL:
            return scope.lanes[0] if scope.lanes else self._new_lane(scope)
        if recorded_id in scope.asked:
            return scope.asked[recorded_id]
        waiting = scope.waiting.get(tool, [])
        while waiting and waiting[-1].unexecuted.latest(tool) is None:
            waiting.pop()
        return waiting[-1] if waiting else scope.lanes[-1]


def _keys(message: Message) -> Iterator[bytes]:
    """By what the words of an earlier run are known again: the message, or its calls where a prompt drops their ids."""
    yield message.key
    for part in message.calls:
        if not part.recorded_id:
            yield _without_id(part)


def _without_id(part: Part) -> bytes:
    """A call by its tool and arguments alone; no key of a message has a NUL in it."""
    told = unfold(value_of(part.payload)) if part.payload is not None else None
    return b"\0".join((b"call", part.tool.encode("utf-8", "surrogatepass"), canonical(told)))


def _lost_agents(cast: Cast) -> dict[int, str]:
    """The agent of spans that stand under no agent span and name none (a tool span often names its agent, a model span
    not): the only one that is named among the spans which hang with it under one span, be that in the evidence or not,
    or else among those that tell of the same call ids.
    """
    apart = (row for row in cast.tree.down if cast.scope[row] == NO_PARENT and cast.roles[row] not in AGENTS)
    name_of = {row: name for row in apart if (name := cast.spans.agent(row))}
    if not name_of:
        return {}
    detached = [row for row in cast.tree.down if cast.scope[row] == NO_PARENT and cast.roles[row] not in AGENTS]
    top = _tops(cast)
    groups = _Groups()
    for row in detached:
        over = cast.spans[top[row]].parent or cast.spans[top[row]].id
        if over:
            groups.join(row, f"span {over}")
    name_of |= _only_names(groups, detached, name_of)
    if len(name_of) < len(detached):
        for row in detached:
            for recorded_id in _told_ids(cast, row):
                groups.join(row, f"call {recorded_id}")
        name_of |= _only_names(groups, [row for row in detached if row not in name_of], name_of)
    return name_of


def _only_names(groups: _Groups, rows: Iterable[int], name_of: dict[int, str]) -> dict[int, str]:
    """The names of the rows whose group names exactly one agent."""
    named: dict[Hashable, set[str]] = {}
    for row, name in name_of.items():
        named.setdefault(groups.of(row), set()).add(name)
    return {row: min(found) for row in rows if len(found := named.get(groups.of(row), set())) == 1}


def _tops(cast: Cast) -> list[int]:
    """For each row the uppermost span above it."""
    top = list(range(len(cast.spans)))
    for row in cast.tree.down:
        if cast.tree.parent[row] != NO_PARENT:
            top[row] = top[cast.tree.parent[row]]
    return top


def _told_ids(cast: Cast, row: int) -> Iterator[str]:
    """The ids of the calls that a span ran, asked for or was shown."""
    if cast.roles[row] is Role.TOOL:
        ran = cast.spans[row].text(names.TOOL_CALL_ID)
        if ran:
            yield ran
    for said in (cast.prompts.get(row), cast.answers.get(row)):
        for message in said.messages if said is not None else ():
            for part in (*message.calls, *message.results):
                if part.recorded_id:
                    yield part.recorded_id


class _Groups:
    """Which things belong together, by what pairs of them do (union-find)."""

    def __init__(self) -> None:
        self._over: dict[Hashable, Hashable] = {}

    def of(self, one: Hashable) -> Hashable:
        """What stands for the group of a thing."""
        over = self._over
        while (above := over.setdefault(one, one)) != one:
            over[one] = over[above]
            one = above
        return one

    def join(self, one: Hashable, other: Hashable) -> None:
        """Make the groups of two things one."""
        self._over[self.of(one)] = self.of(other)
