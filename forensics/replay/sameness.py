"""Do two requests ask for the same? A ladder of three rungs, and the keys by which equal requests are found.

`bytes`: the same spelling. `equal`: equal JSON values (keys in any order, 9 equal to 9.0, true never equal to 1).
`normalised`: equal once a text that holds JSON counts as that JSON, an address is spelled as RFC 3986 section 6.2.2 and
6.2.3 would have it, and headers that choose nothing are left aside; what was set aside is named. Nothing else is.
"""

from __future__ import annotations

import re
from hashlib import blake2b
from itertools import islice
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

import msgspec

from forensics.core.jsonvalue import canonical, equal_values, unfold
from forensics.replay.differences import differences
from forensics.replay.recordings import HTTP

if TYPE_CHECKING:
    from collections.abc import Callable

    from forensics.replay.recordings import Request

BYTES, EQUAL, NORMALISED = "bytes", "equal", "normalised"
_DIGEST = 20  # bytes
_NAMED = 20  # places that a result names
_PORTS = {"http": 80, "https": 443}
_ESCAPED = re.compile("%[0-9A-Fa-f]{2}")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


class Agreement(msgspec.Struct, frozen=True):
    """How well a recording fits a request: the rung, and the JSON Pointers of what was set aside."""

    rung: str
    set_aside: tuple[str, ...] = ()


def exact_key(request: Request) -> bytes:
    """A key that is equal for requests of one kind with equal JSON values."""
    return _key(request.kind, _mapped(request.value, _number))


def loose_key(request: Request) -> bytes:
    """A key that is equal for requests that are equal once normalised."""
    return _key(request.kind, _loosened(request))


def value_key(value: Any) -> bytes:
    """A key that is equal for equal JSON values."""
    return _key("", _mapped(value, _number))


def agreement(recorded: Request, asked: Request) -> Agreement:
    """How two requests agree whose loose keys are equal."""
    headers = {n for n in recorded.beside.keys() | asked.beside.keys() if recorded.beside.get(n) != asked.beside.get(n)}
    aside = [f"/headers/{name}" for name in sorted(headers)]
    if not equal_values(recorded.value, asked.value):
        aside += [one.pointer for one in islice(differences(recorded.value, asked.value), _NAMED)]
    if aside:
        return Agreement(NORMALISED, tuple(aside[:_NAMED]))
    return Agreement(BYTES if recorded.spelled and recorded.spelled == asked.spelled else EQUAL)


def _key(kind: str, value: Any) -> bytes:
    return blake2b(canonical([kind, value]), digest_size=_DIGEST).digest()


def _loosened(request: Request) -> Any:
    value = request.value
    if request.kind == HTTP and isinstance(value, dict) and isinstance(value.get("uri"), str):
        value = {**value, "uri": spelled_address(value["uri"])}
    return _mapped(value, _meaning)


def _number(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _meaning(value: Any) -> Any:
    return unfold(value) if isinstance(value, str) else _number(value)


def _mapped(value: Any, scalar: Callable[[Any], Any]) -> Any:
    """The value with every scalar as that function has it, and what comes out of a text as well. Iterative, so that
    nesting can't exhaust the stack.
    """
    root: list[Any] = [None]
    todo: list[tuple[Any, Any, Any]] = [(root, 0, value)]
    while todo:
        holder, key, item = todo.pop()
        if not isinstance(item, (dict, list)):
            made = scalar(item)
            if isinstance(made, (dict, list)):
                todo.append((holder, key, made))
            else:
                holder[key] = made
        elif isinstance(item, dict):
            holder[key] = filled = dict.fromkeys(item)
            todo.extend((filled, k, v) for k, v in item.items())
        else:
            holder[key] = [None] * len(item)
            todo.extend((holder[key], i, v) for i, v in enumerate(item))
    return root[0]


def spelled_address(address: str) -> str:
    """An address in one spelling: scheme and host in lower case, no default port, no fragment, escapes only where they
    are needed. What the server may tell apart (path, query and its order) stays as it is.
    """
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        return address
    if not parts.scheme or not parts.netloc:
        return address
    user, at, host = parts.netloc.rpartition("@")
    if port is not None and port == _PORTS.get(parts.scheme.lower()):
        host = host.rpartition(":")[0]
    path, query = (_ESCAPED.sub(_unescaped, part) for part in (parts.path or "/", parts.query))
    return urlunsplit((parts.scheme.lower(), f"{user}{at}{host.lower()}", path, query, ""))


def _unescaped(match: re.Match[str]) -> str:
    character = chr(int(match.group()[1:], 16))
    return character if character in _UNRESERVED else match.group().upper()
