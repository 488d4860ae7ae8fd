"""Where in a saved state of AutoGen do messages stand? Of a team: the thread of its manager, and what the model of each
agent was shown; teams may stand inside agents. Of one agent: the latter alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.core.pointers import escape
from forensics.core.trace import Payload
from forensics.formats.shared.fields import Fields, fields_of, is_like_calls, is_text, items_in, opens_with, text

if TYPE_CHECKING:
    from collections.abc import Iterator

_THREADS = ("message_thread", "message_buffer")
_CONTEXT = "llm_context"
_INSIDE = ("agent_states", "agent_state", "inner_team_state", "team_state")
MARKS = frozenset({"agent_states", _CONTEXT, "message_thread", "inner_team_state"})
"""Names of which every state has one at its top."""


class Listed(msgspec.Struct, frozen=True, gc=False):
    """A list of messages in a state: whose it is ("": the team's), its items, and where it stands."""

    agent: str
    items: list[Payload]
    pointer: str


class Held(msgspec.Struct):
    """What a state holds: what agents said to one another, what the models were shown, and where calls may stand that
    are not read.
    """

    threads: list[Listed] = []
    contexts: list[Listed] = []
    strange: list[str] = []


def is_state(fields: Fields) -> bool:
    """Whether it is a saved state."""
    return text(fields, "type").endswith("State") and not MARKS.isdisjoint(fields)


def held_in(state: Fields) -> Held:
    """What a state holds. Iterative: teams may stand inside agents."""
    held = Held()
    todo: list[tuple[str, Fields, str]] = [("", state, "")]
    while todo:
        agent, fields, pointer = todo.pop()
        for name in fields:
            below = f"{pointer}/{escape(name)}"
            if name in _THREADS:
                held.threads.append(Listed(agent, items_in(fields, name), below))
            elif name == _CONTEXT:
                context = fields_of(fields[name])
                held.contexts.append(Listed(agent, items_in(context, "messages"), f"{below}/messages"))
            elif name not in _INSIDE and is_like_calls(fields[name]):
                held.strange.append(below)
        todo += reversed(list(_inside(agent, fields, pointer)))
    held.threads.sort(key=lambda one: not one.pointer.endswith(_THREADS[0]))
    return held


def _inside(agent: str, fields: Fields, pointer: str) -> Iterator[tuple[str, Fields, str]]:
    """The states that stand in one, each with the name of the agent whose it is."""
    for name in _INSIDE:
        if name not in fields or is_text(fields[name]) or not opens_with(fields[name], b"{"):
            continue
        inner, below = fields_of(fields[name]), f"{pointer}/{name}"
        if name != "agent_states":
            yield agent, inner, below
            continue
        for key, state in inner.items():
            if opens_with(state, b"{"):
                yield key.partition("/")[0], fields_of(state), f"{below}/{escape(key)}"
