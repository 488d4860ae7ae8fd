"""What kind of event is this record of a plain log, and which of its fields play which role? Tables and the lookup."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from forensics.core.build import Lane, Spot, TraceBuilder
from forensics.core.jsonvalue import text_of
from forensics.core.late import late
from forensics.core.trace import StepKind
from forensics.formats.shared.call_words import sounds_like_a_call
from forensics.formats.shared.fields import (
    Fields,
    as_object,
    call_marks,
    holds_a_call,
    is_true,
    spelled,
    text,
)
from forensics.formats.shared.wholeness import REDACTED, TRUNCATED, UNSETTLED

if TYPE_CHECKING:
    from forensics.core.trace import Payload

_TYPES = {
    "user": "user", "human": "user", "user_message": "user", "input": "user",
    "system": "system", "developer": "system",
    "model": "model", "assistant": "model", "llm": "model", "ai": "model", "assistant_message": "model",
    "model_output": "model", "model_response": "model", "llm_response": "model",
    "tool_call": "call", "call": "call", "tool_use": "call", "function_call": "call", "tool_start": "call",
    "mcp_call": "call", "mcp_tool_call": "call", "mcp_tool_use": "call", "server_tool_use": "call",
    "tool_result": "result", "tool": "result", "tool_response": "result", "observation": "result",
    "tool_end": "result", "function_result": "result", "function_call_output": "result", "tool_output": "result",
    "tool_call_result": "result", "tool_call_response": "result", "tool_call_output": "result",
    "function_response": "result", "mcp_result": "result", "mcp_call_result": "result", "mcp_tool_result": "result",
    "approval_request": "approval_request", "approval": "approval", "approval_response": "approval",
    "error": "error", "handoff": "handoff", "hand_off": "handoff", "guardrail": "guardrail", "memory": "memory",
    "rerun": "rerun", "final_output": "output",
}  # fmt: skip
LONGEST_TYPE = 80
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
    "model_text": ("text", "content", "output", "message", "response"),
    "model_body": ("content", "output", "message", "response"),
    "model_calls": ("tool_calls", "function_call", "additional_kwargs"),
    "model_tool": ("tool", "tool_name", "function"),
    "finish": ("finish_reason", "stop_reason", "finish_reasons"),
    "call_tool": ("name", "tool", "tool_name", "function"),
    "call_id": ("call_id", "id", "call", "tool_call_id"),
    "function": ("function",),
    "arguments": ("args", "arguments", "input", "params", "parameters"),
    "result_tool": ("name", "tool", "tool_name"),
    "result_id": ("call_id", "call", "tool_call_id", "tool_use_id"),
    "own_id": ("id",),
    "result": ("result", "output", "content", "response", "text"),
    "answer": ("result", "output", "response"),
    "said": ("text", "content", "message", "error", "input"),
    "content": ("content", "message"),
    "rerun_of": ("rerun_of",),
    "says": ("says",),
    "disposition": ("disposition",),
    "operation": ("operation", "op", "action"),
    "failed": ("is_error",),
    "went_well": ("success", "succeeded", "ok"),
    "exit_code": ("exit_code", "returncode"),
    "flags": ("truncated", "is_truncated", "redacted", "is_redacted"),
}
"""By role, the names of fields that play it, the surer ones first. A log may spell them in any way (`toolCallId`)."""
_FOUND_BY = frozenset(
    name
    for role in ("at", "trace", "agent", "server", "status", "error", "name", "type", "own_id", "result_id", "answer")
    for name in _ROLES[role]
)
FAILED = frozenset({"error", "failed", "failure"})
DENIED = frozenset({"denied", "rejected", "cancelled", "canceled", "refused"})
STEP_KINDS = {
    "user": StepKind.USER,
    "system": StepKind.SYSTEM,
    "approval_request": StepKind.APPROVAL_REQUEST,
    "approval": StepKind.APPROVAL,
    "error": StepKind.ERROR,
    "handoff": StepKind.HANDOFF,
    "guardrail": StepKind.GUARDRAIL,
}
_READ = frozenset(
    name
    for role in ("type", "model_text", "model_body", "model_calls", "model_tool", "arguments")
    for name in _ROLES[role]
) | {
    "tools", "functions", "tool_choice", "messages", "prompt", "request", "usage", "config", "settings", "metadata",
}  # fmt: skip
"""Members of a model's record whose objects are read, or that say what it was given or offered. What is read as a text
of its own (`agent`, `status`) or in records of other kinds only (`call`, `action`) may hide a call in an object.
"""
TRACE_NAMES = frozenset(_ROLES["trace"])
ONLY_TRACE = "trace-0"
"""The trace of records that name none."""
_BOOKKEEPING = TRACE_NAMES | frozenset(_ROLES["at"]) | {"seq"}
_A_CALL, _A_SPOKEN_CALL = "is taken for a call", "is taken for a call, though somebody says it"
_PLANS = 4096
NULL = msgspec.Raw(b"null")

Plan = dict[str, tuple[str, ...]]


def kind_of(fields: Fields) -> str:
    """What kind of record it is, by its type, else by its kind; "" where neither is known."""
    raw = fields.get("type")
    kind = "" if raw is None else _kind_named(bytes(raw))
    if kind:
        return kind
    raw = fields.get("kind")
    return "" if raw is None else _kind_named(bytes(raw))


@lru_cache(maxsize=1024)
def _kind_named(raw: bytes) -> str:
    """The kind that a type stands for, however it is spelled: `toolCall`, `tool-call`, `TOOL_CALL`."""
    if raw[:1] != b'"' or len(raw) > LONGEST_TYPE:
        return ""
    named = text_of(msgspec.Raw(raw))
    return _TYPES.get(spelled(named)) or _TYPES.get(spelled(named.lower()), "")


class Plans:
    """Which keys of a record play which role, looked up by the tuple of its keys, of which a log has a handful."""

    def __init__(self) -> None:
        self._plans: dict[tuple[str, ...], Plan] = {}

    def of(self, fields: Fields) -> Plan:
        """The plan for an object with these keys."""
        keys = tuple(fields)
        plan = self._plans.get(keys)
        if plan is None:
            if len(self._plans) >= _PLANS:
                self._plans.clear()
            plan = self._plans[keys] = _plan(fields)
        return plan


def _plan(fields: Fields) -> Plan:
    spelling: dict[str, list[str]] = {}
    for key in fields:
        spelling.setdefault(spelled(key), []).append(key)
    plan = {role: tuple(key for name in names for key in spelling.get(name, ())) for role, names in _ROLES.items()}
    plan["unread"] = tuple(name for name in fields if spelled(name) not in _READ)
    if call_marks(fields):
        plan[_A_CALL] = ()
    if call_marks(key for key in fields if key not in ("name", "input")):
        plan[_A_SPOKEN_CALL] = ()
    return plan


class Record(msgspec.Struct, gc=False):
    """One record: its fields, and which of them play which role (the plan that its tuple of keys stands for); whose it
    is, and what taints it: that it can be read in two ways, or the `damage` that it tells of itself.
    """

    fields: Fields
    plan: Plan
    kind: str
    spot: Spot
    builder: TraceBuilder
    lane: Lane
    tainted: str | None = None
    damage: str | None = None

    def payload(self, role: str) -> Payload | None:
        """The first field of that role that is there and not null."""
        for name in self.plan[role]:
            raw = self.fields[name]
            if raw != NULL:
                return raw
        return None

    def text(self, role: str) -> str:
        """The text of the first field of that role, else ""."""
        names = self.plan[role]
        return text(self.fields, *names) if names else ""

    def whole(self) -> Payload:
        """The record itself, as one JSON text."""
        return as_object(self.fields)

    def says(self) -> Payload:
        """The member `says`, else the record without what the log keeps of it: its run, its number and its time."""
        told = self.payload("says")
        return (
            told
            if told is not None
            else as_object({name: raw for name, raw in self.fields.items() if name not in _BOOKKEEPING})
        )

    def rest(self) -> Payload | None:
        """What the record says beside what it is found by: ids, times, names, outcome."""
        told = {name: raw for name, raw in self.fields.items() if name not in _FOUND_BY}
        return as_object(told) if told else None

    @property
    def has_a_type(self) -> bool:
        """Whether a text says what the record is."""
        return bool(self.text("type"))

    @property
    def looks_like_a_call(self) -> bool:
        """Whether a record of an unknown type may be a call or its result: by its keys, its name, or what it holds."""
        named = bool(self.plan["model_tool"])
        return _A_CALL in self.plan or sounds_like_a_call(self.text("type"), named=named) or holds_a_call(self.whole())

    @property
    def is_said_with_a_call(self) -> bool:
        """Whether what a person or the system said has the keys of a call."""
        return is_said_with_a_call(self.plan)

    @property
    def names_arguments(self) -> bool:
        """Whether it has arguments by a name that means nothing else."""
        return names_arguments(self.plan)


def names_arguments(plan: Plan) -> bool:
    """Whether a record has arguments by a name that means nothing else."""
    return bool(plan["arguments"]) and plan["arguments"] != ("input",)


def is_said_with_a_call(plan: Plan) -> bool:
    """Whether a record of what somebody says has the keys of a call."""
    return _A_SPOKEN_CALL in plan


def ending(plan: Plan, fields: Fields, status: str, error: Payload | None) -> dict[str, bool]:
    """How a result says that its call ended, by its status in lower case, its error and its flags."""
    failed = error is not None or status in FAILED or is_true(fields, *plan["failed"]) or _went_wrong(plan, fields)
    return {"failed": failed, "denied": status in DENIED, "unsettled": status in UNSETTLED}


def _went_wrong(plan: Plan, fields: Fields) -> bool:
    """Whether it says that it did not go well: a flag that is false, an exit code other than 0."""
    codes = (bytes(fields[name]) for name in plan["exit_code"])
    return any(fields[name] == _FALSE for name in plan["went_well"]) or any(map(_IS_A_FAULT.fullmatch, codes))


_FALSE = msgspec.Raw(b"false")
_IS_A_FAULT = late(rb"-?0*[1-9][0-9]*")


def damage_of(fields: Fields, flags: tuple[str, ...]) -> str | None:
    """The code of what a record says of itself by a flag: that it was cut, or that something was taken out."""
    return next((REDACTED if "edacted" in name else TRUNCATED for name in flags if is_true(fields, name)), None)
