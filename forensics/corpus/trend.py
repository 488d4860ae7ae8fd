"""How do the traces of a corpus go on over time? By the first time that each of them records, in days or longer.

The clock of this machine has no say in it, nor has the time of a file: a trace that records no time counts as undated.
"""

from __future__ import annotations

import datetime
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, NamedTuple

from forensics.report.corpus_report_documents import PeriodRow, Trend

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from forensics.report.corpus_documents import CorpusTrace

Date = datetime.date


class Unit(NamedTuple):
    """A length of periods: for how many days it serves, the period that a day is in, and the one after a period."""

    name: str
    most_days: int
    of: Callable[[Date], Date]
    after: Callable[[Date], Date]


def _week(day: Date) -> Date:
    return day - datetime.timedelta(days=day.weekday()) if day.toordinal() > day.weekday() else Date.min


def _months_on(first: Date, months: int) -> Date:
    years, month = divmod(first.month - 1 + months, 12)
    return Date(min(first.year + years, Date.max.year), month + 1, 1)


UNITS = (
    Unit("day", 45, lambda day: day, lambda day: day + datetime.timedelta(days=1)),
    Unit("week", 2 * 366, _week, lambda day: day + datetime.timedelta(days=7)),
    Unit("month", 10 * 366, lambda day: day.replace(day=1), lambda day: _months_on(day, 1)),
    Unit("year", 10_000 * 366, lambda day: day.replace(month=1, day=1), lambda day: _months_on(day, 12)),
)


class Calendar:
    """The traces that were added, by the day on which each began."""

    def __init__(self) -> None:
        self._days: dict[Date, Counter[str]] = defaultdict(Counter)
        self._undated = 0

    def add(self, trace: CorpusTrace, high: int) -> None:
        """One trace with how many findings of high severity it has."""
        day = _day(trace.started)
        if day is None:
            self._undated += 1
            return
        self._days[day].update({"traces": 1, "cleared": int(trace.cleared), trace.level: 1, "high": high})

    def trend(self) -> Trend:
        """The same by periods: as short as fits, none left out between the first and the last."""
        dated = sum(count["traces"] for count in self._days.values())
        if not self._days:
            return Trend(unit=UNITS[0].name, dated=0, undated=self._undated, periods=[])
        first, last = min(self._days), max(self._days)
        unit = next(unit for unit in UNITS if (last - first).days <= unit.most_days)
        sums: dict[Date, Counter[str]] = defaultdict(Counter)
        for day, count in self._days.items():
            sums[unit.of(day)].update(count)
        periods = [_row(start, sums[start]) for start in _from_to(unit.of(first), unit.of(last), unit)]
        return Trend(unit=unit.name, dated=dated, undated=self._undated, periods=periods)


def _day(started: str | None) -> Date | None:
    try:
        return None if started is None else Date.fromisoformat(started[:10])
    except ValueError:
        return None


def _from_to(first: Date, last: Date, unit: Unit) -> Iterator[Date]:
    while first <= last:
        yield first
        try:
            following = unit.after(first)
        except OverflowError:
            return
        if following <= first:
            return
        first = following


def _row(start: Date, count: Counter[str]) -> PeriodRow:
    named = ("traces", "cleared", "dynamic", "inject", "static", "high")
    return PeriodRow(start=start.isoformat(), **{name: count[name] for name in named})
