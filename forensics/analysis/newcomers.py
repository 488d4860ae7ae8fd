"""Which scalars of some results may be values of their own, and new? They are looked at column by column.

A scalar that is new holds a run that stands in no earlier row. In nearly all results every scalar stands in the text as
it is, so that a run that is in no table (forensics.analysis.occurrences) stands nowhere else, and one whose first row
is that of the result is new in it. A result of which that is not so (an escape that spells a letter, a dash around a
run) is told as odd: its runs are to be looked at one by one, in the order of the results.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from forensics.analysis.columns import Columns
from forensics.analysis.runs import anchor_of
from forensics.analysis.written_times import holds_time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from forensics.analysis.columns import Column
    from forensics.analysis.occurrences import Occurrences
    from forensics.rules.engine import RuleSet

_WITH_DIGIT = re.compile(r"[^\s0-9]*[0-9]\S*").fullmatch
_ONE_WORD = re.compile(r"\S+").fullmatch
_ONE_RUN = re.compile(rb"[0-9A-Za-z_-]+").fullmatch
_DIGIT = re.compile(b"[0-9]").search
_DASHES = b"-_"
LONGEST_VALUE = 4096
WAITS = ""
"""The kind of a value that counts only when a later argument holds it."""


class Results(NamedTuple):
    """Results that follow each other: their rows and values, and their runs as lines of text."""

    rows: Sequence[int]
    values: Sequence[Any]
    lines: Sequence[bytes]


Brought = tuple[int, int, str, str, str, bytes]
"""A value that a result brought: step, place (it orders those of one result), value, kind, pointer, anchor."""

_New = tuple[int, str, bytes]
"""A text that is new, by the row of its result, and its bytes."""


def may_be_value(*, small: bool, names_id: bool) -> Callable[[str], object]:
    """What a text must match to be looked at: it has no white space, and holds a digit but, in a small trace, under a
    key that names an id.
    """
    return _ONE_WORD if small and names_id else _WITH_DIGIT


class Newcomers:
    """The new scalars of some results: `found`. `taken` are the runs that they take up, and that numbers are, which
    are no values of running text; `left` are the other new ones. `odd` are the rows of results to be looked at one by
    one: what was found of these does not count.
    """

    def __init__(self, results: Results, rules: RuleSet, occurrences: Occurrences) -> None:
        self.found: list[Brought] = []
        self.taken: set[bytes] = set()
        self.odd: set[int] = set()
        self.runs = set(b" ".join(results.lines).split())
        self._said: set[bytes] = set()
        self._lines = dict(zip(results.rows, results.lines, strict=True))
        self._rules = rules
        self._told = occurrences
        self._first = occurrences.first
        columns = Columns()
        for place, column in enumerate(columns.of(results.rows, results.values)):
            if column.is_text:
                self._texts(place, column)
            elif column.key is not None:
                self._numbers(place, column, names_id=rules.is_id_key(column.key))
        self.odd |= columns.left
        self.left = self._left(results.rows[0])
        self._mark_ragged()

    # numbers ---------------------------------------------------------------------------------------------------------

    def _numbers(self, place: int, column: Column, *, names_id: bool) -> None:
        """A number counts only when its key names an id."""
        first = self._first.get
        anchors = [b"%d" % number for number in column.items]
        new = [pair for pair in zip(column.rows, anchors, strict=True) if first(pair[1], pair[0]) >= pair[0]]
        if names_id:
            pointer = column.pointer
            self.found += [
                (row, place, anchor.decode(), "number", pointer, anchor)
                for row, anchor in new
                if self._is_new(row, anchor) and anchor not in self.taken
            ]
            self.odd.update(row for row, number in zip(column.rows, column.items, strict=True) if number == 0)  # or -0
        self.taken.update([anchor for _, anchor in new])

    def _is_new(self, row: int, run: bytes) -> bool:
        at = self._first.get(run)
        if at is None and run in self.runs:
            return True
        if at is None or at > row:
            self.odd.add(row)
        return at == row

    # texts -----------------------------------------------------------------------------------------------------------

    def _texts(self, place: int, column: Column) -> None:
        small, names_id = self._told.small, column.key is not None and self._rules.is_id_key(column.key)
        fits = may_be_value(small=small, names_id=names_id)
        pairs = [pair for pair in zip(column.rows, column.items, strict=True) if " " not in pair[1]]
        told = _encoded([text for _, text in pairs])
        firsts, runs = map(self._first.get, told), map(self.runs.__contains__, told)
        new: list[_New] = []
        others: list[tuple[_New, list[bytes]]] = []
        for (row, text), written, first, is_run in zip(pairs, told, firsts, runs, strict=True):
            if is_run and (first is None or first == row):
                if len(text) <= LONGEST_VALUE and (not small or fits(text)):  # in a large trace each holds a digit
                    new.append((row, text, written))
            elif (first is None or first > row) and len(text) <= LONGEST_VALUE and fits(text):
                parts = self._parts(row, written) if first is None else None
                if parts is None:
                    self.odd.add(row)
                elif self._is_any_new(row, parts):
                    others.append(((row, text, written), parts))
        if new:
            self._take_runs(place, column, new)
        if others:
            self._take_composed(place, column, others)

    def _take_runs(self, place: int, column: Column, new: list[_New]) -> None:
        """Take the new texts that are one run, each only where it stands first in its result."""
        if not self._said.isdisjoint([written for _, _, written in new]):
            new = [one for one in new if one[2] not in self._said]
        written = [one[2] for one in new]
        self._said.update(written)
        self.taken.update(written)
        kinds, pointer = self._rules.handle_kinds([text for _, text, _ in new], column.key), column.pointer
        pairs = list(zip(new, kinds, strict=True))
        self.found += [(row, place, text, kind, pointer, run) for (row, text, run), kind in pairs if kind is not None]
        if None in kinds:
            waits = self._told.stands_after
            self.found += [
                (row, place, text, WAITS, pointer, run)
                for (row, text, run), kind in pairs
                if kind is None and waits(run, row) and _DIGIT(run)
            ]

    def _take_composed(self, place: int, column: Column, new: list[tuple[_New, list[bytes]]]) -> None:
        """Take the new texts of several runs. The runs of one that is recognised are no values of their own."""
        first, pointer = self._first, column.pointer
        new = [one for one in new if one[0][2] not in self._said]
        self._said.update(one[2] for one, _ in new)
        kinds = self._rules.handle_kinds([text for (_, text, _), _ in new], column.key)
        for ((row, text, written), parts), kind in zip(new, kinds, strict=True):
            anchor = anchor_of(text) or written
            taken = (anchor,) if kind is None else parts
            self.taken.update(part for part in taken if first.get(part, row) == row)
            if kind is not None:
                self.found.append((row, place, text, kind, pointer, anchor))
            elif self._told.stands_after(anchor, row) and _DIGIT(anchor):
                self.found.append((row, place, text, WAITS, pointer, anchor))

    def _parts(self, row: int, written: bytes) -> list[bytes] | None:
        """The runs of a text that is none of the runs of these results; None where one of them is not told as it is."""
        if _ONE_RUN(written):
            return None
        first, runs, parts = self._first, self.runs, self._told.runs_of(written)
        unlike = any(part not in runs if (at := first.get(part)) is None else at > row for part in parts)
        return None if unlike else parts

    def _is_any_new(self, row: int, parts: list[bytes]) -> bool:
        """Whether one of these runs is new, or they are those of a written time that stands in no row before."""
        if any(self._first.get(part, row) == row for part in parts):
            return True
        return self._told.times.is_new(parts, row) and self._may_bring(row)

    def _may_bring(self, row: int) -> bool:
        """Whether a result holds a time, or any new run."""
        line = self._lines[row]
        return holds_time(line) or any(self._first.get(run, row) == row for run in line.split())

    # running text ----------------------------------------------------------------------------------------------------

    def _left(self, begin: int) -> set[bytes]:
        """The new runs with a digit that no scalar takes up. A number counts only where it comes back."""
        first, taken = self._first, self.taken
        return {
            run
            for run in self.runs
            if first.get(run, begin) >= begin
            and run not in taken
            and (run in first or not run.isdigit())
            and _DIGIT(run)
        }

    def _mark_ragged(self) -> None:
        """What is left of a run without the dashes around it may stand elsewhere: it is no longer new there."""
        ragged = {run for run in self.left if run[0] in _DASHES or run[-1] in _DASHES}
        if ragged:
            self.odd.update(row for row, line in self._lines.items() if not ragged.isdisjoint(line.split()))

    def running(self) -> Iterator[tuple[int, list[bytes]]]:
        """The rows of results that bring runs of running text, with these."""
        left, first = self.left, self._first
        for row, line in self._lines.items() if left else ():
            runs = dict.fromkeys(filter(left.__contains__, line.split()))
            if runs:
                yield row, [run for run in runs if first.get(run, row) == row]


def _encoded(texts: Sequence[str]) -> list[bytes]:
    """The bytes of each text: of all together where no text holds the end of a line."""
    told = "\n".join(texts).encode("utf-8", "surrogatepass").split(b"\n")
    return told if len(told) == len(texts) else [text.encode("utf-8", "surrogatepass") for text in texts]
