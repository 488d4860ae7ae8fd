"""Which tools did an MCP client call, and what did the servers answer? A log of JSON-RPC messages, plain or wrapped.

Both generations of the protocol are read: with `initialize`, and without it (2026-07-28). An id is one of its sender
and of its connection; it starts again with each connection (FORMATS section 16; JSON-RPC 2.0, section 5).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from forensics.core.build import Execution, Lane, Spot
from forensics.core.classes import ToolFacts
from forensics.core.evidence import Basis
from forensics.core.findings import finding
from forensics.core.jsonvalue import decode, raw, text_of
from forensics.core.rpc_errors import RpcEnd, RpcError, rpc_error
from forensics.core.sanitise import one_line
from forensics.core.trace import NOWHERE, Payload, StepKind
from forensics.errors import UnknownFormatError
from forensics.formats.shared.fields import (
    Fields,
    fields_of,
    is_text,
    items_of,
    names_a_tool,
    opens_with,
    present,
    text,
)
from forensics.formats.shared.lines import Line, lines
from forensics.formats.shared.mcp_messages import CLIENT, SERVER, Rpc, headed, messages
from forensics.formats.shared.messages.telling import tool_facts
from forensics.formats.shared.walks import walk_evidence

if TYPE_CHECKING:
    from forensics.core.build import TraceBuilder
    from forensics.core.reading import EvidenceBuilder
    from forensics.formats.shared.document import Document
    from forensics.formats.shared.reader import Look
    from forensics.formats.shared.source import Source

NAME = "mcp-jsonrpc"
ABOUT = "MCP messages (JSON-RPC 2.0), one a line or in one list, plain or in an envelope; both generations"
CARRIES = "executions with arguments and results, errors, tool schemas and hints, servers; times where given"
LACKS = "what the model said and was shown, which turn asked for a call"
RERUN = "everything of the model: only its tool calls can be answered from the record"
RECORDS_CALLS = True
SPANS_ARE_COMPLETE = False

_TRUE = b"true"
_CODE = re.compile(rb"-?\d{1,9}")
_JSON = re.compile(rb"\s*(?:\{|\[\s*[{\[])")  # `[info]` begins a line of text
_SERVER_INFO = "io.modelcontextprotocol/serverInfo"
_DENIED = re.compile(r"\b(?:(?:reject|deni|declin)ed by (?:the )?user|user (?:reject|deni|declin)ed)\b", re.IGNORECASE)
_NOTHING = msgspec.Raw(b"{}")
_UNREAD = "a message that may be a call: its method or its id can not be read"
_OTHER_RESULTS = frozenset(
    {
        "tools", "resources", "resourceTemplates", "prompts", "messages", "contents", "completion", "serverInfo",
        "capabilities", "roots", "role", "action",
    }
)  # fmt: skip
"""Members of which one stands in a result that is no tool's."""
_LISTS = ("messages", "history", "log", "entries")


def sniff(look: Look) -> int:
    """95 for messages, 60 for a text log that shows some, 55 for a list of tools, which is no log."""
    shown = [look.document] if look.document is not None else [*look.lines, *look.items()]
    if any(_holds_messages(_raw(fields)) for fields in shown):
        return 95
    if look.document is not None and (_is_tool_list(look.document) or _listed(look.document)):
        return 55 if _is_tool_list(look.document) else 90
    if look.line_arrays and _holds_messages(_raw(look.line_arrays[0])):
        return 95
    return 60 if _is_text_log(look.head) else 0


def _raw(parts: Fields | list[Payload]) -> Payload:
    return raw(parts)


def _holds_messages(raw: Payload) -> bool:
    return any(True for _ in messages(raw))


def _listed(fields: Fields) -> list[Payload]:
    """The messages in a document that is a list with a frame around it."""
    lists = (fields[name] for name in _LISTS if name in fields and not is_text(fields[name]))
    return next((found for raw in lists if (found := items_of(raw)) and _holds_messages(found[0])), [])


def _is_tool_list(fields: Fields) -> bool:
    """Whether a document is what a server says of itself or of one tool, and no log of calls."""
    if "name" in fields and "inputSchema" in fields:
        return True
    tools = fields.get("tools")
    return tools is not None and not is_text(tools) and any("inputSchema" in fields_of(t) for t in items_of(tools)[:1])


def _is_text_log(head: bytes) -> bool:
    return any(headed(memoryview(line))[0] >= 0 and b'"jsonrpc"' in line for line in head.split(b"\n")[:64])


def read(source: Source, build: EvidenceBuilder) -> None:
    """Walk the log. Raises UnknownFormatError for a list of tools, CorruptEvidenceError where it holds no message."""
    walk_evidence(source, build, _Log(build), lines(source), "JSON-RPC message")


class _Request(msgspec.Struct, frozen=True):
    """A request that waits for its answer: its method, and for a tool call its row and what it says."""

    method: str
    row: int = NOWHERE
    ran: Execution | None = None


class _Connection(msgspec.Struct):
    """One connection: its lane, its server, and by sender and id the requests that wait, the latest last."""

    lane: Lane
    server: str | None = None
    waiting: dict[tuple[str, bytes], list[_Request]] = {}


class _Log:
    """The walk over one log."""

    def __init__(self, build: EvidenceBuilder) -> None:
        self.build = build
        self.connections: dict[str, _Connection] = {}
        self.begun = 0
        self.tainted: str | None = None

    # records -----------------------------------------------------------------------------------------------------

    def document(self, _source: Source, document: Document) -> None:
        """A whole file that is one message, a list of them, or a list in a frame."""
        fields = fields_of(document.body) if opens_with(document.body, b"{") else {}
        if _is_tool_list(fields):
            message = "a list of tools, and no log of calls"
            hint = "`forensics classify --tools FILE` says what they do"
            raise UnknownFormatError(message, hint=hint, code="no_trace")
        self.tainted = document.tainted
        framed = _listed(fields)
        if not framed:
            self.record(document.body, document.spot)
            return
        name = next(name for name in _LISTS if name in fields and items_of(fields[name]) == framed)
        for index, item in enumerate(framed):
            self.record(item, document.spot.down(f"/{name}/{index}"))

    def line(self, line: Line) -> None:
        """One line of the log: a record, or text that may hold a message."""
        build = self.build
        build.counts.lines += 1
        place = build.places.add(line=line.number, offset=line.offset, length=len(line.data))
        start, sender = (0, "") if _JSON.match(bytes(line.data[:64])) else headed(line.data)
        if start < 0:
            self._text_line(line, place)
            return
        body = line.data[start:]
        decoded = decode(body)
        if decoded.error is not None:
            code = "nul_padding" if b"\x00" in bytes(body) else "malformed_line"
            build.bad_line(line.number, code, f"line {line.number} is no JSON: {decoded.error}", Spot(place))
            return
        self.tainted = build.faults(decoded.faults, Spot(place))
        self.record(msgspec.Raw(body), Spot(place), sender)

    def _text_line(self, line: Line, place: int) -> None:
        """A line without a message: text of the log, unless a message may have stood in it."""
        data = bytes(line.data)
        if b"jsonrpc" in data or b"\x00" in data or data.lstrip()[:1] in (b'"', b"}", b"]"):
            code = "nul_padding" if b"\x00" in data else "malformed_line"
            self.build.bad_line(line.number, code, f"line {line.number} holds no JSON-RPC message", Spot(place))
            return
        self.build.counts.records += 1
        self._step(StepKind.OTHER, Spot(place), "log line")

    def record(self, raw: Payload, spot: Spot, sender: str = "") -> None:
        """One record: the messages in it, or a record of another kind."""
        self.build.counts.records += 1
        found = False
        for rpc in messages(raw):
            found = True
            at = Spot(spot.place, spot.pointer + rpc.pointer, rpc.envelope.at)
            self._message(rpc, at, rpc.sender or sender)
        if not found:
            if b"tools/call" in bytes(raw):
                self._builder().gap("evidence_gap", "a record that is no message holds what looks like a call", spot)
            self._step(StepKind.OTHER, spot, "record")

    def _builder(self) -> TraceBuilder:
        return self.build.trace("trace-0")

    def _step(self, kind: StepKind, spot: Spot, name: str, payload: Payload | None = None) -> int:
        return self._builder().step(kind, spot, name=name, payload=payload)

    def close(self) -> None:
        """A log ends well when every call in it is answered: it holds no turns that could say more."""
        calls = self._builder().trace.calls
        if calls and all(call.answered for call in calls):
            self._builder().trace.ended_normally = True

    # messages ----------------------------------------------------------------------------------------------------

    def _connection(self, rpc: Rpc) -> _Connection:
        """The connection of a message; `initialize` begins a new one."""
        key = rpc.envelope.connection or rpc.envelope.server
        one = self.connections.get(key)
        if one is None or rpc.method == "initialize":
            self.begun += 1
            lane = self._builder().lane(f"connection {self.begun}")
            one = self.connections[key] = _Connection(lane, rpc.envelope.server or None)
        return one

    def _message(self, rpc: Rpc, spot: Spot, sender: str) -> None:
        one = self._connection(rpc)
        if rpc.is_answer and "method" not in rpc.fields:
            self._answer(one, rpc, spot, sender)
        elif rpc.method == "tools/call" and rpc.id:
            self._call(one, rpc, spot)
        else:
            self._other(one, rpc, spot, sender)

    def _call(self, one: _Connection, rpc: Rpc, spot: Spot) -> None:
        """A request that a tool runs: an execution that no recorded turn asked for."""
        params = fields_of(rpc.fields.get("params", msgspec.Raw(b"{}")))
        ran = Execution(
            tool=text(params, "name"),
            spot=spot,
            recorded_id=_name(rpc.id),
            arguments=present(params, "arguments"),
            server=one.server,
            start=spot.at,
            tainted=self.tainted,
        )
        row = self._builder().begin(one.lane, ran)
        one.waiting.setdefault((CLIENT, rpc.id), []).append(_Request(rpc.method, row, ran))

    def _other(self, one: _Connection, rpc: Rpc, spot: Spot, sender: str) -> None:
        """A request of another method, or a notification: a step, so that nothing is lost. A call without an id may
        have run, and so may what has no method that can be read.
        """
        params = rpc.fields.get("params", _NOTHING)
        asks = opens_with(params, b"{") and names_a_tool(fields_of(params)) and rpc.method != "prompts/get"
        if rpc.method == "tools/call" or not rpc.method or asks:
            self._builder().gap("evidence_gap", _UNREAD, spot)
        if rpc.id:
            one.waiting.setdefault((sender or CLIENT, rpc.id), []).append(_Request(rpc.method))
        elif rpc.method == "notifications/cancelled":
            self._cancelled(one, rpc, sender)
        self._step(StepKind.OTHER, spot, rpc.method or "message")

    def _cancelled(self, one: _Connection, rpc: Rpc, sender: str) -> None:
        """A request that its sender gave up: whether it took effect is open, and no answer follows."""
        params = fields_of(rpc.fields.get("params", msgspec.Raw(b"{}")))
        identity = params.get("requestId")
        waiting = one.waiting.get((sender or CLIENT, b"" if identity is None else bytes(identity)))
        if waiting and waiting[-1].ran is not None:
            given_up = msgspec.structs.replace(waiting[-1].ran, status="unsettled", ended=False)
            self._builder().end(one.lane, waiting[-1].row, given_up)

    # answers -----------------------------------------------------------------------------------------------------

    def _answer(self, one: _Connection, rpc: Rpc, spot: Spot, sender: str) -> None:
        asked = self._asked(one, rpc, sender)
        result = present(rpc.fields, "result")
        self._learn(one, spot, result)
        if asked is None:
            self._unasked(one, rpc, spot, result)
            return
        if asked.ran is None:
            self._step(StepKind.OTHER, spot, f"{asked.method} answer")
            return
        self._builder().end(one.lane, asked.row, _answered(asked.ran, rpc, spot, self.tainted))

    def _asked(self, one: _Connection, rpc: Rpc, sender: str) -> _Request | None:
        """The request that a message answers: the other side's latest with that id."""
        either = (SERVER, CLIENT) if _looks_like_clients(rpc) else (CLIENT, SERVER)
        askers = {CLIENT: (SERVER,), SERVER: (CLIENT,)}.get(sender, either)
        for asker in askers:
            waiting = one.waiting.get((asker, rpc.id))
            if waiting:
                if len(waiting) > 1:
                    self._ambiguous([request.row for request in waiting if request.row >= 0])
                asked = waiting.pop()
                if not waiting:
                    del one.waiting[asker, rpc.id]
                return asked
        return None

    def _ambiguous(self, rows: list[int]) -> None:
        """Requests with one id that wait together: which of them an answer is for can't be told."""
        builder = self._builder()
        calls = [builder.trace.calls[row] for row in rows]
        fresh = [c for c in calls if not any(b.code == "ambiguous_pairing" for b in c.blocks)]
        message = f"{len(calls)} calls with one id wait on one connection: which of them an answer is for can't be told"
        for call in calls:
            call.block("ambiguous_pairing", message)
        if fresh:
            steps = tuple(call.step for call in calls)
            builder.note(finding("ambiguous_pairing", message, steps=steps, basis=Basis.DERIVED))

    def _unasked(self, one: _Connection, rpc: Rpc, spot: Spot, result: Payload | None) -> None:
        """An answer to nothing that the log holds: a tool's result without its call, or another message."""
        said = {} if result is None or is_text(result) else fields_of(result)
        if "content" in said or "structuredContent" in said or "isError" in said:
            self._builder().show(one.lane, _name(rpc.id) or None, "", result, spot)
            return
        error = present(rpc.fields, "error")
        if rpc.id and (error is not None or (said and _OTHER_RESULTS.isdisjoint(said))):
            message = f"an answer to a request that is not in the log ({_name(rpc.id)})"
            self._builder().gap("evidence_gap", message, spot)
        kind = StepKind.OTHER if error is None else StepKind.ERROR
        self._step(kind, spot, "answer", error)

    def _learn(self, one: _Connection, spot: Spot, result: Payload | None) -> None:
        """What an answer says of the server: its name, and its tools with their schemas and hints."""
        if result is None or is_text(result):
            return
        said = fields_of(result)
        meta = present(said, "_meta")
        about = present(said, "serverInfo") or present(fields_of(meta) if meta is not None else {}, _SERVER_INFO)
        if about is not None and not one.server:
            one.server = text(fields_of(about), "name") or None
        tools = present(said, "tools")
        if tools is None or is_text(tools):
            return
        facts = self._builder().trace.facts
        for index, item in enumerate(items_of(tools)):
            place = self.build.places.locator(spot.place, f"{spot.pointer}/result/tools/{index}")
            for found in tool_facts(item):
                known = msgspec.structs.replace(found, server=one.server, locator=place)
                facts[found.name] = _agreed(facts.get(found.name), known)


def _agreed(earlier: ToolFacts | None, now: ToolFacts) -> ToolFacts:
    """What is known of a tool that is listed again: where two servers or two lists tell different stories, neither's
    hints count, and a name that two servers use is no server's.
    """
    if earlier is None or msgspec.structs.replace(earlier, locator=now.locator) == now:
        return earlier or now
    if earlier.server != now.server:
        return ToolFacts(name=now.name, locator=now.locator)
    return msgspec.structs.replace(now, hints=now.hints if now.hints == earlier.hints else {})


def _answered(ran: Execution, rpc: Rpc, spot: Spot, tainted: str | None) -> Execution:
    """A request with its answer."""
    result, error = present(rpc.fields, "result"), present(rpc.fields, "error")
    return msgspec.structs.replace(
        ran,
        result=result,
        error=error,
        status=_status(result, error),
        end=spot.at,
        answer=spot.down("/error" if error is not None else "/result"),
        tainted=ran.tainted or tainted,
    )


def _looks_like_clients(rpc: Rpc) -> bool:
    """Whether an answer is one that only clients give: roots, a sampled message, a filled-in form."""
    result = present(rpc.fields, "result")
    said = {} if result is None or is_text(result) else fields_of(result)
    return bool({"roots", "role", "action"} & said.keys())


def _status(result: Payload | None, error: Payload | None) -> str:
    """How a call ended, as its answer says (`rpc_errors`); what a person denied is told by the words."""
    if error is not None:
        fields = {} if is_text(error) else fields_of(error)
        return _ended(rpc_error(_number(fields), text(fields, "message") or text_of(error)))
    fields = {} if result is None or is_text(result) else fields_of(result)
    if text(fields, "resultType") == "input_required":
        return "pending"
    return "ok" if bytes(fields.get("isError", b"")) != _TRUE else _ended(rpc_error(None, _text_in(fields)))


def _number(error: Fields) -> int | None:
    code = bytes(error.get("code", b""))
    return int(code) if _CODE.fullmatch(code) else None


def _ended(error: RpcError) -> str:
    if error.end is RpcEnd.OPEN:
        return "unsettled"
    return "denied" if _DENIED.search(error.text) else "error"


def _text_in(result: Fields) -> str:
    content = present(result, "content")
    if content is None or is_text(content):
        return "" if content is None else text_of(content)
    return next((said for item in items_of(content) if (said := text(fields_of(item), "text"))), "")


def _name(identity: bytes) -> str:
    """A JSON-RPC id as text: a string's own text, a number as it stands."""
    return one_line(text_of(msgspec.Raw(identity)), 200) if identity else ""
