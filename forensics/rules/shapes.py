"""Is this value opaque, such as a tool mints (an id, a token, a cursor, a clock), and of which kind?

The shapes are data (rules/handles). They are compiled into one anchored alternation; RE2 syntax keeps every pattern
free of back-references and look-around, and values are capped in length, so a hostile value costs linear time. A shape
that is limited to some keys stands in it too: where it matches under another key, those that hold there are asked by
themselves. An alternation of its own for each sort of keys would be compiled by nearly every audit, for few values.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

from forensics.core.late import late
from forensics.rules.words import split_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forensics.rules.model import ShapeRule

MAX_VALUE = 4096
"""Longer values (characters) are content, not handles."""

MAX_KEYED = 256
"""A value that only its key makes an identifier is one word of at most this length (characters)."""

MAX_SPACED = 64
"""A longer value (characters) that holds white space is prose; only written dates hold any."""

_SPACE = late(r"\s")
_CACHE = 65536
_LIMITED = ""
"""Stands for the kind of a shape that is limited to other keys: another shape may match the value too."""


class Shapes:
    """Every shape rule, in the order of the packs: the first that matches names the kind."""

    def __init__(self, rules: tuple[ShapeRule, ...]) -> None:
        self._rules = tuple(rule for rule in rules if rule.pattern is not None)
        self._keys = frozenset(" ".join(split_words(key)) for rule in rules for key in rule.keys)
        self._last = frozenset(word for rule in rules for word in rule.last_words)
        self._seen: dict[str, bool] = {}

    def kind(self, value: str, key: str | None) -> str | None:
        """The kind of an opaque value; `id` when only its key says so; None when it is not opaque."""
        if not value or len(value) > MAX_VALUE or (len(value) > MAX_SPACED and _SPACE.search(value) is not None):
            return None
        under_id = key is not None and self.is_id_key(key)
        there = self._under_id if under_id else self._elsewhere
        match, kinds = self._every.fullmatch(value), there.kinds
        if match is not None and kinds[match.lastindex or 0] == _LIMITED:
            match, kinds = there.alone.fullmatch(value), there.alone.kinds
        if match is not None:
            return kinds[match.lastindex or 0]
        return "id" if under_id and _one_word(value) else None

    def kinds(self, values: Sequence[str], key: str | None) -> list[str | None]:
        """The kind of each of these values, which all stand under that key."""
        under_id = key is not None and self.is_id_key(key)
        kinds = (self._under_id if under_id else self._elsewhere).kinds
        short = [value if len(value) <= MAX_SPACED else "" for value in values]
        return [
            self.kind(value, key)
            if len(value) > MAX_SPACED
            else (kind if (kind := kinds[match.lastindex or 0]) != _LIMITED else self.kind(value, key))
            if match is not None
            else "id"
            if under_id and value and _one_word(value)
            else None
            for match, value in zip(map(self._every.fullmatch, short), values, strict=True)
        ]

    @cached_property
    def _every(self) -> _Alternation:
        return _Alternation(self._rules)

    @cached_property
    def _under_id(self) -> _Under:
        return _Under(self._rules, "other_key")

    @cached_property
    def _elsewhere(self) -> _Under:
        return _Under(self._rules, "id_key")

    def is_id_key(self, key: str) -> bool:
        """Whether a key's name says that its value identifies something."""
        known = self._seen.get(key)
        if known is None:
            if len(self._seen) >= _CACHE:
                self._seen.clear()
            known = self._seen[key] = self._judge(key)
        return known

    def _judge(self, key: str) -> bool:
        words = split_words(key[:256])
        return bool(words) and (words[-1] in self._last or " ".join(words) in self._keys)


class _Alternation:
    """Patterns joined into one; the number of the group that matched tells the kind."""

    def __init__(self, rules: Sequence[ShapeRule]) -> None:
        self.kinds = (None, *(rule.kind for rule in rules))
        self.fullmatch = re.compile("|".join(f"({rule.pattern})" for rule in rules), re.ASCII).fullmatch


class _Under:
    """What the shapes mean under keys of one sort: `kinds`, by the groups of all shapes, and those that hold there."""

    def __init__(self, rules: Sequence[ShapeRule], other: str) -> None:
        self._rules = [rule for rule in rules if rule.only_under != other]
        self.kinds = (None, *(_LIMITED if rule.only_under == other else rule.kind for rule in rules))

    @cached_property
    def alone(self) -> _Alternation:
        """The shapes that hold there, without the others."""
        return _Alternation(self._rules)


def _one_word(value: str) -> bool:
    return len(value) <= MAX_KEYED and _SPACE.search(value) is None
