"""Which values does a result bring into the trace? What no earlier text held (the first-seen rule) and what looks like
a value that a tool made; short values and numbers of running text only when a later argument holds them.

The rules that decide precision are those of PERFORMANCE section 4. The runs of a value that is recognised whole are no
values of their own: a timestamp brings no `21` and no `312Z`.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from itertools import repeat
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from forensics.analysis.runs import anchor_of
from forensics.analysis.texts import encoded
from forensics.analysis.written_times import holds_time
from forensics.core.classes import Effect
from forensics.core.handles import REFERENCE, Handles
from forensics.core.leaves import pointer_of
from forensics.core.times import from_text
from forensics.core.trace import NOWHERE, StepKind

if TYPE_CHECKING:
    from forensics.analysis.minted import Minted
    from forensics.analysis.occurrences import Occurrences
    from forensics.analysis.texts import Text
    from forensics.core.classes import Classes
    from forensics.core.leaves import Leaf
    from forensics.core.trace import Call, Trace
    from forensics.rules.engine import RuleSet

_WITH_DIGIT = re.compile(r"[^\s0-9]*[0-9]\S*").fullmatch
_ONE_WORD = re.compile(r"\S+").fullmatch
_DIGIT = re.compile(b"[0-9]").search
_FRACTION = re.compile(b"[0-9]{1,9}Z").fullmatch  # of a second: the end of a timestamp
_SHORTEST_RUN = 2
_LONGEST_RUN = 200
_LONGEST_VALUE = 4096
_TELLING_NUMBER = 6
_ROUND = "000"  # a limit, a timeout, a price: chosen by somebody, and chosen again
NEW_BY_SHAPE = frozenset({"uuid", "ulid", "cursor", "token", "url", "presigned-url", "jwt"})
"""Kinds of values that are new by their shape alone, even out of a read."""
_CLOCK = "timestamp"
_WINDOW = 5 * 10**9


class Origin(NamedTuple):
    """The result that a value stands in: its call and its step, and the branch: the first model turn after it, which
    was shown the value, so that what it did next may rest on it (a row; -1: there is none).
    """

    call: int
    step: int
    branch: int


class Pending(msgspec.Struct, frozen=True, gc=False):
    """A short value in a result that counts only when a later argument holds it."""

    value: str
    origin: Origin
    pointer: str


class Minting:
    """Finds the values that results bring, in the order of the results. `handles` are those found so far, `minted` the
    watch list that tells where they come back, and `pending` waits for an argument.
    """

    def __init__(self, trace: Trace, classified: Classes, rules: RuleSet, runs: Occurrences, minted: Minted) -> None:
        self.handles = Handles()
        self.pending: dict[bytes, Pending] = {}
        self.minted = minted
        self._trace = trace
        self._rules = rules
        self._effects = list(classified.each(lambda kind: kind.effect))
        self._runs = runs
        self._small = runs.small
        self._first = runs.first
        self._odd: set[bytes] = set()
        self._here: frozenset[bytes] = frozenset()  # the runs of the result that is looked at
        self._model_rows = array("i", trace.rows(StepKind.MODEL))

    def result(self, text: Text, call: int, line: bytes) -> None:
        """What a result brings, of which `line` are the runs: the scalars of a structured one first, then the runs of
        its texts.
        """
        row, first, runs = text.row, self._first, line.split()
        new = [run for run in runs if first.get(run, row) == row]
        if not new and not holds_time(line):
            return
        self._here = frozenset(runs)
        origin = Origin(call, row, self._branch(row))
        taken = self._members(origin, text.leaves)
        for run in dict.fromkeys(new):
            if run not in taken and (run in first or not run.isdigit()):  # a number counts only where it comes back
                self._loose(origin, run)

    def is_new(self, anchor: bytes, row: int) -> bool:
        """Whether nothing before this row held that run, and no value was minted by it."""
        return self._first.get(anchor, row) >= row and anchor not in self._odd

    def _branch(self, row: int) -> int:
        after = bisect_right(self._model_rows, row)
        return self._model_rows[after] if after < len(self._model_rows) else NOWHERE

    def _members(self, origin: Origin, leaves: list[Leaf]) -> set[bytes]:
        """Look at the scalars of a structured result that may be values of their own: what a key names, or opaque text.
        Returns the runs that they take up, which are no values.
        """
        small = self._small
        taken: set[bytes] = set()
        values: set[str] = set()
        for leaf in leaves:
            above, _, key, item = leaf
            if above is None:
                continue
            if isinstance(item, int):
                if key is not None:
                    self._number(origin, leaf, item, taken)
            elif " " in item or (item.isalpha() and not small) or item in values or len(item) > _LONGEST_VALUE:
                continue
            elif _WITH_DIGIT(item) or (small and self._is_named(key) and _ONE_WORD(item)):
                values.add(item)
                self._opaque(origin, leaf, item, taken)
        return taken

    def _is_named(self, key: str | None) -> bool:
        return key is not None and self._rules.is_id_key(key)

    def _number(self, origin: Origin, leaf: Leaf, number: int, taken: set[bytes]) -> None:
        """A number counts only when its key names an id."""
        anchor = b"%d" % number
        if self._is_named(leaf[2]) and anchor not in taken and self.is_new(anchor, origin.step):
            self._add(origin, str(number), "number", pointer_of(leaf[0], leaf[1]), anchor)
        taken.add(anchor)

    def _opaque(self, origin: Origin, leaf: Leaf, value: str, taken: set[bytes]) -> None:
        text = encoded(value)
        if text in self._here and text not in self._first:
            self._alone(origin, leaf, value)
            taken.add(text)
            return
        anchor = anchor_of(value)
        if anchor is None:
            return
        parts = [anchor] if len(anchor) == len(value) else self._runs.runs_of(text)
        if not any(map(self.is_new, parts, repeat(origin.step))) and not self._runs.times.is_new(parts, origin.step):
            return
        kind = self._rules.handle_kind(value, leaf[2])
        taken.update(parts if kind is not None else (anchor,))
        if kind is not None:
            self._add(origin, value, kind, pointer_of(leaf[0], leaf[1]), anchor)
        elif _DIGIT(anchor):
            self._wait(anchor, Pending(value, origin, pointer_of(leaf[0], leaf[1])))

    def _alone(self, origin: Origin, leaf: Leaf, value: str) -> None:
        """A value that is one run and stands nowhere else, as most do: nothing is to be asked but what it is."""
        kind = self._rules.handle_kind(value, leaf[2])
        kind = kind and self._kind_for(origin, value, kind)
        if kind:
            self.handles.add((value, kind, origin.call, origin.step, pointer_of(leaf[0], leaf[1]), origin.branch))

    def _loose(self, origin: Origin, run: bytes) -> None:
        """A run of running text, without the dashes that a sentence puts around it."""
        token = run.strip(b"-_") if run[0] in b"-_" or run[-1] in b"-_" else run
        if not _SHORTEST_RUN <= len(token) <= _LONGEST_RUN or not _DIGIT(token) or _FRACTION(token):
            return
        if token is not run and not self.is_new(token, origin.step):
            return
        value = token.decode("ascii")
        kind = None if value.isdigit() else self._rules.handle_kind(value, None)
        if kind is not None and kind not in ("number", _CLOCK):
            self._add(origin, value, kind, "", token)
        else:
            self._wait(token, Pending(value, origin, ""))

    def _wait(self, anchor: bytes, waiting: Pending) -> None:
        if self._runs.stands_after(anchor, waiting.origin.step):
            self.pending.setdefault(anchor, waiting)

    def promote(self, text: Text, run: bytes) -> int | None:
        """A value that waited and that an argument holds after all came from its result: its index among the handles,
        or None where it still tells too little.
        """
        waiting = self.pending.pop(run)
        number = waiting.value.isdigit()
        if number and not self._is_leaf(waiting.value, text):
            return None
        kind = self._rules.handle_kind(waiting.value, None) or ("number" if number else "id")
        before = len(self.handles)
        self._add(waiting.origin, waiting.value, kind, waiting.pointer, run)
        return before if len(self.handles) > before else None

    def _is_leaf(self, number: str, text: Text) -> bool:
        """Whether a number is a whole scalar of these arguments and tells more than a count does: one under a key that
        names an id, or one that is not round and, in a large trace, long.
        """
        telling = not number.endswith(_ROUND) and (self._small or len(number) >= _TELLING_NUMBER)
        keys = [leaf[2] for leaf in text.leaves if str(leaf[3]) == number]
        return any(telling or (key is not None and self._rules.is_id_key(key)) for key in keys)

    def _add(self, origin: Origin, value: str, kind: str, pointer: str, anchor: bytes) -> None:
        call, step, branch = origin
        known = self._kind_for(origin, value, kind)
        if known is None:
            return
        if self._first.get(anchor, step if anchor in self._here else NOWHERE) != step:
            self._odd.add(anchor)  # stands there as part of a longer run, or was told again since
        if anchor in self._runs.live or len(anchor) != len(value):
            self.minted.add(len(self.handles), encoded(value), anchor, step)
        self.handles.add((value, known, call, step, pointer, branch))

    def _kind_for(self, origin: Origin, value: str, kind: str) -> str | None:
        """The kind of a value as this call returned it: what only reads refers to what is there, and mints no clock."""
        if self._effects[origin.call] is not Effect.NONE or self._new_by_shape(kind, value, origin.call):
            return kind
        return None if kind == _CLOCK else REFERENCE

    def _new_by_shape(self, kind: str, value: str, call: int) -> bool:
        """Whether the shape alone says that even a read made the value: random ids, cursors, tokens, its own clock."""
        if kind == _CLOCK:
            return _within(value, self._trace.calls[call])
        return kind in NEW_BY_SHAPE


def _within(value: str, call: Call) -> bool:
    """Whether a timestamp lies in the call's own time."""
    moment = from_text(value)
    if NOWHERE in (moment, call.start, call.end):
        return False
    return call.start - _WINDOW <= moment <= call.end + _WINDOW
