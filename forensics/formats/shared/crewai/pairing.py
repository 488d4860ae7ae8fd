"""Which events of CrewAI tell one thing, and inside what did it happen?

Newer releases say both, by the ids of events. Older ones say neither: an end is that of the latest of its kind that is
open and shares what both events say (the tool and its arguments, the agent, the task), and what happened inside what
follows from what was open. An id that two events share says nothing.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

import msgspec

from forensics.core.trace import NOWHERE
from forensics.formats.shared.crewai.kinds import AGENT, LEAVES, LLM, MCP, TOOL
from forensics.formats.shared.fields import Fields, present, spelled, text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.core.trace import Payload

Mark = tuple[str, ...]
"""What two events of one thing have in common."""


class Thing(msgspec.Struct):
    """What events tell: of which kind, inside what (""), when it began and ended (-1: not told), and how.

    `agent` is the one that acts in it, `role` what it is called; `detail` says that the thing around it tells the same,
    and `tool` is the tool that runs.
    """

    id: str
    family: str
    inside: str
    role: str
    start: int = NOWHERE
    end: int = NOWHERE
    failed: str = ""
    ended: bool = False
    detail: bool = False
    agent: Thing | None = None
    tool: str = ""


class Pairing:
    """The things of one run, as its events come in. `numbers` gives each its id, in order."""

    def __init__(self, numbers: Iterator[int]) -> None:
        self.things: dict[str, Thing] = {}
        self._numbers = numbers
        self._ids_tell = True
        self._seen: dict[str, bytes] = {}
        self._by_event: dict[str, Thing] = {}
        self._open: dict[Mark, list[Thing]] = {}
        self._around: list[Thing] = []
        self._before_tools: list[Thing] = []
        self._acting: dict[str, list[Thing]] = {}
        self._tools: list[Thing] = []
        self._latest_tool: dict[Mark, Thing] = {}

    def is_again(self, name: str, event: Payload) -> bool:
        """Whether an event was told already: the same words under the same id ("": none)."""
        if not name:
            return False
        words = blake2b(event, digest_size=16).digest()
        known = self._seen.setdefault(name, words)
        if known is words:
            return False
        self._ids_tell = self._ids_tell and known == words
        return known == words

    @property
    def is_open(self) -> bool:
        """Whether something has begun that has not ended."""
        return _latest(self._around) is not None

    def begin(self, family: str, name: str, fields: Fields, at: int) -> Thing:
        """Something begins; `name` is the id of the event that says so."""
        thing = self._new(family, fields, at)
        if name and self._ids_tell:
            self._by_event[name] = thing
        for mark in _marks(family, fields):
            self._open.setdefault(mark, []).append(thing)
        if family not in LEAVES:
            self._around.append(thing)
        if family == TOOL:
            self._tools.append(thing)
        elif family not in LEAVES:
            self._before_tools.append(thing)
        return thing

    def end(self, family: str, fields: Fields, at: int, failed: str) -> Thing:
        """Something ends; of what no event began, the end is all that is known."""
        thing = self._begun(family, fields) or self._new(family, fields, at)
        thing.end, thing.ended, thing.failed = at, True, failed
        self._note_tool(thing, fields)
        return thing

    def tool_of(self, fields: Fields) -> Thing | None:
        """The latest run of the tool that an event names, with its arguments where there is one with these."""
        return next((self._latest_tool[mark] for mark in _marks(TOOL, fields) if mark in self._latest_tool), None)

    def without_inside(self, family: str) -> list[Thing]:
        """The things of a family in which nothing else happened that an event tells."""
        around = {thing.inside for thing in self.things.values()}
        return [thing for thing in self.things.values() if thing.family == family and thing.id not in around]

    def _new(self, family: str, fields: Fields, at: int) -> Thing:
        key = f"{next(self._numbers):09d}"  # where clocks say nothing, the order of the file does
        inside = self._inside(family, fields)
        thing = Thing(key, family, "" if inside is None else inside.id, text(fields, "agent_role"), at)
        thing.tool = spelled(text(fields, "tool_name"))
        around = _latest(self._tools) if family == MCP else None  # whose tool has the server's name before its own
        thing.detail = around is not None and bool(thing.tool) and around.tool.endswith(thing.tool)
        thing.agent = thing if family == AGENT else None if inside is None else inside.agent
        self._name_agent(thing)
        self.things[key] = thing
        self._note_tool(thing, fields)
        return thing

    def _name_agent(self, thing: Thing) -> None:
        """An agent is called as it says itself or, where it does not, as what happens in it says."""
        agent = thing.agent
        if agent is not None and thing.role and (agent is thing or not agent.role):
            agent.role = thing.role
            self._acting.setdefault(agent.role, []).append(agent)

    def _note_tool(self, thing: Thing, fields: Fields) -> None:
        for mark in _marks(TOOL, fields) if thing.family == TOOL else ():
            self._latest_tool[mark] = thing

    def _begun(self, family: str, fields: Fields) -> Thing | None:
        named = self._by_event.get(text(fields, "started_event_id")) if self._ids_tell else None
        if named is not None and named.family == family and not named.ended:
            return named
        open_ones = (_latest(self._open.get(mark, [])) for mark in _marks(family, fields))
        return next((one for one in open_ones if one is not None), None)

    def _inside(self, family: str, fields: Fields) -> Thing | None:
        """What an event happened inside: as it says, else the agent that it names, else what is open. Tools that are
        open together ran side by side, unless an agent in one of them called the other.
        """
        named = self._by_event.get(text(fields, "parent_event_id")) if self._ids_tell else None
        if named is not None:
            return named
        acting = _latest(self._acting.get(text(fields, "agent_role"), [])) if family in _OF_AN_AGENT else None
        return acting or _latest(self._before_tools if family == TOOL else self._around)


_OF_AN_AGENT = LEAVES | {TOOL}


def _latest(things: list[Thing]) -> Thing | None:
    """The latest that has not ended; those that have are let go."""
    while things and things[-1].ended:
        things.pop()
    return things[-1] if things else None


def _marks(family: str, fields: Fields) -> Iterator[Mark]:
    """What the two events of one thing have in common, from what says most to what says least."""
    tool, call = spelled(text(fields, "tool_name")), text(fields, "call_id")
    if tool:
        given = present(fields, "tool_args")
        yield family, tool, "" if given is None else blake2b(given, digest_size=16).hexdigest()
        yield family, tool
    elif family == LLM and call:
        yield family, call
    else:
        yield family, text(fields, "agent_role"), text(fields, "task_id"), text(fields, "method_name")
        yield (family,)
