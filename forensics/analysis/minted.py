"""Which values does a run of a text name? A watch list of the runs by which the values minted so far are recognised.

Most values are one run. A value with other characters (a timestamp, a URL) is recognised by its longest run, its
anchor; the text around that run is then looked up whole, so that a thousand values that share an anchor cost no more
than one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.analysis.bare import bare
from forensics.core.handles import BARE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.analysis.occurrences import Occurrences
    from forensics.analysis.texts import Text

Naming = tuple[int, str]
"""The index of a value, and how it is written: verbatim, case, embedded, bare."""

_BEST_FIRST = ("verbatim", "case", "embedded", BARE)


class _Around(msgspec.Struct, gc=False):
    """The values around one anchor. `shapes` tells where it stands in them (offset, length of the value)."""

    anchor: bytes
    shapes: dict[tuple[int, int], None]
    exact: dict[bytes, int]
    folded: dict[bytes, int]


class Minted:
    """The values minted so far, each with an index of the caller's. `watched` are the runs that may name one: only runs
    that stand in the trace are watched for, so a value that never comes back costs nothing.
    """

    def __init__(self, occurrences: Occurrences) -> None:
        self.watched: set[bytes] = set()
        self._occurrences = occurrences
        self._named: dict[bytes, list[Naming]] = {}
        self._around: dict[bytes, _Around] = {}

    def add(self, index: int, value: bytes, anchor: bytes, row: int) -> None:
        """Watch for a value that is recognised by `anchor`, a run of it, after `row`."""
        told = self._occurrences
        others = told.other_case.get(anchor.lower(), ())
        if value != anchor:
            self._add_around(index, value, (anchor, *others))
            return
        if told.stands_after(anchor, row):
            self._watch(anchor, index, "verbatim")
        for other in others:
            if other != anchor:
                self._watch(other, index, "case")
        for holder in told.holders.get(anchor, ()):
            self._watch(holder, index, "embedded")
        rest = bare(anchor)
        if rest is not None and told.first.get(rest, row) > row:
            self._watch(rest, index, BARE)

    def _watch(self, run: bytes, index: int, written: str) -> None:
        self.watched.add(run)
        self._named.setdefault(run, []).append((index, written))

    def _add_around(self, index: int, value: bytes, anchors: tuple[bytes, ...]) -> None:
        around = self._around.get(anchors[0])
        if around is None:
            around = _Around(anchors[0].lower(), {}, {}, {})
            self._around.update((anchor, around) for anchor in anchors)
            self.watched.update(anchors)
        folded = value.lower()
        around.shapes[folded.find(around.anchor), len(value)] = None
        around.exact.setdefault(value, index)
        around.folded.setdefault(folded, index)

    def named(self, run: bytes, text: Text) -> Iterator[Naming]:
        """The values that a run of this text names, as well as any is written."""
        named = self._named.get(run)
        if named is not None and len(named) == 1:
            yield named[0]
        elif named is not None:
            best = min((written for _, written in named), key=_BEST_FIRST.index)
            yield from (naming for naming in named if naming[1] == best)
        around = self._around.get(run)
        if around is not None:
            yield from _standing_around(around, text.plain)


def _standing_around(around: _Around, text: bytes) -> Iterator[Naming]:
    """The values that stand around an anchor in a text."""
    folded = text.lower()
    at = folded.find(around.anchor)
    while at >= 0:
        for before, length in around.shapes:
            start = max(at - before, 0)
            index = around.exact.get(text[start : start + length])
            if index is not None:
                yield index, "verbatim"
            elif (other := around.folded.get(folded[start : start + length])) is not None:
                yield other, "case"
        at = folded.find(around.anchor, at + len(around.anchor))
