"""What did a tool span, or another span that leaves the agent, do and how did it end? One span as an Execution."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.core.build import Execution, Spot
from forensics.core.jsonvalue import decode, text_of
from forensics.core.trace import Boundary, Payload
from forensics.formats.shared import span_names as names
from forensics.formats.shared.span_names import Role
from forensics.formats.shared.span_roles import tool_name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from forensics.formats.shared.spans import Span

BOUNDARIES: dict[Role, Boundary] = {
    Role.RETRIEVER: Boundary.RETRIEVER,
    Role.MEMORY: Boundary.MEMORY,
    Role.HTTP: Boundary.HTTP,
    Role.DATABASE: Boundary.DATABASE,
    Role.MESSAGING: Boundary.MESSAGING,
    Role.REMOTE_AGENT: Boundary.SUB_AGENT,
}


def tool_execution(spans: Sequence[Span], server: str, boundary: Boundary) -> Execution:
    """A tool span as what ran; spans that record the same call again follow it and fill what it does not say."""
    span = spans[0]
    arguments, args_spot = _told(spans, names.TOOL_ARGUMENTS)
    result, result_spot = _told(spans, names.TOOL_RESULT)
    failure = failure_of(span)
    recorded_id = next((s.text(names.TOOL_CALL_ID) for s in spans if names.TOOL_CALL_ID[0] in s.attributes), "")
    return Execution(
        tool_name(span),
        args_spot,
        recorded_id or None,
        arguments,
        result,
        failure,
        _status(span, failure, result),
        span.end >= 0,
        span.start,
        span.end,
        boundary,
        server or None,
        span.text(names.DISPOSITION) or None,
        next((s.tainted for s in spans if s.tainted), None) or _cut(arguments),
        result_spot,
    )


def _told(spans: Sequence[Span], table: tuple[str, ...]) -> tuple[Payload | None, Spot]:
    """What the first of these spans says under one of these names, and where."""
    for span in spans:
        found = span.get(table)
        if found is not None:
            return found[1], Spot(span.place, span.where(found[0]), span.start)
    return None, spans[0].spot


def other_execution(span: Span, role: Role, server: str) -> tuple[Execution, tuple[str, str] | None]:
    """A span that leaves the agent otherwise, and its HTTP method and URL where it has them."""
    tool, arguments, result, http = _FIELDS[role](span)
    failure = failure_of(span)
    ran = Execution(
        tool,
        span.spot,
        None,
        arguments,
        result,
        failure,
        _status(span, failure, result),
        span.end >= 0,
        span.start,
        span.end,
        BOUNDARIES[role],
        server or None,
        None,
        span.tainted,
    )
    return ran, http


# how it ended --------------------------------------------------------------------------------------------------------


def failure_of(span: Span) -> Payload | None:
    """The text of a failure, or None: the tool's words, else the status message, the exception, the error's type."""
    if not span.failed and _TROUBLE.isdisjoint(span.attributes):
        return None
    told = span.payload(names.TOOL_ERROR)
    if told is not None:
        return told
    said = span.status_message or _of_exception(span, "exception.message")
    return said or span.payload(names.ERROR_TYPE) or _SAID_NOTHING


_TROUBLE = frozenset({"error.type", *names.TOOL_ERROR})
_SAID_NOTHING = msgspec.Raw(b'"error"')


def _of_exception(span: Span, name: str) -> Payload | None:
    return next((e.attributes[name] for e in span.events if e.name == "exception" and name in e.attributes), None)


def error_type(span: Span) -> str:
    """The type of the error or exception that a span names, else ""."""
    found = span.payload(names.ERROR_TYPE) or _of_exception(span, "exception.type")
    return "" if found is None else text_of(found)


def is_pause(span: Span) -> bool:
    """Whether a span stopped to wait for a person."""
    return (span.failed or bool(span.events)) and error_type(span).lower().endswith(names.PAUSES)


def _status(span: Span, failure: Payload | None, result: Payload | None) -> str:
    if failure is None and not span.events and _SAYS_HOW.isdisjoint(span.attributes):
        return ""
    if is_pause(span):
        return "pending"
    if span.text(names.DISPOSITION) == "blocked":
        return "denied"
    told = span.text(names.TOOL_STATUS)
    if told == "unknown" and result is None:
        return "pending"
    if failure is None and told != "error":
        return "ok" if told == "ok" else ""
    return "pending" if _may_have_happened(span) else "error"


_SAYS_HOW = frozenset({*names.TOOL_STATUS, *names.DISPOSITION, *names.ERROR_TYPE})


def _may_have_happened(span: Span) -> bool:
    """A timeout or a lost connection says nothing about the effect."""
    kind = error_type(span).lower().replace("_", "")
    return any(part in kind for part in names.INDETERMINATE)


def _cut(arguments: Payload | None) -> str | None:
    """`truncated_payload` where the arguments begin as JSON and are none, as a length limit leaves them."""
    if arguments is None:
        return None
    said = text_of(arguments).lstrip()
    if said[:1] in ("{", "[") and decode(said.encode("utf-8", "surrogatepass")).error is not None:
        return "truncated_payload"
    return None


# what left the agent -------------------------------------------------------------------------------------------------

_Fields = tuple[str, Payload | None, Payload | None, tuple[str, str] | None]


def _retriever(span: Span) -> _Fields:
    name = span.text(names.DATA_SOURCE) or span.name or "retriever"
    return name, span.payload(names.RETRIEVAL_QUERY), span.payload(names.RETRIEVAL_RESULT), None


def _memory(span: Span) -> _Fields:
    operation = span.text(names.MEMORY_OPERATION) or span.text(names.OPERATION)
    return (f"memory.{operation}" if operation else span.name), span.payload(names.MEMORY_QUERY), None, None


def _http(span: Span) -> _Fields:
    method = (span.text(names.HTTP_METHOD) or span.text(names.RPC_METHOD)).upper()
    url = span.text(names.HTTP_URL)
    return f"{method} {url.partition('?')[0]}".strip(), span.payload(names.HTTP_URL), None, (method, url)


def _database(span: Span) -> _Fields:
    operation = span.text(names.DATABASE_OPERATION)
    name = span.text(names.DATABASE) + (f".{operation}" if operation else "")
    return name, span.payload(names.DATABASE_TEXT), span.payload(names.DATABASE_RESULT), None


def _messaging(span: Span) -> _Fields:
    return f"{span.text(names.MESSAGING)} {span.text(names.MESSAGING_TO)}".strip(), None, None, None


def _remote_agent(span: Span) -> _Fields:
    name = span.text(names.AGENT_NAME) or span.name
    return name, span.payload(("gen_ai.input.messages",)), span.payload(("gen_ai.output.messages",)), None


_FIELDS: dict[Role, Callable[[Span], _Fields]] = {
    Role.RETRIEVER: _retriever,
    Role.MEMORY: _memory,
    Role.HTTP: _http,
    Role.DATABASE: _database,
    Role.MESSAGING: _messaging,
    Role.REMOTE_AGENT: _remote_agent,
}
