"""What does a span stand for, by what it says itself? By the tables of `span_names`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.core.jsonvalue import text_of
from forensics.formats.shared import span_names as names
from forensics.formats.shared.span_names import Role

if TYPE_CHECKING:
    from forensics.formats.shared.spans import Span

SERVER, CLIENT, PRODUCER, CONSUMER = 2, 3, 4, 5
_INBOUND = (SERVER, CONSUMER)
OUTBOUND = (CLIENT, PRODUCER)
AGENTS = frozenset({Role.AGENT, Role.WORKFLOW})
BY_CLIENT = frozenset({Role.HTTP, Role.DATABASE, Role.MESSAGING, Role.REMOTE})
OUTSIDE = BY_CLIENT | {Role.RETRIEVER, Role.MEMORY, Role.REMOTE_AGENT}
"""Roles that leave the agent otherwise than by a tool."""


def role_of(span: Span) -> Role:
    """By its operation, its runner, else by the attributes that it carries."""
    attributes = span.names
    operation = span.value("gen_ai.operation.name")
    if operation is not None:
        role = _OPERATIONS.get(bytes(operation)) or names.ROLE_OF_OPERATION.get(text_of(operation).strip().lower())
        if role is not None:
            return role
    kind = None if _KINDS.isdisjoint(attributes) else _told_kind(span)
    runner = names.ROLE_OF_RUNNER.get(span.text(names.RUNNER)) if kind is None else kind
    if runner is not None:
        return runner
    method = span.text(names.MCP_METHOD)
    if method:
        return _mcp_role(span, method)
    carried = _carried(span, names.ROLE_OF_ATTRIBUTES)
    if carried is not None:
        return carried
    if any(event.name.startswith("gen_ai.") for event in span.events):
        return Role.MODEL
    return _client_role(span, operation is not None or not _KINDS.isdisjoint(attributes))


def _told_kind(span: Span) -> Role | None:
    """The kind that another vocabulary tells by a word of its own."""
    for name, roles in names.ROLE_OF_KIND.items():
        told = span.value(name)
        role = None if told is None else roles.get(text_of(told).strip().lower())
        if role is Role.TOOL and span.name.lower().startswith(names.HANDOFF_HEADS) and span.get(_TOLD_TOOL) is None:
            return Role.HANDOFF
        if role is not None:
            return role
    return None


_KINDS = frozenset(names.ROLE_OF_KIND)
_TOLD_TOOL = tuple(name for name in names.TOOL_NAME if name != "traceloop.entity.name")


def _mcp_role(span: Span, method: str) -> Role:
    if method == "tools/call":
        return Role.TOOL
    served = span.kind in _INBOUND or method in names.MCP_HOUSEKEEPING or method.startswith("notifications/")
    return Role.OTHER if served else Role.REMOTE


def _client_role(span: Span, unknown_operation: bool) -> Role:  # noqa: FBT001 - asked in one place
    """What leaves the agent by any sign, and what is not understood. What was served or consumed came from outside."""
    inbound = span.kind in _INBOUND or (span.kind not in OUTBOUND and span.get(names.HTTP_SERVED) is not None)
    role = _carried(span, names.ROLE_OF_CLIENT) if not inbound else None
    if role is not None and not (span.shape.foreign and role in _AFTER_FOREIGN):
        return role
    if span.shape.foreign or unknown_operation:
        return Role.FOREIGN
    if span.name.startswith(names.TOOL_HEADS):
        return Role.TOOL
    return Role.REMOTE if span.kind in OUTBOUND else Role.OTHER


def _carried(span: Span, table: tuple[tuple[tuple[str, ...], Role], ...]) -> Role | None:
    return next((role for carried, role in table if any(name in span.names for name in carried)), None)


_AFTER_FOREIGN = frozenset({Role.HTTP, Role.REMOTE})
"""Roles that say less of a span than the vocabulary that it is written in."""
_OPERATIONS = {f'"{name}"'.encode(): role for name, role in names.ROLE_OF_OPERATION.items()}


def tool_name(span: Span) -> str:
    """The tool that a span ran: its attribute, else its name without the operation."""
    return span.text(names.TOOL_NAME) or named_tool(span.name) or "tool"


def named_tool(name: str) -> str:
    """The tool in the name of a span, without the operation before it."""
    head = next((head for head in (*names.TOOL_HEADS, "tool.") if name.startswith(head)), "")
    return name[len(head) :].strip()
