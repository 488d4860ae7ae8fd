"""Where does each run of a trace first stand, and which other runs could name the same value? Known before any value is
followed, so that following them has to look only at runs that come back.

Nearly all runs of a long log stand once and name nothing else. So the runs are kept as text
(forensics.analysis.run_blocks), and only those are looked up in tables that may be related to another
(forensics.analysis.related_runs).
"""

from __future__ import annotations

from itertools import chain, compress
from typing import TYPE_CHECKING, NamedTuple

from forensics.analysis.bare import bare
from forensics.analysis.encodings import base64_runs, decodings
from forensics.analysis.related_runs import DASHES, Parts, add_related, ragged
from forensics.analysis.run_blocks import RunBlocks
from forensics.analysis.runs import END, SMALL_TRACE, all_runs, anchor_of, digit_runs, plain_bytes
from forensics.analysis.written_times import WrittenTimes
from forensics.core.jsonvalue import value_of
from forensics.core.leaves import leaves_of
from forensics.core.trace import StepKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from forensics.analysis.runs import Runs
    from forensics.core.trace import Payload, Trace

_SAYING = frozenset({int(StepKind.TOOL_CALL), int(StepKind.MODEL)})  # what the agent itself wrote
_JOINED = b" \n "  # the end of a line between two others
_TOGETHER = 512  # rows, or more: all of a block


class Part(NamedTuple):
    """Some rows that follow each other: each with its runs, as a line of text; and in one text, line by line, those of
    them that may be related to others.
    """

    rows: Sequence[int]
    lines: list[bytes]
    related: bytes


class Occurrences:
    """The runs of each row and, of arguments and model texts, those of what is encoded in them (`encoded`).

    Of runs that may be related to others, `first` is the row where a run first stands (-1 for those `told` before the
    first row), `other_case` leads from a run in lower case to the runs that differ from each other in case only,
    `holders` from a run to the longer runs that begin or end with it. `live` are the runs that another row names, in
    whatever way. A run of which nothing of this is known stands in one row only. `times` knows times that are written.
    """

    def __init__(self, trace: Trace, told: Iterable[bytes]) -> None:
        self.small = len(trace) <= SMALL_TRACE
        self.runs_of = all_runs if self.small else digit_runs
        self._all = RunBlocks(trace.payload.texts(), with_digit=not self.small)
        self.times = WrittenTimes(self._all)
        distinct, related = self._all.distinct()
        self.encoded = self._encoded(trace, distinct)
        blocks = (*distinct, *(b" ".join(runs) for runs in self.encoded.values()))
        asked = self._asked(trace)
        if self.small:
            related.update(asked, *map(bytes.split, blocks))
        else:
            add_related(related, blocks, asked)
        self._held = self._all.blocks if self.small else _only(related, self._all.blocks)
        self.first: dict[bytes, int] = {}
        last: dict[bytes, int] = {}
        for row, run in self._standing():
            if run not in last:
                self.first[run] = row
            last[run] = row
        self.first.update(dict.fromkeys(told, -1))
        for row, runs in self.encoded.items():
            last.update((run, max(row, last.get(run, row))) for run in runs if run in related)
        self._later = {run: row for run, row in last.items() if self.first.get(run) != row}
        self.other_case = _other_cases(last)
        self.holders = _holders(last)
        self.live = {run for run in self._later if run in self.first}
        self.live.update(self.holders, chain.from_iterable(self.other_case.values()))
        self.live.update(run for piece, runs in self.holders.items() for run in runs if bare(run) == piece)

    def parts(self) -> Iterator[Part]:
        """The rows that say anything, some hundred at a time, with their runs."""
        begin = end = first = 0
        for last, block in enumerate(self._all.blocks, 1):
            end += block.count(END) + 1
            if end - begin >= _TOGETHER or last == len(self._held):
                told, held = (_JOINED.join(blocks[first:last]) for blocks in (self._all.blocks, self._held))
                yield Part(self._all.rows[begin:end], told.split(END), held)
                begin, first = end, last

    def stands_after(self, run: bytes, row: int) -> bool:
        """Whether a run stands in a later row, or in what one of them encodes."""
        return self._later.get(run, self.first.get(run, -1)) > row

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
        return compress(self._all.rows, map(bytes.strip, _lines(_only(wanted, self._all.blocks))))

    def _standing(self) -> Iterator[tuple[int, bytes]]:
        """Each row with each of its runs that may be related to others."""
        rows = iter(self._all.rows)
        for block in self._held:
            row = next(rows)
            for run in block.split(b" "):
                if run == END:
                    row = next(rows)
                elif run:
                    yield row, run

    def _asked(self, trace: Trace) -> set[bytes]:
        """The runs that are looked up though they may stand in no text as they are."""
        asked = set(_runs_beside(trace, self.runs_of))
        for row in self._all.spelled:
            asked.update(_runs_of_leaves(trace.payload[row] or b"null", self.runs_of))
        return asked


def _lines(blocks: Iterable[bytes]) -> Iterator[bytes]:
    return (line for block in blocks for line in block.split(END))


def _only(wanted: set[bytes], blocks: Iterable[bytes]) -> list[bytes]:
    """The blocks with these runs, and the ends of lines, only."""
    kept = {*wanted, END}.__contains__
    return [b" ".join(filter(kept, block.split(b" "))) for block in blocks]


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


def _other_cases(runs: Iterable[bytes]) -> dict[bytes, list[bytes]]:
    one: dict[bytes, bytes] = {}
    several: dict[bytes, list[bytes]] = {}
    for run in runs:
        folded = run.lower()
        other = one.setdefault(folded, run)
        if other is not run:
            several.setdefault(folded, [other]).append(run)
    return several


def _holders(runs: Iterable[bytes]) -> dict[bytes, list[bytes]]:
    """By run, the longer runs that begin or end with it at a `-` or `_`: `pg_8812-copy` holds `pg_8812`."""
    tokens = {*runs, *(run.strip(DASHES) for run in ragged(runs))}  # values are told without the dashes
    line = b" ".join(runs)
    found: dict[bytes, list[bytes]] = {}
    for run, piece in Parts([line]).of(line):
        if piece in tokens:
            found.setdefault(piece, []).append(run)
    return found
