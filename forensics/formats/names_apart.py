"""How are files told apart in documents that have one name? By as many of the folders above them as it takes."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from pathlib import PurePath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def names_apart(places: Sequence[tuple[str, str]]) -> list[str]:
    """The name of each of these files, of which the place and a name are given: `d1/run.jsonl` and `d2/run.jsonl`
    where both were called `run.jsonl`. A place that is named twice has the same name twice.
    """
    names = [name for _, name in places]
    held = Counter(names)
    if len(held) == len(names):
        return names
    alike: defaultdict[str, set[str]] = defaultdict(set)
    for where, name in places:
        if held[name] > 1:
            alike[name].add(where)
    apart = {(where, name): longer for name, group in alike.items() for where, longer in _longer(group, name)}
    return [apart.get(place, place[1]) for place in places]


def _longer(group: set[str], name: str) -> Iterable[tuple[str, str]]:
    """Each of some places that have one name, with the end of its path that no other one has."""
    paths = {where: PurePath(os.path.abspath(where)).parts[1:] for where in group}  # noqa: PTH100 - follows no link
    least, most = len(PurePath(name).parts), max(map(len, paths.values()))
    if len(set(paths.values())) == 1:
        return [(where, name) for where in group]
    for count in range(least, most + 1):
        ends = {where: parts[-count:] for where, parts in paths.items()}
        if len(set(ends.values())) == len(set(paths.values())):
            return [(where, "/".join(end)) for where, end in ends.items()]
    return [(where, name) for where in group]
