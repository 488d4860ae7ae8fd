"""Which values does a result bring into the trace? What no earlier text held (the first-seen rule) and what looks like
a value that a tool made; short values and numbers of running text only when a later argument holds them.

The rules that decide precision are those of PERFORMANCE section 4. The runs of a value that is recognised whole are no
values of their own: a timestamp brings no `21` and no `312Z`.

Results are looked at by the hundred (forensics.analysis.newcomers), but for the few of which one may change what is new
in the next: these are looked at one by one, in their order.
"""

from __future__ import annotations

import re
from array import array
from itertools import compress, repeat
from operator import attrgetter, ne, or_
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import astuple

from forensics.analysis.bare import ROUND
from forensics.analysis.newcomers import LONGEST_VALUE, WAITS, Brought, Newcomers, encoded_all, may_be_value
from forensics.analysis.runs import anchor_of
from forensics.analysis.texts import encoded
from forensics.analysis.written_times import holds_time
from forensics.core.classes import Effect, seems_to_read
from forensics.core.handles import REFERENCE, Handles
from forensics.core.jsonvalue import value_of
from forensics.core.leaves import leaves_of, pointer_of
from forensics.core.places import MOST_ROWS
from forensics.core.times import from_text
from forensics.core.trace import NOWHERE, StepKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from forensics.analysis.minted import Minted
    from forensics.analysis.newcomers import Results
    from forensics.analysis.occurrences import Occurrences
    from forensics.analysis.texts import Text
    from forensics.core.classes import Classes
    from forensics.core.leaves import Leaf
    from forensics.core.trace import Call, Trace
    from forensics.rules.engine import RuleSet

_DIGIT = re.compile(b"[0-9]").search
_FRACTION = re.compile(b"[0-9]{1,9}Z").fullmatch  # of a second: the end of a timestamp
_SHORTEST_RUN = 2
_LONGEST_RUN = 200
_TELLING_NUMBER = 6
_AROUND = 16  # bytes of quotes and white space around a value that is a whole result
NEW_BY_SHAPE = frozenset({"uuid", "ulid", "cursor", "token", "url", "presigned-url", "jwt"})
"""Kinds of values that are new by their shape alone, even out of a read."""
_CLOCK = "timestamp"
_WINDOW = 5 * 10**9
_LAST = MOST_ROWS

_One = tuple[int, str, str, str, bytes]
"""A value that one result brought: row, value, kind, pointer, anchor."""


class Pending(msgspec.Struct, frozen=True):
    """A short value in a result that counts only when a later argument holds it."""

    value: str
    step: int
    pointer: str
    anchor: bytes


class Minting:
    """Finds the values that results bring, in the order of the results. `handles` are those found so far, `minted` the
    watch list that tells where they come back, and `pending` waits for an argument.
    """

    def __init__(self, trace: Trace, classified: Classes, rules: RuleSet, runs: Occurrences, minted: Minted) -> None:
        self.handles = Handles(array("i", trace.rows(StepKind.MODEL)))
        self.pending: dict[bytes, Pending] = {}
        self.minted = minted
        self._trace = trace
        self._rules = rules
        self._reads = bytearray(classified.each(lambda kind: kind.effect is Effect.NONE))
        self._seem_to_read = bytearray(classified.each(seems_to_read))
        self._runs = runs
        self._small = runs.small
        self._first = runs.first
        self._odd: dict[bytes, int] = {}
        self._here: frozenset[bytes] = frozenset()  # the runs of the result that is looked at by itself
        self._found: list[_One] = []  # of results that are looked at by themselves

    def results(self, results: Results) -> list[Pending]:
        """Add what these results bring to the handles; returns what waits, in order."""
        if not results.rows:
            return []
        new = Newcomers(results, self._rules, self._runs)
        alone = self._one_by_one(results, new)
        for row, runs in new.running():
            if row not in alone:
                self._found += [one for run in runs if (one := self._loose(row, run))]
        found = [one.only([row not in alone for row in one.rows]) for one in new.found] if alone else new.found
        if self._found:
            rows, values, kinds, pointers, anchors = (list(column) for column in zip(*self._found, strict=True))
            found.append(Brought(rows, values, kinds, anchors, pointers, [NOWHERE] * len(rows)))
            self._found = []
        waiting: list[Pending] = []
        found.reverse()
        while found:  # none is kept that is settled
            self._settle(found.pop(), waiting)
        waiting.sort(key=attrgetter("step"))
        return waiting

    def _settle(self, brought: Brought, waiting: list[Pending]) -> None:
        """Add to the handles what was brought, of one step in the order in which it is told, and watch for it; note
        what waits.
        """
        if WAITS in brought.kinds:
            self._let_wait(brought.only([kind == WAITS for kind in brought.kinds]), waiting)
            brought = brought.only(brought.kinds)
        calls = list(map(self._trace.call.__getitem__, brought.rows))
        kinds = self._known_kinds(calls, brought)
        if None in kinds:
            known = [kind is not None for kind in kinds]
            brought, calls, kinds = brought.only(known), list(compress(calls, known)), list(compress(kinds, known))
        rows, values, _, _, pointers, items = astuple(brought)
        anchors = _anchors(brought)
        numbers = self.handles.add_all(values, kinds, calls, rows, pointers, items)
        self.minted.known.extend(rows)
        live, may_come_back = self._runs.live, self._runs.may_come_back
        composed = map(ne, map(len, anchors), map(len, values))
        watched = list(map(or_, composed, map(live.__contains__, anchors)))
        for number, value, anchor, row in compress(zip(numbers, values, anchors, rows, strict=True), watched):
            text = encoded(value)
            if text == anchor or may_come_back(text, anchor):
                self.minted.add(number, text, anchor, row)

    def _let_wait(self, brought: Brought, waiting: list[Pending]) -> None:
        told = zip(brought.rows, brought.values, _anchors(brought), brought.pointers, brought.numbers, strict=True)
        for row, value, anchor, pointer, number in told:
            waiting.append(Pending(value, row, pointer if number < 0 else f"{pointer}/{number}", anchor))
            self.minted.expect(anchor, row)

    def _known_kinds(self, calls: list[int], brought: Brought) -> Sequence[Any]:
        """The kind of each value as its call returned it, or None."""
        if not any(map(self._seem_to_read.__getitem__, calls)):
            return brought.kinds
        told = zip(calls, brought.rows, brought.values, brought.kinds, brought.pointers, brought.numbers, strict=True)
        return [
            self._known_kind(call, value, kind, running=number < 0 and self._running(row, value, pointer))
            for call, row, value, kind, pointer, number in told
        ]

    def is_new(self, anchor: bytes, row: int) -> bool:
        """Whether nothing before this row held that run, and no value was minted by it."""
        return self._first.get(anchor, row) >= row and self._odd.get(anchor, row + 1) > row

    # results by themselves -------------------------------------------------------------------------------------------

    def _one_by_one(self, results: Results, new: Newcomers) -> set[int]:
        """Look at the odd ones of these results; returns their rows. A run that one of them makes known otherwise than
        by its text is no longer new in those after it, so from there on all are odd.
        """
        odd = set(results.rows) if self._is_known_oddly(new) else new.odd
        alone: set[int] = set()
        for row, value, line in zip(results.rows, results.values, results.lines, strict=True) if odd else ():
            if row in odd:
                known = len(self._odd)
                self._result(row, value, line)
                alone.add(row)
                if len(self._odd) > known and self._is_known_oddly(new):
                    odd = set(results.rows)
        return alone

    def _is_known_oddly(self, new: Newcomers) -> bool:
        return bool(self._odd) and not self._odd.keys().isdisjoint(new.runs)

    def _result(self, row: int, value: Any, line: bytes) -> None:
        """What a result brings, of which `line` are the runs: the scalars of a structured one first, then the runs of
        its texts.
        """
        first, runs = self._first, line.split()
        new = [run for run in runs if first.get(run, row) == row]
        if not new and not holds_time(line):
            return
        self._here = frozenset(runs)
        taken = self._members(row, leaves_of(value))
        for run in dict.fromkeys(new):
            if run not in taken and (run in first or not run.isdigit()):  # a number counts only where it comes back
                self._bring(self._loose(row, run))

    def _members(self, row: int, leaves: Iterable[Leaf]) -> set[bytes]:
        """Look at the scalars of a structured result that may be values of their own: what a key names, or opaque text.
        Returns the runs that they take up, which are no values.
        """
        taken: set[bytes] = set()
        values: set[str] = set()
        for leaf in leaves:
            above, _, key, item = leaf
            if above is None:
                continue
            if isinstance(item, int):
                if key is not None:
                    self._number(row, leaf, taken)
            elif item not in values and len(item) <= LONGEST_VALUE and self._fits(key)(item):
                values.add(item)
                self._opaque(row, leaf, taken)
        return taken

    def _fits(self, key: str | None) -> Callable[[str], object]:
        return may_be_value(small=self._small, names_id=self._is_named(key))

    def _is_named(self, key: str | None) -> bool:
        return key is not None and self._rules.is_id_key(key)

    def _number(self, row: int, leaf: Leaf, taken: set[bytes]) -> None:
        """A number counts only when its key names an id."""
        above, token, key, number = leaf
        anchor = str(number).encode()
        if self._is_named(key) and anchor not in taken and self.is_new(anchor, row):
            self._bring((row, str(number), "number", pointer_of(above, token), anchor))
        taken.add(anchor)

    def _opaque(self, row: int, leaf: Leaf, taken: set[bytes]) -> None:
        above, token, key, item = leaf
        value = str(item)
        anchor = anchor_of(value)
        if anchor is None:
            return
        text = encoded(value)
        parts = [anchor] if len(anchor) == len(value) else self._runs.runs_of(text)
        stands_alone = text in self._here and text not in self._first
        if (
            not stands_alone
            and not any(map(self.is_new, parts, repeat(row)))
            and not self._runs.times.is_new(parts, row)
        ):
            return
        kind = self._rules.handle_kind(value, key)
        taken.update(parts if kind is not None else (anchor,))
        if kind is not None or (_DIGIT(anchor) and self._runs.stands_after(anchor, row)):
            self._bring((row, value, kind or WAITS, pointer_of(above, token), anchor))

    def _bring(self, told: _One | None) -> None:
        if told is None:
            return
        self._found.append(told)
        step, value, kind, pointer, anchor = told
        running = self._running(step, value, pointer)
        if kind == WAITS or self._known_kind(self._trace.call[step], value, kind, running=running) is None:
            return
        stands = self._first.get(anchor, step if anchor in self._here else _LAST)
        if stands > step:  # as part of a longer run here, or told otherwise
            self._odd.setdefault(anchor, step)

    def _loose(self, row: int, run: bytes) -> _One | None:
        """A run of running text, without the dashes that a sentence puts around it."""
        token = run.strip(b"-_") if run[0] in b"-_" or run[-1] in b"-_" else run
        if not _SHORTEST_RUN <= len(token) <= _LONGEST_RUN or not _DIGIT(token) or _FRACTION(token):
            return None
        if token is not run and not self.is_new(token, row):
            return None
        value = token.decode("ascii")
        kind = None if value.isdigit() else self._rules.handle_kind(value, None)
        if kind in (None, "number", _CLOCK):
            return (row, value, WAITS, "", token) if self._runs.stands_after(token, row) else None
        return row, value, kind, "", token

    # values that wait ------------------------------------------------------------------------------------------------

    def wait(self, waiting: Pending) -> None:
        """From now on an argument may hold it: of several with one anchor, the first waits."""
        self.pending.setdefault(waiting.anchor, waiting)

    def promote(self, text: Text, waiting: Pending) -> int | None:
        """A value that waited and that an argument holds after all came from its result: its index among the handles,
        or None where it still tells too little.
        """
        value, step, pointer, anchor = astuple(waiting)
        del self.pending[anchor]
        number = value.isdigit()
        if number and not self._is_leaf(value, text):
            return None
        call = self._trace.call[step]
        kind = self._rules.handle_kind(value, None) or ("number" if number else "id")
        known = self._known_kind(call, value, kind, running=self._running(step, value, pointer))
        if known is None:
            return None
        if self._first.get(anchor, step) > step:
            self._odd.setdefault(anchor, text.row)
        (index,) = self.handles.add_all([value], [known], [call], [step], [pointer], [NOWHERE])
        self.minted.known.append(text.row)
        self.minted.add(index, encoded(value), anchor, step)
        return index

    def _is_leaf(self, number: str, text: Text) -> bool:
        """Whether a number is a whole scalar of these arguments and tells more than a count does: one under a key that
        names an id, or one that is not round and, in a large trace, long.
        """
        telling = not number.endswith(ROUND) and (self._small or len(number) >= _TELLING_NUMBER)
        keys = [leaf[2] for leaf in text.leaves if str(leaf[3]) == number]
        return any(telling or (key is not None and self._rules.is_id_key(key)) for key in keys)

    # kinds -----------------------------------------------------------------------------------------------------------

    def _known_kind(self, call: int, value: str, kind: str, *, running: bool) -> str | None:
        """The kind of a value as this call returned it: in a text or as a value of its own."""
        reads = self._seem_to_read if running else self._reads
        return self._as_read(call, value, kind) if reads[call] else kind

    def _running(self, row: int, value: str, pointer: str) -> bool:
        """Whether a value is a word of a text: `python3`, `k8s` and `INC-42` are names of things that a text is about.
        They say of a call that seems to read that it found them, not that it made them.
        """
        return not pointer and not self._is_whole(row, value)

    def _is_whole(self, row: int, value: str) -> bool:
        """Whether a result is this value, and nothing else but white space around it."""
        payload = self._trace.payload[row]
        if payload is None or len(bytes(payload)) > len(value) + _AROUND:
            return False
        return str(value_of(payload)).strip() == value

    def _as_read(self, call: int, value: str, kind: str) -> str | None:
        """The kind of a value that a call returned which only reads: it refers to what is there, and mints no clock but
        its own. The shape alone says of some values that even a read made them: random ids, cursors, tokens.
        """
        if kind == _CLOCK:
            return kind if _within(value, self._trace.calls[call]) else None
        return kind if kind in NEW_BY_SHAPE else REFERENCE


def _anchors(brought: Brought) -> Sequence[bytes]:
    """The run by which each of these values is found."""
    return brought.anchors or encoded_all(brought.values)


def _within(value: str, call: Call) -> bool:
    """Whether a timestamp lies in the call's own time."""
    moment = from_text(value)
    if NOWHERE in (moment, call.start, call.end):
        return False
    return call.start - _WINDOW <= moment <= call.end + _WINDOW
