"""Where does each run of a trace first stand, and which other runs could name the same value? Known before any value is
followed, so that following them has to look only at runs that come back.

Nearly all runs of a long log stand once and name nothing else. So the runs are kept as text
(forensics.analysis.run_blocks), and only those are looked up in tables that may be related to another
(forensics.analysis.related_runs).
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence
from itertools import chain, compress
from operator import ne
from typing import TYPE_CHECKING

import msgspec

from forensics.analysis.bare import bare
from forensics.analysis.encodings import base64_runs, decodings
from forensics.analysis.related_runs import DASHES, Parts, add_related, ragged
from forensics.analysis.run_blocks import RunBlocks
from forensics.analysis.runs import END, SMALL_TRACE, Runs, all_runs, anchor_of, digit_runs, plain_bytes
from forensics.analysis.written_times import WrittenTimes
from forensics.core.jsonvalue import value_of
from forensics.core.leaves import leaves_of
from forensics.core.trace import StepKind

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from forensics.analysis.run_blocks import Block
    from forensics.core.trace import Payload, Trace

_SAYING = frozenset({int(StepKind.TOOL_CALL), int(StepKind.MODEL)})  # what the agent itself wrote
_TOGETHER = 4  # blocks


class Standing(msgspec.Struct, frozen=True):
    """Some runs, each with the row in which it stands, row after row."""

    rows: Sequence[int]
    runs: Runs


class Part(msgspec.Struct, frozen=True):
    """Some rows that follow each other (`span`): those that hold runs, and these runs, a line of text for each row; and
    the ones that may be related to others.
    """

    span: range
    rows: Sequence[int]
    lines: list[bytes]
    related: Standing


class Occurrences:
    """The runs of each row and, of arguments and model texts, those of what is encoded in them (`encoded`).

    Of runs that may be related to others, `first` is the row where a run first stands (-1 for those `told` before the
    first row), `other_case` leads from a run in lower case to the runs that differ from each other in case only,
    `holders` from a run to the longer runs that begin or end with it. `live` are the runs that another row names, in
    whatever way. A run of which nothing of this is known stands once. `times` knows times that are written; `spelled`
    are the rows in which a letter may be spelled as an escape.
    """

    def __init__(self, trace: Trace, told: Iterable[bytes]) -> None:
        self.small = len(trace) <= SMALL_TRACE
        self.runs_of = all_runs if self.small else digit_runs
        self._all = RunBlocks(trace.payload.texts(), with_digit=not self.small)
        self.spelled = frozenset(self._all.spelled)
        self.times = WrittenTimes(self._all)
        distinct, related = self._all.distinct()
        self.encoded = self._encoded(trace, distinct)
        self._decoded = set(chain.from_iterable(self.encoded.values()))
        add_related(related, (*distinct, b" ".join(chain.from_iterable(self.encoded.values()))), self._asked(trace))
        self._steps = len(trace)
        self._held = [_only(related, block) for block in self._all.blocks]
        self.first, last = self._first_and_last()
        self.first.update(dict.fromkeys(told, -1))
        for row, runs in self.encoded.items():
            last.update((run, max(row, last.get(run, row))) for run in runs if run in related)
        behind = map(ne, last.values(), map(self.first.get, last))
        self._later = dict(compress(last.items(), behind))
        self.other_case = _other_cases(last)
        self.holders = _holders(last)
        self.live = {run for run in self._later if run in self.first}
        self.live.update(self.holders, chain.from_iterable(self.other_case.values()))
        self.live.update(run for piece, runs in self.holders.items() for run in runs if bare(run) == piece)

    def parts(self) -> Iterator[Part]:
        """All rows, those of some blocks at a time, with the runs that they hold."""
        blocks, begin, first = self._all.blocks, 0, 0
        while first < len(blocks):
            last = _last_of_row(blocks, min(first + _TOGETHER, len(blocks)) - 1)
            some, end = slice(first, last + 1), blocks[last].rows[-1] + 1
            yield _part(range(begin, end), blocks[some], self._held[some])
            begin, first = end, last + 1
        yield _part(range(begin, self._steps), (), ())

    def stands_after(self, run: bytes, row: int) -> bool:
        """Whether a run stands in a later row, or in what one of them encodes."""
        return self._later.get(run, self.first.get(run, -1)) > row

    def may_come_back(self, value: bytes, anchor: bytes) -> bool:
        """Whether a value of several runs may stand a second time, in some row or in what one encodes."""
        known = anchor in self._decoded or anchor.lower() in self.other_case
        return known or not self.times.stands_once(self.runs_of(value))

    def _encoded(self, trace: Trace, distinct: Iterable[bytes]) -> dict[int, Runs]:
        """By row, the runs of what arguments and model texts say once it is decoded."""
        wrapped = set[bytes]().union(*map(base64_runs, distinct))
        rows = {*self._all.percent, *self._all.spelled, *(self._rows_with(wrapped) if wrapped else ())}
        found: dict[int, Runs] = {}
        for row in sorted(row for row in rows if trace.kind[row] in _SAYING):
            text = plain_bytes(trace.payload[row] or b"")
            runs = self.runs_of(text)
            said = [run for _, decoded in decodings(text, runs) for run in all_runs(decoded)]
            if runs and said:
                found[row] = said
        return found

    def _rows_with(self, wanted: set[bytes]) -> Iterator[int]:
        """The rows that hold one of these runs."""
        held = wanted.__contains__
        return chain.from_iterable(compress(block.row_of_each, map(held, block.runs)) for block in self._all.blocks)

    def _first_and_last(self) -> tuple[dict[bytes, int], dict[bytes, int]]:
        """Where each run that may be related to others stands first, and where last."""
        first: dict[bytes, int] = {}
        last: dict[bytes, int] = {}
        for held in self._held:
            last.update(zip(held.text.split(), held.rows, strict=True))
        for held in reversed(self._held):
            first.update(zip(reversed(held.text.split()), reversed(held.rows), strict=True))
        return first, last

    def _asked(self, trace: Trace) -> set[bytes]:
        """The runs that are looked up though they may stand in no text as they are."""
        asked = set(_runs_beside(trace, self.runs_of))
        for row in self._all.spelled:
            asked.update(_runs_of_leaves(trace.payload[row] or b"null", self.runs_of))
        return asked


class _Held(msgspec.Struct, frozen=True):
    """Some runs of a block as text, each with its row."""

    rows: array[int]
    text: bytes


def _only(wanted: set[bytes], block: Block) -> _Held:
    """These runs of a block only."""
    runs = block.runs
    held = list(map(wanted.__contains__, runs))
    return _Held(array("i", compress(block.row_of_each, held)), b" ".join(compress(runs, held)))


def _last_of_row(blocks: Sequence[Block], at: int) -> int:
    """Of blocks that follow each other, the last that holds the last row of the one at that place."""
    row = blocks[at].rows[-1]
    while at + 1 < len(blocks) and blocks[at + 1].rows[0] == row:
        at += 1
    return at


def _part(span: range, blocks: Sequence[Block], held: Sequence[_Held]) -> Part:
    """The part of those rows, by their blocks and what may be related of each."""
    rows = list(chain.from_iterable([block.rows for block in blocks]))
    related = Standing(list(chain.from_iterable([one.rows for one in held])), _runs_of([one.text for one in held]))
    lines = list(chain.from_iterable([block.text.split(END) for block in blocks]))
    if len(rows) > len(set(rows)):
        rows, lines = _by_row(rows, lines)
    return Part(span, rows, lines, related)


def _by_row(rows: list[int], lines: list[bytes]) -> tuple[list[int], list[bytes]]:
    """The same with what is told of one row in several lines brought together."""
    told: dict[int, list[bytes]] = {}
    for row, line in zip(rows, lines, strict=True):
        told.setdefault(row, []).append(line)
    return list(told), list(map(b" ".join, told.values()))


def _runs_of(texts: Iterable[bytes]) -> Runs:
    return b" ".join(texts).split()


def _runs_beside(trace: Trace, runs_of: Callable[[bytes], Runs]) -> Iterator[bytes]:
    """The runs of arguments that are looked up though they stand in no step: those that a harness added to, and those
    that only a later prompt showed.
    """
    calls = trace.calls
    asked = (calls[row].requested for row, number in enumerate(calls.column("requested")) if number < -1)
    ran = (calls[row].executed for row in calls.rare("added"))
    for witness in chain(asked, ran):
        if witness is not None and witness.payload is not None:
            yield from runs_of(plain_bytes(witness.payload))
            yield from _runs_of_leaves(witness.payload, runs_of)


def _runs_of_leaves(payload: Payload | bytes, runs_of: Callable[[bytes], Runs]) -> Iterator[bytes]:
    """The runs of a payload's scalars, which are others than those of its text where letters are spelled as escapes."""
    for *_, item in leaves_of(value_of(payload)):
        yield from runs_of(str(item).encode("utf-8", "surrogatepass"))
        anchor = anchor_of(str(item))
        if anchor is not None:
            yield anchor


# what a run is related to ---------------------------------------------------------------------------------------------


def _other_cases(runs: Collection[bytes]) -> dict[bytes, list[bytes]]:
    folded = b" ".join(runs).lower().split()
    several: dict[bytes, list[bytes]] = {}
    if len(set(folded)) < len(folded):
        again = {run for run, times in Counter(folded).items() if times > 1}
        for run, lower in zip(runs, folded, strict=True):
            if lower in again:
                several.setdefault(lower, []).append(run)
    return several


def _holders(runs: Iterable[bytes]) -> dict[bytes, list[bytes]]:
    """By run, the longer runs that begin or end with it at a `-` or `_`: `pg_8812-copy` holds `pg_8812`."""
    tokens = {*runs, *(run.strip(DASHES) for run in ragged(runs))}  # values are told without the dashes
    line = b" ".join(runs)
    found: dict[bytes, list[bytes]] = {}
    for longer, pieces in Parts([line]).of(line):
        for run, piece in zip(longer, pieces, strict=True) if not tokens.isdisjoint(pieces) else ():
            if piece in tokens:
                found.setdefault(piece, []).append(run)
    return found
