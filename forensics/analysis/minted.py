"""Which of the values minted so far does a run of a text name? An index by the run at which a value is recognised.

Most values are one run and are found by one lookup. A value with other characters (a timestamp, a URL) is found by its
longest run, its anchor; the text around that run is then looked up whole, so that a thousand values that share an
anchor cost no more than one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator

Naming = tuple[int, str]
"""The index of a value, and how it is written: verbatim, case, embedded."""

_SHORTEST_PIECE = 4
_LONGEST_HOLDER = 512


class _Around(msgspec.Struct, gc=False):
    """The values around one anchor. `shapes` tells where it stands in them (offset, length of the value)."""

    shapes: dict[tuple[int, int], None]
    exact: dict[bytes, int]
    folded: dict[bytes, int]


class Minted:
    """The values minted so far, each with an index of the caller's."""

    def __init__(self) -> None:
        self._runs: dict[bytes, int] = {}
        self._other_case: dict[bytes, tuple[int, ...]] = {}
        self._around: dict[bytes, _Around] = {}
        self._ends: set[bytes] = set()

    def __bool__(self) -> bool:
        return bool(self._runs or self._around)

    def add(self, index: int, value: bytes, anchor: bytes) -> None:
        """Note a value that is recognised by `anchor`, a run of it."""
        folded = anchor.lower()
        if value != anchor:
            around = self._around.setdefault(folded, _Around({}, {}, {}))
            self._around[anchor] = around
            around.shapes[value.find(anchor), len(value)] = None
            around.exact.setdefault(value, index)
            around.folded.setdefault(value.lower(), index)
            return
        self._runs.setdefault(value, index)
        if folded != value:
            self._other_case[folded] = (*self._other_case.get(folded, ()), index)
        pieces = value.replace(b"_", b"-").split(b"-")
        self._ends.add(pieces[0])
        self._ends.add(pieces[-1])

    def knows(self, value: bytes, anchor: bytes) -> bool:
        """Whether this very value was minted."""
        if value == anchor:
            return value in self._runs
        around = self._around.get(anchor.lower())
        return around is not None and value in around.exact

    def has(self, run: bytes) -> bool:
        """Whether a run is a value or the anchor of one, as it was minted or in lower case."""
        return run in self._runs or run in self._other_case or run in self._around

    def names(self, run: bytes) -> bool:
        """Whether a run names a value, in whatever case, or is the anchor of one."""
        return self.has(run) or self.has(run.lower())

    def named(self, run: bytes, text: bytes) -> Iterator[Naming]:
        """The values that a run of this text names."""
        folded = run.lower()
        index = self._runs.get(run)
        if index is not None:
            yield index, "verbatim"
        elif folded in self._runs:
            yield self._runs[folded], "case"
        if index is None or run == folded:
            yield from ((other, "case") for other in self._other_case.get(folded, ()))
        if folded in self._around:
            yield from _standing_around(self._around[folded], folded, text)

    def embedded(self, run: bytes) -> Iterator[Naming]:
        """The values at the start or the end of a longer run (`page-pg_8812`, `pg_8812-copy`)."""
        if len(run) > _LONGEST_HOLDER:
            return
        pieces = run.replace(b"_", b"-").split(b"-")
        if pieces[0] not in self._ends and pieces[-1] not in self._ends:
            return
        cut = -1
        for piece in pieces[:-1]:
            cut += len(piece) + 1
            for part in (run[:cut], run[cut + 1 :]):
                if len(part) >= _SHORTEST_PIECE and part in self._runs:
                    yield self._runs[part], "embedded"


def _standing_around(around: _Around, anchor: bytes, text: bytes) -> Iterator[Naming]:
    """The values that stand around an anchor (in lower case) in a text."""
    folded = text.lower()
    at = folded.find(anchor)
    while at >= 0:
        for before, length in around.shapes:
            start = at - before
            index = around.exact.get(text[start : start + length]) if start >= 0 else None
            if index is not None:
                yield index, "verbatim"
            elif start >= 0 and (other := around.folded.get(folded[start : start + length])) is not None:
                yield other, "case"
        at = folded.find(anchor, at + len(anchor))
