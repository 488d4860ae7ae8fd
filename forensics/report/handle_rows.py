"""How are the values written down that the calls of a trace brought into it, each with its way?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.core.handles import BRANCH
from forensics.core.jsonvalue import spell_surrogates
from forensics.report.documents import HandleRow, MintedAt, UseRow

if TYPE_CHECKING:
    from forensics.analysis.run import TraceAnalysis
    from forensics.core.handles import Handle, Use


class HandleRows:
    """The handles of a trace as rows of a document; `first` is the number of its first step there."""

    def __init__(self, analysis: TraceAnalysis, first: int) -> None:
        self._handles = analysis.handles
        self._calls = analysis.trace.calls
        self._first = first

    def of(self, places: range) -> list[HandleRow]:
        """The handles at these places."""
        shown: dict[int, UseRow] = {}  # to the turn of that step: all that a result brought in is shown together
        return [self._row(handle, shown) for handle in self._handles[places.start : places.stop]]

    def _row(self, handle: Handle, shown: dict[int, UseRow]) -> HandleRow:
        uses = handle.uses if len(handle.uses) < 2 else sorted(handle.uses, key=lambda use: (use.step, use.role))  # noqa: PLR2004 - nothing to sort
        minted = MintedAt(
            step=self._first + handle.step,
            pointer=handle.pointer,
            tool=spell_surrogates(self._calls.tool(handle.call)),
        )
        return HandleRow(spell_surrogates(handle.value), handle.kind, minted, [self._use(use, shown) for use in uses])

    def _use(self, use: Use, shown: dict[int, UseRow]) -> UseRow:
        step = self._first + use.step
        if use.role != BRANCH:
            basis = "inferred" if use.is_inferred else "recorded"
            return UseRow(
                step=step, role=use.role, written=use.stands_as, pointer=use.pointer, echo=use.echo, basis=basis
            )
        row = shown.get(step)
        if row is None:
            row = shown[step] = UseRow(step=step, role=use.role, written=use.written, basis="inferred")
        return row
