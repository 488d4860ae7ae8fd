"""Which trace is meant where a command takes one? The only one that repeats no other, or the person is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from forensics.core.sanitise import one_line

if TYPE_CHECKING:
    from forensics.analysis.run import TraceAnalysis
    from forensics.api import Examination
    from forensics.report.compose import Examined

_LISTED = 20


def one_trace(examination: Examination, step: int | None = None) -> TraceAnalysis:
    """The trace that holds this step by its number in documents; without one, the only trace that is not marked as a
    rerun of another in the same evidence.

    Raises click.UsageError: with the range where no trace has the step, with the list where there are several or none.
    """
    if step is not None:
        return _holder(examination, step)
    runs = [analysis for one in examination.examined for analysis in _runs(one)]
    if len(runs) == 1:
        return runs[0]
    if len(examination.analyses) == 1:
        return examination.analyses[0]
    raise click.UsageError("\n".join(_choices(examination, runs)))


def _holder(examination: Examination, step: int) -> TraceAnalysis:
    from forensics.report.compose import Numbering

    holder = Numbering(examination.examined).holder(step)
    if holder is None:
        last = sum(len(analysis.trace) for analysis in examination.analyses) - 1
        message = f"there is no step {step}: the steps are 0 to {last}"
        raise click.UsageError(message)
    return holder


def _runs(one: Examined) -> list[TraceAnalysis]:
    ids = {analysis.trace.id for analysis in one.analyses}
    return [a for a in one.analyses if a.trace.rerun_of is None or a.trace.rerun_of not in ids - {a.trace.id}]


def _choices(examination: Examination, runs: list[TraceAnalysis]) -> list[str]:
    rows = runs or list(examination.analyses)
    names = [one_line(one.name, 60) for one in examination.examined]
    ids = {analysis.trace.id for analysis in rows}
    how = "choose one with --trace ID" if len(ids) == len(rows) else "name the file, and choose one with --trace ID"
    lines = [f"The evidence holds {len(rows)} traces; {how}:"]
    lines += [
        f"  {one_line(a.trace.id, 80)}  ({len(a.trace)} steps, in {names[a.trace.places.evidence]})"
        for a in rows[:_LISTED]
    ]
    return lines + ([f"  … {len(rows) - _LISTED} more"] if len(rows) > _LISTED else [])
