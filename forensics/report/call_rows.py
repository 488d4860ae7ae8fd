"""How are the calls of a trace written down? Block by block and column by column: what many calls share, such as the
names of a class or of a tool, is worked out once for all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import starmap
from typing import TYPE_CHECKING, Any

import msgspec

from forensics.core.calls import occurrence
from forensics.core.evidence import Basis
from forensics.core.json_texts import strict_values
from forensics.core.jsonvalue import spell_surrogates
from forensics.core.trace import Absence, Boundary, Outcome
from forensics.report.documents import CallRow
from forensics.report.written import moment, preview

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from enum import StrEnum

    from forensics.analysis.run import TraceAnalysis
    from forensics.core.classes import Classification
    from forensics.core.trace import Block, Call
    from forensics.report.compose import Numbering

_Column = Callable[[range], "Iterable[Any]"]
"""Makes what one field of some rows holds."""


def decision(call: Call) -> str:
    """What a rerun would do with a call: inject its record, or refuse. Nothing runs without a plan that names it. Of a
    call that ended the run the record is that it did.
    """
    return _decision(call.blocks, call.outcome, call.absence, call.result)


def _decision(blocks: tuple[Block, ...], outcome: Outcome, absence: Absence | None, result: object) -> str:
    absent = outcome is Outcome.ABSENT and absence is not Absence.NOT_DUE
    lost = absent or (outcome is Outcome.INDETERMINATE and result is None)
    return "refuse" if blocks or lost else "inject"


class _ClassNames(msgspec.Struct, frozen=True):
    effect: str
    result: str
    tool_class: str


def _class_names(kind: Classification) -> _ClassNames:
    return _ClassNames(kind.effect.name.lower(), kind.result.name.lower(), kind.tool_class.value)


_WORDS: dict[StrEnum | None, str | None] = {
    None: None,
    **{kind: kind.value for kinds in (Outcome, Absence, Basis, Boundary) for kind in kinds},
}
_word = _WORDS.__getitem__


class CallRows:
    """The calls of a trace as rows of a document, by their rows in the trace."""

    def __init__(self, analysis: TraceAnalysis, numbering: Numbering) -> None:
        self._analysis = analysis
        self._numbering = numbering
        self._calls = analysis.trace.calls
        self._first = numbering.first(analysis)
        self._names = [_class_names(kind) for kind in analysis.calls.kinds]
        self._blocks: dict[int, tuple[Block, ...]] = self._calls.rare("blocks")
        self._spelled: dict[int, str] = {}
        self._results: tuple[range, list[bytes | None]] = (range(0), [])
        self._brought: tuple[range, list[list[str]]] = (range(0), [])
        self._columns = self._columns_by_field()

    def __len__(self) -> int:
        return len(self._calls)

    def of(self, rows: range) -> list[CallRow]:
        """The calls of these rows."""
        return list(starmap(CallRow, self.fields(rows, CallRow.__struct_fields__)))

    def fields(self, rows: range, names: Iterable[str]) -> Iterable[tuple[Any, ...]]:
        """Only these fields of the calls of these rows."""
        return zip(*(self._columns[name](rows) for name in names), strict=True)

    def _columns_by_field(self) -> dict[str, _Column]:
        calls, first = self._calls, self._first
        added = calls.rare("added")
        return {
            "step": lambda rows: [first + step for step in calls.column("step", rows)],
            "result_step": lambda rows: [None if n < 0 else first + n for n in calls.column("result_step", rows)],
            "id": lambda rows: self._numbering.names(calls, rows),
            "occurrence": lambda rows: map(occurrence, calls.column("turn", rows), calls.column("index", rows)),
            "tool": lambda rows: map(self._text, calls.column("tool", rows)),
            "agent": lambda rows: map(self._text, calls.column("agent", rows)),
            "at": lambda rows: map(moment, self._times(rows)),
            "arguments": lambda rows: strict_values(calls.arguments(rows)),
            "result_preview": lambda rows: [None if one is None else preview(one) for one in self._results_of(rows)],
            "outcome": lambda rows: map(_word, calls.each("outcome", rows)),
            "absence": lambda rows: map(_word, calls.each("absence", rows)),
            "effect": lambda rows: [one.effect for one in self._classes(rows)],
            "result": lambda rows: [one.result for one in self._classes(rows)],
            "class_": lambda rows: [one.tool_class for one in self._classes(rows)],
            "decision": self._decisions,
            "pairing": lambda rows: map(_word, calls.each("pairing", rows)),
            "agreement": lambda rows: [None if n < 0 else calls.strings[n] for n in calls.column("agreement", rows)],
            "added": lambda rows: [list(added.get(row, ())) for row in rows],
            "minted": self._minted,
            "boundary": lambda rows: map(_word, calls.each("boundary", rows)),
            "blocks": lambda rows: [[block.code for block in self._blocks.get(row, ())] for row in rows],
        }

    def _results_of(self, rows: range) -> list[bytes | None]:
        if self._results[0] != rows:
            self._results = rows, self._calls.results(rows)
        return self._results[1]

    def _decisions(self, rows: range) -> Iterator[str]:
        blocks = (self._blocks.get(row, ()) for row in rows)
        ended = self._calls.each("outcome", rows), self._calls.each("absence", rows)
        return map(_decision, blocks, *ended, self._results_of(rows))

    def _minted(self, rows: range) -> list[list[str]]:
        """The values that came with the results of these rows; one result may bring a million, and is asked for anew by
        each section of a text.
        """
        if self._brought[0] != rows:
            values = self._analysis.handles.minted_in(rows)
            self._brought = rows, [list(map(spell_surrogates, each)) for each in values]
        return self._brought[1]

    def _classes(self, rows: range) -> list[_ClassNames]:
        return [self._names[number] for number in self._analysis.calls.numbers[rows.start : rows.stop]]

    def _times(self, rows: range) -> Iterator[int]:
        """As `Trace.when` tells."""
        at, steps = self._analysis.trace.at, self._calls.column("step", rows)
        return (start if start >= 0 else at[step] for start, step in zip(self._calls.starts(rows), steps, strict=True))

    def _text(self, number: int) -> str:
        """A text of the trace that many calls share, as it may be written."""
        text = self._spelled.get(number)
        if text is None:
            text = self._spelled[number] = spell_surrogates(self._calls.strings[number])
        return text
