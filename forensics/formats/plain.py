"""What does the plain event log say? One JSON object a line, the simplest thing to write by hand or from an own agent.

The vocabulary is that of CONTRACT.md ("The plain event log") with the synonyms seen in the field, as tables.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from forensics.core.build import Spot, TraceBuilder
from forensics.core.jsonvalue import decode
from forensics.core.trace import NOWHERE, StepKind
from forensics.formats.shared.lines import Line, lines
from forensics.core.times import nanoseconds
from forensics.formats.shared.vocabulary import Fields, fields_of, is_text, parse_message, present, text

if TYPE_CHECKING:
    from forensics.core.build import Lane
    from forensics.core.reading import EvidenceBuilder
    from forensics.core.trace import Payload
    from forensics.formats.shared.reader import Look
    from forensics.formats.shared.source import Source

NAME = "event-log"
ABOUT = "plain event log: one JSON object a line with type user, model, tool_call, tool_result, approval, error"
CARRIES = "calls, arguments, results, approvals, order; ids and times where the writer gave them"
LACKS = "tool schemas, executions apart from results, model settings"
RECORDS_CALLS = True
SPANS_ARE_COMPLETE = False

_TYPES = {
    b"user": "user", b"human": "user", b"user_message": "user", b"input": "user",
    b"system": "system", b"developer": "system",
    b"model": "model", b"assistant": "model", b"llm": "model", b"ai": "model", b"assistant_message": "model",
    b"model_output": "model", b"model_response": "model",
    b"tool_call": "call", b"call": "call", b"tool_use": "call", b"function_call": "call", b"tool_start": "call",
    b"tool_result": "result", b"tool": "result", b"tool_response": "result", b"observation": "result",
    b"tool_end": "result", b"function_result": "result", b"function_call_output": "result", b"tool_output": "result",
    b"approval_request": "approval_request", b"approval": "approval", b"approval_response": "approval",
    b"error": "error", b"handoff": "handoff", b"guardrail": "guardrail", b"memory": "memory",
}  # fmt: skip
_STEP_KINDS = {
    "user": StepKind.USER,
    "system": StepKind.SYSTEM,
    "approval_request": StepKind.APPROVAL_REQUEST,
    "approval": StepKind.APPROVAL,
    "error": StepKind.ERROR,
    "handoff": StepKind.HANDOFF,
    "guardrail": StepKind.GUARDRAIL,
    "memory": StepKind.MEMORY,
}
_WHOLE_RECORD = frozenset({"approval_request", "approval", "handoff", "guardrail", "memory"})
_TELLING = frozenset({"call", "result", "approval", "approval_request"})
_FOREIGN = frozenset({"jsonrpc", "parentUuid", "payload", "request", "object", "data", "sessionId", "message"})
_DENIED = frozenset({"denied", "rejected", "cancelled", "canceled", "refused"})
_FAILED = frozenset({"error", "failed", "failure", "timeout"})


def sniff(look: Look) -> int:
    known = [_kind_of(fields) for fields in look.lines if not _FOREIGN & fields.keys()]
    told = [kind for kind in known if kind]
    if not told or len(told) * 2 < len(look.lines):
        return 0
    return 70 if _TELLING & set(told) else 40


def read(source: Source, build: EvidenceBuilder) -> None:
    reader = _Log(build)
    for line in lines(source):
        reader.line(line)


def _kind_of(fields: Fields) -> str:
    raw = fields.get("type")
    if raw is None:
        raw = fields.get("kind")
    if raw is None or not is_text(raw):
        return ""
    return _TYPES.get(bytes(raw)[1:-1].lower(), "")


class _Log:
    """The walk over one log; a `trace` field parts it into several runs."""

    def __init__(self, build: EvidenceBuilder) -> None:
        self.build = build
        self.turns: dict[str, int] = {}

    def line(self, line: Line) -> None:
        self.build.counts.lines += 1
        place = self.build.places.add(line=line.number, offset=line.offset, length=len(line.data))
        fields = fields_of(line.data)
        tainted = None
        if not fields or not has_each_key_once(fields, len(line.data)):
            decoded = decode(line.data)
            if decoded.error is not None or not isinstance(decoded.value, dict):
                self._bad(line, place, decoded.error or "a JSON value that is no object")
                return
            tainted = self.build.faults(decoded.faults, Spot(place))
        self.build.counts.records += 1
        self._record(fields, Spot(place, "", nanoseconds(present(fields, "ts", "timestamp", "time", "at"))), tainted)

    def _bad(self, line: Line, place: int, why: str) -> None:
        blank = not bytes(line.data).strip(b"\x00 \t\r")
        code = "nul_padding" if blank or b"\x00" in bytes(line.data) else "malformed_line"
        self.build.bad_line(line.number, code, f"line {line.number} is no JSON object: {why}", Spot(place))

    def _record(self, fields: Fields, spot: Spot, tainted: str | None) -> None:
        trace_id = text(fields, "trace", "trace_id", "run", "run_id", "session", "session_id") or "trace-0"
        builder = self.build.trace(trace_id)
        lane = builder.lane("", text(fields, "agent"))
        kind = _kind_of(fields)
        tell = _RECORDS.get(kind, _Log._other)
        tell(self, builder, lane, fields, spot, kind, tainted)

    def _model(self, builder: TraceBuilder, lane: Lane, fields: Fields, spot: Spot, kind: str, tainted: str | None) -> None:
        if "tool_calls" in fields:
            message = parse_message(msgspec.Raw(_as_assistant(fields)), "")
            builder.respond(lane, message, spot)
            return
        said = present(fields, "text", "content", "output", "message")
        turn = builder.turn(lane, spot, text=said, model=text(fields, "model"))
        if present(fields, "tool", "tool_name") is not None:
            self._ask(builder, lane, fields, spot, turn, tainted)

    def _call(self, builder: TraceBuilder, lane: Lane, fields: Fields, spot: Spot, kind: str, tainted: str | None) -> None:
        turn = lane.turns[-1] if lane.turns else NOWHERE
        self._ask(builder, lane, fields, spot, turn, tainted)

    def _ask(self, builder: TraceBuilder, lane: Lane, fields: Fields, spot: Spot, turn: int, tainted: str | None) -> None:
        builder.request(
            lane,
            turn,
            text(fields, "name", "tool", "tool_name", "function"),
            text(fields, "call_id", "id", "call", "tool_call_id") or None,
            present(fields, "args", "arguments", "input", "params", "parameters"),
            spot,
            server=text(fields, "server") or None,
            tainted=tainted,
        )

    def _result(self, builder: TraceBuilder, lane: Lane, fields: Fields, spot: Spot, kind: str, tainted: str | None) -> None:
        recorded = text(fields, "call_id", "call", "tool_call_id", "tool_use_id") or text(fields, "id")
        status = text(fields, "status").lower()
        error = present(fields, "error")
        payload = present(fields, "result", "output", "content", "response", "text")
        builder.show(
            lane,
            recorded or None,
            text(fields, "name", "tool", "tool_name"),
            payload if payload is not None else error,
            spot,
            failed=error is not None or status in _FAILED or bytes(fields.get("is_error", b"")) == b"true",
            denied=status in _DENIED,
            tainted=tainted,
        )

    def _plain_step(self, builder: TraceBuilder, lane: Lane, fields: Fields, spot: Spot, kind: str, tainted: str | None) -> None:
        said = present(fields, "text", "content", "message", "error", "input")
        payload = _whole(fields) if kind in _WHOLE_RECORD or said is None else said
        builder.step(_STEP_KINDS[kind], spot, name=text(fields, "name"), agent=lane.agent, payload=payload)

    def _other(self, builder: TraceBuilder, lane: Lane, fields: Fields, spot: Spot, kind: str, tainted: str | None) -> None:
        name = text(fields, "type", "kind")
        builder.step(StepKind.OTHER, spot, name=name, agent=lane.agent, payload=_whole(fields))


_Tell = Callable[[_Log, TraceBuilder, "Lane", Fields, Spot, str, "str | None"], None]
_RECORDS: dict[str, _Tell] = {
    "model": _Log._model,
    "call": _Log._call,
    "result": _Log._result,
    **dict.fromkeys(_STEP_KINDS, _Log._plain_step),
}


def _whole(fields: Fields) -> Payload:
    return msgspec.Raw(msgspec.json.encode(fields))


def _as_assistant(fields: Fields) -> bytes:
    return msgspec.json.encode({**fields, "role": msgspec.Raw(b'"assistant"')})


def has_each_key_once(fields: Fields, length: int) -> bool:
    """Whether an object of `length` bytes, written compactly or in Python's default style, has no key twice: a key that
    the decoder dropped would leave bytes that the kept fields don't account for."""
    kept = 1 + sum(len(key) + 4 + len(memoryview(raw)) for key, raw in fields.items())
    return length in (kept, kept + 2 * len(fields) - 1)
