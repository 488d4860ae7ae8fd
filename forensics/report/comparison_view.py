"""What is drawn of two runs side by side? The rows of both with what they say, each with the differences at it: the one
thing that the page and the ticket are written from.

Made from the comparison document and the steps of both inspections, and from nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from forensics.core.sanitise import one_line
from forensics.report.documents import ComparisonDocument, DivergenceRow, StepRow

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from forensics.report.documents import InspectionDocument

CAUSE, FOLLOWS, ALONE, RENAMED, ALIKE = "cause", "follows", "alone", "renamed", "alike"
STATES = {
    CAUSE: "differs by itself",
    FOLLOWS: "differs, and an earlier difference may be why",
    ALONE: "in one run alone",
    RENAMED: "alike, but for renamed handles",
    ALIKE: "alike",
}
_ACTS = frozenset({"tool_call"})
_NAME = 60


class Side(NamedTuple):
    """One step of one run as it is drawn: a line that names it, and what it says."""

    step: int
    label: str
    text: str
    acts: str = ""


class Row(NamedTuple):
    """Two steps side by side, or one alone, and the numbers of the differences at them."""

    number: int
    left: Side | None
    right: Side | None
    state: str
    differences: tuple[int, ...]


class Cone(NamedTuple):
    """A difference that nothing explains, and the later ones that it may explain, by their numbers."""

    cause: int
    affected: tuple[int, ...]


class View(msgspec.Struct, frozen=True):
    """What is drawn: the document, its rows, its causes with what follows, and the row of each difference."""

    document: ComparisonDocument
    rows: tuple[Row, ...]
    cones: tuple[Cone, ...]
    row_of: dict[int, int]

    def row(self, difference: int) -> Row | None:
        """The row at which a difference stands; None where it stands at none."""
        number = self.row_of.get(difference)
        return None if number is None else self.rows[number]


def view_of(document: ComparisonDocument, left: InspectionDocument, right: InspectionDocument) -> View:
    """The view of a comparison; both inspections hold the one run that was compared."""
    steps = tuple({step.index: _side(step) for step in one.steps} for one in (left, right))
    places = _Places(document.side_by_side)
    row_of = {n: row for n, one in enumerate(document.divergences) if (row := places.of(one)) is not None}
    at: dict[int, list[int]] = {}
    for number, row in row_of.items():
        at.setdefault(row, []).append(number)
    rows = tuple(
        _row(number, _step(steps[0], one), _step(steps[1], other), at.get(number, []), document)
        for number, (one, other) in enumerate(document.side_by_side)
    )
    return View(document, rows, _cones(document.divergences), row_of)


def _step(sides: dict[int, Side], step: int | None) -> Side | None:
    return None if step is None else sides.get(step)


class _Places:
    """At which row does a difference stand? At that of both its steps, else at that of either."""

    def __init__(self, pairs: Sequence[tuple[int | None, int | None]]) -> None:
        self._both = {pair: row for row, pair in reversed(list(enumerate(pairs)))}
        self._left = {left: row for row, (left, _) in reversed(list(enumerate(pairs)))}
        self._right = {right: row for row, (_, right) in reversed(list(enumerate(pairs)))}

    def of(self, one: DivergenceRow) -> int | None:
        both = self._both.get((one.left_step, one.right_step))
        if both is not None:
            return both
        left = None if one.left_step is None else self._left.get(one.left_step)
        return left if left is not None or one.right_step is None else self._right.get(one.right_step)


def _row(
    number: int, left: Side | None, right: Side | None, differences: Sequence[int], document: ComparisonDocument
) -> Row:
    if differences:
        causes = any(document.divergences[one].explained_by is None for one in differences)
        state = CAUSE if causes else FOLLOWS
    elif left is None or right is None:
        state = ALONE
    else:
        state = RENAMED if document.handles and left.text != right.text else ALIKE
    return Row(number, left, right, state, tuple(differences))


def _cones(divergences: Sequence[DivergenceRow]) -> tuple[Cone, ...]:
    affected: dict[int, list[int]] = {n: [] for n, one in enumerate(divergences) if one.explained_by is None}
    for number, one in enumerate(divergences):
        if one.explained_by is not None:
            affected.setdefault(one.explained_by, []).append(number)
    return tuple(Cone(cause, tuple(rows)) for cause, rows in affected.items())


def _side(step: StepRow) -> Side:
    words = [step.kind.replace("_", " "), one_line(step.name, _NAME), f"of {one_line(step.agent, _NAME)}"]
    label = " ".join(word for word in words[: 3 if step.agent else 2] if word)
    return Side(step.index, label, _says(step), (step.class_ or "") if step.kind in _ACTS else "")


def _says(step: StepRow) -> str:
    if step.text is not None:
        return step.text
    return "" if step.value is None else _as_text(step.value)


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def parted(left: str, right: str) -> tuple[tuple[str, str, str], tuple[str, str, str]]:
    """Both texts as what they begin with alike, what differs, and what they end with alike."""
    head = _most(min(len(left), len(right)), lambda count: left[:count] == right[:count])
    rest = min(len(left), len(right)) - head
    tail = _most(rest, lambda count: left[len(left) - count :] == right[len(right) - count :])
    one, other = ((text[:head], text[head : len(text) - tail], text[len(text) - tail :]) for text in (left, right))
    return one, other


def _most(limit: int, holds: Callable[[int], bool]) -> int:
    """The largest count up to `limit` that holds, where every smaller one does: found by halving, since a text may be
    megabytes long.
    """
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(middle) else (low, middle - 1)
    return low


def shortened(text: str, limit: int) -> str:
    """The text, or its head and how much more there is."""
    return text if len(text) <= limit else f"{text[:limit]} … {len(text) - limit:,} more characters"
