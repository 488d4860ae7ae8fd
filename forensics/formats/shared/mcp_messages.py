"""Which JSON-RPC messages does a record of an MCP log hold, who sent each, and over which connection?

Proxies and debuggers wrap the message in an envelope of their own (`{ts, dir, msg}`, `{origin, payload}`); the names of
its members are read from tables. What the envelope does not say is told from the message: most methods have one sender.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from forensics.core.jsonvalue import text_of
from forensics.core.times import nanoseconds
from forensics.formats.shared.fields import Fields, fields_of, is_text, items_of, present, text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.core.trace import Payload

CLIENT, SERVER = "client", "server"
_BODIES = ("msg", "message", "payload", "data", "body", "rpc", "raw", "content", "request", "response")
_DIRECTIONS = ("dir", "direction", "origin", "from", "source", "sender", "side", "role", "type", "kind")
_CONNECTIONS = ("connection", "connection_id", "conn", "connectionId", "session", "session_id", "sessionId",
                "mcp-session-id", "mcp_session_id", "transport_id")  # fmt: skip
_SERVERS = ("server", "server_name", "serverName")
_TIMES = ("ts", "timestamp", "time", "at")
_SENT_BY = {
    **dict.fromkeys(
        ("c2s", "client", "client->server", "client-to-server", "client_to_server", "out", "outgoing", "send", "sent",
         "tx", "->", ">", "to_server", "outbound", "stdin"), CLIENT),
    **dict.fromkeys(
        ("s2c", "server", "server->client", "server-to-client", "server_to_client", "in", "incoming", "recv", "receive",
         "received", "rx", "<-", "<", "from_server", "inbound", "stdout"), SERVER),
}  # fmt: skip
_ONLY_CLIENTS = ("tools/", "resources/", "prompts/", "completion/", "logging/", "server/", "subscriptions/", "init")
_ONLY_SERVERS = ("sampling/", "elicitation/", "roots/")
_MARKS = frozenset({"method", "result", "error"})
_DEPTH = 3
_HEAD_LINE = re.compile(
    rb"^(?:[^{\"]{0,200}?\b(?:message|request|response)[^{\"]{0,80}?|data):\s*(?=[{\[])", re.IGNORECASE
)
_FROM = re.compile(rb"\b(?:from|by) (client|server)\b|\b(client|server)\s*(?:->|=>)", re.IGNORECASE)


class Envelope(msgspec.Struct, frozen=True, gc=False):
    """What a record says around its message: who sent it ("": not said), over which connection, whose server, when."""

    sender: str = ""
    connection: str = ""
    server: str = ""
    at: int = -1


class Rpc(msgspec.Struct, frozen=True, gc=False):
    """One JSON-RPC message with its envelope; `pointer` is its place in the record, `id` its id as JSON ("": none)."""

    fields: Fields
    pointer: str
    envelope: Envelope
    id: bytes
    method: str

    @property
    def sender(self) -> str:
        """Who sent it: as a method of one side tells, else as the envelope says; "" where neither does."""
        return _sender_of(self) or self.envelope.sender

    @property
    def is_answer(self) -> bool:
        """Whether it answers a request."""
        return not self.method and ("result" in self.fields or "error" in self.fields)


def is_rpc(fields: Fields) -> bool:
    """Whether an object is a JSON-RPC message."""
    if "jsonrpc" in fields:
        return bool(_MARKS & fields.keys())
    return "method" in fields and "params" in fields and "id" in fields


def messages(raw: Payload | memoryview) -> Iterator[Rpc]:
    """The messages of a record: one, several in a batch, or none."""
    yield from _find(raw, "", Envelope(), 0)


def _find(raw: Payload | memoryview, pointer: str, outer: Envelope, depth: int) -> Iterator[Rpc]:
    first = bytes(memoryview(raw)[:64]).lstrip()[:1]
    if depth > _DEPTH:
        return
    if first == b"[":
        for index, item in enumerate(items_of(raw)):
            yield from _find(item, f"{pointer}/{index}", outer, depth + 1)
        return
    if first != b"{":
        return
    fields = fields_of(raw)
    if is_rpc(fields):
        identity = present(fields, "id")
        yield Rpc(fields, pointer, outer, b"" if identity is None else bytes(identity), text(fields, "method"))
        return
    envelope = _envelope(fields, outer)
    for name in _BODIES:
        inner = fields.get(name)
        if inner is not None:
            found = list(_find(_opened(inner), f"{pointer}/{name}", envelope, depth + 1))
            if found:
                yield from found
                return


def _opened(raw: Payload) -> Payload:
    """A message that stands as text in its envelope, as the JSON that the text holds."""
    if not is_text(raw):
        return raw
    return msgspec.Raw(text_of(raw).encode("utf-8", "surrogatepass"))


def _envelope(fields: Fields, outer: Envelope) -> Envelope:
    words = (text(fields, name).strip().lower() for name in _DIRECTIONS if name in fields)
    sender = next((_SENT_BY[word] for word in words if word in _SENT_BY), outer.sender)
    when = present(fields, *_TIMES)
    return Envelope(
        sender,
        text(fields, *_CONNECTIONS) or outer.connection,
        text(fields, *_SERVERS) or outer.server,
        nanoseconds(when) if when is not None else outer.at,
    )


def _sender_of(rpc: Rpc) -> str:
    if rpc.method.startswith(_ONLY_CLIENTS) or rpc.method == "notifications/initialized":
        return CLIENT
    return SERVER if rpc.method.startswith(_ONLY_SERVERS) else ""


def headed(line: memoryview) -> tuple[int, str]:
    """Where the message begins in a line of a text log (`… Message from client: {…}`, `data: {…}`), and who sent it;
    -1 where the line holds none.
    """
    head = bytes(line[:512])
    match = _HEAD_LINE.match(head)
    if match is None:
        return -1, ""
    who = _FROM.search(head[: match.end()])
    return match.end(), "" if who is None else (who[1] or who[2]).decode().lower()
