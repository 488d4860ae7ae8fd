"""What was found, and what refuses under each policy? Two sections of an audit."""

from __future__ import annotations

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
        self._left = list(document.findings)

    def take(self, trace: TraceRow) -> list[FindingRow]:
        """The findings about this trace, which are then no longer left."""
        taken = [row for row in self._left if _about(row, trace)]
        self._left = [row for row in self._left if not _about(row, trace)]
        return taken

    def left(self) -> list[FindingRow]:
        """The findings that no trace has taken."""
        return self._left

    def gravest(self, trace: TraceRow) -> int:
        """The rank of the gravest finding about a trace; -1 for none."""
        return max((Severity(row.severity).rank for row in self._left if _about(row, trace)), default=-1)


def _about(row: FindingRow, trace: TraceRow) -> bool:
    """By the step numbers, which are unique over the document; an id may name two traces of two evidences."""
    if row.trace is None:
        return False
    if row.steps:
        return trace.first_step <= row.steps[0] < trace.first_step + max(trace.steps, 1)
    return row.trace == trace.id


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
