"""Which calls do the texts of a trace spell that were not read as calls? Each is a gap: its result and its effect may
stand nowhere in the trace (CONTRACT: this format may hide calls in text).

A server or a library may read a call out of a text and record it as well. So a spelled call is a read one where its
turn asks for that tool, or where a call of that tool follows which no turn asked for; each read call stands for one.
What only a later prompt shows of a turn may tell such a call once more, in the words of a library.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from itertools import accumulate
from typing import TYPE_CHECKING

from forensics.core.calls_in_text import plain_name, says_unread, spelled_in
from forensics.core.evidence import Basis, Gap
from forensics.core.jsonvalue import texts_of_all
from forensics.core.trace import NOWHERE, Payload, StepKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from forensics.core.evidence import Locator
    from forensics.core.trace import Trace

_TOGETHER = 64  # texts that are looked through together


def unread_calls(trace: Trace, shown: AbstractSet[int], gaps: Sequence[Gap]) -> Iterator[Gap]:
    """A gap for each turn whose text spells calls that were not read, unless one of those that are known says of its
    message that it may hide some; `shown` are the turns that only prompts show.
    """
    read: _Read | None = None
    known: frozenset[_Place] = frozenset()
    for row, tools in _spelled(trace):
        if read is None:
            read, known = _Read(trace, shown), _doubted(gaps)
        missing = read.without(row, tools)
        if missing and _place(trace.locator(row)) not in known:
            yield Gap(
                "evidence_gap", says_unread(missing), trace.locator(row), trace.id, hides=True, basis=Basis.INFERRED
            )


_Place = tuple[int | None, int | None, int | str | None, str]


def _place(locator: Locator, pointer: str | None = None) -> _Place:
    return locator.line, locator.offset, locator.row, (locator.pointer or "") if pointer is None else pointer


def _doubted(gaps: Sequence[Gap]) -> frozenset[_Place]:
    """Where the gaps that may hide a call stand, and all around them in their records."""
    return frozenset(
        _place(gap.locator, around)
        for gap in gaps
        if gap.hides and gap.locator is not None
        for around in accumulate((gap.locator.pointer or "").split("/"), "{}/{}".format)
    )


def _spelled(trace: Trace) -> Iterator[tuple[int, list[str]]]:
    """The rows of the turns whose text spells calls, with their tools."""
    rows = trace.rows(StepKind.MODEL)
    for first in range(0, len(rows), _TOGETHER):
        part = rows[first : first + _TOGETHER]
        told = [(row, Payload(text)) for row, text in zip(part, trace.payload.several(part), strict=True) if text]
        for number, tools in spelled_in(texts_of_all([text for _, text in told])):
            yield told[number][0], tools


class _Read:
    """The calls of a trace for which no spelled one stands yet, by the plain names of their tools: those of each turn,
    those that no turn asked for, and all of them for what prompts show once more.
    """

    def __init__(self, trace: Trace, shown: AbstractSet[int]) -> None:
        self._turns, self._shown = trace.turn, shown
        self._asked: defaultdict[int, Counter[str]] = defaultdict(Counter)
        self._unasked: defaultdict[str, deque[int]] = defaultdict(deque)
        self._all: defaultdict[str, deque[int]] = defaultdict(deque)
        calls = trace.calls
        for (tool, _), turn, step in zip(calls.tools(), calls.column("turn"), calls.column("step"), strict=True):
            name = plain_name(tool)
            self._all[name].append(step)
            if turn == NOWHERE:
                self._unasked[name].append(step)
            else:
                self._asked[turn][name] += 1

    def without(self, row: int, tools: list[str]) -> list[str]:
        """Those of the tools, spelled by the turn in that row, for which no read call stands."""
        return [tool for tool in tools if not self._is_read(row, plain_name(tool))]

    def _is_read(self, row: int, tool: str) -> bool:
        turn = self._turns[row]
        return (
            _take(self._asked[turn], tool)
            or _take_behind(self._unasked[tool], row)
            or (turn in self._shown and _take_before(self._all[tool], row))
        )


def _take(asked: Counter[str], tool: str) -> bool:
    """Whether a turn asks for that tool, or for any where a text does not name one; if so, one call is taken."""
    tool = tool or next((name for name, count in asked.items() if count), "")
    if not asked[tool]:
        return False
    asked[tool] -= 1
    return True


def _take_behind(steps: deque[int], row: int) -> bool:
    """Take the first of these that follows a row, if one does; rows are asked in order."""
    while steps and steps[0] < row:
        steps.popleft()
    return bool(steps) and steps.popleft() > row


def _take_before(steps: deque[int], row: int) -> bool:
    """Take the first of these, if it precedes a row."""
    return bool(steps) and steps[0] < row and steps.popleft() < row
