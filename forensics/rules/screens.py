"""Can any of these rules hold for texts such as these? One pattern that says no for many: a sentence under `query`
meets none of the dozen patterns for statements, and their union tells so at the price of one.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING

from forensics.core.late import late
from forensics.core.pointers import pointer_tokens
from forensics.rules.conditions import LOOKED_AT, compile_pattern, is_unseen, is_whole_match, key_words, looked_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from forensics.rules.conditions import Pattern
    from forensics.rules.model import Condition

Needed = frozenset[tuple[str, str]]
"""Pairs of a key (as words) and a pattern: a member of that key must match the pattern, for one pair at least."""

NOTHING = r"[^\x00-\x{10FFFF}]"
"""Matches no text."""

_UNBOUNDED = "\\Q"  # quotes the rest of a pattern, and with it the bracket that would end it in a union


def needed_matches(condition: Condition, member: str) -> Needed | None:
    """What must match in the object at the subject's `member` for the condition to hold; None when that isn't known."""
    found = [needed for part in condition.all if (needed := needed_matches(part, member)) is not None]
    pattern = NOTHING if condition.unseen else condition.matches  # a text that is not seen whole always passes
    if condition.at is not None and pattern is not None and condition.present is not False:
        own = _own(condition, pattern, member)
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
        patterns = ((key, wanted[key_words(key)]) for key in keys if key_words(key) in wanted)
        self._needs = tuple((key, _Needs(sorted(several))) for key, several in patterns)

    def passing(self, columns: Mapping[str, Sequence[object]]) -> list[int]:
        """The places of the objects, whose members are these columns, of which a member matches one of its patterns or
        that can't be told. Equal texts are asked about once.
        """
        found: set[int] = set()
        for key, needs in self._needs:
            texts = [one for one in columns[key] if type(one) is str]
            meeting = set(needs.met_among(list(set(texts))))
            if meeting:
                found.update(at for at, one in enumerate(columns[key]) if type(one) is str and one in meeting)
        return sorted(found)


class _Needs:
    """Some patterns, of which a text has to match one."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._patterns = patterns

    def met_among(self, texts: list[str]) -> Iterator[str]:
        """The texts that match one of them, and those of which that is not told: what is not seen whole, and all
        where the patterns are too large for a union.
        """
        seen = [text for text in texts if not is_unseen(text)]
        asked = seen if len(seen) < _MANY or self._lines is None else self._with_a_line(self._lines, seen)
        yield from (text for text in asked if self._union is None or is_whole_match(self._union, text))
        yield from (text for text in (texts if len(seen) < len(texts) else ()) if is_unseen(text))

    def _with_a_line(self, lines: Pattern, texts: list[str]) -> Iterator[str]:
        """The texts of which a line, or several, match as a whole: found by looking through all of them as one text."""
        joined, lengths = _one_below_the_other(texts)
        ends = list(accumulate(map(len(_APART).__add__, lengths)))
        begin = 0
        while (match := lines.search(joined, begin)) is not None:
            at = bisect_right(ends, match.start())
            yield texts[at]
            begin = ends[at]
            if at + 1 == len(texts):
                return

    @cached_property
    def _union(self) -> Pattern | None:
        return _compiled(_union(self._patterns))

    @cached_property
    def _lines(self) -> Pattern | None:
        """The same for texts that stand one below the other; None where a pattern may not be asked so."""
        if any(map(_OF_THE_WHOLE.search, self._patterns)):
            return None
        return _compiled(f"(?m)^(?:{_union(self._patterns)})$")


_MANY = 16  # texts; for fewer no pattern of its own is compiled
_APART = b"\n\xff\n"
"""Stands between texts: the ends of lines, and a byte that is no UTF-8, which no match reaches across."""

_OF_THE_WHOLE = late(r"\\[AzCQ]|\(\?[A-Za-z]*-")
"""What a pattern says of the whole text and means otherwise in a line of several, or may say so: the ends of the text,
single bytes, quotes that reach beyond the pattern, flags that are taken back.
"""


def _one_below_the_other(texts: Sequence[str]) -> tuple[bytes, Iterator[int]]:
    """What patterns see of these texts, apart, and how long each is."""
    if all(map(str.isascii, texts)) and max(map(len, texts)) <= LOOKED_AT:
        return _APART.decode("latin-1").join(texts).encode("latin-1"), map(len, texts)
    seen = list(map(looked_at, texts))
    return _APART.join(seen), map(len, seen)


def _union(patterns: Iterable[str]) -> str:
    return "|".join(f"(?:{pattern})" for pattern in patterns)


def _compiled(pattern: str) -> Pattern | None:
    """None for a pattern that is too large."""
    try:
        return compile_pattern(pattern)
    except ValueError:
        return None
