"""What does one LangGraph checkpoint hold, whichever store it came from? The messages of its state, what its tasks
wrote, and where it hangs in the tree of its thread.

The readers (a SQLite store, a JSON history) make these; `checkpoint_walk` tells the builder.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import msgspec

from forensics.core.build import Spot
from forensics.core.jsonvalue import raw
from forensics.core.messages import Message
from forensics.core.pointers import escape
from forensics.core.trace import NOWHERE, Payload
from forensics.formats.shared.messages.vocabulary import parse_message


class Told(msgspec.Struct, frozen=True, gc=False):
    """A message with the id that LangChain gave it ("": none)."""

    id: str
    message: Message


class Found(msgspec.Struct, frozen=True, gc=False):
    """A message where it stands: `pointer` is that inside its record."""

    told: Told
    pointer: str


class Write(msgspec.Struct, frozen=True):
    """What one task wrote to one channel: the messages in it, and the value itself."""

    task: str
    node: str
    channel: str
    value: Payload
    found: tuple[Found, ...]
    spot: Spot
    push: int = NOWHERE


class Checkpoint(msgspec.Struct, frozen=True):
    """One state of a thread. `writes` are those of the tasks that ran on it, `leading` those that led to it (older
    stores kept these in the metadata); `channels` are the state without messages, `sends` the call ids of the tasks
    that it queued, `open` whether something was left to do (None: not said).
    """

    thread: str
    namespace: str
    id: str
    parent: str
    source: str
    at: int
    spot: Spot
    found: tuple[Found, ...]
    channels: dict[str, Payload]
    writes: tuple[Write, ...] = ()
    leading: tuple[Write, ...] = ()
    sends: tuple[str, ...] = ()
    open: bool | None = None
    tainted: str | None = None


class Messages:
    """Finds the messages in stored values; equal ones are parsed once and shared, pointers as well."""

    def __init__(self) -> None:
        self._told: dict[bytes, Told] = {}
        self._pointers: dict[str, str] = {}
        self._values: dict[bytes, Payload] = {}

    def find(self, value: Any, pointer: str) -> tuple[Found, ...]:
        """Every message in a value, in order. Iterative: a state may be nested deeply."""
        found: list[Found] = []
        todo: list[tuple[Any, str]] = [(value, pointer)]
        while todo:
            item, where = todo.pop()
            if isinstance(item, dict):
                told = self._message(item)
                if told is not None:
                    found.append(Found(told, self._pointers.setdefault(where, where)))
                else:
                    todo.extend([(v, f"{where}/{escape(k)}") for k, v in item.items()][::-1])
            elif isinstance(item, list):
                todo.extend([(v, f"{where}/{i}") for i, v in enumerate(item)][::-1])
        return tuple(found)

    def payload(self, value: Any) -> Payload:
        """A value as JSON; equal ones are kept once."""
        told = raw(value)
        return self._values.setdefault(_digest(told), told)

    def _message(self, value: dict[str, Any]) -> Told | None:
        fields = message_fields(value)
        if fields is None:
            return None
        body = raw(fields)
        digest = _digest(body)
        told = self._told.get(digest)
        if told is None:
            told = self._told[digest] = Told(_id_of(fields), parse_message(body, ""))
        return told


def _digest(body: Payload) -> bytes:
    return blake2b(bytes(body), digest_size=16).digest()


_ROLES = {
    "human": "user", "HumanMessage": "user", "HumanMessageChunk": "user",
    "ai": "assistant", "AIMessage": "assistant", "AIMessageChunk": "assistant",
    "system": "system", "SystemMessage": "system", "SystemMessageChunk": "system",
    "tool": "tool", "ToolMessage": "tool", "ToolMessageChunk": "tool",
    "function": "tool", "FunctionMessage": "tool", "FunctionMessageChunk": "tool",
    "developer": "system", "chat": "assistant",
}  # fmt: skip


def message_fields(value: dict[str, Any]) -> dict[str, Any] | None:
    """The fields of an object that is a message, in any of the shapes that a state holds; None for any other object.

    Shapes: LangChain's own fields (`type`, `content`), `lc` constructors (`kwargs`), dictionaries (`type`, `data`),
    messages with a role, and the bare `tool_calls` or `tool_call_id` that a node may have returned.
    """
    kind = value.get("type")
    if "lc" in value and isinstance(value.get("kwargs"), dict):
        return _with_role(value["kwargs"], _ROLES.get(_last_of(value.get("id"))))
    if isinstance(value.get("data"), dict) and isinstance(kind, str):
        return _with_role(value["data"], _ROLES.get(kind))
    if isinstance(kind, str) and kind in _ROLES and "content" in value:
        return _with_role(value, _ROLES[kind])
    return _bare(value)


def _bare(value: dict[str, Any]) -> dict[str, Any] | None:
    """A message that no class of LangChain's names."""
    if isinstance(value.get("role"), str):
        return value if value.keys() & {"content", "tool_calls"} else None
    if isinstance(value.get("tool_calls"), list):
        return {"role": "assistant", **value}
    is_result = isinstance(value.get("tool_call_id"), str) and "content" in value
    return {"role": "tool", **value} if is_result else None


def _last_of(name: object) -> str:
    """The class in the path that a constructor names."""
    return name[-1] if isinstance(name, list) and name and isinstance(name[-1], str) else ""


def _with_role(fields: dict[str, Any], role: str | None) -> dict[str, Any] | None:
    if role is None:
        return None
    told = {k: v for k, v in fields.items() if k != "type"}
    return {**told, "role": role}


def _id_of(fields: dict[str, Any]) -> str:
    told = fields.get("id")
    return told if isinstance(told, str) else ""


# what a state and its tasks leave to say ---------------------------------------------------------------------------

INTERNAL = ("__", "branch:to:", "start:", "join:")
"""How the channels begin by which a graph steers itself."""


def is_internal(channel: str) -> bool:
    """Whether a channel steers the graph and holds no state of the agent's."""
    return channel.startswith(INTERNAL)


def read_state(messages: Messages, values: Any, pointer: str) -> tuple[tuple[Found, ...], dict[str, Payload]]:
    """The messages in a state, and its channels that hold none."""
    found: list[Found] = []
    channels: dict[str, Payload] = {}
    for channel, value in values.items() if isinstance(values, dict) else ():
        if value in (None, [], {}) or (is_internal(channel) and not _is_plain_input(channel, value)):
            continue
        told = messages.find(value, f"{pointer}/{escape(channel)}")
        if told:
            found.extend(told)
        else:
            channels[channel] = messages.payload(value)
    return tuple(found), channels


def _is_plain_input(channel: str, value: Any) -> bool:
    """Whether that is what a run was begun with, and no list of messages, which the next state shows."""
    return channel == "__start__" and not (isinstance(value, dict) and "messages" in value)


def call_ids(sends: Any) -> tuple[str, ...]:
    """For each queued task, the id of the one call that it is to run ("": none, or several)."""
    return tuple(_one_call(send) for send in sends) if isinstance(sends, list) else ()


def _one_call(send: Any) -> str:
    """A task queued for one call carries it: `{name, args, id, type: "tool_call"}`, perhaps in a list or a wrapper."""
    found: set[str] = set()
    todo = [send]
    while todo:
        item = todo.pop()
        if isinstance(item, dict):
            if item.get("type") == "tool_call" and isinstance(item.get("id"), str):
                found.add(item["id"])
            else:
                todo.extend(v for k, v in item.items() if k != "state")
        elif isinstance(item, list):
            todo.extend(item)
    return found.pop() if len(found) == 1 else ""


def node_of(path: str) -> tuple[str, int]:
    """The node that a task ran, as its path says (`~__pregel_pull, agent`), or the number of the queued task."""
    parts = [part.strip() for part in path.lstrip("~").split(",")]
    if parts[0] == "__pregel_pull" and len(parts) > 1:
        return parts[1], NOWHERE
    if parts[0] == "__pregel_push" and len(parts) > 1 and parts[1].isdigit():
        return "", int(parts[1][:9])
    return "", NOWHERE


def has_open_tasks(values: Any) -> bool | None:
    """Whether a state queued something to do next, as its own channels say; None where it has none that tell."""
    if not isinstance(values, dict):
        return None
    steering = [c for c in values if c.startswith(INTERNAL) and c != "__start__"]
    return bool(steering) or ("__start__" in values)
