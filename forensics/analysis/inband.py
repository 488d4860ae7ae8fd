"""Does a result say that its call failed? Only the envelope of an error counts: an object that says nothing else.

A report about something that failed (`{"id": 7, "state": "failed"}`) is no failed call, and running text that speaks of
errors is none either.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from forensics.core.jsonvalue import unfold
from forensics.core.rpc_errors import answered

_TELLS = frozenset(
    {"detail", "details", "err", "error", "error_description", "error_message", "errors", "message", "msg", "reason"}
)
_ERRORS = frozenset({"err", "error", "errors"})
_BESIDE = frozenset(
    {
        "code",
        "data",
        "documentation_url",
        "error_code",
        "hint",
        "http_status",
        "path",
        "request_id",
        "requestid",
        "result",
        "retryable",
        "status",
        "status_code",
        "statuscode",
        "timestamp",
        "title",
        "trace_id",
        "type",
    }
)
_FLAGS = frozenset({"ok", "success", "succeeded"})
_MARKS = frozenset({"iserror", "is_error"})
_ENVELOPE = _TELLS | _BESIDE | _FLAGS | _MARKS
_EMPTY = frozenset({"data", "result"})
_FAILED = frozenset({"error", "failed", "failure"})
_LEAST_STATUS, _MOST_STATUS = 400, 599
_MOST_MEMBERS = 16


def may_say_it_failed(members: Collection[str]) -> bool:
    """Whether an object with these members could be one that says so; for all others `says_it_failed` is false."""
    return not _HOLDERS.isdisjoint(members) or all(name.lower() in _ENVELOPE for name in members)


_HOLDERS = frozenset({"jsonrpc", "structuredContent", "content"})


def says_it_failed(result: object) -> bool:
    """Whether a result is the envelope of an error, as it stands or inside a JSON-RPC response or an MCP result."""
    return any(_is_error(view) for view in _views(answered(unfold(result))))


def _views(value: object) -> Iterator[Mapping[str, object]]:
    if not isinstance(value, Mapping):
        return
    content = value.get("content")
    if "structuredContent" not in value and not isinstance(content, list):
        yield value
        return
    parts = [part for part in content if isinstance(part, Mapping)] if isinstance(content, list) else []
    inner = [value.get("structuredContent"), *(unfold(part.get("text")) for part in parts)]
    told = [view for view in inner if view is not None]
    if told and all(isinstance(view, Mapping) and _is_error(view) for view in told):
        yield from (view for view in told if isinstance(view, Mapping))


def _is_error(told: Mapping[str, object]) -> bool:
    if not told or len(told) > _MOST_MEMBERS:
        return False
    members = {str(key).lower(): value for key, value in told.items()}
    if not members.keys() <= _ENVELOPE or any(members.get(name) for name in _EMPTY):
        return False
    if any(_tells(members[name]) for name in _ERRORS if name in members):
        return not any(members.get(flag) is True for flag in _FLAGS)
    return _is_marked(members) and any(_tells(members[name]) for name in _TELLS if name in members)


def _tells(value: object) -> bool:
    return value is True or (isinstance(value, (str, Mapping, list)) and bool(value))


def _is_marked(members: Mapping[str, object]) -> bool:
    """Whether a flag, a word or a status code says failure."""
    if any(members.get(flag) is False for flag in _FLAGS) or any(members.get(mark) is True for mark in _MARKS):
        return True
    status = [members.get(name) for name in ("status", "status_code", "statuscode", "http_status", "code")]
    return any(_is_failure(value) for value in status)


def _is_failure(value: object) -> bool:
    if isinstance(value, str):
        return value.lower() in _FAILED
    return isinstance(value, int) and not isinstance(value, bool) and _LEAST_STATUS <= value <= _MOST_STATUS
