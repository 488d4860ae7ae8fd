"""Which records of a Claude Code session are told at once, by their keys and the types of what they hold?

A record is of a usual shape where these leave but questions to its values; every other record is told by itself. Both
ways go by the tables of `kinds`.
"""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING

import msgspec

from forensics.core.jsonvalue import text_of
from forensics.formats.shared.claude.kinds import CALLS_BESIDE, MEDIA, STRUCTURED, TEXTS, WORDS, is_result
from forensics.formats.shared.fields import names_a_tool

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forensics.formats.shared.fields import Fields

Keys = tuple[str, ...]
Held = tuple[Keys, bytes]
"""The keys of an object, and its type as it is written."""
Key = tuple[Held, Keys, "tuple[Held, ...] | None"]
"""What a shape is known by: its record, the keys of its message, and the blocks of that (None: it has none)."""

_SHAPES = 4096
_LONGEST = 256  # keys and blocks of a record, and bytes of a type, that is told at once
_ABSENT = msgspec.Raw(b"")
_ALONE = frozenset({"toolDenialKind", "isCompactSummary"})
"""The marks of records that are told by themselves."""
_ALONE_TYPES = frozenset({"", "result"})


class Shape(msgspec.Struct, frozen=True, gc=False, eq=False):
    """What the records with some keys and types are: their type, whether they hold a message and that has blocks, and
    which of these are calls, results and words.
    """

    kind: str
    speaks: bool = False
    in_blocks: bool = False
    calls: tuple[int, ...] = ()
    results: tuple[int, ...] = ()
    words: tuple[int, ...] = ()


BY_ITSELF = Shape("")
"""That of each record that is told by itself."""


class Shapes:
    """The shapes of a session's records, of which it has some dozens."""

    def __init__(self) -> None:
        self._known: dict[Key, Shape] = {}

    def of(self, key: Key) -> Shape:
        """The shape of the records that are known by this."""
        return self._known.get(key) or self._learn(key)

    def _learn(self, key: Key) -> Shape:
        if len(self._known) >= _SHAPES:
            self._known.clear()
        shape = self._known[key] = _shape(*key)
        return shape


def all_held(objects: Sequence[Fields]) -> list[Held]:
    """What a shape is known by of each object."""
    types = map(dict.get, objects, repeat("type"), repeat(_ABSENT))
    return list(zip(map(tuple, objects), map(bytes, types), strict=True))


def _shape(record: Held, message: Keys, blocks: tuple[Held, ...] | None) -> Shape:
    keys, kind = record[0], _type(record[1])
    if kind in _ALONE_TYPES or _ALONE & set(keys) or len(set(STRUCTURED) & set(keys)) > 1 or len(keys) > _LONGEST:
        return BY_ITSELF
    if kind not in ("assistant", "user"):
        return BY_ITSELF if "message" in keys or names_a_tool(keys) else Shape(kind)
    if CALLS_BESIDE & set(message) or "content" not in message or len(message) > _LONGEST:
        return BY_ITSELF
    return _spoken(kind, blocks)


def _spoken(speaker: str, blocks: tuple[Held, ...] | None) -> Shape:
    """That of a message; a turn that is but a text is told by itself."""
    if blocks is None:
        return Shape(speaker, speaks=True) if speaker == "user" else BY_ITSELF
    kinds = [_type(kind) for _, kind in blocks]
    wanted = "tool_use" if speaker == "assistant" else "tool_result"
    if len(blocks) > _LONGEST or not set(kinds) <= TEXTS | MEDIA | {wanted}:
        return BY_ITSELF
    at = {one: tuple(row for row, kind in enumerate(kinds) if kind == one) for one in ("tool_use", "tool_result")}
    words = tuple(row for row, (keys, _) in enumerate(blocks) if row not in at["tool_use"] and set(WORDS) & set(keys))
    if speaker == "user" and (words[1:] or any(is_result(kinds[row]) for row in words)):
        return BY_ITSELF
    calls, results = at["tool_use"], at["tool_result"]
    return Shape(speaker, speaks=True, in_blocks=True, calls=calls, results=results, words=words)


def _type(raw: bytes) -> str:
    """The type that is written so; "" where it is none that is told at once."""
    return text_of(msgspec.Raw(raw)) if raw[:1] == b'"' and len(raw) <= _LONGEST else ""
