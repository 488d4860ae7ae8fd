"""What was found, what is new in it, and what has somebody set aside? Every finding with the rule behind its code."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from forensics.core.evidence import Basis, Severity
from forensics.core.findings import GROUP_OF, default_severity
from forensics.report.code_pages import code_pages
from forensics.report.compose import place
from forensics.report.incident.documents import FindingRule, Findings, ReportFinding
from forensics.report.incident.fingerprints import Fingerprints
from forensics.report.incident.material import alternatives, means
from forensics.report.incident.obligations import tags_of
from forensics.report.incident.statements import share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forensics.report.documents import FindingRow, Place
    from forensics.report.incident.baseline import Earlier
    from forensics.report.incident.material import Material
    from forensics.report.incident.suppressions import InForce

_PLACES = 100
_LOUDEST_FIRST = tuple(reversed(Severity))


def findings(
    material: Material, fail_on: Severity, earlier: Earlier | None = None, in_force: InForce | None = None
) -> Findings:
    """The part of a report about findings: the loudest first."""
    rows = sorted(material.audit.findings, key=lambda row: -Severity(row.severity).rank)
    prints = Fingerprints(material)
    made = [_row(material, index, row, prints.of(row)) for index, row in enumerate(rows)]
    traces = [trace.id for trace in material.traces]
    if earlier is not None:
        made = [msgspec.structs.replace(one, new=earlier.lacks(one.fingerprint)) for one in made]
    if in_force is not None:
        made = [_judged(one, in_force, traces) for one in made]
    made = [msgspec.structs.replace(one, counts=_counts(one, fail_on)) for one in made]
    counted = Counter(row.severity for row in made)
    return Findings(
        by_severity=[share(severity.value, counted[severity.value], len(made)) for severity in _LOUDEST_FIRST],
        fail_on=fail_on.value,
        counting=share("findings that count", sum(row.counts for row in made), len(made)),
        rows=made,
        rules=_rules(made),
        baseline=None if earlier is None else earlier.row(made),
        suppressions=None if in_force is None else in_force.row(made, traces),
    )


def _row(material: Material, index: int, row: FindingRow, fingerprint: str) -> ReportFinding:
    return ReportFinding(
        index=index,
        code=row.code,
        severity=row.severity,
        confidence=row.confidence,
        basis=row.basis,
        message=material.content.said(row.message, means(row.code)),
        fingerprint=fingerprint,
        steps=row.steps,
        locators=row.locators or _places(material, row.steps),
        tags=row.tags,
        trace=material.trace_index(row.trace, row.steps),
        alternatives=alternatives(row.code) if row.basis == Basis.INFERRED.value else [],
    )


def _places(material: Material, steps: Sequence[int]) -> list[Place]:
    """Where the steps of a finding stand: a finding that names steps alone gets their bytes."""
    found = []
    for step in steps[:_PLACES]:
        index = material.trace_at(step)
        row = step - material.traces[index].first_step
        at = place(material.analyses[index].trace.locator(row))
        if at is not None:
            found.append(at)
    return found


def _judged(one: ReportFinding, in_force: InForce, traces: Sequence[str]) -> ReportFinding:
    return msgspec.structs.replace(one, suppressed=in_force.of(one, None if one.trace is None else traces[one.trace]))


def _rules(rows: Sequence[ReportFinding]) -> list[FindingRule]:
    """The rule of each code that was found, in the order of the findings."""
    counted = Counter(row.code for row in rows)
    return [_rule(code, count) for code, count in counted.items()]


def _rule(code: str, count: int) -> FindingRule:
    page = code_pages()[code]
    return FindingRule(
        code=code,
        group=GROUP_OF[code],
        severity=default_severity(code).value,
        means=page.means,
        matters=page.matters,
        does_not_prove=page.does_not_prove,
        do=page.do,
        tags=tags_of(code),
        findings=count,
    )


def _counts(row: ReportFinding, fail_on: Severity) -> bool:
    """Loud enough, not suppressed and, beside a baseline, new."""
    return Severity(row.severity).rank >= fail_on.rank and row.suppressed is None and row.new is not False
