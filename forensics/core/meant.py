"""Which name was most likely meant by one that is not there?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.core.sanitise import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable

FEW = 5
"""How many names are listed of a table that may be as long as its author likes."""
_SHOWN = 60


def meant(name: str, names: Iterable[str], *, listed: int | None = None) -> str:
    """A hint: the nearest of the names, however either is cased, else the first `listed` of them (None: all), in the
    order in which they are given; "" where there is nothing to name.
    """
    from difflib import get_close_matches  # asked for when something is wrong, never by `--help`

    there = {one.lower(): one for one in names}
    near = get_close_matches(name.lower(), there, 1)
    if near:
        return f"did you mean {one_line(there[near[0]], _SHOWN)}?"
    shown = [one_line(one, _SHOWN) for one in there.values()][:listed]
    return f"one of: {', '.join(shown)}{', …' if len(shown) < len(there) else ''}" if shown else ""
