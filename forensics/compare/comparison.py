"""Where do two runs part, and why? One walk over both, side by side, that learns which handle is which as it goes.

The result is the first that holds: diverged (something differs), not_comparable (nothing differs in what was compared,
and something could not be), equal_modulo_handles (handles have other names), equivalent (calls of one batch came in
another order), identical. "Not compared" is never "no difference".
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec

from forensics.analysis.witnesses import tells_all
from forensics.compare.beside import Steps
from forensics.compare.calls import CallComparer, Found, Side, call_in_words
from forensics.compare.divergence import Cause, Divergence, Explanations, Kind
from forensics.compare.events import CALL, MODEL, OUTPUT, Event, events_of
from forensics.compare.generated import Generated
from forensics.compare.keys import Keys
from forensics.compare.notes import Notes, Untold
from forensics.compare.payloads import Comparer, said
from forensics.compare.script import Row, Script, script
from forensics.compare.suspects import Suspects
from forensics.core.differences import shown
from forensics.core.findings import Finding
from forensics.core.jsonvalue import short_json, spell_surrogates, value_of
from forensics.core.renaming import Renamed, Renaming

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from forensics.analysis.run import TraceAnalysis
    from forensics.core.trace import Payload, Trace
    from forensics.rules.engine import RuleSet

_CAUSES = {
    MODEL: Cause.MODEL,
    CALL: Cause.AGENT,
    OUTPUT: Cause.AGENT,
    "error": Cause.AGENT,
    "guardrail": Cause.AGENT,
    "handoff": Cause.AGENT,
    "approval_request": Cause.AGENT,
    "memory": Cause.TOOL,
    "tool_result": Cause.TOOL,
}
"""What an event of each kind comes from; every other kind comes from outside the run. That a model was asked at all is
its agent's doing.
"""
_KINDS = {MODEL: Kind.MODEL_OUTPUT, OUTPUT: Kind.OUTPUT, "tool_result": Kind.RESULT}
_WORDS = {MODEL: "what the model said", OUTPUT: "the final output", CALL: "a call"}
_MEDIA = "the pictures, sounds and files in a message"
_SHOWN = 80
_SIDES = ("left", "right")


class Result(StrEnum):
    """How two runs compare."""

    IDENTICAL = "identical"
    EQUIVALENT = "equivalent"
    MODULO_HANDLES = "equal_modulo_handles"
    DIVERGED = "diverged"
    NOT_COMPARABLE = "not_comparable"


class Comparison(msgspec.Struct, frozen=True):
    """What two runs have in common and where they part. `compared` counts the events that stand side by side, `beside`
    holds the steps of both that belong together, in the order of the walk.
    """

    result: Result
    divergences: tuple[Divergence, ...]
    handles: tuple[Renamed, ...]
    not_compared: tuple[Untold, ...]
    findings: tuple[Finding, ...]
    compared: int
    beside: tuple[Steps, ...]

    @property
    def first(self) -> Divergence | None:
        """The causing step: the first divergence, which no earlier one can explain."""
        return self.divergences[0] if self.divergences else None


def compare(
    left: TraceAnalysis,
    right: TraceAnalysis,
    rules: RuleSet,
    kinds: frozenset[str] | None = None,
    outputs: tuple[Payload, Payload] | None = None,
) -> Comparison:
    """Compare two runs, of any two formats. Near linear in the bytes of both. `kinds` are the kinds of events that
    count (None: all): a rerun through ports tells nothing of the others, by its making, and whoever asks says so.
    `outputs` are the last answers of both runs, where no event that counts tells them.
    """
    return _Walk(left, right, rules, kinds).run(outputs)


def _is_one_record(left: Trace, right: Trace) -> bool:
    return bool(left.evidence_sha256) and (left.evidence_sha256, left.id) == (right.evidence_sha256, right.id)


class _Walk:
    def __init__(self, left: TraceAnalysis, right: TraceAnalysis, rules: RuleSet, kinds: frozenset[str] | None) -> None:
        self.kinds = kinds
        traces = self.traces = left.trace, right.trace
        self.loose = left.trace.format != right.trace.format
        self.sides = Side(left), Side(right)
        self.keys = (
            Keys(left.trace, left.handles, loose=self.loose),
            Keys(right.trace, right.handles, loose=self.loose),
        )
        self.notes = Notes(*traces, same=_is_one_record(*traces))
        self.renaming = Renaming(rules.is_id_key)
        self.comparer = Comparer(self.renaming, loose=self.loose)
        generated = Generated(*traces, rules)
        self.asked = kinds is None or MODEL in kinds
        self.calls = CallComparer(self.sides, self.comparer, self.renaming, self.notes, generated, asked=self.asked)
        self.silent = tuple(frozenset(trace.silent_turns) for trace in traces)
        self.explanations = Explanations()
        self.suspects = Suspects(traces, self.renaming)
        self.last_turns: dict[tuple[str, int], int] = {}

    def run(self, outputs: tuple[Payload, Payload] | None) -> Comparison:
        self.notes.gaps()
        found = self._script()
        self.last_turns = _last_turns(found.rows)
        for row in found.rows:
            self.notes.beside.row(row)
            for one in self._row(row):
                told = self.explanations.explain(one.divergence, one.call, joins=one.joins or row.first)
                self.explanations.add(self.suspects.blamed(told, row), one.call)
            self.suspects.passed(row)
        if outputs is not None:
            self._outputs(*outputs)
        if found.interleaved:
            self.notes.interleaved()
        self.notes.renamed(self.renaming.renamed)
        compared = sum(row.left is not None and row.right is not None for row in found.rows)
        if not compared and not self.explanations.divergences:
            self.notes.untold("the runs", "no event stands in both of them")
        return Comparison(
            result=self._result(),
            divergences=tuple(self.explanations.divergences),
            handles=tuple(self.renaming.renamed),
            not_compared=tuple(self.notes.not_compared),
            findings=tuple(self.notes.findings),
            compared=compared,
            beside=tuple(self.notes.beside.steps),
        )

    def _result(self) -> Result:
        codes = {one.code for one in self.notes.findings}
        if self.explanations.divergences:
            return Result.DIVERGED
        if self.notes.not_compared:
            return Result.NOT_COMPARABLE
        if self.renaming.renamed:
            return Result.MODULO_HANDLES
        return Result.EQUIVALENT if "parallel_order_differs" in codes else Result.IDENTICAL

    def _outputs(self, left: Payload, right: Payload) -> None:
        parting = self.comparer.parting(said(left), said(right))
        if parting is None:
            return
        steps = [max(len(trace) - 1, 0) for trace in self.traces]
        told = other_output(shown(parting.first), parting.first.pointer, (steps[0], steps[1]))
        self.explanations.add(self.explanations.explain(told, None), None)

    # what can be compared --------------------------------------------------------------------------------------------

    def _script(self) -> Script:
        """Both runs side by side: between formats only the kinds of events that both tell."""
        turns = not self.loose or all(trace.turns for trace in self.traces)
        turns = turns and self.asked
        left, right = (self._counting(events_of(trace, turns=turns)) for trace in self.traces)
        if self.loose:
            if not turns and any(trace.turns for trace in self.traces):
                self._untold_kind(MODEL, left_lacks=not self.traces[0].turns)
            shared = {event.kind for event in left} & {event.kind for event in right}
            left, right = self._only(left, shared, right_lacks=True), self._only(right, shared, right_lacks=False)
        return script(left, right, self.keys)

    def _counting(self, events: tuple[Event, ...]) -> tuple[Event, ...]:
        return events if self.kinds is None else tuple(event for event in events if event.kind in self.kinds)

    def _only(self, events: tuple[Event, ...], shared: set[str], *, right_lacks: bool) -> tuple[Event, ...]:
        for kind in dict.fromkeys(event.kind for event in events if event.kind not in shared | {CALL, MODEL}):
            self._untold_kind(kind, left_lacks=not right_lacks)
        return tuple(event for event in events if event.kind in shared | {CALL, MODEL})

    def _untold_kind(self, kind: str, *, left_lacks: bool) -> None:
        lacking = self.traces[0 if left_lacks else 1].format
        self.notes.untold(_words(kind), f"the {_SIDES[not left_lacks]} run ({lacking}) tells nothing of the kind")

    # one row ---------------------------------------------------------------------------------------------------------

    def _row(self, row: Row) -> Iterator[Found]:
        if row.left is None or row.right is None:
            yield from self._alone(row)
            return
        if row.moved:
            yield Found(self._divergence(row, Kind.ORDER, *(self._shown(side, row) for side in (0, 1))))
        yield from self._said(row, row.left, row.right)
        if row.left.calls or row.right.calls:
            yield from self.calls.compare(row, row.left.calls, row.right.calls)

    def _said(self, row: Row, left: Event, right: Event) -> Iterator[Found]:
        turns = [self.traces[side].turn[event.step] for side, event in enumerate((left, right))]
        if left.kind == MODEL and any(turn in silent for turn, silent in zip(turns, self.silent, strict=True)):
            self.notes.untold(_words(MODEL), "it was not captured", left.step, right.step)
            return
        parting = self.comparer.parting(said(left.payload), said(right.payload))
        kind = _KINDS.get(left.kind, Kind.INPUT)
        if parting is not None:
            yield Found(self._divergence(row, kind, *shown(parting.first), parting.first.pointer))
        media = [trace.media.get(event.step, ()) for trace, event in zip(self.traces, (left, right), strict=True)]
        if media[0] == media[1] or self.kinds is not None:  # what a rerun through ports is asked holds no media
            return
        if self.loose:
            self.notes.untold(_MEDIA, "each format writes them in its own way", left.step, right.step)
            return
        both = (short_json([f"sha256:{one}" for one in several]) if several else None for several in media)
        yield Found(msgspec.structs.replace(self._divergence(row, kind, *both), what=_MEDIA))

    def _alone(self, row: Row) -> Iterator[Found]:
        side = 0 if row.right is None else 1
        event = row.left or row.right
        if event is None:
            return
        lacking = self.traces[1 - side]
        steps = (event.step, None) if side == 0 else (None, event.step)
        if any(gap.hides for gap in lacking.gaps):
            self.notes.untold(_words(event.kind), f"a gap of the {_SIDES[1 - side]} run may hide it", *steps)
        elif event.kind == CALL and not tells_all(lacking) and not lacking.calls:
            self.notes.untold(_words(CALL), f"the record of the {_SIDES[1 - side]} run may hide its calls", *steps)
        else:
            said_there = self._shown(side, row)
            kind, both = (Kind.EXTRA, (None, said_there)) if side else (Kind.MISSING, (said_there, None))
            yield Found(self._divergence(row, kind, *both), row.left.calls[0] if row.left and row.left.calls else None)

    def _divergence(
        self, row: Row, kind: Kind, left: str | None, right: str | None, pointer: str | None = None
    ) -> Divergence:
        event = row.left or row.right
        name = "" if event is None else event.kind
        acts = kind in {Kind.MISSING, Kind.EXTRA, Kind.ORDER}
        calls = [side.touches(e.calls) for side, e in zip(self.sides, (row.left, row.right), strict=True) if e and acts]
        return Divergence(
            index=row.at,
            kind=kind,
            cause=Cause.AGENT if self._asks_on(row) else _CAUSES.get(name, Cause.INPUT),
            lane=row.lane,
            what=_words(name),
            left=left,
            right=right,
            pointer=pointer,
            left_step=None if row.left is None else row.left.step,
            right_step=None if row.right is None else row.right.step,
            touches=any(calls),
        )

    def _asks_on(self, row: Row) -> bool:
        """Whether this is a turn of one run after the other one's last: there the agent asked its model no more."""
        side = 0 if row.right is None else 1
        event, other = (row.left, row.right)[side], (row.left, row.right)[1 - side]
        alone = event is not None and other is None and event.kind == MODEL
        return alone and self.last_turns.get((row.lane, 1 - side), -1) < row.number

    def _shown(self, side: int, row: Row) -> str:
        """What an event says and does, shortened."""
        event = (row.left, row.right)[side]
        if event is None:
            return ""
        payload = said(event.payload)
        words = [] if payload is None else [spell_surrogates(short_json(value_of(payload), _SHOWN))]
        return " ".join((*words, *(call_in_words(self.traces[side].calls[call]) for call in event.calls[:_SHOWN])))


def _last_turns(rows: Sequence[Row]) -> dict[tuple[str, int], int]:
    """The row of the last model turn of each lane and side."""
    return {
        (row.lane, side): row.number
        for row in rows
        for side, event in enumerate((row.left, row.right))
        if event is not None and event.kind == MODEL
    }


def other_output(both: tuple[str | None, str | None], pointer: str | None, steps: tuple[int, int]) -> Divergence:
    """The divergence of two runs that ended with other answers, `both` in short, at their last `steps`."""
    return Divergence(
        index=steps[0],
        kind=Kind.OUTPUT,
        cause=Cause.AGENT,
        lane="",
        what=_words(OUTPUT),
        left=both[0],
        right=both[1],
        pointer=pointer,
        left_step=steps[0],
        right_step=steps[1],
    )


def _words(kind: str) -> str:
    return _WORDS.get(kind, f"what the {kind.replace('_', ' ')} says")
