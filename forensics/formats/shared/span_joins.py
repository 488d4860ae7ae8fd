"""Which spans of a trace belong together by an id? Spans and their parents, turns and the tools that ran their calls.

An id mostly stands near the other that is the same. So both are looked for in the order of the spans, and only what has
not been found yet is held: a table of all ids of a large trace takes more than all else that is known of its spans.
"""

from __future__ import annotations

from array import array
from itertools import chain
from typing import TYPE_CHECKING

from forensics.core.again import several_times
from forensics.core.places import NOWHERE
from forensics.formats.shared.span_names import Role

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from forensics.formats.shared.span_cast import Cast
    from forensics.formats.shared.span_rows import TraceSpans

_NEAR = 8192  # ids that stand before another


def parents_of(spans: TraceSpans) -> tuple[array[int], dict[str, array[int]]]:
    """The row of the parent of each span, whose ids are all different, and by the parents that are not there, or not
    named (""), the rows that name them.
    """
    found, far = _near_parents(spans)
    row_of = dict.fromkeys(far, NOWHERE)
    row = 0
    for ids, _ in spans.links() if row_of.keys() - {""} else ():
        row_of.update((span_id, at) for at, span_id in enumerate(ids, row) if span_id in row_of)
        row += len(ids)
    row_of[""] = NOWHERE
    for parent in [parent for parent, at in row_of.items() if at != NOWHERE]:
        for row in far.pop(parent):
            found[row] = row_of[parent]
    return found, far


def _near_parents(spans: TraceSpans) -> tuple[array[int], dict[str, array[int]]]:
    """The same, as far as the parents stand near; what names others, by their ids."""
    found = array("i")
    far: dict[str, array[int]] = {}
    latest: dict[str, int] = {}
    before: dict[str, int] = {}
    for ids, parents in spans.links():
        if len(latest) > _NEAR:
            before, latest = latest, {}
        latest.update(zip(ids, range(len(found), len(found) + len(ids)), strict=True))
        for row, parent in enumerate(parents, len(found)):
            at = latest.get(parent, before.get(parent, NOWHERE)) if parent else NOWHERE
            if at == NOWHERE:
                far.setdefault(parent, array("i")).append(row)
            found.append(at)
    return found, far


class SpanCalls:
    """Which turn asked for the call of each id, and which tool span ran it, by their rows; what stands more often than
    once orders nothing. `ranks` has the place of its call in the request for each tool span, where that is not the
    first; `ran` the tool span of each id, where prompts show results.
    """

    def __init__(self, cast: Cast) -> None:
        self._cast = cast
        self._tools = array("i", cast.rows(Role.TOOL))
        self._askers = array("i", [NOWHERE]) * len(self._tools)
        self.ranks: dict[int, int] = {}
        self.ran: dict[str, int] = {}
        odd_asked = several_times(len(cast.roles), self._asked_ids)
        odd_run = several_times(len(self._tools), self._run_ids)
        self._join(odd_asked, odd_run)
        if cast.prompts:
            told = zip(self._run_ids(), self._tools, strict=True)
            self.ran = {recorded_id: row for recorded_id, row in told if recorded_id and recorded_id not in odd_run}

    def pairs(self) -> Iterator[tuple[int, int]]:
        """The turn that asked for a call with the tool that ran it, in the order of these."""
        return ((asker, row) for asker, row in zip(self._askers, self._tools, strict=True) if asker >= 0)

    def _asked(self) -> Iterator[tuple[int, list[str]]]:
        """The ids of the calls that each turn asks for."""
        cast = self._cast
        return ((row, cast.answers.calls(row)) for row in cast.answers.rows() if row not in cast.twin)

    def _asked_ids(self) -> Iterable[str]:
        return chain.from_iterable(ids for _, ids in self._asked())

    def _run_ids(self) -> Iterable[str]:
        return chain.from_iterable(map(self._cast.spans.calls, self._tools))

    def _join(self, odd_asked: dict[str, int], odd_run: dict[str, int]) -> None:
        """Find the turn that asked for the call of each tool span: before it, mostly."""
        waiting: dict[str, tuple[int, int]] = {}
        early: dict[str, int] = {}
        asked = self._asked()
        row, ids = next(asked, (NOWHERE, []))
        for number, (tool, recorded_id) in enumerate(zip(self._tools, self._run_ids(), strict=True)):
            while NOWHERE < row < tool:
                self._wait(row, ids, waiting, early, odd_asked)
                row, ids = next(asked, (NOWHERE, []))
            if row == NOWHERE and not waiting:
                break
            if recorded_id and recorded_id not in odd_run:
                early[recorded_id] = number
                if recorded_id in waiting:
                    self._pair(early.pop(recorded_id), *waiting.pop(recorded_id))
        while row > NOWHERE and early:
            self._wait(row, ids, waiting, early, odd_asked)
            row, ids = next(asked, (NOWHERE, []))

    def _wait(
        self, row: int, ids: list[str], waiting: dict[str, tuple[int, int]], early: dict[str, int], odd: dict[str, int]
    ) -> None:
        """A turn asked for these calls, of which some ran before it."""
        for place, recorded_id in enumerate(ids):
            if not recorded_id or recorded_id in odd:
                continue
            if recorded_id in early:
                self._pair(early.pop(recorded_id), row, place)
            else:
                waiting[recorded_id] = (row, place)

    def _pair(self, number: int, asker: int, place: int) -> None:
        self._askers[number] = asker
        if place:
            self.ranks[self._tools[number]] = place
