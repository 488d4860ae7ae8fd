"""Did two runs call the same, with the same arguments, and get the same? The calls of a row, pair by pair.

Of each call arguments first, then how it ended, then what it returned: the first that differs is told, since the rest
follows from it; of several calls in the order of the left run. What minted a handle is matched before its result is
compared, so that a new name is no difference.
"""

from __future__ import annotations

from bisect import bisect_right
from math import inf
from operator import itemgetter
from typing import TYPE_CHECKING

import msgspec

from forensics.analysis.outcomes import failed_by_its_words, is_unanswered
from forensics.analysis.witnesses import tells_all
from forensics.compare.batches import Batch, Made, batch
from forensics.compare.divergence import Cause, Divergence, Kind
from forensics.compare.payloads import Parting
from forensics.core.classes import Effect
from forensics.core.differences import shown
from forensics.core.jsonvalue import short_json, spell_surrogates, text_of, value_of
from forensics.core.sanitise import one_line
from forensics.core.trace import NOT_REACHED, Absence, Boundary, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from forensics.analysis.run import TraceAnalysis
    from forensics.compare.generated import Generated
    from forensics.compare.notes import Notes
    from forensics.compare.payloads import Comparer
    from forensics.compare.script import Row
    from forensics.core.handles import Handle
    from forensics.core.renaming import Renaming
    from forensics.core.trace import Call, Payload

_SHOWN = 80
_AFTER = 0.5  # of a step
_WORDS = {
    Kind.ARGUMENTS: "the arguments of {}",
    Kind.RESULT: "the result of {}",
    Kind.OUTCOME: "how {} ended",
}
_DAMAGED = frozenset({"truncated_payload", "redaction_damage", "ambiguous_pairing", "conflicting_results"})


class Found(msgspec.Struct, frozen=True):
    """A divergence about a call of the left run (its row). `joins` says that what differs comes from other lanes."""

    divergence: Divergence
    call: int | None = None
    joins: bool = False


class Why(msgspec.Struct, frozen=True):
    """In what a pair of calls differs, what that comes from, and where."""

    kind: Kind
    cause: Cause
    parting: Parting | None


class Side:
    """One run as calls are compared: its calls, what each minted, and which may have had an effect."""

    def __init__(self, analysis: TraceAnalysis) -> None:
        self.trace = analysis.trace
        self._effects = list(analysis.calls.each(lambda kind: kind.effect is not Effect.NONE))
        self._minted: dict[int, list[Handle]] = {}
        for handle in analysis.handles:
            self._minted.setdefault(handle.call, []).append(handle)

    def made(self, rows: Sequence[int]) -> list[Made]:
        """The calls of those rows."""
        return [Made(row, self.trace.calls[row]) for row in rows]

    def minted(self, row: int) -> list[Handle]:
        """What that call minted, in the order in which it stands in the result."""
        found = self._minted.get(row, [])
        result = self.trace.calls[row].result
        if len(found) <= 1 or result is None:
            return found
        text = text_of(result)
        return sorted(found, key=lambda handle: text.find(handle.value))

    def touches(self, rows: Sequence[int]) -> bool:
        """Whether one of those calls may have had an effect."""
        return any(self._effects[row] for row in rows)


class CallComparer:
    """Compares the calls of two runs, in the order of the left one, and learns its handles on the way. `asked` says
    that both runs tell what their models asked for; in a rerun whose agent asks none, whatever it calls is its own.
    """

    def __init__(
        self,
        sides: tuple[Side, Side],
        comparer: Comparer,
        renaming: Renaming,
        notes: Notes,
        generated: Generated,
        *,
        asked: bool = True,
    ) -> None:
        self._left, self._right = sides
        self._asked = asked
        self._comparer = comparer
        self._renaming = renaming
        self._notes = notes
        self._generated = generated

    def compare(self, row: Row, left: Sequence[int], right: Sequence[int]) -> Iterator[Found]:
        """The calls of two events that stand side by side."""
        both = batch(self._left.made(left), self._right.made(right), self._renaming, loose=self._comparer.loose)
        self._notes.beside.batch(both)
        for _, told in sorted(self._in_time(row, both), key=itemgetter(0)):
            yield from told
        if both.reordered:
            self._notes.reordered(both)

    def _in_time(self, row: Row, both: Batch) -> Iterator[tuple[float, Iterator[Found]]]:
        """What is to be told of each call, with the step of the left run at which it is known: a call of a turn may
        rest on what an earlier one returned. What only the right run has stands before what came next there.
        """
        next_there: list[tuple[int, int]] = []
        for one, other in both.pairs:
            steps = one.call.step, other.call.step
            ends = tuple(max(made.call.result_step, step) for made, step in zip((one, other), steps, strict=True))
            next_there += [(steps[1], steps[0]), (ends[1], ends[0])]
            yield steps[0], self._arguments(row, one, other)
            if _is_made(one.call) is _is_made(other.call):
                yield ends[0] + _AFTER, self._ending(row, one, other)
            else:
                yield steps[0], self._unmade(row, one, other)
        next_there.sort()
        for made in both.missing:
            yield made.call.step, self._only(row, made, Kind.MISSING)
        for made in both.extra:
            place = bisect_right(next_there, (made.call.step, -1))
            before = next_there[place][1] - _AFTER if place < len(next_there) else inf
            yield before, self._only(row, made, Kind.EXTRA)

    def _only(self, row: Row, made: Made, kind: Kind) -> Iterator[Found]:
        """A call that only one run has, where the other one would tell of it."""
        missing = kind is Kind.MISSING
        if self._is_told(self._right if missing else self._left, made):
            yield Found(self._alone(row, made, kind), made.row if missing else None)

    def _unmade(self, row: Row, one: Made, other: Made) -> Iterator[Found]:
        """A call that both models asked for, and that the agent of one rerun did not make."""
        kind, made = (Kind.MISSING, one) if _is_made(one.call) else (Kind.EXTRA, other)
        told = msgspec.structs.replace(self._alone(row, made, kind), index=one.call.step, cause=Cause.AGENT)
        yield Found(told, one.row)

    def _is_told(self, lacking: Side, made: Made) -> bool:
        """Whether a call that a run lacks did not happen in it, as far as its record knows."""
        if tells_all(lacking.trace) or lacking.trace.calls:
            return True
        self._notes.untold(f"a call of {one_line(made.call.tool, 60)}", "the record of one run may hide its calls")
        return False

    def _alone(self, row: Row, made: Made, kind: Kind) -> Divergence:
        missing = kind is Kind.MISSING
        said = call_in_words(made.call)
        return Divergence(
            index=made.call.step if missing else row.at,
            kind=kind,
            cause=Cause.MODEL if self._asked and made.call.turn >= 0 else Cause.AGENT,
            lane=row.lane,
            what=f"a call of {one_line(made.call.tool, 60)}",
            left=said if missing else None,
            right=None if missing else said,
            left_step=made.call.step if missing else None,
            right_step=None if missing else made.call.step,
            occurrence=made.call.occurrence if missing else None,
            touches=(self._left if missing else self._right).touches([made.row]),
        )

    # one call --------------------------------------------------------------------------------------------------------

    def _arguments(self, row: Row, one: Made, other: Made) -> Iterator[Found]:
        asked = self._comparer.parting(one.call.arguments, other.call.arguments)
        if asked is not None:
            why = Why(Kind.ARGUMENTS, self._who_asked(one.call, other.call), asked)
            yield Found(self._if_generated(self._differ(row, one, other, why), asked, one, other), one.row)

    def _ending(self, row: Row, one: Made, other: Made) -> Iterator[Found]:
        """How the call ended, and with what; what it minted is the same from there on."""
        self._renaming.learn(self._left.minted(one.row), self._right.minted(other.row))
        joins = Boundary.SUB_AGENT in {one.call.boundary, other.call.boundary}
        if not self._both_told(one.call, other.call):
            return
        parting = self._comparer.parting(one.call.result, other.call.result)
        masked = failed_by_its_words(one.call) is not failed_by_its_words(other.call)
        ended = one.call.outcome is not other.call.outcome and not (self._comparer.loose and parting is None)
        if ended or parting is not None:
            kind = Kind.OUTCOME if ended else Kind.RESULT
            cause = Cause.MASKED if masked else _ended_by(one.call, other.call)
            divergence = self._differ(row, one, other, Why(kind, cause, parting))
            if masked:
                self._notes.caused("masked_failure", divergence)
            yield Found(divergence, one.row, joins)
        elif _DAMAGED & {block.code for call in (one.call, other.call) for block in call.blocks}:
            self._untold(one.call, other.call, "what is recorded of it is damaged or may be another call's")

    def _both_told(self, one: Call, other: Call) -> bool:
        """Whether both runs tell how the call ended; where one run is known to have no answer, that is told too."""
        absent = [call for call in (one, other) if call.outcome is Outcome.ABSENT]
        if len(absent) == 1 and is_unanswered(absent[0]):
            lacking = self._left if absent[0] is one else self._right
            if tells_all(lacking.trace):
                return True
        if absent and not all(call.absence is Absence.NOT_DUE for call in (one, other)):
            self._untold(one, other, "its result is not recorded")
        return not absent

    def _untold(self, one: Call, other: Call, why: str) -> None:
        self._notes.untold(f"the result of {one_line(one.tool, 60)}", why, one.step, other.step)

    def _differ(self, row: Row, one: Made, other: Made, why: Why) -> Divergence:
        calls = one.call, other.call
        place = None if why.kind is Kind.OUTCOME or why.parting is None else why.parting.first
        left, right = map(_outcome, calls) if place is None else shown(place)
        ended = why.kind is not Kind.ARGUMENTS
        steps = [call.result_step if ended and call.result_step >= 0 else call.step for call in calls]
        return Divergence(
            index=steps[0],
            kind=why.kind,
            cause=why.cause,
            lane=row.lane,
            what=_WORDS[why.kind].format(one_line(one.call.tool, 60)),
            left=left,
            right=right,
            pointer=None if place is None else place.pointer,
            left_step=steps[0],
            right_step=steps[1],
            occurrence=one.call.occurrence,
            touches=why.kind is not Kind.RESULT and (self._left.touches([one.row]) or self._right.touches([other.row])),
        )

    # who made a difference -------------------------------------------------------------------------------------------

    def _who_asked(self, one: Call, other: Call) -> Cause:
        """The model, unless it asked for the same in both runs or for nothing in either."""
        if not self._asked:
            return Cause.AGENT
        asked = [_requested(call) for call in (one, other)]
        if asked == [None, None]:
            return Cause.AGENT if one.turn < 0 and other.turn < 0 else Cause.MODEL
        if None in asked:
            return Cause.MODEL
        return Cause.AGENT if self._comparer.parting(*asked) is None else Cause.MODEL

    def _if_generated(self, divergence: Divergence, parting: Parting, one: Made, other: Made) -> Divergence:
        """The same with its cause, where every place that differs holds a value that the run made itself; from then on
        the two values count as one.
        """
        steps = one.call.step, other.call.step
        by_code = divergence.cause is Cause.AGENT and self._asked
        if parting.more or not all(self._generated.is_one(place, steps, by_code=by_code) for place in parting.places):
            return divergence
        for place in parting.places:
            self._renaming.join(place.left, place.right)
        found = msgspec.structs.replace(divergence, cause=Cause.GENERATED)
        self._notes.caused("generated_id_differs", found)
        return found


def _is_made(call: Call) -> bool:
    """Whether a call was made, and not only asked for; a rerun tells that of its own."""
    return call.disposition != NOT_REACHED


def _requested(call: Call) -> Payload | None:
    return None if call.requested is None else call.requested.payload


def _ended_by(one: Call, other: Call) -> Cause:
    """A refusal comes from whoever refuses; that nobody answered from the agent, which did not make the call that its
    model asked for or did not wait; everything else from the tool.
    """
    ended = {one.outcome, other.outcome}
    if Outcome.ABSENT in ended:
        return Cause.AGENT
    return Cause.INPUT if Outcome.DENIED in ended else Cause.TOOL


def call_in_words(call: Call) -> str:
    """A call with its arguments, shortened."""
    arguments = "" if call.arguments is None else short_json(value_of(call.arguments), _SHOWN)
    return spell_surrogates(f"{one_line(call.tool, 60)}({arguments})")


def _outcome(call: Call) -> str:
    ended = call.outcome.value if call.absence is None else f"{call.outcome.value}: {call.absence.value}"
    if call.result is None:
        return ended
    return spell_surrogates(f"{ended}: {short_json(value_of(call.result), _SHOWN)}")
