"""Which values does a run of a text name? A watch list of the runs by which the values minted so far are recognised.

Most values are one run. A value with other characters (a timestamp, a URL) is recognised by its longest run, its
anchor; the text around that run is then looked up whole, so that a thousand values that share an anchor cost no more
than one. Each value is watched for from the row on in which it became known.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

import msgspec

from forensics.analysis.bare import bare
from forensics.analysis.runs import END
from forensics.core.handles import BARE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.analysis.occurrences import Occurrences
    from forensics.analysis.texts import Text

Naming = tuple[int, str]
"""The index of a value, and how it is written: verbatim, case, embedded, bare."""

_BEST_FIRST = ("verbatim", "case", "embedded", BARE)


class _Around(msgspec.Struct, gc=False):
    """The values around one anchor. `shapes` tells where it stands in them (offset, length of the value); `exact` and
    `folded` their index.
    """

    anchor: bytes
    shapes: dict[tuple[int, int], None]
    exact: dict[bytes, int]
    folded: dict[bytes, int]


class Minted:
    """The values minted so far by their index, with the row from behind which on each is `known`. `watched` are the
    runs that may name one, or that may once one of those is minted that are only waited for: only runs that stand in
    the trace are watched for, so a value that never comes back costs nothing. The end of a line is one of them, so that
    lines are kept apart.
    """

    def __init__(self, occurrences: Occurrences) -> None:
        self.watched: set[bytes] = {END}
        self._occurrences = occurrences
        self.known = array("i")
        self._named: dict[bytes, list[Naming]] = {}
        self._around: dict[bytes, _Around] = {}

    def add(self, index: int, value: bytes, anchor: bytes, step: int) -> None:
        """Watch for a value of a step, known already, that is recognised by `anchor`, a run of it."""
        if value != anchor:
            self._add_around(index, value, (anchor, *self._occurrences.other_case.get(anchor.lower(), ())))
            return
        for run, written in self._names(anchor, step):
            self.watched.add(run)
            self._named.setdefault(run, []).append((index, written))

    def expect(self, anchor: bytes, step: int) -> None:
        """Watch for what may name a value of a step, if it is added later."""
        self.watched.add(anchor)
        self.watched.update(self._occurrences.other_case.get(anchor.lower(), ()))
        self.watched.update(run for run, _ in self._names(anchor, step))

    def _names(self, anchor: bytes, step: int) -> Iterator[tuple[bytes, str]]:
        """The runs that may name a value which is one run, each with how it would be written."""
        told = self._occurrences
        if told.stands_after(anchor, step):
            yield anchor, "verbatim"
        for other in told.other_case.get(anchor.lower(), ()):
            if other != anchor:
                yield other, "case"
        for holder in told.holders.get(anchor, ()):
            yield holder, "embedded"
        rest = bare(anchor)
        if rest is not None and told.first.get(rest, step) > step:
            yield rest, BARE

    def _add_around(self, index: int, value: bytes, anchors: tuple[bytes, ...]) -> None:
        around = self._around.get(anchors[0])
        if around is None:
            around = _Around(anchors[0].lower(), {}, {}, {})
            self._around.update((anchor, around) for anchor in anchors)
            self.watched.update(anchors)
        folded = value.lower()
        around.shapes[folded.find(around.anchor), len(value)] = None
        for table, written in ((around.exact, value), (around.folded, folded)):
            if self.known[table.setdefault(written, index)] > self.known[index]:
                table[written] = index

    def named(self, run: bytes, text: Text) -> Iterator[Naming]:
        """The values that a run of this text names, as well as any is written."""
        named = self._named.get(run)
        if named is not None:
            found = [naming for naming in named if self.known[naming[0]] < text.row]
            if len(found) > 1:
                best = min((written for _, written in found), key=_BEST_FIRST.index)
                found = [naming for naming in found if naming[1] == best]
            yield from found
        around = self._around.get(run)
        if around is not None:
            yield from self._standing_around(around, text)

    def _standing_around(self, around: _Around, text: Text) -> Iterator[Naming]:
        """The values that stand around an anchor in a text."""
        known, row, plain = self.known, text.row, text.plain
        folded = plain.lower()
        at = folded.find(around.anchor)
        while at >= 0:
            for before, length in around.shapes:
                start = max(at - before, 0)
                index = around.exact.get(plain[start : start + length])
                if index is not None and known[index] < row:
                    yield index, "verbatim"
                    continue
                index = around.folded.get(folded[start : start + length])
                if index is not None and known[index] < row:
                    yield index, "case"
            at = folded.find(around.anchor, at + len(around.anchor))
