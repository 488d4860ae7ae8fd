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
from forensics.formats.shared.vocabulary import Fields, fields_of, has_each_key_once, is_text, parse_message, text

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


_ROLES: dict[str, tuple[str, ...]] = {
    "at": ("ts", "timestamp", "time", "at"),
    "trace": ("trace", "trace_id", "run", "run_id", "session", "session_id"),
    "agent": ("agent",),
    "server": ("server",),
    "model": ("model",),
    "status": ("status",),
    "error": ("error",),
    "name": ("name",),
    "type": ("type", "kind"),
    "model_text": ("text", "content", "output", "message"),
    "model_tool": ("tool", "tool_name"),
    "call_tool": ("name", "tool", "tool_name", "function"),
    "call_id": ("call_id", "id", "call", "tool_call_id"),
    "arguments": ("args", "arguments", "input", "params", "parameters"),
    "result_tool": ("name", "tool", "tool_name"),
    "result_id": ("call_id", "call", "tool_call_id", "tool_use_id"),
    "own_id": ("id",),
    "result": ("result", "output", "content", "response", "text"),
    "said": ("text", "content", "message", "error", "input"),
}
_Plan = dict[str, tuple[str, ...]]
_NULL = msgspec.Raw(b"null")
_PLANS = 4096


class _Record(msgspec.Struct, gc=False):
    """One record: its fields, and which of them play which role (the plan that its tuple of keys stands for)."""

    fields: Fields
    plan: _Plan
    spot: Spot
    tainted: str | None

    def payload(self, role: str) -> Payload | None:
        """The first field of that role that is there and not null."""
        for name in self.plan[role]:
            raw = self.fields[name]
            if raw != _NULL:
                return raw
        return None

    def text(self, role: str) -> str:
        """The text of the first field of that role, else ""."""
        names = self.plan[role]
        return text(self.fields, *names) if names else ""


class _Log:
    """The walk over one log; a `trace` field parts it into several runs."""

    def __init__(self, build: EvidenceBuilder) -> None:
        self.build = build
        self.plans: dict[tuple[str, ...], _Plan] = {}

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
        plan = self._plan(fields)
        record = _Record(fields, plan, Spot(place), tainted)
        record.spot = Spot(place, "", nanoseconds(record.payload("at")))
        self._record(record)

    def _plan(self, fields: Fields) -> _Plan:
        """Which of these keys play which role; looked up by the tuple of keys, of which a log has a handful."""
        keys = tuple(fields)
        plan = self.plans.get(keys)
        if plan is None:
            plan = {role: tuple(name for name in names if name in fields) for role, names in _ROLES.items()}
            if len(self.plans) >= _PLANS:
                self.plans.clear()
            self.plans[keys] = plan
        return plan

    def _bad(self, line: Line, place: int, why: str) -> None:
        blank = not bytes(line.data).strip(b"\x00 \t\r")
        code = "nul_padding" if blank or b"\x00" in bytes(line.data) else "malformed_line"
        self.build.bad_line(line.number, code, f"line {line.number} is no JSON object: {why}", Spot(place))

    def _record(self, record: _Record) -> None:
        builder = self.build.trace(record.text("trace") or "trace-0")
        lane = builder.lane("", record.text("agent"))
        kind = _kind_of(record.fields)
        _RECORDS.get(kind, _other)(builder, lane, record, kind)


def _model(builder: TraceBuilder, lane: Lane, record: _Record, kind: str) -> None:
    if "tool_calls" in record.fields:
        message = parse_message(msgspec.Raw(_as_assistant(record.fields)), "")
        builder.respond(lane, message, record.spot)
        return
    turn = builder.turn(lane, record.spot, text=record.payload("model_text"), model=record.text("model"))
    if record.payload("model_tool") is not None:
        _ask(builder, lane, record, turn)


def _call(builder: TraceBuilder, lane: Lane, record: _Record, kind: str) -> None:
    _ask(builder, lane, record, lane.turns[-1] if lane.turns else NOWHERE)


def _ask(builder: TraceBuilder, lane: Lane, record: _Record, turn: int) -> None:
    builder.request(
        lane,
        turn,
        record.text("call_tool"),
        record.text("call_id") or None,
        record.payload("arguments"),
        record.spot,
        server=record.text("server") or None,
        tainted=record.tainted,
    )


def _result(builder: TraceBuilder, lane: Lane, record: _Record, kind: str) -> None:
    status = record.text("status").lower()
    error = record.payload("error")
    payload = record.payload("result")
    builder.show(
        lane,
        record.text("result_id") or record.text("own_id") or None,
        record.text("result_tool"),
        payload if payload is not None else error,
        record.spot,
        failed=error is not None or status in _FAILED or bytes(record.fields.get("is_error", b"")) == b"true",
        denied=status in _DENIED,
        tainted=record.tainted,
    )


def _plain_step(builder: TraceBuilder, lane: Lane, record: _Record, kind: str) -> None:
    said = record.payload("said")
    payload = _whole(record.fields) if kind in _WHOLE_RECORD or said is None else said
    builder.step(_STEP_KINDS[kind], record.spot, name=record.text("name"), agent=lane.agent, payload=payload)


def _other(builder: TraceBuilder, lane: Lane, record: _Record, kind: str) -> None:
    name = record.text("type")
    builder.step(StepKind.OTHER, record.spot, name=name, agent=lane.agent, payload=_whole(record.fields))


_Tell = Callable[[TraceBuilder, "Lane", _Record, str], None]
_RECORDS: dict[str, _Tell] = {
    "model": _model,
    "call": _call,
    "result": _result,
    **dict.fromkeys(_STEP_KINDS, _plain_step),
}


def _whole(fields: Fields) -> Payload:
    return msgspec.Raw(msgspec.json.encode(fields))


def _as_assistant(fields: Fields) -> bytes:
    return msgspec.json.encode({**fields, "role": msgspec.Raw(b'"assistant"')})
