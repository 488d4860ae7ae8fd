"""Where does each run of a trace first stand, and which other runs could name the same value? Known before any value is
followed, so that following them has to look only at runs that come back.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING
from urllib.parse import unquote_to_bytes

from forensics.analysis.runs import SMALL_TRACE, all_runs, digit_runs, plain_bytes
from forensics.core.trace import StepKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from forensics.analysis.runs import Runs
    from forensics.core.trace import Trace

_SHORTEST_PIECE = 4
_LONGEST_HOLDER = 512
_CALL = int(StepKind.TOOL_CALL)
_PERCENT = b"%"
_CUT = re.compile(b"[-_]")


class Occurrences:
    """The runs of each row and, of arguments that hold a percent sign, those of the decoded text (`encoded`).

    `first` is the row where a run first stands, and -1 for those `told` before the first row. `other_case` leads from a
    run in lower case to the runs that differ from each other in case only, `holders` from a run to the longer runs that
    begin or end with it. `live` are the runs that another row names, in whatever way.
    """

    def __init__(self, trace: Trace, told: Iterable[bytes]) -> None:
        self.small = len(trace) <= SMALL_TRACE
        self._rows = array("q")
        self._ends = array("q")
        self._runs: Runs = []
        self.encoded: dict[int, Runs] = {}
        self.runs_of = all_runs if self.small else digit_runs
        self._read(trace, self.runs_of)
        rows = [row for row, runs in self for _ in runs]
        last = dict(zip(self._runs, rows, strict=True))
        self.first = dict(zip(reversed(self._runs), reversed(rows), strict=True))
        self.first.update(dict.fromkeys(told, -1))
        for row, decoded in self.encoded.items():
            last.update((run, max(row, last.get(run, row))) for run in decoded)
        self._later = {run: row for run, row in last.items() if self.first.get(run) != row}
        self.other_case = _other_cases(last)
        self.holders = _holders(last)
        self.live = {run for run in self._later if run in self.first}
        self.live.update(self.holders, chain.from_iterable(self.other_case.values()))

    def __iter__(self) -> Iterator[tuple[int, Runs]]:
        """Each row that holds any, with its runs."""
        begin = 0
        for row, end in zip(self._rows, self._ends, strict=True):
            yield row, self._runs[begin:end]
            begin = end

    def stands_after(self, run: bytes, row: int) -> bool:
        """Whether a run stands in a later row, or in what one of them encodes."""
        return self._later.get(run, self.first.get(run, -1)) > row

    def _read(self, trace: Trace, runs_of: Callable[[bytes], Runs]) -> None:
        known = dict[bytes, bytes]().setdefault  # a run that comes back is kept once
        for row, payload in enumerate(trace.payload):
            if payload is None:
                continue
            text = plain_bytes(payload)
            runs = runs_of(text)
            if runs:
                self._runs += [known(run, run) for run in runs]
                self._rows.append(row)
                self._ends.append(len(self._runs))
                if _PERCENT in text and trace.kind[row] == _CALL:
                    self.encoded[row] = all_runs(unquote_to_bytes(text))


def _other_cases(runs: Iterable[bytes]) -> dict[bytes, list[bytes]]:
    one: dict[bytes, bytes] = {}
    several: dict[bytes, list[bytes]] = {}
    for run in runs:
        folded = run.lower()
        other = one.setdefault(folded, run)
        if other is not run:
            several.setdefault(folded, [other]).append(run)
    return several


def _holders(runs: dict[bytes, int]) -> dict[bytes, list[bytes]]:
    """By run, the longer runs that begin or end with it at a `-` or `_`: `pg_8812-copy` holds `pg_8812`. Only a run
    whose first or last piece stands elsewhere too can hold another.
    """
    cut = [run for run in runs if (b"-" in run or b"_" in run) and len(run) <= _LONGEST_HOLDER]
    firsts = [run.partition(b"-")[0].partition(b"_")[0] for run in cut]
    lasts = [run.rpartition(b"-")[2].rpartition(b"_")[2] for run in cut]
    starting, ending = Counter(firsts), Counter(lasts)
    ragged = {run.strip(b"-_") for run in cut if run[0] in b"-_" or run[-1] in b"-_"}  # values are told without
    tokens = runs.keys() | ragged
    found: dict[bytes, list[bytes]] = {}
    for run, first, last in zip(cut, firsts, lasts, strict=True):
        shared = starting[first] > 1 or ending[last] > 1 or first in tokens or last in tokens
        for piece in _pieces(run) if shared or not first or not last else ():
            if piece in tokens:
                found.setdefault(piece, []).append(run)
    return found


def _pieces(run: bytes) -> Iterator[bytes]:
    """What stands before and after each cut of a run."""
    for cut in _CUT.finditer(run):
        for piece in (run[: cut.start()], run[cut.end() :]):
            if len(piece) >= _SHORTEST_PIECE:
                yield piece
