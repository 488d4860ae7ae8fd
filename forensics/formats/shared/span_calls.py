"""What did a tool span, or another span that leaves the agent, do and how did it end? One span as an Execution."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.core.agreement import agree, compare_arguments
from forensics.core.build import Execution, Spot
from forensics.core.jsonvalue import text_of
from forensics.core.pairing import same_tool
from forensics.core.sanitise import one_line
from forensics.core.trace import Boundary, Payload
from forensics.formats.shared import span_names as names
from forensics.formats.shared.span_names import Role
from forensics.formats.shared.span_roles import named_tool, tool_name
from forensics.formats.shared.wholeness import TRUNCATED, arguments_damage, result_damage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from forensics.formats.shared.spans import Span

BOUNDARIES: dict[Role, Boundary] = {
    Role.RETRIEVER: Boundary.RETRIEVER,
    Role.MEMORY: Boundary.MEMORY,
    Role.HTTP: Boundary.HTTP,
    Role.DATABASE: Boundary.DATABASE,
    Role.MESSAGING: Boundary.MESSAGING,
    Role.REMOTE_AGENT: Boundary.SUB_AGENT,
    Role.REMOTE: Boundary.HTTP,
}


def tool_execution(spans: Sequence[Span], server: str, boundary: Boundary, *, complete: bool = False) -> Execution:
    """A tool span as what ran; spans that record the same call again follow it and fill what it does not say.
    `complete` says that the format records every execution in full.
    """
    span = spans[0]
    tool = tool_name(span)
    arguments, args_spot = _told(spans, names.TOOL_ARGUMENTS)
    result, result_spot = _told(spans, names.TOOL_RESULT)
    redacted = result is not None and result_damage(result) is not None
    if redacted:
        result = None
    failure = failure_of(span)
    recorded_id = next((s.text(names.TOOL_CALL_ID) for s in spans if names.TOOL_CALL_ID[0] in s.names), "")
    return Execution(
        tool,
        args_spot,
        recorded_id or None,
        arguments,
        result,
        failure,
        _status(span, failure, result) or ("redacted" if redacted else ""),
        span.end >= 0,
        span.start,
        span.end,
        boundary,
        server or None,
        span.text(names.DISPOSITION) or None,
        _taint(spans) or (arguments_damage(arguments) if arguments is not None else None),
        result_spot,
        () if not complete and _is_one_dialect(spans, tool) else tuple(_disputes(spans, tool, complete=complete)),
    )


def _taint(spans: Sequence[Span]) -> str | None:
    """What makes the records of a call unsure: a name that stands twice, attributes that the exporter left out."""
    for span in spans:
        if span.tainted or "attributes" in span.lost:
            return span.tainted or TRUNCATED
    return None


# what the records of one call say against each other -----------------------------------------------------------------


def _is_one_dialect(spans: Sequence[Span], tool: str) -> bool:
    """Whether one span in one dialect is all that there is, and nothing to compare."""
    return len(spans) == 1 and _OLDER.isdisjoint(spans[0].names) and spans[0].name == f"execute_tool {tool}"


def _disputes(spans: Sequence[Span], tool: str, *, complete: bool) -> Iterator[str]:
    """What the attributes of one execution, in however many dialects and spans, say against each other."""
    other = next((name for span in spans for name in _names(span) if name != tool and not same_tool(tool, name)), None)
    if other is not None:
        yield f"one execution is recorded as {one_line(tool, 60)} and as {one_line(other, 60)}"
    given = _all_told(spans, names.TOOL_ARGUMENTS)
    if any(compare_arguments(given[0], more).contradicts for more in given[1:]):
        yield f"one execution of {one_line(tool, 60)} is recorded with different arguments"
    told = _all_told(spans, names.TOOL_RESULT)
    if any(agree(told[0], more) is None for more in told[1:]):
        yield f"one execution of {one_line(tool, 60)} is recorded with different results"
    if complete:
        yield from _disputes_with_status(spans[0])


def _disputes_with_status(span: Span) -> Iterator[str]:
    """How a FastAIAgent tool span says that the call ended, against what it tells of it. Its SDK writes arguments and
    status of every call, and what it returned or the error; only one that stopped for a person or by an exception
    says no more.
    """
    status, error = span.text(names.TOOL_STATUS), span.payload(names.TOOL_ERROR)
    result = span.payload(names.TOOL_RESULT)
    if status == "ok" and (error is not None or span.failed):
        yield "the span says that the call went well, and tells of an error"
    if span.failed and not any(event.name == "exception" for event in span.events):
        yield "the span failed, and tells of no exception"
    if span.failed or is_pause(span):
        return
    if status == "error" and error is None:
        yield "the span says that the call failed, and tells of no error"
    if error is not None and result is not None and agree(result, error, error=True) is None:
        yield "the span tells of an error and of a result that does not tell of it"
    if status == "unknown" and result is not None:
        yield "the span says that there is no such tool, and tells of a result"
    ended = result if result is not None else error
    told = {"tool.args": span.payload(names.TOOL_ARGUMENTS), "tool.status": status or None, "tool.result": ended}
    lacking = " and ".join(name for name, there in told.items() if there is None)
    if lacking and status != "unknown":
        yield f"the span lacks {lacking}, which its SDK always writes"


def _names(span: Span) -> Iterator[str]:
    yield from (text_of(told) for name in names.TOOL_NAME if (told := span.value(name)) is not None)
    if span.name.startswith(_NAMED_AFTER_TOOL):
        yield named_tool(span.name)


_OLDER = frozenset({*names.TOOL_NAME[1:], *names.TOOL_ARGUMENTS[1:], *names.TOOL_RESULT[1:]})
_NAMED_AFTER_TOOL = ("execute_tool ", "tool.")


def _all_told(spans: Sequence[Span], table: tuple[str, ...]) -> list[Payload]:
    """Each value under one of these names that is not redacted, in order."""
    told = (span.value(name) for span in spans for name in table)
    return [payload for payload in told if payload is not None and result_damage(payload) is None]


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
        _taint((span,)),
    )
    return ran, http


# how it ended --------------------------------------------------------------------------------------------------------


def failure_of(span: Span) -> Payload | None:
    """The text of a failure, or None: the tool's words, else the status message, the exception, the error's type."""
    if not span.failed and _TROUBLE.isdisjoint(span.names):
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
    if failure is None and not span.events and _SAYS_HOW.isdisjoint(span.names):
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


# what left the agent -------------------------------------------------------------------------------------------------

_Fields = tuple[str, Payload | None, Payload | None, tuple[str, str] | None]


def _retriever(span: Span) -> _Fields:
    name = span.text(names.DATA_SOURCE) or span.name or "retriever"
    return name, span.payload(names.RETRIEVAL_QUERY), span.payload(names.RETRIEVAL_RESULT), None


def _memory(span: Span) -> _Fields:
    operation = span.text(names.MEMORY_OPERATION) or span.text(names.OPERATION)
    return (f"memory.{operation}" if operation else span.name), span.payload(names.MEMORY_QUERY), None, None


def _http(span: Span) -> _Fields:
    method, url = span.text(names.HTTP_METHOD).upper(), span.text(names.HTTP_URL)
    told = (method, url) if method else None
    return f"{method} {url.partition('?')[0]}".strip(), span.payload(names.HTTP_URL), None, told


def _remote(span: Span) -> _Fields:
    """A procedure, a function, a request of MCP, or a client span that says nothing but where it goes."""
    parts = (span.text(names.RPC), span.text(names.RPC_METHOD))
    called = span.text(names.MCP_METHOD) or "/".join(part for part in parts if part) or span.text(names.FUNCTION)
    return called or span.name or "request", span.payload(names.MCP_RESOURCE), None, None


def _database(span: Span) -> _Fields:
    name = ".".join(told for told in (span.text(names.DATABASE), span.text(names.DATABASE_OPERATION)) if told)
    return name or span.name or "database", span.payload(names.DATABASE_TEXT), span.payload(names.DATABASE_RESULT), None


def _messaging(span: Span) -> _Fields:
    name = f"{span.text(names.MESSAGING)} {span.text(names.MESSAGING_TO)}".strip()
    return name or span.name or "message", None, None, None


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
    Role.REMOTE: _remote,
}
