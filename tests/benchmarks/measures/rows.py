"""What did the suite find? A row for each figure: a ratio or an amount, its goal, and whether that is kept."""

from __future__ import annotations

import json
import os
import platform
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

SCHEMA = "benchmarks/v1"
NOTICEABLE = 0.1  # a change that is more than the noise of a loaded machine


class Skipped(Exception):  # noqa: N818 - no error: what it needs is not here
    """A measure can't be taken here; the text says why."""


class Goal(NamedTuple):
    """What a figure has to be: at least, or at most."""

    at_least: bool
    limit: float

    def is_kept_by(self, value: float) -> bool:
        """Whether a figure keeps it."""
        return value >= self.limit if self.at_least else value <= self.limit

    def __str__(self) -> str:
        return f"{'≥' if self.at_least else '≤'} {self.limit:g}"


def at_least(limit: float) -> Goal:
    """The goal to reach a figure."""
    return Goal(at_least=True, limit=limit)


def at_most(limit: float) -> Goal:
    """The goal to stay below a figure."""
    return Goal(at_least=False, limit=limit)


class Row(NamedTuple):
    """One figure: the measure's id, what is told, on which data, in which unit; figures that it was made of."""

    id: str
    tells: str
    data: str
    value: float
    unit: str
    goal: Goal | None = None
    figures: dict[str, Any] = {}  # noqa: RUF012 - never changed

    @property
    def key(self) -> tuple[str, str, str]:
        """What makes it the same figure of another result."""
        return self.id, self.tells, self.data

    @property
    def kept(self) -> bool | None:
        """Whether its goal is kept; None where it has none."""
        return None if self.goal is None else self.goal.is_kept_by(self.value)

    def line(self) -> str:
        """As a line of the table."""
        said = {None: "", True: "holds", False: "DOES NOT HOLD"}[self.kept]
        goal = "" if self.goal is None else str(self.goal)
        return f"{self.id:<8} {self.tells:<58} {self.data:<22} {self.value:>9.3f} {self.unit:<4} {goal:<9} {said}"


def document(rows: Iterable[Row], skipped: dict[str, str], rounds: int) -> dict[str, Any]:
    """The result as JSON."""
    machine = {"python": platform.python_version(), "processors": os.cpu_count(), "system": platform.system()}
    return {
        "schema": SCHEMA,
        "machine": machine,
        "rounds": rounds,
        "rows": [_as_json(row) for row in rows],
        "skipped": [{"id": name, "reason": reason} for name, reason in sorted(skipped.items())],
    }


def _as_json(row: Row) -> dict[str, Any]:
    goal = None if row.goal is None else {"at_least": row.goal.at_least, "limit": row.goal.limit}
    return {**row._asdict(), "value": round(row.value, 4), "goal": goal, "kept": row.kept}


def read(path: Path) -> list[Row]:
    """The rows of a result. Raises ValueError for another document."""
    told = json.loads(path.read_text("utf-8"))
    if told.get("schema") != SCHEMA:
        raise ValueError(f"{path.name} is no result of the suite")
    names = [name for name in Row._fields if name != "goal"]
    return [Row(**{n: row[n] for n in names}, goal=row["goal"] and Goal(**row["goal"])) for row in told["rows"]]


class Change(NamedTuple):
    """One figure in two results."""

    old: Row
    new: Row

    @property
    def share(self) -> float:
        """How much it changed, of what it was; above 0 is better where more is better or no goal says which."""
        grown = (self.new.value - self.old.value) / self.old.value if self.old.value else 0.0
        return grown if self.new.goal is None or self.new.goal.at_least else -grown

    @property
    def says(self) -> str:
        """In words, where there is something to say."""
        if self.old.kept and self.new.kept is False:
            return "NO LONGER HOLDS"
        if self.old.kept is False and self.new.kept:
            return "holds now"
        return "" if abs(self.share) < NOTICEABLE or self.new.goal is None else ("better", "worse")[self.share < 0]

    def line(self) -> str:
        """As a line of the comparison."""
        new, old = self.new, self.old
        figures = f"{old.value:>9.3f} → {new.value:<9.3f} {new.unit:<4} {self.share:+6.0%}"
        return f"{new.id:<8} {new.tells:<58} {new.data:<22} {figures} {self.says}"


def compared(old: Sequence[Row], new: Sequence[Row]) -> list[Change]:
    """The figures that both results have."""
    known = {row.key: row for row in old}
    return [Change(known[row.key], row) for row in new if row.key in known]
