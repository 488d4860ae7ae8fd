"""Where does each run of a trace first stand, and which other runs could name the same value? Known before any value is
followed, so that following them has to look only at runs that come back.

Nearly all runs of a long log stand once and name nothing else. So the runs are kept as text, and only those are looked
up in tables that may be related to another: a sketch of counters by hash, made first, says for which that can be.
"""

from __future__ import annotations

import re
from array import array
from itertools import chain, compress
from typing import TYPE_CHECKING
from urllib.parse import unquote_to_bytes

from forensics.analysis.runs import SMALL_TRACE, all_runs, anchor_of, digit_runs, plain_bytes
from forensics.core.jsonvalue import value_of
from forensics.core.leaves import leaves_of
from forensics.core.trace import StepKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from forensics.analysis.runs import Runs
    from forensics.core.trace import Payload, Trace

_SHORTEST_PIECE = 4
_LONGEST_HOLDER = 512
_CALL = int(StepKind.TOOL_CALL)
_PERCENT = b"%"
_SPELLED = b"\\u00"
_CUT = re.compile(b"[-_]")
_DASHES = b"-_"
_BLOCK = 1024  # rows
_SLOTS = 8  # of the sketch for each run
_MANY = 2
_SEVERAL = _MANY.__le__


class Occurrences:
    """The runs of each row and, of arguments that hold a percent sign, those of the decoded text (`encoded`).

    Of runs that may be related to others, `first` is the row where a run first stands (-1 for those `told` before the
    first row), `other_case` leads from a run in lower case to the runs that differ from each other in case only,
    `holders` from a run to the longer runs that begin or end with it. `live` are the runs that another row names, in
    whatever way. A run of which nothing of this is known stands in one row only.
    """

    def __init__(self, trace: Trace, told: Iterable[bytes]) -> None:
        self.small = len(trace) <= SMALL_TRACE
        self.runs_of = all_runs if self.small else digit_runs
        self.encoded: dict[int, Runs] = {}
        self._rows = array("i")
        self._blocks: list[bytes] = []
        asked = set(_runs_beside(trace, self.runs_of))
        self._read(trace, asked)
        blocks = (*self._blocks, *(b" ".join(runs) for runs in self.encoded.values()))
        related = asked.union(*map(bytes.split, blocks)) if self.small else _related(blocks, asked)
        self.first: dict[bytes, int] = {}
        last: dict[bytes, int] = {}
        for row, runs in self:
            for run in [run for run in runs if run in related]:
                self.first.setdefault(run, row)
                last[run] = row
        self.first.update(dict.fromkeys(told, -1))
        for row, runs in self.encoded.items():
            last.update((run, max(row, last.get(run, row))) for run in runs if run in related)
        self._later = {run: row for run, row in last.items() if self.first.get(run) != row}
        self.other_case = _other_cases(last)
        self.holders = _holders(last)
        self.live = {run for run in self._later if run in self.first}
        self.live.update(self.holders, chain.from_iterable(self.other_case.values()))

    def __iter__(self) -> Iterator[tuple[int, Runs]]:
        """Each row that holds any, with its runs."""
        texts = (text for block in self._blocks for text in block.split(b"\n"))
        for row, text in zip(self._rows, texts, strict=True):
            yield row, text.split(b" ")

    def stands_after(self, run: bytes, row: int) -> bool:
        """Whether a run stands in a later row, or in what one of them encodes."""
        return self._later.get(run, self.first.get(run, -1)) > row

    def _read(self, trace: Trace, asked: set[bytes]) -> None:
        block: list[bytes] = []
        for row, payload in enumerate(trace.payload):
            if payload is None:
                continue
            text = plain_bytes(payload)
            runs = self.runs_of(text)
            if _SPELLED in bytes(payload):
                asked.update(_runs_of_leaves(payload, self.runs_of))
            if not runs:
                continue
            self._rows.append(row)
            block.append(b" ".join(runs))
            if len(block) == _BLOCK:
                self._blocks.append(b"\n".join(block))
                block.clear()
            if _PERCENT in text and trace.kind[row] == _CALL:
                self.encoded[row] = all_runs(unquote_to_bytes(text))
        if block:
            self._blocks.append(b"\n".join(block))


# which runs may be related to others ----------------------------------------------------------------------------------


class _Sketch:
    """How often may a text stand among those that were added? Never fewer times than it says: 0, 1, or 2 for more."""

    def __init__(self, texts: int) -> None:
        self._seen = bytearray(1 << max(texts * _SLOTS, 1).bit_length())
        self._mask = len(self._seen) - 1

    def add(self, texts: Iterable[bytes]) -> None:
        seen, mask = self._seen, self._mask
        for text in texts:
            slot = hash(text) & mask
            if seen[slot] < _MANY:
                seen[slot] += 1

    def counts(self, texts: Iterable[bytes]) -> Iterator[int]:
        seen, mask = self._seen, self._mask
        return (seen[hash(text) & mask] for text in texts)


def _related(blocks: Sequence[bytes], asked: set[bytes]) -> set[bytes]:
    """The runs in blocks of text that may stand elsewhere too, in another case, with other dashes around them, or
    inside another; and those that are asked for.
    """
    sketch = _Sketch(sum(block.count(b" ") + block.count(b"\n") + 1 for block in blocks))
    for block in blocks:
        runs = block.lower().split()
        sketch.add(runs)
        sketch.add(run.strip(_DASHES) for run in _ragged(runs))
    related: set[bytes] = set()
    wanted = set(asked)
    for block in blocks:
        runs = block.split()
        related.update(compress(runs, map(_SEVERAL, sketch.counts(block.lower().split()))))
        ragged = _ragged(runs)
        stripped = sketch.counts(run.strip(_DASHES).lower() for run in ragged)
        related.update(compress(ragged, map(_SEVERAL, stripped)))
        for run in _cut(runs):
            pieces = list(_pieces(run))
            held = list(compress(pieces, sketch.counts(piece.lower() for piece in pieces)))
            if held:
                related.add(run)
                wanted.update(held)
    for block in blocks:
        runs = block.split()
        related.update(wanted.intersection(runs))
        related.update(run for run in _ragged(runs) if run.strip(_DASHES) in wanted)
    return related


def _cut(runs: Iterable[bytes]) -> Runs:
    """The runs in which a `-` or `_` stands."""
    return [run for run in runs if b"-" in run or b"_" in run]


def _ragged(runs: Runs) -> Runs:
    """The runs that begin or end with a dash."""
    return [run for run in _cut(runs) if run[0] in _DASHES or run[-1] in _DASHES]


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


def _runs_of_leaves(payload: Payload, runs_of: Callable[[bytes], Runs]) -> Iterator[bytes]:
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
    tokens = {token for run in runs for token in (run, run.strip(_DASHES))}  # values are told without the dashes
    found: dict[bytes, list[bytes]] = {}
    for run in _cut(runs):
        for piece in _pieces(run):
            if piece in tokens:
                found.setdefault(piece, []).append(run)
    return found


def _pieces(run: bytes) -> Iterator[bytes]:
    """What stands before and after each cut of a run that is no longer than a holder may be."""
    for cut in _CUT.finditer(run) if len(run) <= _LONGEST_HOLDER else ():
        for piece in (run[: cut.start()], run[cut.end() :]):
            if len(piece) >= _SHORTEST_PIECE:
                yield piece
