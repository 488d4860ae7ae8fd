"""How is a stretch of ordinary events told at once? Columns of it become columns of the trace.

What a log mostly holds are turns, the calls that they ask for, and results that answer the call of their id. Told one
by one each costs dozens of steps of the interpreter; told in columns they cost a few for thousands of them. Whatever
is not as simple as that is told one by one, by the rules in `tuples`, which this module only abbreviates.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import accumulate, compress, repeat
from typing import TYPE_CHECKING

import msgspec

from forensics.core.strings import Parted
from forensics.core.trace import NOWHERE, Outcome, StepKind
from forensics.core.tuples import TupleBuilder

if TYPE_CHECKING:
    from forensics.core.lanes import Lane


class Stretch(msgspec.Struct, frozen=True, gc=False):
    """Events of one lane that follow each other, in columns, one step each: a turn (MODEL), a call that the lane's last
    turn asks for (TOOL_CALL), a result that a prompt shows (TOOL_RESULT), or what anything else says.

    `kinds` are the bytes of their kinds, `names` the model, the tool or the name of who speaks, `ids` those of calls
    and results ("": none), `outcomes` those that results tell (of anything else: any), `places` their records and
    `times` nanoseconds (NOWHERE: not known). `offsets` and `lengths` say where in the evidence stands what each says;
    an offset of NOWHERE says that it says nothing. Where they are given, `pointers` say where in its record each
    stands, `agents` who spoke where that need not be the lane's, and `servers` where tools run ("": not known).
    """

    kinds: bytes
    names: Sequence[str]
    ids: Sequence[str]
    outcomes: Sequence[Outcome]
    places: Sequence[int]
    times: Sequence[int]
    offsets: Sequence[int]
    lengths: Sequence[int]
    pointers: Sequence[str | Parted] = ()
    agents: Sequence[str] = ()
    servers: Sequence[str] = ()

    def marked(self, kind: StepKind) -> bytes:
        """A byte for each event: 1 where it is of that kind, else 0."""
        return self.kinds.translate(_MARKS[kind])

    def at(self, kind: StepKind) -> list[int]:
        """The positions of the events of that kind."""
        return list(compress(range(len(self.kinds)), self.marked(kind)))


_MARKS = {kind: bytes(value == kind for value in range(256)) for kind in StepKind}
_OF_NO_TURN = bytes(value not in (StepKind.MODEL, StepKind.TOOL_CALL) for value in range(256))


class _Pairs(msgspec.Struct, frozen=True, gc=False):
    """Which result answers which call: positions of results by those of their calls in the stretch, and by the rows of
    calls that were asked for before it.
    """

    within: dict[int, int]
    before: dict[int, int]


class Joined(msgspec.Struct, frozen=True, gc=False):
    """What the events of a stretch belong to: by position the number of a name, the row of a call, and a turn."""

    names: list[int]
    calls: list[int]
    turns: list[int]


class StretchBuilder(TupleBuilder):
    """Tells stretches of events as `turn`, `request`, `show` and `step` would one by one."""

    def tell_at_once(self, lane: Lane, stretch: Stretch) -> int:
        """Tell a stretch; returns how many events it has or, where one of them is no call of an id of its own and no
        result that simply answers the one open call of its id, the position of that one: then nothing is told.
        """
        pairs = self._pairs(lane, stretch)
        if isinstance(pairs, int):
            return pairs
        joined = self._begin(lane, stretch)
        self._ask_all(lane, stretch, pairs, joined)
        self._answer_all(lane, stretch, pairs, joined)
        self._add_all(lane, stretch, joined)
        self.trace.payload.add_all(stretch.offsets, stretch.lengths)
        return len(stretch.kinds)

    def _begin(self, lane: Lane, stretch: Stretch) -> Joined:
        """Begin the turns of a stretch; what its events belong to, as far as that is known without their calls."""
        nothing = [NOWHERE] * len(stretch.kinds)
        return Joined(self.trace.strings.add_all(stretch.names), nothing, self._turns(lane, stretch))

    def _add_all(self, lane: Lane, stretch: Stretch, joined: Joined) -> None:
        """Add the steps of a stretch; what they say is added beside it."""
        size, strings = len(stretch.kinds), self.trace.strings
        self.trace.add_steps(
            (
                stretch.kinds,
                joined.names,
                strings.add_all(stretch.agents) if stretch.agents else _times(strings.add(lane.agent), size),
                stretch.places,
                self.trace.pointers.add_all(stretch.pointers) if stretch.pointers else _times(0, size),
                joined.calls,
                joined.turns,
                _times(NOWHERE, size),
            ),
            stretch.times,
        )

    def _pairs(self, lane: Lane, stretch: Stretch) -> _Pairs | int:
        """Each result with the call that it answers; or the position of an event with which that is not certain, or of
        which more is to be said.
        """
        ids, names = stretch.ids, stretch.names
        named = [at for at in stretch.at(StepKind.TOOL_CALL) if ids[at]]
        asked = {ids[at]: at for at in named}
        if len(asked) < len(named) or lane.unshown.holds_any(asked):
            return _first_again(lane, stretch, named)
        pairs = _Pairs({}, {})
        for at in stretch.at(StepKind.TOOL_RESULT):
            call = asked.pop(ids[at], NOWHERE)
            row = self._waiting(lane, ids[at], names[at]) if call < 0 else NOWHERE
            if stretch.offsets[at] < 0:
                return at
            if 0 <= call < at and names[at] in ("", names[call]):
                pairs.within[call] = at
            elif row >= 0 and row not in pairs.before:
                pairs.before[row] = at
            else:
                return at
        return pairs

    def _waiting(self, lane: Lane, recorded_id: str, tool: str) -> int:
        """The one open call of that id, if nothing else tells of its result and its tool is that one."""
        row = lane.unshown.only(recorded_id)
        if row < 0:
            return NOWHERE
        call = self._call(row)
        told = call.shown is not None or call.executed is not None
        return NOWHERE if told or tool not in ("", call.tool) else row

    def _turns(self, lane: Lane, stretch: Stretch) -> list[int]:
        """Begin the turns of a stretch; returns for each event its turn: of a call, the one that the lane said last."""
        marks, before = stretch.marked(StepKind.MODEL), self.trace.turns
        last = lane.turns[-1] if lane.turns else NOWHERE
        turns = [before + count - 1 if count else last for count in accumulate(marks)]
        if 1 in marks:
            begun, first = marks.count(1), len(self.trace)
            lane.silent = NOWHERE
            lane.turns.extend(range(before, before + begun))
            self.trace.turns += begun
            self.model_calls += begun
            self._asked_in.extend(repeat(0, begun))
            self._turn_rows.extend(compress(range(first, first + len(marks)), marks))
        for at in compress(range(len(turns)), stretch.kinds.translate(_OF_NO_TURN)):
            turns[at] = NOWHERE
        return turns

    def _ask_all(self, lane: Lane, stretch: Stretch, pairs: _Pairs, joined: Joined) -> None:
        """Ask for the calls of a stretch, each with the step that answers it if that stands in it too."""
        first, asked = len(self.trace), stretch.at(StepKind.TOOL_CALL)
        answers = [first + pairs.within[at] if at in pairs.within else NOWHERE for at in asked]
        outcomes = [stretch.outcomes[pairs.within.get(at, at)] for at in asked]
        rows = self._add_calls(lane, stretch, joined, answers, outcomes)
        lane.ask_all(rows, [row for row, answer in zip(rows, answers, strict=True) if answer < 0])

    def _add_calls(
        self, lane: Lane, stretch: Stretch, joined: Joined, answers: Sequence[int], outcomes: Sequence[Outcome]
    ) -> array[int]:
        """Add the calls of a stretch, each with the step that shows its result and the outcome that this tells; returns
        their rows.
        """
        first, marks = len(self.trace), stretch.marked(StepKind.TOOL_CALL)
        asked = stretch.at(StepKind.TOOL_CALL)
        turns, ids = list(compress(joined.turns, marks)), list(compress(stretch.ids, marks))
        rows = self.trace.calls.add_all(
            list(compress(joined.names, marks)),
            turns,
            self._next_indexes(turns),
            ids,
            lane.agent,
            [first + at for at in asked],
            answers,
            outcomes,
            list(compress(stretch.servers, marks)),
        )
        self._asked_by.extend(array("i", turns))
        added = array("i", rows)
        self._by_turn.add_all(added)
        named = added if all(ids) else array("i", compress(rows, ids))
        lane.calls.add_all(named)
        self._by_id.add_all(named)
        for at, row in zip(asked, rows, strict=True):
            joined.calls[at] = row
        return added

    def _next_indexes(self, turns: list[int]) -> list[int]:
        """The index of each of some calls in its turn."""
        asked_in, found = self._asked_in, []
        for turn in turns:
            found.append(asked_in[turn] if turn >= 0 else self._unasked)
            if turn >= 0:
                asked_in[turn] += 1
            else:
                self._unasked += 1
        return found

    def _answer_all(self, lane: Lane, stretch: Stretch, pairs: _Pairs, joined: Joined) -> None:
        """Give each result the tool, the row and the turn of its call, and its step to a call that was waiting."""
        for asked, at in pairs.within.items():
            for column in (joined.names, joined.calls, joined.turns):
                column[at] = column[asked]
        first = len(self.trace)
        for row, at in pairs.before.items():
            lane.unshown.remove(row)
            call = self._call(row)
            call.shown = call.result_step = first + at
            call.outcome, call.absence = stretch.outcomes[at], None
            joined.names[at], joined.calls[at], joined.turns[at] = self.trace.strings.add(call.tool), row, call.turn
        self.result_count += len(pairs.within) + len(pairs.before)


def _times(number: int, size: int) -> array[int]:
    return array("i", [number]) * size


def _first_again(lane: Lane, stretch: Stretch, named: list[int]) -> int:
    """The position of the first of these calls whose id another call has, in the stretch or open before it."""
    seen: set[str] = set()
    for at in named:
        recorded_id = stretch.ids[at]
        if recorded_id in seen or lane.unshown.with_id(recorded_id) is not None:
            return at
        seen.add(recorded_id)
    return named[0]
