"""What was found, and what refuses under each policy? Two sections of an audit."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from forensics.core.evidence import Severity
from forensics.report.terminal_evidence import place
from forensics.report.terminal_page import Span, name, short

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from forensics.report.documents import AuditDocument, FindingRow, InspectionDocument, TraceRow
    from forensics.report.terminal_page import Page

    Head = AuditDocument | InspectionDocument

_EXAMPLES = 5
_EXAMPLES_VERBOSE = 100
_REASONS = 20
_STEPS = 12


class Findings:
    """The findings of a document by the trace that they speak of, each given out once."""

    def __init__(self, document: Head) -> None:
        self._starts = [trace.first_step for trace in document.traces]
        self._starts_of = {trace.id: trace.first_step for trace in reversed(document.traces)}
        self._by_trace: dict[int | None, list[FindingRow]] = {}
        for row in document.findings:
            self._by_trace.setdefault(self._start(row), []).append(row)

    def take(self, trace: TraceRow) -> list[FindingRow]:
        """The findings about this trace, which are then no longer left."""
        return self._by_trace.pop(trace.first_step, [])

    def left(self) -> list[FindingRow]:
        """The findings that no trace has taken; those about a whole evidence first."""
        return [
            row
            for start in sorted(self._by_trace, key=lambda s: -1 if s is None else s)
            for row in self._by_trace[start]
        ]

    def gravest(self, trace: TraceRow) -> int:
        """The rank of the gravest finding about a trace; -1 for none."""
        return max((Severity(row.severity).rank for row in self._by_trace.get(trace.first_step, ())), default=-1)

    def _start(self, row: FindingRow) -> int | None:
        """The first step of the trace that a finding speaks of, told by its step numbers: they are unique over the
        document, while one id may name two traces of two evidences.
        """
        if row.trace is None or not self._starts:
            return None
        if row.steps:
            return self._starts[max(bisect_right(self._starts, row.steps[0]) - 1, 0)]
        return self._starts_of.get(row.trace)


def findings(page: Page, rows: Sequence[FindingRow], title: str) -> None:
    """Every finding, the gravest first, several of one code together."""
    if not rows:
        return
    page.title(title)
    most = _EXAMPLES_VERBOSE if page.detail > 0 else _EXAMPLES
    for group in _by_code(rows):
        for row in group[:most]:
            _finding(page, row)
        if len(group) > most:
            page.line(Span(f"… {len(group) - most} more {row.code}, use --format json", "dim"), first="            ")


def _by_code(rows: Iterable[FindingRow]) -> list[list[FindingRow]]:
    groups: dict[tuple[int, str], list[FindingRow]] = {}
    for row in rows:
        groups.setdefault((-Severity(row.severity).rank, row.code), []).append(row)
    return [groups[key] for key in sorted(groups, key=lambda key: key[0])]


def _finding(page: Page, row: FindingRow) -> None:
    page.line(
        Span(row.severity.ljust(8), row.severity),
        f"  {row.code}: {short(row.message, 600)}{where(row)}",
        first="  ",
        rest="            ",
    )


def where(row: FindingRow) -> str:
    """` (steps 3, 9)`, or the first place."""
    if row.steps:
        shown = [str(step) for step in row.steps[:_STEPS]] + (["…"] if len(row.steps) > _STEPS else [])
        return f" (step{'s' if len(row.steps) > 1 else ''} {', '.join(shown)})"
    return f" ({place(row.locators[0])})" if row.locators else ""


def reasons(page: Page, trace: TraceRow) -> None:
    """What each policy says, and why."""
    page.title("Reasons")
    policies = trace.verdict.policies
    for policy, ruling in (("strict", policies.strict), ("inject", policies.inject)):
        if ruling.cleared:
            page.line(Span("cleared", "cleared"), f" under {policy}", first="  ")
            continue
        page.line(Span("refused", "refused"), f" under {policy}", first="  ")
        for reason in ruling.reasons[:_REASONS]:
            at = f"step {reason.step}: " if reason.step is not None else ""
            if not at and reason.locator is not None:
                at = f"{place(reason.locator)}: "
            of = "" if reason.tool is None or name(reason.tool) in reason.message else f"{name(reason.tool)}: "
            page.line(f"{at}{reason.code}: {of}{short(reason.message, 600)}", first="    ", rest="      ")
        page.more(len(ruling.reasons) - _REASONS, indent=4)
