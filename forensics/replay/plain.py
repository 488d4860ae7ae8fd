"""Which JSON value does a value of the agent's code stand for?

An agent's ports carry JSON. Its code has more: texts of a class of its own (`class Markdown(str)`), tuples, sets,
enums, dataclasses, mappings, models that say themselves what they are as JSON. Each of these stands for one value; what
does not (a file, a coroutine, an object) is named, with what to give instead.
"""

from __future__ import annotations

import inspect
import json
from collections import deque
from collections.abc import Callable, KeysView, Mapping, Sequence, ValuesView
from collections.abc import Set as AbstractSet
from enum import Enum
from typing import Any

import msgspec

_BYTES = (bytes, bytearray, memoryview)


class NotPlainError(TypeError):
    """A value that stands for no JSON value. The message says what it is and what to give in its place."""


def plain(value: Any) -> Any:
    """The JSON value that this one stands for. Raises NotPlainError where it stands for none."""
    try:
        return _plain(value)
    except RecursionError:
        raise NotPlainError("a value holds itself, or is nested too deeply for JSON") from None


def text(value: Any, what: str) -> str:
    """A text as such. Raises NotPlainError for anything else."""
    if isinstance(value, str):
        return str.__str__(value)
    raise NotPlainError(f"{what} is a text, and {_named(value)} is none")


def _plain(value: Any) -> Any:
    if isinstance(value, _BYTES):
        return msgspec.to_builtins(bytes(value))
    for kind, way in _WAYS:
        if isinstance(value, kind):
            return way(value)
    if callable(dump := getattr(type(value), "model_dump", None)):  # what schema libraries agree on
        return _plain(dump(value, mode="json"))
    return msgspec.to_builtins(value, enc_hook=_hook)


def _hook(value: Any) -> Any:
    """For what stands in a dataclass or another struct: what has a way of its own, as far as anything has."""
    if isinstance(value, tuple(kind for kind, _ in _WAYS)) or hasattr(type(value), "model_dump"):
        return _plain(value)
    raise NotPlainError(f"{_named(value)} is no JSON value; {_instead(value)}")


def _named(value: Any) -> str:
    """`a value of type generator`."""
    return f"a value of type {type(value).__name__}"


def _instead(value: Any) -> str:
    if inspect.iscoroutine(value):
        return "an agent is called, not awaited: let it run its own loop (asyncio.run) and return what that gives"
    if inspect.isgenerator(value) or inspect.isasyncgen(value):
        return "give a list of what it yields"
    return "give None, a boolean, a number, a text, a list, or an object with texts for keys"


def _member(key: Any) -> str:
    """A key as JSON has it: a text, or a number as its text."""
    key = key.value if isinstance(key, Enum) else key
    if isinstance(key, str):
        return str.__str__(key)
    if isinstance(key, (int, float)) and not isinstance(key, bool):
        return json.dumps(_plain(key))
    raise NotPlainError(f"{_named(key)} is no key of an object; {_instead(key)}")


def _object(members: Mapping[Any, Any]) -> dict[str, Any]:
    """An object. Raises NotPlainError where two keys are one there (`1` and `"1"`): one of the values would be lost."""
    made = {_member(key): _plain(held) for key, held in members.items()}
    if len(made) != len(members):
        raise NotPlainError("two keys of an object are the same text, and JSON has no place for both of their values")
    return made


def _in_order(members: AbstractSet[Any]) -> list[Any]:
    """A set has no order: that of its members as they are written, the same in every run."""
    return sorted(map(_plain, members), key=lambda member: json.dumps(member, sort_keys=True))


_WAYS: tuple[tuple[type | tuple[type, ...], Callable[[Any], Any]], ...] = (
    ((type(None), bool), lambda value: value),
    (Enum, lambda value: _plain(value.value)),
    (str, str.__str__),
    (int, int.__pos__),
    (float, float.__pos__),
    (Mapping, _object),
    ((Sequence, deque, KeysView, ValuesView), lambda value: [_plain(one) for one in value]),
    (AbstractSet, _in_order),
)
"""For each kind of value, as what it is written; the first that fits counts."""
