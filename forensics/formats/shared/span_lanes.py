"""Which conversation does a span belong to? One lane for each, told apart by agent and by what the prompts repeat."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.core.build import Lane
from forensics.core.trace import NOWHERE, Payload, StepKind
from forensics.formats.shared import span_names as names
from forensics.formats.shared.span_names import Role
from forensics.formats.shared.span_order import NO_PARENT

if TYPE_CHECKING:
    from forensics.core.build import TraceBuilder
    from forensics.core.messages import Message
    from forensics.formats.shared.span_messages import Said
    from forensics.formats.shared.span_roles import Cast


_NAMED = frozenset(names.AGENT_NAME)
_SEVERAL = 2


class Scope(msgspec.Struct):
    """The conversations inside one agent span, or inside one tool that asks a model itself; the last begun last.

    `heard` and `asked` say in which of them a message was last shown or said, and a call asked for by its id; `waiting`
    in which calls of a tool may still wait for their execution.
    """

    key: str
    agent: str
    lanes: list[Lane] = []
    heard: dict[bytes, Lane] = {}
    asked: dict[str, Lane] = {}
    waiting: dict[str, list[Lane]] = {}
    asked_model: bool = False
    last_text: Payload | None = None
    last_turn: int = NOWHERE


class Scopes:
    """The scopes of one trace, by the agent or tool span around them."""

    def __init__(self, cast: Cast, builder: TraceBuilder) -> None:
        self._cast = cast
        self._builder = builder
        self._scopes: dict[tuple[int, str], Scope] = {}
        self._agents: dict[int, str] = {NO_PARENT: ""}
        self._spoken: dict[str, dict[bytes, Lane]] = {}

    def around(self, row: int) -> Scope:
        """The scope in which a span stands. Where no agent span is above it, the agent's name that it carries."""
        above = self._cast.scope[row]
        span = self._cast.spans[row]
        named = above == NO_PARENT and not _NAMED.isdisjoint(span.attributes)
        return self._at(above, span.text(names.AGENT_NAME) if named else "")

    def inside(self, row: int) -> Scope:
        """The scope that an agent span opens."""
        return self._at(row, "")

    def _at(self, row: int, named: str) -> Scope:
        scope = self._scopes.get((row, named))
        if scope is None:
            key = named if row == NO_PARENT else self._cast.spans[row].id
            scope = self._scopes[row, named] = Scope(key, named or self.agent(row))
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
        span = self._cast.spans[row]
        return span.service if _NAMED.isdisjoint(span.attributes) else span.text(names.AGENT_NAME) or span.service

    def _new_lane(self, scope: Scope) -> Lane:
        lane = self._builder.lane(f"{scope.key}#{len(scope.lanes)}", scope.agent)
        scope.lanes.append(lane)
        return lane

    def shown(self, scope: Scope, said: Said | None) -> Lane:
        """The lane that a prompt continues: the one whose words it repeats; a fresh prompt begins its own."""
        told = [m for m in said.messages if m.step_kind is not StepKind.SYSTEM] if said is not None else []
        spoken = [m for m in told if m.says_model or m.results]
        lane = self._repeated(scope, spoken or told) or self._continued(scope, spoken)
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
        earlier = self._spoken.get(scope.agent) if scope.agent and not scope.lanes else None
        lane = next((earlier[m.key] for m in reversed(spoken) if m.key in earlier), None) if earlier else None
        if lane is not None:
            scope.lanes.append(lane)
        return lane

    def said(self, scope: Scope, lane: Lane, message: Message) -> None:
        """A model turn of this lane said this."""
        scope.heard[message.key] = lane
        self._spoken.setdefault(scope.agent, {})[message.key] = lane
        for part in message.calls:
            scope.waiting.setdefault(part.tool, []).append(lane)
            if part.recorded_id:
                scope.asked[part.recorded_id] = lane

    def asked(self, scope: Scope, tool: str, recorded_id: str) -> Lane:
        """The lane whose model asked for a call, else the latest one."""
        if len(scope.lanes) < _SEVERAL:
            return scope.lanes[0] if scope.lanes else self._new_lane(scope)
        if recorded_id in scope.asked:
            return scope.asked[recorded_id]
        waiting = scope.waiting.get(tool, [])
        while waiting and waiting[-1].unexecuted.latest(tool) is None:
            waiting.pop()
        return waiting[-1] if waiting else scope.lanes[-1]
