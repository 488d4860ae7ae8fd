"""Which scalars of some results may be values of their own, and new? They are looked at column by column.

A scalar that is new holds a run that stands in no earlier row. In nearly all results every scalar stands in the text as
it is, so that a run that is in no table (forensics.analysis.occurrences) stands nowhere else, not even a second time in
its own row, and one whose first row is that of the result is new in it. A result of which that is not so (an escape
that spells a letter, a dash around a run) is told as odd: its runs are to be looked at one by one, in the order of the
results.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from itertools import chain, compress, filterfalse, groupby, repeat
from operator import itemgetter, not_
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import astuple

from forensics.analysis.columns import Columns
from forensics.analysis.occurrences import Standing
from forensics.analysis.runs import MEDIA_LEAST, anchor_of, kinds_of_each, runs_of_each
from forensics.analysis.written_times import holds_time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from forensics.analysis.columns import Column
    from forensics.analysis.occurrences import Occurrences
    from forensics.analysis.runs import Runs
    from forensics.rules.engine import RuleSet

_WITH_DIGIT = re.compile(r"[^\s0-9]*[0-9]\S*").fullmatch
_ONE_WORD = re.compile(r"\S+").fullmatch
_DIGIT = re.compile(b"[0-9]").search
_DASHES = b"-_"
LONGEST_VALUE = 4096
_NEAR = 1 << 10  # characters of runs, as names of members, before a stretch that is struck out
WAITS = ""
"""The kind of a value that counts only when a later argument holds it."""


class Results(msgspec.Struct, frozen=True):
    """Results that follow each other: the rows of those that hold runs, their values, and these runs, as lines of
    text.
    """

    rows: Sequence[int]
    values: Sequence[Any]
    lines: Sequence[bytes]


class Brought(msgspec.Struct, frozen=True):
    """Values that results brought, in columns: the row of each, its text, its kind, its anchor (none are told where
    each is its value), and its pointer; where it is an item of a long array that of the array, with the number of the
    item (NOWHERE: it is none).
    """

    rows: Sequence[int]
    values: Sequence[str]
    kinds: Sequence[Any]
    anchors: Sequence[bytes]
    pointers: Sequence[str]
    numbers: Sequence[int]

    def only(self, held: Sequence[object]) -> Brought:
        """Those of them that are held."""
        return Brought(*(list(compress(column, held)) for column in astuple(self)))


def may_be_value(*, small: bool, names_id: bool) -> Callable[[str], object]:
    """What a text must match to be looked at: it has no white space, and holds a digit but, in a small trace, under a
    key that names an id.
    """
    return _ONE_WORD if small and names_id else _WITH_DIGIT


class Newcomers:
    """The new scalars of some results: `found`, place by place. `taken` are the runs that they take up, and that
    numbers are, which are no values of running text; `left` are the other new ones. `odd` are the rows of results to be
    looked at one by one: what was found of these does not count.
    """

    def __init__(self, results: Results, rules: RuleSet, occurrences: Occurrences) -> None:
        self.found: list[Brought] = []
        self.taken: set[bytes] = set()
        self.odd: set[int] = set()
        self._said: set[bytes] = set()
        self._rest: dict[int, _Rest] = {}  # by row, what is left of runs of which stretches are struck out
        self._results = results
        self._rules = rules
        self._told = occurrences
        self._first = occurrences.first
        self._spelled = occurrences.spelled.intersection(results.rows)
        columns = Columns()
        for column in columns.of(results.rows, results.values):
            if column.is_text:
                self._texts(column)
            elif column.key is not None:
                self._numbers(column, names_id=rules.is_id_key(column.key))
        self.odd |= columns.left
        self.left = self._left(results.rows[0])
        self._mark_ragged()

    @cached_property
    def lines(self) -> dict[int, bytes]:
        """The runs of each result, as a line of text."""
        return dict(zip(self._results.rows, self._results.lines, strict=True))

    @cached_property
    def runs(self) -> set[bytes]:
        """The runs of all results, for what may stand in none of them as it is."""
        return set(b" ".join(self._results.lines).split())

    @cached_property
    def _loose(self) -> Standing:
        """The runs of all results but those that were struck out."""
        rows, rest = self._results.rows, self._rest
        lines = zip(rows, self._results.lines, strict=True)
        each = [(rest[row].text if row in rest else line).split() for row, line in lines]
        return Standing(list(chain.from_iterable(map(repeat, rows, map(len, each)))), list(chain.from_iterable(each)))

    # numbers ---------------------------------------------------------------------------------------------------------

    def _numbers(self, column: Column, *, names_id: bool) -> None:
        """A number counts only when its key names an id."""
        first = self._first.get
        anchors = [b"%d" % number for number in column.items]
        new = [first(anchor, row) >= row for row, anchor in zip(column.rows, anchors, strict=True)]
        if names_id:
            numbers = _Texts(column.rows, [anchor.decode() for anchor in anchors], anchors, column.numbers).only(new)
            own = numbers.only(self._are_new(numbers))
            own = own.only(_first_of_equals(own.written))
            self._bring(column, own, ["number"] * len(own.rows), ())
            zeros = [row for row, number in zip(column.rows, column.items, strict=True) if number == 0]  # or -0
            self.odd.update(zeros)
        self.taken.update(compress(anchors, new))

    def _are_new(self, numbers: _Texts) -> list[bool]:
        taken = self.taken
        pairs = zip(numbers.rows, numbers.written, strict=True)
        return [self._is_new(row, anchor) and anchor not in taken for row, anchor in pairs]

    def _is_new(self, row: int, run: bytes) -> bool:
        at = self._first.get(run)
        if at is None and (row not in self._spelled or run in self.runs):
            return True
        if at is None or at > row:
            self.odd.add(row)
        return at == row

    # texts -----------------------------------------------------------------------------------------------------------

    def _texts(self, column: Column) -> None:
        small, names_id = self._told.small, column.key is not None and self._rules.is_id_key(column.key)
        texts = _told(column)
        if not small and not _DIGIT(b"\n".join(texts.written)):
            return
        fits = may_be_value(small=small, names_id=names_id)
        first = list(map(self._first.get, texts.written))
        plain = self._are_new_runs(texts, first, small=small)
        if True in plain:
            own = texts.only(plain)
            fitting = list(map(fits, own.texts)) if small else [True] * len(own.texts)
            if any(fitting):
                self._take_runs(column, own.only(fitting), list(compress(compress(first, plain), fitting)))
        if False in plain:
            self._look_closer(column, texts.only(list(map(not_, plain))), fits)

    def _are_new_runs(self, texts: _Texts, first: Sequence[int | None], *, small: bool) -> list[bool]:
        """Of each text, with the row in which it stands first as a run, whether it is a new run."""
        new = [
            b" " not in kinds and (small or b"0" in kinds) and 0 < len(kinds) < MEDIA_LEAST and at in (None, row)
            for kinds, at, row in zip(kinds_of_each(texts.written), first, texts.rows, strict=True)
        ]
        if self._spelled and True in new:
            stands = self.runs.__contains__
            new = [one and stands(written) for one, written in zip(new, texts.written, strict=True)]
        return new

    def _look_closer(self, column: Column, texts: _Texts, fits: Callable[[str], object]) -> None:
        """Look at the texts that are no new run of their own."""
        first, composed = self._first.get, list[bool]()
        texts = texts.only(list(map(fits, texts.texts)))
        each = runs_of_each(texts.written, with_digit=not self._told.small)
        for row, written, parts in zip(texts.rows, texts.written, each, strict=True):
            at = first(written)
            known = at is not None and at <= row
            new = None if at is not None or parts == [written] else self._is_any_new(row, written, parts)
            if new is None and not known:
                self.odd.add(row)
            composed.append(bool(new))
        if True in composed:
            self._take_composed(column, texts.only(composed), list(compress(each, composed)))
            if column.token is None:  # of one array, in whose order they and those that are one run are to be told
                self.odd.update(column.rows[:1])

    def _take_runs(self, column: Column, new: _Texts, first: Sequence[int | None]) -> None:
        """Take the new texts that are one run, each only where it stands first in its result: `first` has the row of
        those that may stand again.
        """
        again = [at is not None for at in first]
        if True in again:
            unsaid = iter(self._unsaid(list(compress(new.written, again))))
            new = new.only([not may or next(unsaid) for may in again])
        in_a_row = column.token is None and len(new.written) == len(again) and self._strike_out(new)
        self.taken.update(compress(new.written, again) if in_a_row else new.written)
        kinds = self._rules.handle_kinds(new.texts, column.key)
        if None in kinds:
            waits = self._told.stands_after
            kinds = [
                WAITS if kind is None and waits(run, row) and _DIGIT(run) else kind
                for kind, run, row in zip(kinds, new.written, new.rows, strict=True)
            ]
        self._bring(column, new, kinds, ())

    def _strike_out(self, items: _Texts) -> bool:
        """Strike items of an array out of the runs of its result; False where they do not follow each other there."""
        row = items.rows[0]
        if row not in self._rest:
            self._rest[row] = _Rest(self.lines[row])
        return self._rest[row].strike_out(items.written)

    def _take_composed(self, column: Column, new: _Texts, parts: list[Runs]) -> None:
        """Take the new texts of several runs. The runs of one that is recognised are no values of their own."""
        first, waits = self._first, self._told.stands_after
        unsaid = self._unsaid(new.written)
        new, parts = new.only(unsaid), list(compress(parts, unsaid))
        kinds = self._rules.handle_kinds(new.texts, column.key)
        anchors = [anchor_of(text) or written for text, written in zip(new.texts, new.written, strict=True)]
        for at, (row, anchor) in enumerate(zip(new.rows, anchors, strict=True)):
            taken = (anchor,) if kinds[at] is None else parts[at]
            self.taken.update(part for part in taken if first.get(part, row) == row)
            if kinds[at] is None and waits(anchor, row) and _DIGIT(anchor):
                kinds[at] = WAITS
        self._bring(column, new, kinds, anchors)

    def _unsaid(self, written: Sequence[bytes]) -> list[bool]:
        """Which of these texts are told for the first time; from now on all of them are."""
        said, firsts = self._said, _first_of_equals(written)
        if not said.isdisjoint(written):
            firsts = [first and text not in said for first, text in zip(firsts, written, strict=True)]
        said.update(written)
        return firsts

    def _bring(self, column: Column, told: _Texts, kinds: Sequence[str | None], anchors: Sequence[bytes]) -> None:
        """Note these values of a column, told by their anchors; one of no kind is none."""
        pointers = [column.pointer] * len(told.rows)
        brought = Brought(told.rows, told.texts, kinds, anchors, pointers, told.numbers)
        if None in kinds:
            brought = brought.only([kind is not None for kind in kinds])
        if brought.rows:
            self.found.append(brought)

    def _is_any_new(self, row: int, text: bytes, parts: Runs) -> bool | None:
        """Whether one of these runs of a text is new, or they are those of a written time that stands in no row before;
        None where one of them is not told as it is.
        """
        first, new = self._first.get, False
        doubtful = row in self._spelled or b"\\" in text
        for part in parts:
            at = first(part)
            if doubtful and part not in self.runs if at is None else at > row:
                return None
            new = new or at is None or at == row
        return new or (self._told.times.is_new(parts, row) and self._may_bring(row))

    def _may_bring(self, row: int) -> bool:
        """Whether a result holds a time, or any new run."""
        line = self.lines[row]
        return holds_time(line) or any(self._first.get(run, row) == row for run in line.split())

    # running text ----------------------------------------------------------------------------------------------------

    def _left(self, begin: int) -> set[bytes]:
        """The new runs with a digit that no scalar takes up. A number counts only where it comes back."""
        first = self._first
        return {
            run
            for run in set(filterfalse(self.taken.__contains__, self._loose.runs))
            if first.get(run, begin) >= begin and (run in first or not run.isdigit()) and _DIGIT(run)
        }

    def _mark_ragged(self) -> None:
        """What is left of a run without the dashes around it may stand elsewhere: it is no longer new there."""
        ragged = {run for run in self.left if run[0] in _DASHES or run[-1] in _DASHES}
        if ragged:
            told = self._loose
            self.odd.update(row for row, run in zip(told.rows, told.runs, strict=True) if run in ragged)

    def running(self) -> Iterator[tuple[int, Runs]]:
        """The rows of results that bring runs of running text, with these."""
        left, first, told = self.left, self._first, self._loose
        held = list(map(left.__contains__, told.runs))
        pairs = dict.fromkeys(zip(compress(told.rows, held), compress(told.runs, held), strict=True))
        for row, some in groupby(pairs, itemgetter(0)):
            yield row, [run for _, run in some if first.get(run, row) == row]


class _Rest:
    """What is left of the runs of a result, of which stretches are struck out, each behind the one before it."""

    def __init__(self, line: bytes) -> None:
        self._line = b" %b " % line
        self._kept: list[bytes] = []
        self._behind = 0

    def strike_out(self, runs: Sequence[bytes]) -> bool:
        """Strike these runs out, if they follow each other in the line, not far behind the last stretch."""
        told = b" %b " % b" ".join(runs)
        begin = self._behind
        at = self._line.find(told, begin, begin + len(told) + _NEAR)
        if at < 0:
            return False
        self._kept.append(self._line[begin:at])
        self._behind = at + len(told) - 1
        return True

    @property
    def text(self) -> bytes:
        """The runs that are left."""
        return b" ".join((*self._kept, self._line[self._behind :]))


class _Texts(msgspec.Struct, frozen=True):
    """Some texts of a column, each with its row, as bytes, and with its place in an array."""

    rows: Sequence[int]
    texts: Sequence[str]
    written: Sequence[bytes]
    numbers: Sequence[int]

    def only(self, held: Sequence[object]) -> _Texts:
        """Those of them that are held."""
        if all(held):
            return self
        rows, texts = list(compress(self.rows, held)), list(compress(self.texts, held))
        return _Texts(rows, texts, list(compress(self.written, held)), list(compress(self.numbers, held)))


def _told(column: Column) -> _Texts:
    """The texts of a column that may be values: short ones that hold no space."""
    held = [" " not in text and len(text) <= LONGEST_VALUE for text in column.items]
    texts = list(compress(column.items, held))
    return _Texts(list(compress(column.rows, held)), texts, encoded_all(texts), list(compress(column.numbers, held)))


def _first_of_equals(told: Sequence[bytes]) -> list[bool]:
    """Of each of these texts, whether none before it is equal."""
    if len(set(told)) == len(told):
        return [True] * len(told)
    first: dict[bytes, int] = {}
    return [first.setdefault(text, at) == at for at, text in enumerate(told)]


def encoded_all(texts: Sequence[str]) -> list[bytes]:
    """The bytes of each text: of all together where no text holds the end of a line."""
    told = "\n".join(texts).encode("utf-8", "surrogatepass").split(b"\n")
    return told if len(told) == len(texts) else [text.encode("utf-8", "surrogatepass") for text in texts]
