"""Can any of these rules hold for texts such as these? One pattern that says no for many: a sentence under `query`
meets none of the dozen patterns for statements, and their union tells so at the price of one.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

from forensics.core.pointers import pointer_tokens
from forensics.rules.conditions import compile_pattern, is_whole_match, key_words, looked_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from forensics.rules.conditions import Pattern
    from forensics.rules.model import Condition

Needed = frozenset[tuple[str, str]]
"""Pairs of a key (as words) and a pattern: a member of that key must match the pattern, for one pair at least."""

_UNBOUNDED = "\\Q"  # quotes the rest of a pattern, and with it the bracket that would end it in a union


def needed_matches(condition: Condition, member: str) -> Needed | None:
    """What must match in the object at the subject's `member` for the condition to hold; None when that isn't known."""
    found = [needed for part in condition.all if (needed := needed_matches(part, member)) is not None]
    if condition.at is not None and condition.matches is not None and condition.present is not False:
        own = _own(condition, condition.matches, member)
        found += [] if own is None else [own]
    parts = [needed_matches(part, member) for part in condition.any]
    known = [part for part in parts if part is not None]
    if parts and len(known) == len(parts):
        found.append(Needed().union(*known))
    return min(found, key=len, default=None)


def _own(condition: Condition, pattern: str, member: str) -> Needed | None:
    keys: set[str] = set()
    for pointer in (condition.at,) if isinstance(condition.at, str) else condition.at or ():
        first, rest = pointer_tokens(pointer)[:1], pointer_tokens(pointer)[1:]
        if first != (member,) or "*" in rest or len(rest) + bool(condition.keys) != 1:
            return None
        keys |= {key_words(key) for key in (rest or condition.keys)}
    return None if _UNBOUNDED in pattern else Needed((key, pattern) for key in keys)


class Screen:
    """The patterns that rules need, joined by the members of objects with one tuple of keys; compiled when asked."""

    def __init__(self, keys: Iterable[str], needed: Needed) -> None:
        wanted: dict[str, set[str]] = {}
        for key, pattern in needed:
            wanted.setdefault(key, set()).add(pattern)
        self._wanted = tuple((key, sorted(wanted[key_words(key)])) for key in keys if key_words(key) in wanted)

    def lets_pass(self, value: Mapping[str, object]) -> bool:
        """Whether one of the members matches one of its patterns; True where that can't be told."""
        for key, union in self._unions:
            text = value[key]
            if isinstance(text, str) and (union is None or is_whole_match(union, text)):
                return True
        return False

    def may_let_pass(self, values: Sequence[Mapping[str, object]]) -> bool:
        """Whether one of several objects might be let pass; False says that none is. One look at all their texts, each
        of them a line or several, which finds a line that one of the patterns matches as a whole.
        """
        if len(values) < _MANY:
            return any(map(self.lets_pass, values))
        for key, lines in self._lines:
            texts = [text for value in values if isinstance(text := value[key], str)]
            if texts and (lines is None or lines.search(_APART.join(map(looked_at, texts))) is not None):
                return True
        return False

    @cached_property
    def _unions(self) -> tuple[tuple[str, Pattern | None], ...]:
        return tuple((key, _compiled(_union(patterns))) for key, patterns in self._wanted)

    @cached_property
    def _lines(self) -> tuple[tuple[str, Pattern | None], ...]:
        """The same for texts that stand one below the other; None where a pattern may not be asked so."""
        return tuple(
            (key, None if any(map(_OF_THE_WHOLE.search, patterns)) else _compiled(f"(?m)^(?:{_union(patterns)})$"))
            for key, patterns in self._wanted
        )


_MANY = 16  # objects; for fewer no pattern of its own is compiled
_APART = b"\n\xff\n"
"""Stands between texts: the ends of lines, and a byte that is no UTF-8, which no match reaches across."""

_OF_THE_WHOLE = re.compile(r"\\[AzCQ]|\(\?[A-Za-z]*-")
"""What a pattern says of the whole text and means otherwise in a line of several, or may say so: the ends of the text,
single bytes, quotes that reach beyond the pattern, flags that are taken back.
"""


def _union(patterns: Iterable[str]) -> str:
    return "|".join(f"(?:{pattern})" for pattern in patterns)


def _compiled(pattern: str) -> Pattern | None:
    """None for a pattern that is too large."""
    try:
        return compile_pattern(pattern)
    except ValueError:
        return None
