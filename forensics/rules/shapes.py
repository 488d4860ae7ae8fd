"""Is this value opaque, such as a tool mints (an id, a token, a cursor, a clock), and of which kind?

The shapes are data (rules/handles). They are compiled into one anchored alternation; RE2 syntax keeps every pattern
free of back-references and look-around, and values are capped in length, so a hostile value costs linear time.
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


class Shapes:
    """Every shape rule, in the order of the packs: the first that matches names the kind."""

    def __init__(self, rules: tuple[ShapeRule, ...]) -> None:
        self._rules = rules
        self._keys = frozenset(" ".join(split_words(key)) for rule in rules for key in rule.keys)
        self._last = frozenset(word for rule in rules for word in rule.last_words)
        self._seen: dict[str, bool] = {}

    def kind(self, value: str, key: str | None) -> str | None:
        """The kind of an opaque value; `id` when only its key says so; None when it is not opaque."""
        if not value or len(value) > MAX_VALUE or (len(value) > MAX_SPACED and _SPACE.search(value) is not None):
            return None
        under_id = key is not None and self.is_id_key(key)
        rules = self._under_id if under_id else self._elsewhere
        match = rules.fullmatch(value)
        if match is not None and match.lastindex is not None:
            return rules.kinds[match.lastindex - 1]
        return "id" if under_id and _one_word(value) else None

    def kinds(self, values: Sequence[str], key: str | None) -> list[str | None]:
        """The kind of each of these values, which all stand under that key."""
        under_id = key is not None and self.is_id_key(key)
        rules = self._under_id if under_id else self._elsewhere
        kinds, short = rules.kinds, [value if len(value) <= MAX_SPACED else "" for value in values]
        return [
            kinds[match.lastindex - 1]
            if match is not None and match.lastindex is not None
            else self.kind(value, key)
            if len(value) > MAX_SPACED
            else "id"
            if under_id and value and _one_word(value)
            else None
            for match, value in zip(map(rules.fullmatch, short), values, strict=True)
        ]

    @cached_property
    def _under_id(self) -> _Alternation:
        return _Alternation(tuple(rule for rule in self._rules if rule.only_under != "other_key"))

    @cached_property
    def _elsewhere(self) -> _Alternation:
        return _Alternation(tuple(rule for rule in self._rules if rule.only_under != "id_key"))

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
    """Patterns joined into one; the number of the group that matched tells the rule."""

    def __init__(self, rules: tuple[ShapeRule, ...]) -> None:
        with_pattern = [rule for rule in rules if rule.pattern is not None]
        self.kinds = tuple(rule.kind for rule in with_pattern)
        self.fullmatch = re.compile("|".join(f"({rule.pattern})" for rule in with_pattern), re.ASCII).fullmatch


def _one_word(value: str) -> bool:
    return len(value) <= MAX_KEYED and _SPACE.search(value) is None
