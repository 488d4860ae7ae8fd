"""Which values does a run of a text name? A watch list of the runs by which the values minted so far are recognised.

Most values are one run. A value with other characters (a timestamp, a URL) is recognised by its longest run, its
anchor; the text around that run is then looked up whole, so that a thousand values that share an anchor cost no more
than one. Each value is watched for from the row on in which it became known.
"""

from __future__ import annotations

from array import array
from itertools import compress
from typing import TYPE_CHECKING

import msgspec

from forensics.analysis.bare import bare
from forensics.analysis.related_runs import LONGEST_HOLDER
from forensics.analysis.runs import Runs, places_of
from forensics.core.handles import BARE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from forensics.analysis.occurrences import Occurrences, Part
    from forensics.analysis.texts import Text

Naming = tuple[int, str]
"""The index of a value, and how it is written: verbatim, case, embedded, bare."""

_BEST_FIRST = ("verbatim", "case", "embedded", BARE)
_VERBATIM, _CASE, _EMBEDDED, _BARE = range(4)
_NONE = -1


class _Around(msgspec.Struct, gc=False):
    """The values around one anchor. `shapes` tells where it stands in them (offset, length of the value); `exact` and
    `folded` their index.
    """

    anchor: bytes
    shapes: dict[tuple[int, int], None]
    exact: dict[bytes, int]
    folded: dict[bytes, int]


class NamedIn(msgspec.Struct, frozen=True):
    """What some rows name: by row and index of the value, how it is written; and by row the runs of which that is not
    as plain, so that they are to be asked about (`named`) in the order of the rows.
    """

    plainly: dict[tuple[int, int], str]
    others: dict[int, Runs]


class Minted:
    """The values minted so far by their index, with the row from behind which on each is `known`. `watched` are the
    runs that may name one, or that may once one of those is minted that are only waited for: only runs that stand in
    the trace are watched for, so a value that never comes back costs nothing.
    """

    def __init__(self, occurrences: Occurrences) -> None:
        self.known = array("i")
        self.watched: dict[bytes, int] = {}  # the number of what the run names, as it was told last
        self._index = array("i")
        self._rank = array("b")
        self._before = array("i")  # what the run was told before to name
        self._anyway: set[bytes] = set()  # runs that are looked at whatever they name
        self._occurrences = occurrences
        self._around: dict[bytes, _Around] = {}
        self._related = set(occurrences.holders)  # runs that another run may name, but for those in another case
        for rest, runs in occurrences.holders.items():
            self._related.update(run for run in runs if bare(run) == rest)

    def add(self, index: int, value: bytes, anchor: bytes, step: int) -> None:
        """Watch for a value of a step, known already, that is recognised by `anchor`, a run of it."""
        if value != anchor:
            self._add_around(index, value, (anchor, *self._occurrences.other_case.get(anchor.lower(), ())))
            return
        watched, told = self.watched, self._occurrences
        if anchor in self._related or anchor.lower() in told.other_case or len(anchor) > LONGEST_HOLDER:
            names = self._names(anchor, step)
        else:
            names = [(anchor, _VERBATIM)] if told.stands_after(anchor, step) else []
        for run, rank in names:
            self._before.append(watched.get(run, _NONE))
            watched[run] = len(self._index)
            self._index.append(index)
            self._rank.append(rank)

    def expect(self, anchor: bytes, step: int) -> None:
        """Watch for what may name a value of a step, if it is added later."""
        others = self._occurrences.other_case.get(anchor.lower(), ())
        self.look_at(anchor, *others, *(run for run, _ in self._names(anchor, step)))

    def look_at(self, *runs: bytes) -> None:
        """Watch for these runs, whatever they name."""
        self._anyway.update(runs)
        for run in runs:
            self.watched.setdefault(run, _NONE)

    def _names(self, anchor: bytes, step: int) -> list[tuple[bytes, int]]:
        """The runs that may name a value which is one run, each with how it would be written."""
        told = self._occurrences
        names = [(anchor, _VERBATIM)] if told.stands_after(anchor, step) else []
        names += [(other, _CASE) for other in told.other_case.get(anchor.lower(), ()) if other != anchor]
        names += [(holder, _EMBEDDED) for holder in told.holders.get(anchor, ())]
        rest = bare(anchor)
        if rest is not None and told.first.get(rest, step) > step:
            names.append((rest, _BARE))
        return names

    def _add_around(self, index: int, value: bytes, anchors: tuple[bytes, ...]) -> None:
        around = self._around.get(anchors[0])
        if around is None:
            around = _Around(anchors[0].lower(), {}, {}, {})
            self._around.update((anchor, around) for anchor in anchors)
            self.look_at(*anchors)
        folded = value.lower()
        around.shapes[folded.find(around.anchor), len(value)] = None
        for table, written in ((around.exact, value), (around.folded, folded)):
            if self.known[table.setdefault(written, index)] > self.known[index]:
                table[written] = index

    def named_in(self, part: Part, special: Iterable[int]) -> NamedIn:
        """What the rows of a part name; those of `special` are told with the others whatever they name."""
        watched, before, known, index, anyway = self.watched, self._before, self.known, self._index, self._anyway
        others: dict[int, Runs] = {row: [] for row in special}
        hits: list[tuple[int, bytes, int]] = []
        told = list(map(watched.__contains__, part.related.runs))
        for row, run in zip(compress(part.related.rows, told), compress(part.related.runs, told), strict=True):
            if run in anyway or before[(at := watched[run])] != _NONE:
                others.setdefault(row, [])
                hits.append((row, run, _NONE))
            elif known[index[at]] < row:
                hits.append((row, run, at))
        plainly: dict[tuple[int, int], str] = {}
        for row, run, at in hits:
            if row in others:
                others[row].append(run)
            else:
                plainly.setdefault((row, index[at]), _BEST_FIRST[self._rank[at]])
        return NamedIn(plainly, others)

    def named(self, runs: Iterable[bytes], text: Text) -> dict[int, str]:
        """The values that these runs of a text name by their index, each with how it is written there."""
        found: dict[int, str] = {}
        around: dict[bytes, _Around] = {}
        for run in dict.fromkeys(runs):
            for index, written in self._named_by(run, text.row):
                found.setdefault(index, written)
            if run in self._around:
                around[run.lower()] = self._around[run]
        for index, written in self._standing_around(around, text) if around else ():
            if index not in found or written == _BEST_FIRST[_VERBATIM]:
                found[index] = written
        return found

    def _named_by(self, run: bytes, row: int) -> list[Naming]:
        """The values that a run of a row names, as well as any is written."""
        at = self.watched.get(run, _NONE)
        best, found = len(_BEST_FIRST), list[int]()
        while at != _NONE:
            index, rank = self._index[at], self._rank[at]
            if rank <= best and self.known[index] < row:
                found = [*found, index] if rank == best else [index]
                best = rank
            at = self._before[at]
        return [(index, _BEST_FIRST[best]) for index in found]

    def _standing_around(self, by_anchor: dict[bytes, _Around], text: Text) -> Iterator[Naming]:
        """The values that stand around their anchors in a text, each place the one that is written so or, in another
        case, the one that was known first.
        """
        known, row, plain = self.known, text.row, text.plain
        folded = plain.lower()
        for at, anchor in places_of(by_anchor, folded):
            around = by_anchor[anchor]
            for before, length in around.shapes:
                start = max(at - before, 0)
                index = around.exact.get(plain[start : start + length])
                if index is not None and known[index] < row:
                    yield index, _BEST_FIRST[_VERBATIM]
                    continue
                index = around.folded.get(folded[start : start + length])
                if index is not None and known[index] < row:
                    yield index, _BEST_FIRST[_CASE]
