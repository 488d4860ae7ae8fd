"""Which conversation does a span belong to? One lane for each, told apart by agent and by what the prompts repeat."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.core.build import Lane
from forensics.core.trace import Payload, StepKind
from forensics.formats.shared import span_names as names
from forensics.formats.shared.span_names import Role
from forensics.formats.shared.span_order import NO_PARENT

if TYPE_CHECKING:
    from forensics.core.build import TraceBuilder
    from forensics.formats.shared.span_messages import Said
    from forensics.formats.shared.span_roles import Cast


_NAMED = frozenset(names.AGENT_NAME)


class Scope(msgspec.Struct):
    """The conversations inside one agent span, or inside one tool that asks a model itself; the last begun last."""

    key: str
    agent: str
    lanes: list[Lane] = []
    asked_model: bool = False
    last_text: Payload | None = None


class Scopes:
    """The scopes of one trace, by the agent or tool span around them."""

    def __init__(self, cast: Cast, builder: TraceBuilder) -> None:
        self._cast = cast
        self._builder = builder
        self._scopes: dict[tuple[int, str], Scope] = {}
        self._agents: dict[int, str] = {NO_PARENT: ""}

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
        while row != NO_PARENT and cast.roles[row] is not Role.AGENT:
            row = cast.scope[row]
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
        spoken = {m.key for m in told if m.says_model or m.results}
        known = self._knowing(scope, spoken or {m.key for m in told})
        if known is not None:
            return known
        if not scope.lanes or (told and not spoken and scope.lanes[-1].fed):
            return self._new_lane(scope)
        return scope.lanes[-1]

    def _knowing(self, scope: Scope, keys: set[bytes]) -> Lane | None:
        """The latest lane with one of these messages; an agent that is run again may go on where it left off."""
        if not keys or (len(scope.lanes) == 1 and not scope.lanes[0].fed):
            return None
        for lane in reversed(scope.lanes):
            if any(entry.key in keys for entry in lane.history):
                return lane
        return self._of_earlier_run(scope, keys) if not scope.lanes else None

    def _of_earlier_run(self, scope: Scope, keys: set[bytes]) -> Lane | None:
        for other in reversed(self._scopes.values()):
            if other is scope or other.agent != scope.agent or not other.agent:
                continue
            for lane in reversed(other.lanes):
                if any(entry.key in keys for entry in lane.history if entry.turn >= 0):
                    scope.lanes.append(lane)
                    return lane
        return None

    def asked(self, scope: Scope, tool: str, recorded_id: str) -> Lane:
        """The lane whose model asked for a call, else the latest one."""
        if len(scope.lanes) > 1:
            for lane in reversed(scope.lanes):
                if lane.unexecuted.holds(recorded_id) if recorded_id else lane.unexecuted.latest(tool):
                    return lane
        return scope.lanes[-1] if scope.lanes else self._new_lane(scope)
