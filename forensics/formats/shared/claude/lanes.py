"""Whose record is this: the main agent's or a sub-agent's, and which call started that one? The lanes of a Claude Code
session, by ids where they are recorded and by the words of the prompt where not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.core.build import Lane, Spot
from forensics.core.jsonvalue import text_of
from forensics.core.trace import NOWHERE, Payload, StepKind
from forensics.formats.shared.claude.history import digest_of
from forensics.formats.shared.fields import Fields, is_text, is_true, text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.core.build import TraceBuilder
    from forensics.formats.shared.claude.lines import Record

MAIN = "main"
_UNNAMED = "default"  # what the SDK sends before it knows the session


class Open(msgspec.Struct):
    """A lane while the session is read, with its latest turn: the `message.id` that its pieces share, what they said,
    how many calls they asked for and how they say that they ended.
    """

    lane: Lane
    turn: int = NOWHERE
    message: str = ""
    texts: list[Payload] = []
    spot: Spot = Spot(NOWHERE)
    asked: int = 0
    stop: str = ""


class Lanes:
    """The lanes of one session, and the steps of the calls that start sub-agents."""

    def __init__(self) -> None:
        self._open: dict[str, Open] = {}
        self._roots: dict[str, str] = {}
        self._chains = 0
        self._starts: dict[str, int] = {}
        self._prompts: dict[bytes, int] = {}

    def __iter__(self) -> Iterator[Open]:
        """The lanes, in the order in which they began."""
        return iter(self._open.values())

    def begun(self, name: str) -> Open | None:
        """The lane of that name, if it was begun."""
        return self._open.get(name)

    def of(self, record: Record, spot: Spot, builder: TraceBuilder) -> Open:
        """The lane of a record, begun with a step of its own where it is that of a sub-agent."""
        name = self._agent(record)
        one = self._open.get(name)
        if one is None:
            one = self._open[name] = Open(builder.lane(name, name))
            if name != MAIN and MAIN in self._open:
                builder.step(StepKind.AGENT, spot, name=name, agent=name, parent=self._asked_for(record))
        return one

    def started(self, call_id: str, prompt: str, step: int) -> None:
        """Note the call, at that step, that starts a sub-agent with that prompt."""
        self._starts[call_id] = step
        self._prompts[_prompt_key(prompt)] = step

    def wait_for(self, call_id: str) -> bool:
        """Whether a call with that id has no answer yet, in any lane."""
        return any(one.lane.unshown.with_id(call_id) is not None for one in self._open.values())

    def _agent(self, record: Record) -> str:
        """Whose record it is: the main agent's, or a sub-agent's by its id, its call, or the root of its side chain."""
        under, agent = text(record.fields, "parent_tool_use_id"), text(record.fields, "agentId")
        known = lane_name(under, agent, aside=record.aside)
        if known:
            return known
        if not record.parent or not self._chains:
            self._chains += 1
        name = self._roots.get(record.parent, f"sidechain-{self._chains}")
        self._roots[record.uuid] = name
        return name

    def _asked_for(self, record: Record) -> int:
        """The step of the call that started a sub-agent: by its recorded id, else by the words of the prompt."""
        called = text(record.fields, "parent_tool_use_id", "parentToolUseID")
        if called:
            return self._starts.get(called, NOWHERE)
        content = record.content
        said = "" if content is None or not is_text(content) else text_of(content)
        return self._prompts.get(_prompt_key(said), NOWHERE)


def lane_name(under: str, agent: str, *, aside: bool) -> str:
    """The lane of a record by the call that it is made under, by its agent, or as it stands aside; "" where it follows
    from the records before.
    """
    if under:
        return f"agent-{under}"
    if not aside:
        return MAIN
    return f"agent-{agent}" if agent else ""


def trace_id(fields: Fields) -> str:
    """The session, and the sub-agent where the file is that of one; "" where a record names none."""
    session = text(fields, "sessionId", "session_id")
    if session == _UNNAMED:
        return ""
    agent = text(fields, "agentId")
    if session and agent and is_true(fields, "isSidechain"):
        return f"{session}.agent-{agent}"
    return session


def _prompt_key(prompt: str) -> bytes:
    return digest_of(prompt.strip().encode("utf-8", "surrogatepass")) if prompt.strip() else b""
