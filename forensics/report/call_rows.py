"""How are the calls of a trace written down? Block by block and column by column: what many calls share, such as the
names of a class or of a tool, is worked out once for all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from forensics.core.calls import occurrence
from forensics.core.json_texts import strict_values
from forensics.core.jsonvalue import spell_surrogates
from forensics.core.trace import Outcome
from forensics.report.documents import CallRow
from forensics.report.written import moment, preview

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from enum import StrEnum

    from forensics.analysis.run import TraceAnalysis
    from forensics.core.classes import Classification
    from forensics.core.trace import Block, Call
    from forensics.report.compose import Numbering

_Columns = dict[str, "Iterable[Any]"]
"""What the fields of some rows hold, by the name of the field."""

_NUMBERS = ("step", "result_step", "turn", "index", "tool", "agent", "agreement")
_WORDS = ("outcome", "absence", "pairing", "boundary")


def decision(call: Call) -> str:
    """What a rerun would do with a call: inject its record, or refuse. Nothing runs without a plan that names it."""
    return _decision(call.blocks, call.outcome, call.result)


def _decision(blocks: tuple[Block, ...], outcome: Outcome, result: object) -> str:
    lost = outcome is Outcome.ABSENT or (outcome is Outcome.INDETERMINATE and result is None)
    return "refuse" if blocks or lost else "inject"


class _ClassNames(NamedTuple):
    """The fields of a row that follow from the class of the call."""

    effect: str
    result: str
    class_: str


def _class_names(kind: Classification) -> _ClassNames:
    return _ClassNames(kind.effect.name.lower(), kind.result.name.lower(), kind.tool_class.value)


def _word(kind: StrEnum | None) -> str | None:
    return None if kind is None else kind.value


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

    def __len__(self) -> int:
        return len(self._calls)

    def of(self, rows: range) -> list[CallRow]:
        """The calls of these rows."""
        columns = {**self._of_trace(rows), **self._of_payloads(rows), **self._of_class(rows)}
        return list(map(CallRow, *(columns[name] for name in CallRow.__struct_fields__)))

    def _of_trace(self, rows: range) -> _Columns:
        """Which call it is, when it was asked for and how it ended."""
        calls, first = self._calls, self._first
        numbers = {name: calls.column(name, rows) for name in _NUMBERS}
        added = calls.rare("added")
        return {
            "step": [first + step for step in numbers["step"]],
            "result_step": [None if step < 0 else first + step for step in numbers["result_step"]],
            "id": self._numbering.names(calls, rows),
            "occurrence": map(occurrence, numbers["turn"], numbers["index"]),
            "tool": map(self._text, numbers["tool"]),
            "agent": map(self._text, numbers["agent"]),
            "at": map(moment, self._times(rows, numbers["step"])),
            "agreement": [None if number < 0 else calls.strings[number] for number in numbers["agreement"]],
            "added": [list(added.get(row, ())) for row in rows],
            **{name: map(_word, calls.each(name, rows)) for name in _WORDS},
        }

    def _of_payloads(self, rows: range) -> _Columns:
        """What it was given, what came back, and what follows from that for a rerun."""
        blocks = [self._blocks.get(row, ()) for row in rows]
        results = self._calls.results(rows)
        minted = self._analysis.handles.minted_in(rows)
        return {
            "arguments": strict_values(self._calls.arguments(rows)),
            "result_preview": [None if result is None else preview(result) for result in results],
            "decision": map(_decision, blocks, self._calls.each("outcome", rows), results),
            "minted": [list(map(spell_surrogates, values)) for values in minted],
            "blocks": [[block.code for block in several] for several in blocks],
        }

    def _of_class(self, rows: range) -> _Columns:
        names = [self._names[number] for number in self._analysis.calls.numbers[rows.start : rows.stop]]
        return dict(zip(_ClassNames._fields, zip(*names, strict=True), strict=True))

    def _times(self, rows: range, steps: Sequence[int]) -> Iterator[int]:
        """When it began or, where that is not told, when it was asked for."""
        at = self._analysis.trace.at
        return (start if start >= 0 else at[step] for start, step in zip(self._calls.starts(rows), steps, strict=True))

    def _text(self, number: int) -> str:
        """A text of the trace that many calls share, as it may be written."""
        text = self._spelled.get(number)
        if text is None:
            text = self._spelled[number] = spell_surrogates(self._calls.strings[number])
        return text
