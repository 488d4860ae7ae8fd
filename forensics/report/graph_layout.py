"""Where does each step of a drawn graph stand? Time goes down, lanes of columns for the agents go to the right.

Inputs and turns stand in the first column of their lane, calls in the second and results in the third. The calls of a
turn and their results stand beside it, as long as nothing else happened in between; everything else starts a new row.
So a step never stands above one that came before it, but for what stands beside its turn.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from forensics.report.graph_lanes import Rows, lanes_of, stretches

if TYPE_CHECKING:
    from forensics.report.documents import GraphDocument, GraphStepRow

TURN, CALL, RESULT = 0, 1, 2
_COLUMNS = {"tool_call": CALL, "tool_result": RESULT}
_WIDTHS = (190, 214, 200)  # of the boxes of each column, in pixels
_LEFT, _BETWEEN, _RIGHT = 26, 32, 28  # free ways beside the columns
BOX, GAP = 34, 24  # heights of a box and of the free way above it
TOP = 128  # title, legend and the names of the lanes


class Place(NamedTuple):
    """Where one step stands in whatever lane its agent has."""

    column: int
    row: int


class Cell(NamedTuple):
    """Where one step stands."""

    lane: int
    column: int
    row: int


class Box(NamedTuple):
    """The same in pixels."""

    x: int
    y: int
    width: int

    @property
    def right(self) -> int:
        """The right edge."""
        return self.x + self.width

    @property
    def middle(self) -> int:
        """The height of the middle."""
        return self.y + BOX // 2

    @property
    def centre(self) -> int:
        """The middle from left to right."""
        return self.x + self.width // 2


class Lane(NamedTuple):
    """One lane: where it begins, and where its boxes end."""

    x: int
    right: int


class Layout:
    """The cells and boxes of all steps by step number, the lanes, and the stretches of them that agents have."""

    def __init__(self, document: GraphDocument) -> None:
        places = _Placing(document).places
        rows = _rows_of_agents(document, places)
        lanes = lanes_of(rows)
        self.stretches = stretches(rows, lanes)
        self.cells = {step.index: Cell(lanes[step.agent], *places[step.index]) for step in document.steps}
        self.lanes = _lanes(self.cells)
        self.boxes = {step: self._box(cell) for step, cell in self.cells.items()}
        self.rows = 1 + max((cell.row for cell in self.cells.values()), default=0)
        self._rightmost = self._ends()
        self._before = _turns_above(self.cells)

    @property
    def right(self) -> int:
        """Where the last lane ends."""
        return self.lanes[-1].right + _RIGHT if self.lanes else 0

    @property
    def bottom(self) -> int:
        """Where the last row ends."""
        return TOP + self.rows * (BOX + GAP)

    def way_before(self, cell: Cell) -> int:
        """The middle of the free way to the left of a cell's column."""
        x = self._box(cell).x
        return x - (_LEFT if cell.column == TURN else _BETWEEN) // 2

    def way_after(self, cell: Cell) -> int:
        """The middle of the free way to the right of a cell's lane."""
        return self.lanes[cell.lane].right + _RIGHT // 2

    def is_last_of_row(self, step: int) -> bool:
        """Whether no box stands to the right of the step."""
        cell = self.cells[step]
        return self._rightmost[cell.row] == cell[:2]

    def follows_directly(self, above: int, below: int) -> bool:
        """Whether no box stands between two of the first column of one lane."""
        return self._before.get(below) == above

    def _box(self, cell: Cell) -> Box:
        lane = self.lanes[cell.lane]
        x = lane.x + _LEFT + sum(_WIDTHS[: cell.column]) + _BETWEEN * cell.column
        return Box(x, TOP + cell.row * (BOX + GAP) + GAP, _WIDTHS[cell.column])

    def _ends(self) -> dict[int, tuple[int, int]]:
        ends: dict[int, tuple[int, int]] = {}
        for cell in self.cells.values():
            ends[cell.row] = max(ends.get(cell.row, (0, 0)), cell[:2])
        return ends


def _turns_above(cells: dict[int, Cell]) -> dict[int, int]:
    """For each step of a first column the one above it in its lane."""
    lanes: dict[int, list[int]] = {}
    for step, cell in cells.items():
        if cell.column == TURN:
            lanes.setdefault(cell.lane, []).append(step)
    return {below: above for steps in lanes.values() for above, below in pairwise(steps)}


def _rows_of_agents(document: GraphDocument, places: dict[int, Place]) -> dict[str, Rows]:
    rows: dict[str, Rows] = {}
    for step in document.steps:
        row = places[step.index].row
        first, last = rows.get(step.agent, (row, row))
        rows[step.agent] = (min(first, row), max(last, row))
    return dict(sorted(rows.items(), key=lambda one: one[1][0]))


def _lanes(cells: dict[int, Cell]) -> list[Lane]:
    wide = {cell.lane for cell in cells.values() if cell.column != TURN}
    lanes: list[Lane] = []
    for number in range(1 + max((cell.lane for cell in cells.values()), default=-1)):
        x = lanes[-1].right + _RIGHT if lanes else 0
        boxes = sum(_WIDTHS) + 2 * _BETWEEN if number in wide else _WIDTHS[TURN]
        lanes.append(Lane(x, x + _LEFT + boxes))
    return lanes


class _Placing:
    """Steps placed one by one, in the order of the document."""

    def __init__(self, document: GraphDocument) -> None:
        self.turn_of = {e.target: e.source for e in document.edges if e.kind == "requests"}
        self.call_of = {e.target: e.source for e in document.edges if e.kind == "returns"}
        self.places: dict[int, Place] = {}
        self._bottom = -1
        self._turn: int | None = None
        self._beside: dict[int, int] = {}  # the rows of the calls beside the turn; a result takes its call away
        self._next = 0
        for step in document.steps:
            self._place(step)

    def _place(self, step: GraphStepRow) -> None:
        column = _COLUMNS.get(step.kind, TURN)
        row = self._row(step.index, column)
        self.places[step.index] = Place(column, row)
        self._bottom = max(self._bottom, row)

    def _row(self, step: int, column: int) -> int:
        call = self.call_of.get(step)
        if column == RESULT and call is not None and call in self._beside:
            return self._beside.pop(call)
        if column == CALL and self._turn is not None and self.turn_of.get(step) == self._turn:
            self._next += 1
            self._beside[step] = self._next - 1
            return self._next - 1
        return self._new_row(step, column)

    def _new_row(self, step: int, column: int) -> int:
        row = self._bottom + 1
        self._turn = step if column == TURN else None
        self._beside = {step: row} if column == CALL else {}
        self._next = row
        return row
