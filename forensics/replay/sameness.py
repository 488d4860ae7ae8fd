"""Do two requests ask for the same? A ladder of three rungs, and the keys by which equal requests are found.

`bytes`: the same spelling. `equal`: equal JSON values (keys in any order, 9 equal to 9.0, true never equal to 1).
`normalised`: equal once a text that holds JSON counts as that JSON, addresses and forms have one spelling, and what
chooses nothing (most headers, the ids of a protocol) is left aside; what was set aside is named. Nothing else is.
"""

from __future__ import annotations

from hashlib import blake2b
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec

from forensics.core.differences import differences
from forensics.core.jsonvalue import canonical, decode_embedded, equal_values
from forensics.replay import spelling
from forensics.replay.recordings import CONTENT_TYPE, HTTP

if TYPE_CHECKING:
    from collections.abc import Callable

    from forensics.replay.recordings import Request

BYTES, EQUAL, NORMALISED = "bytes", "equal", "normalised"
_DIGEST = 20  # bytes
_NAMED = 20  # places that a result names


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
    names = sorted(recorded.beside.keys() | asked.beside.keys())
    aside = [name for name in names if recorded.beside.get(name) != asked.beside.get(name)]
    if not equal_values(recorded.value, asked.value):
        aside += [one.pointer for one in islice(differences(recorded.value, asked.value), _NAMED)]
    if aside:
        return Agreement(NORMALISED, tuple(aside[:_NAMED]))
    return Agreement(BYTES if recorded.spelled and recorded.spelled == asked.spelled else EQUAL)


def _key(kind: str, value: Any) -> bytes:
    return blake2b(canonical([kind, value]), digest_size=_DIGEST).digest()


def _loosened(request: Request) -> Any:
    value = request.value
    if request.kind == HTTP and isinstance(value, dict):
        uri, body = value.get("uri"), value.get("body")
        kind = request.beside.get(CONTENT_TYPE, "")
        uri = spelling.address(uri) if isinstance(uri, str) else uri
        body = spelling.body(body, kind) if isinstance(body, str) and kind else body
        value = {**value, "uri": uri, "body": body}
    return _mapped(value, _meaning)


def _number(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _meaning(value: Any) -> Any:
    """A number by its value, and a text that holds JSON as that JSON, where it says one thing (no key twice)."""
    if not isinstance(value, str):
        return _number(value)
    decoded = decode_embedded(value)
    return value if decoded is None or decoded.faults else decoded.value


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
