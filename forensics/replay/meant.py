"""Which name was most likely meant by one that is not there?"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from forensics.core.sanitise import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable

_SHOWN = 60
_LISTED = 5


def meant(name: str, names: Iterable[str]) -> str:
    """A hint: the nearest of the names, else the first of them; "" where there are none."""
    there = sorted(set(names))
    near = get_close_matches(name, there, 1)
    if near:
        return f"did you mean {one_line(near[0], _SHOWN)}?"
    listed = ", ".join(one_line(one, _SHOWN) for one in there[:_LISTED])
    return f"there is {listed}{', …' if len(there) > _LISTED else ''}" if there else ""
