"""Which members of a tool's output does its schema show to be made by the call itself?

A member that identifies something and that no input names is new when the tool changes something: what an update is
given it gives back, what a creation names it names first. Of a tool that only reads the same member is a reference, so
whoever asks looks at the effect first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from forensics.rules.words import split_words

if TYPE_CHECKING:
    from forensics.core.classes import ToolFacts

_DEEPEST = 6
_MOST = 2000

Member = tuple[str, Mapping[str, object]]


def made_member(facts: ToolFacts, is_id_key: Callable[[str], bool]) -> str | None:
    """The first member of the output schema, in its order, that identifies something and that no input names."""
    if facts.output_schema is None:
        return None
    given = _Given(facts.input_schema)
    for number, (key, schema) in enumerate(_members(facts.output_schema)):
        if number >= _MOST:
            break
        if _is_scalar(schema) and not given.names(key) and (is_id_key(key) or schema.get("format") == "uuid"):
            return key
    return None


class _Given:
    """What the input names: `page_id` also names the `id` of the output, since it may be the same thing's."""

    def __init__(self, schema: Mapping[str, object] | None) -> None:
        words = [split_words(key[:256]) for key, _ in _members(schema or {})]
        self._whole = frozenset(words)
        self._last = frozenset(word[-1] for word in words if word)

    def names(self, key: str) -> bool:
        words = split_words(key[:256])
        return words in self._whole or (len(words) == 1 and words[0] in self._last)


def _is_scalar(schema: Mapping[str, object]) -> bool:
    kind = schema.get("type")
    return kind in ("string", "integer", None) or (
        isinstance(kind, list) and not {"object", "array"} & set(map(str, kind))
    )


def _members(schema: Mapping[str, object]) -> Iterator[Member]:
    """The members of a schema and of what it nests, breadth first, so that the outermost comes first."""
    level: list[object] = [schema]
    for _ in range(_DEEPEST):
        below: list[object] = []
        for one in level[:_MOST]:
            if not isinstance(one, Mapping):
                continue
            properties = one.get("properties")
            for key, inner in properties.items() if isinstance(properties, Mapping) else ():
                if isinstance(key, str) and isinstance(inner, Mapping):
                    yield key, inner
                    below.append(inner)
            below.append(one.get("items"))
        level = below
