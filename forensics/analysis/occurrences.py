"""Where does each run of a trace first stand, and which other runs could name the same value? Known before any value is
followed, so that following them has to look only at runs that come back.

Nearly all runs of a long log stand once and name nothing else. So the runs are kept as text, and only those are looked
up in tables that may be related to another: a sketch of counters by hash, made first, says for which that can be.
"""

from __future__ import annotations

from array import array
from itertools import chain
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
_DASHES = b"-_"
_BLOCK = 1024  # rows
_SLOTS = 8  # of the sketch for each run
_MANY = 2


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
        for row, payload in enumerate(trace.payload.texts()):
            if payload is None:
                continue
            text = plain_bytes(payload)
            runs = self.runs_of(text)
            if _SPELLED in payload:
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


def _sketch(blocks: Sequence[bytes]) -> tuple[bytearray, int]:
    """How often a run may stand in blocks of text, in whatever case and without the dashes around it: 0, 1, or 2 for
    more, in the slot that the hash of its letters names under the mask. Never fewer times than it stands.
    """
    runs = sum(block.count(b" ") + block.count(b"\n") + 1 for block in blocks)
    seen = bytearray(1 << (runs * _SLOTS).bit_length())
    mask = len(seen) - 1
    for block in blocks:
        folded = block.lower().split()
        for text in (*folded, *(run.strip(_DASHES) for run in _ragged(_cut(folded)))):
            slot = hash(text) & mask
            if seen[slot] < _MANY:
                seen[slot] += 1
    return seen, mask


def _related(blocks: Sequence[bytes], asked: set[bytes]) -> set[bytes]:
    """The runs in blocks of text that may stand elsewhere too, in another case, with other dashes around them, or
    inside another; and those that are asked for.
    """
    seen, mask = _sketch(blocks)
    related: set[bytes] = set()
    wanted = set(asked)
    ragged: dict[bytes, None] = {}
    for block in blocks:
        runs = block.split()
        related.update(
            [run for run, text in zip(runs, block.lower().split(), strict=True) if seen[hash(text) & mask] >= _MANY]
        )
        cut = _cut(runs)
        ragged.update(dict.fromkeys(_ragged(cut)))
        for run in cut:
            held = [piece for piece in _pieces(run) if seen[hash(piece.lower()) & mask]]
            if held:
                related.add(run)
                wanted.update(held)
    for block in blocks if wanted else ():
        related.update(wanted.intersection(block.split()))
    for run in ragged:
        text = run.strip(_DASHES)
        if text in wanted or seen[hash(text.lower()) & mask] >= _MANY:
            related.add(run)
    return related


def _cut(runs: Iterable[bytes]) -> Runs:
    """The runs in which a `-` or `_` stands."""
    return [run for run in runs if b"-" in run or b"_" in run]


def _ragged(cut: Runs) -> Runs:
    """Of the runs in which a dash stands, those that begin or end with one."""
    return [run for run in cut if run[0] in _DASHES or run[-1] in _DASHES]


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
    tokens = {token for run in runs for token in (run, run.strip(_DASHES))}  # values are told without the dashes
    found: dict[bytes, list[bytes]] = {}
    for run in _cut(runs):
        for piece in _pieces(run):
            if piece in tokens:
                found.setdefault(piece, []).append(run)
    return found


def _pieces(run: bytes) -> Runs:
    """What stands before and after each cut of a run that is no longer than a holder may be."""
    if len(run) > _LONGEST_HOLDER:
        return []
    cuts = [at for at, letter in enumerate(run) if letter in _DASHES]
    least, most = _SHORTEST_PIECE, len(run) - _SHORTEST_PIECE
    return [run[:at] for at in cuts if at >= least] + [run[at + 1 :] for at in cuts if at < most]
