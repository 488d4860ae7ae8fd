"""Did the call run, and how did it end? What the texts and events of a Codex rollout say about it, as tables.

A rollout keeps an output as bare text (the success flag is dropped), so that a refusal, an interruption and a failed
command look like results; what a command printed stands behind the header and is not asked.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from forensics.core.build import Spot
from forensics.core.jsonvalue import decode_embedded, text_of, value_of
from forensics.core.trace import Payload
from forensics.formats.shared.fields import Fields, fields_of, is_text, items_of, object_in, opens_with, present, text

if TYPE_CHECKING:
    from collections.abc import Callable

_HEAD = 600  # characters in which the harness says how a call ended
_OUTPUT = re.compile(r"^Output:\s*$", re.MULTILINE)
_EXIT = re.compile(r"^(?:Process exited with code|Exit code:)\s*(-?\d{1,10})\b", re.MULTILINE)
_REFUSED = re.compile(
    r"\s*(?:(?:exec )?(?:command|patch|tool call|MCP tool call|request)\s+)?(?:was )?"
    r"(?:rejected|denied|declined|cancell?ed) by (?:the )?user\b"
    r"|\s*(?:the )?user (?:rejected|denied|declined|cancell?ed)\b"
    r"|\s*this action was rejected\b"
    r"|\s*approval policy is \w+; reject"
    r"|.{0,80}?\bblocked by (?:policy|a hook|.{0,20}hook)\b",
    re.IGNORECASE,
)
_STOPPED = re.compile(r"^\s*aborted\b|\btimed out\b|\binterrupted\b", re.IGNORECASE | re.MULTILINE)
_FAILED = re.compile(
    r"\s*(?:err(?:or)?\b|execution error\b|failed (?:to|in)\b|unsupported call\b|apply_patch verification failed\b"
    r"|(?:mcp |tool )+call (?:error|failed)\b)",
    re.IGNORECASE,
)
ITEM = "item_completed"
_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
_DECLINED = frozenset({"declined", "denied", "rejected"})


class Told(msgspec.Struct, frozen=True, gc=False):
    """What is said about a call; all False: it ran and succeeded, or nothing is said."""

    failed: bool = False
    denied: bool = False
    unsettled: bool = False


class Ended(msgspec.Struct, frozen=True, gc=False):
    """What an event says of a call that ended: the tool and its arguments as they ran (where named), the result, and
    what the tool's server hinted at (MCP).
    """

    told: Told
    call_id: str
    tool: str
    spot: Spot
    server: str = ""
    arguments: Payload | None = None
    result: Payload | None = None
    hints: dict[str, object] = {}

    @property
    def status(self) -> str:
        """The status as an execution has it."""
        return "denied" if self.told.denied else "error" if self.told.failed else "ok"


# what an output says -------------------------------------------------------------------------------------------------


def told_by_output(output: Payload | None) -> Told:
    """What the output of a call says: a text, content items, or an object that says whether it succeeded."""
    if output is None:
        return Told()
    if opens_with(output, b"{"):
        fields = fields_of(output)
        inner = told_by_output(present(fields, "content", "output"))
        return inner if _is_any(inner) else Told(failed=bytes(fields.get("success", b"")) == b"false")
    return _told_by_text(_head(output))


def _is_any(told: Told) -> bool:
    return told.failed or told.denied or told.unsettled


def _head(output: Payload) -> str:
    if is_text(output):
        return text_of(output)
    return next((said for item in items_of(output) if (said := text(fields_of(item), "text"))), "")


def _told_by_text(said: str) -> Told:
    structured = decode_embedded(said) if len(said) < _HEAD or '"exit_code"' in said[-_HEAD:] else None
    if structured is not None and isinstance(structured.value, dict):
        return _told_by_metadata(structured.value)
    head = said[:_HEAD]
    printed = _OUTPUT.search(head)
    head = head[: printed.start()] if printed else head
    if _REFUSED.match(head):
        return Told(failed=True, denied=True)
    code = _EXIT.search(head)
    if code is not None:
        return Told(failed=int(code.group(1)) != 0)
    if printed is None and _STOPPED.search(head[:200]):
        return Told(failed=True, unsettled=True)
    return Told(failed=printed is None and _FAILED.match(head) is not None)


def _told_by_metadata(value: dict[str, object]) -> Told:
    """The older shell tool wrote its output as JSON text with the exit code beside it."""
    meta = value.get("metadata")
    code = meta.get("exit_code") if isinstance(meta, dict) else None
    return Told(failed=isinstance(code, int) and code != 0)


# what an event says --------------------------------------------------------------------------------------------------


def ended(kind: str, fields: Fields, spot: Spot) -> Ended | None:
    """What an event of that kind says of a call that ended; None where it speaks of none.

    In newer releases (0.171 is one) `item_completed` stands for all these events, with the call as its `item`.
    """
    if kind == ITEM:
        item = object_in(fields, "item")
        kind, fields, spot = text(item, "type"), item, spot.down("/item")
    reader = _EVENTS.get(kind)
    return None if reader is None else reader(fields, spot)


def _id(fields: Fields) -> str:
    return text(fields, "call_id", "id")


def _by_status(fields: Fields, *, failed: bool) -> Told:
    """Of what the event says in a word of its own, besides what its kind says."""
    status = text(fields, "status")
    return Told(failed=failed or status == "failed" or status in _DECLINED, denied=status in _DECLINED)


def _patch(fields: Fields, spot: Spot) -> Ended:
    told = _by_status(fields, failed=bytes(fields.get("success", b"true")) == b"false")
    result = present(fields, "stdout", "stderr")
    return Ended(told, _id(fields), "apply_patch", spot, "", present(fields, "changes"), result)


def _mcp(fields: Fields, spot: Spot) -> Ended:
    raw = present(fields, "invocation")
    asked = fields_of(raw) if raw is not None else {}
    outcome = present(fields, "result")
    sides = fields_of(outcome) if outcome is not None else {}
    good, bad = present(sides, "Ok"), present(sides, "Err")
    failed = bad is not None or (good is not None and bytes(fields_of(good).get("isError", b"")) == b"true")
    denied = bad is not None and _REFUSED.match(text_of(bad)[:_HEAD]) is not None
    told = Told(failed=failed, denied=denied)
    result = good if good is not None else bad
    return Ended(
        told, _id(fields), text(asked, "tool"), spot, text(asked, "server"), present(asked, "arguments"), result
    )


def _mcp_item(fields: Fields, spot: Spot) -> Ended:
    """The same as an item: result and error stand beside the call."""
    good, bad = present(fields, "result"), present(fields, "error")
    failed = bad is not None or (good is not None and bytes(fields_of(good).get("isError", b"")) == b"true")
    told = _by_status(fields, failed=failed)
    if bad is not None and _REFUSED.match(text(fields_of(bad), "message")[:_HEAD]):
        told = Told(failed=True, denied=True)
    result = good if good is not None else bad
    tool, server = text(fields, "tool"), text(fields, "server")
    return Ended(told, _id(fields), tool, spot, server, present(fields, "arguments"), result, _hints(fields))


def _hints(fields: Fields) -> dict[str, object]:
    told = {name: value_of(fields[name]) for name in _HINTS if name in fields}
    return {name: value for name, value in told.items() if isinstance(value, bool)}


def _command(fields: Fields, spot: Spot) -> Ended:
    told = _by_status(fields, failed=bytes(fields.get("exit_code", b"0")) != b"0")
    result = present(fields, "aggregated_output", "stdout")
    return Ended(told, _id(fields), "exec_command", spot, "", present(fields, "command"), result)


def _dynamic(fields: Fields, spot: Spot) -> Ended:
    told = _by_status(fields, failed=bytes(fields.get("success", b"true")) == b"false")
    result = present(fields, "content_items", "error")
    return Ended(told, _id(fields), text(fields, "tool"), spot, "", present(fields, "arguments"), result)


_EVENTS: dict[str, Callable[[Fields, Spot], Ended]] = {
    "patch_apply_end": _patch,
    "mcp_tool_call_end": _mcp,
    "exec_command_end": _command,
    "dynamic_tool_call_response": _dynamic,
    "FileChange": _patch,
    "McpToolCall": _mcp_item,
    "CommandExecution": _command,
    "DynamicToolCall": _dynamic,
}
