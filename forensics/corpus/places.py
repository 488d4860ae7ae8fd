"""Which places of a corpus are one and the same, how are they put into batches, and which tell of one run?"""

from __future__ import annotations

import functools
import os
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from forensics.formats.shared.remote import is_url, public

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from forensics.corpus.engines import Batch
    from forensics.corpus.job import Place, Unit

BATCH_BYTES = 16 << 20
MOST_TOGETHER = 16  # places; of more, one run is not told together but each for itself, and that is said


def file_at(where: str) -> str:
    """The one spelling of a place, so that a file that is named in two ways is one file. A link to a file stands for
    itself, as in an audit.
    """
    if is_url(where):
        return where
    folder, name = os.path.split(where)
    return os.path.join(_folder_at(folder), name)  # noqa: PTH118 - a Path may spell it otherwise


@functools.lru_cache(maxsize=1024)
def _folder_at(folder: str) -> str:
    return os.path.realpath(folder)


def kept_names(places: Iterable[str]) -> dict[str, str]:
    """The names by which a ledger may know the places that are URLs: without user, password and query. Where several
    come to the same name, they are numbered in the order of the places; the bytes say whether a result is of them.
    """
    names: dict[str, str] = {}
    taken: Counter[str] = Counter()
    for where in filter(is_url, places):
        name = public(where)
        taken[name] += 1
        names[where] = f"{name}#{taken[name]}" if taken[name] > 1 else name
    return names


def batches(units: Iterable[Unit], sizes: Mapping[str, int], most: int = BATCH_BYTES) -> Iterator[Batch]:
    """The units in their order, as many to a batch as have `most` bytes together; one that is larger stands alone."""
    batch: list[Unit] = []
    held = 0
    for unit in units:
        size = sum(sizes[where] for where, _ in unit)
        if batch and held + size > most:
            yield tuple(batch)
            batch, held = [], 0
        batch.append(unit)
        held += size
    if batch:
        yield tuple(batch)


def together(places: Sequence[Place], traces: Mapping[str, Iterable[str]]) -> list[Unit]:
    """The groups of places that tell of one run, by the runs that each tells of, in the order of the places."""
    first: dict[str, str] = {}
    parent = {where: where for where, _ in places}
    for where, _ in places:
        for trace in traces.get(where, ()):
            _join(parent, where, first.setdefault(trace, where))
    groups: dict[str, list[Place]] = defaultdict(list)
    for place in places:
        groups[_root(parent, place[0])].append(place)
    return [tuple(group) for group in groups.values() if len(group) > 1]


def _root(parent: dict[str, str], one: str) -> str:
    while parent[one] != one:
        parent[one] = parent[parent[one]]
        one = parent[one]
    return one


def _join(parent: dict[str, str], one: str, other: str) -> None:
    parent[_root(parent, one)] = _root(parent, other)
