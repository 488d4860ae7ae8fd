"""Can any of these rules hold for texts such as these? One pattern that says no for many: a sentence under `query`
meets none of the dozen patterns for statements, and their union tells so at the price of one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.core.pointers import pointer_tokens
from forensics.rules.conditions import compile_pattern, is_whole_match, key_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

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
    """The patterns that rules need, joined by the members of objects with one tuple of keys."""

    def __init__(self, keys: Iterable[str], needed: Needed) -> None:
        wanted: dict[str, set[str]] = {}
        for key, pattern in needed:
            wanted.setdefault(key, set()).add(pattern)
        self._unions = tuple((key, _union(wanted[key_words(key)])) for key in keys if key_words(key) in wanted)

    def lets_pass(self, value: Mapping[str, object]) -> bool:
        """Whether one of the members matches one of its patterns; True where that can't be told."""
        for key, union in self._unions:
            text = value[key]
            if isinstance(text, str) and (union is None or is_whole_match(union, text)):
                return True
        return False


def _union(patterns: Iterable[str]) -> Pattern | None:
    """One pattern for all; None where they are too large together."""
    try:
        return compile_pattern("|".join(f"(?:{pattern})" for pattern in sorted(patterns)))
    except ValueError:
        return None
