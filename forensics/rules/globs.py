"""Can two names with wildcards mean one tool, and does one of them mean all that the other means?

`*` stands for any characters and `?` for one, as in `forensics.rules.conditions.glob`. Both answers come from the names
alone, in no more steps than that takes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_STAR, _ONE = "*", "?"


def meet(one: str, other: str) -> bool:
    """Whether there is a name that both match."""
    if _STAR not in one or _STAR not in other:
        wide, fixed = (one, other) if _STAR in one else (other, one)
        return aligned(wide, fixed, _agree)
    starts = zip(one.partition(_STAR)[0], other.partition(_STAR)[0], strict=False)
    ends = zip(one.rpartition(_STAR)[2][::-1], other.rpartition(_STAR)[2][::-1], strict=False)
    return all(_agree(*pair) for pair in (*starts, *ends))  # what stands between finds room in the other's star


def covers(wide: str, narrow: str) -> bool:
    """Whether `wide` matches all that `narrow` does. A yes is certain; a no is not where `?` stands beside `*`."""
    return aligned(wide, narrow, lambda mine, theirs: mine == theirs or (mine == _ONE and theirs != _STAR))


def _agree(one: str, other: str) -> bool:
    return one == other or _ONE in (one, other)


def aligned(pattern: str, fixed: str, fits: Callable[[str, str], bool]) -> bool:
    """Whether the stars of `pattern` can be filled so that its other characters fit `fixed` one by one. Greedy with one
    way back, to the last star: at most len(pattern) x len(fixed) steps; a regex may take more.
    """
    at, star, resume, place = 0, -1, 0, 0
    while place < len(fixed):
        if at < len(pattern) and pattern[at] == _STAR:
            star, resume, at = at, place, at + 1
        elif at < len(pattern) and fits(pattern[at], fixed[place]):
            at, place = at + 1, place + 1
        elif star >= 0:
            resume += 1
            at, place = star + 1, resume
        else:
            return False
    return pattern[at:].strip(_STAR) == ""
