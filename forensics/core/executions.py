"""How is a stretch of model turns and of tools that ran told at once? As `respond` and `execute` would one by one.

Spans tell a run as turns that ask for calls and executions of those calls. What is not as simple as that (an id that
two calls have, other arguments than those that were asked for) is told one by one, by the rules in `tuples`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from forensics.core.agreement import Rung, agree
from forensics.core.lanes import Known
from forensics.core.stretches import Joined, Stretch, StretchBuilder
from forensics.core.strings import Parted
from forensics.core.trace import NOWHERE, Outcome, Payload, StepKind

if TYPE_CHECKING:
    from forensics.core.lanes import Lane


class Ran(msgspec.Struct, frozen=True, gc=False):
    """One execution that went well: what it was given (None: not captured), where that stands, on which server it ran,
    and when, in nanoseconds since the epoch (NOWHERE: not known).
    """

    arguments: Payload | None
    place: int
    pointer: str | Parted
    server: str | None
    start: int
    end: int


class Turns(msgspec.Struct, frozen=True, gc=False):
    """A stretch of turns (MODEL), of the calls that they ask for (TOOL_CALL), and of executions (TOOL_RESULT) that
    returned something; `says` is what each of these says. `keys` are the content keys of what the turns said, `ran`
    the executions. Where no message is compared with another, there are no keys.
    """

    stretch: Stretch
    says: Sequence[Payload | None]
    keys: Sequence[bytes]
    ran: Sequence[Ran]


_AS_GOOD = (Rung.BYTES, Rung.VALUES)
_NAMED_ARGUMENTS = (b"{", b'"{')
"""How arguments begin that are no bare value of an only argument (`agreement.is_bare`)."""


class ExecutionBuilder(StretchBuilder):
    """Tells stretches of turns and executions at once."""

    def run_at_once(self, lane: Lane, told: Turns) -> int:
        """Tell a stretch; returns how many events it has or, where one of them is no execution of the one call of its
        id that waits for it, the position of that one: then nothing is told.
        """
        stretch = told.stretch
        pairs = self._ran_pairs(lane, told)
        if isinstance(pairs, int):
            return pairs
        turns = self.trace.turns
        joined = self._begin(lane, stretch)
        lane.history.extend(map(Known, told.keys, range(turns, self.trace.turns)))
        self._ask_to_run(lane, told, pairs, joined)
        self._add_all(lane, stretch, joined)
        self.trace.payload.add_each(told.says, stretch.places, stretch.marked(StepKind.TOOL_RESULT))
        self._run_all(told, pairs, joined)
        return len(stretch.kinds)

    def _ran_pairs(self, lane: Lane, told: Turns) -> dict[int, int] | int:
        """For each execution the position of its call in the stretch or, counted down from NOWHERE, the row of a call
        that was asked for before it; else the position of an event with which that is not certain.
        """
        stretch = told.stretch
        ids, names, waiting = stretch.ids, stretch.names, lane.unexecuted
        named = [at for at in stretch.at(StepKind.TOOL_CALL) if ids[at]]
        asked = {ids[at]: at for at in named}
        if len(asked) < len(named) or waiting.holds_any(asked):
            return next(at for at in named if asked[ids[at]] != at or waiting.with_id(ids[at]) is not None)
        pairs: dict[int, int] = {}
        before: set[int] = set()
        for at, ran in zip(stretch.at(StepKind.TOOL_RESULT), told.ran, strict=True):
            call = asked.pop(ids[at], NOWHERE)
            if 0 <= call < at:
                fits = names[at] == names[call] and _fits(told.says[call], ran.arguments)
            else:
                row = waiting.only(ids[at]) if call < 0 else NOWHERE
                fits = row >= 0 and row not in before and self._fits_call(row, names[at], ran.arguments)
                before.add(row)
                call = NOWHERE - 1 - row
            if not fits:
                return at
            pairs[at] = call
        return pairs

    def _fits_call(self, row: int, tool: str, arguments: Payload | None) -> bool:
        """Whether a call was asked for just so, and is told by nothing else yet."""
        call = self._call(row)
        asked = call.requested
        if call.shown is not None or call.turn < 0 or asked is None or call.tool != tool:
            return False
        return _fits(asked.payload, arguments)

    def _ask_to_run(self, lane: Lane, told: Turns, pairs: dict[int, int], joined: Joined) -> None:
        """Ask for the calls of a stretch, and say of each of its executions which call it is."""
        asked = told.stretch.at(StepKind.TOOL_CALL)
        nowhere = [NOWHERE] * len(asked)
        rows = self._add_calls(lane, told.stretch, joined, nowhere, [Outcome.ABSENT] * len(asked))
        ran = set(pairs.values())
        lane.ask_and_run(rows, [row for at, row in zip(asked, rows, strict=True) if at not in ran])
        calls = self.trace.calls
        for at, call in pairs.items():
            if call >= 0:
                joined.calls[at], joined.turns[at] = joined.calls[call], joined.turns[call]
            else:
                row = NOWHERE - 1 - call
                lane.unexecuted.remove(row)
                joined.calls[at], joined.turns[at] = row, calls.turn(row)

    def _run_all(self, told: Turns, pairs: dict[int, int], joined: Joined) -> None:
        """Note of the calls of a stretch that they ran."""
        add, first = self.trace.strings.add, len(self.trace) - len(told.stretch.kinds)
        rows = [joined.calls[at] for at in pairs]
        steps = [first + call if call >= 0 else self._call(NOWHERE - 1 - call).step for call in pairs.values()]
        executed = self.trace.calls.all_beside(
            [one.arguments for one in told.ran],
            [one.place for one in told.ran],
            [one.pointer for one in told.ran],
            steps,
        )
        self.trace.calls.run_all(
            rows,
            executed,
            [first + at for at in pairs],
            [NOWHERE if one.server is None else add(one.server) for one in told.ran],
            [(one.start, one.end) for one in told.ran],
        )
        self.result_count += len(pairs)


def _fits(asked: Payload | None, ran: Payload | None) -> bool:
    """Whether what ran is what was asked for, as far as both are told, with nothing added and nothing left to say."""
    if asked is None or ran is None:
        return True
    return bytes(ran).startswith(_NAMED_ARGUMENTS) and agree(asked, ran) in _AS_GOOD
