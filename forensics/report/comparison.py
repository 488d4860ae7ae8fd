"""How does a comparison of two runs become a document? The divergences in order, each with both sides."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.core.jsonvalue import spell_surrogates
from forensics.core.sanitise import one_line
from forensics.report.compose import evidence_row, finding_row, place, policy_name, program
from forensics.report.documents import (
    COMPARISON,
    ComparedTrace,
    ComparedTraces,
    ComparisonDocument,
    Digest,
    DivergenceRow,
    RenamedRow,
    UntoldRow,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forensics.analysis.run import TraceAnalysis
    from forensics.compare.comparison import Comparison
    from forensics.compare.divergence import Divergence
    from forensics.core.policy import Policy
    from forensics.core.trace import Trace
    from forensics.report.compose import Examined
    from forensics.report.documents import FindingRow, Place

_WORDS = 200
Pair = tuple["TraceAnalysis", "TraceAnalysis"]


def comparison_document(
    comparison: Comparison, evidence: Sequence[Examined], analyses: Pair, policy: Policy, rules_digest: str
) -> ComparisonDocument:
    """The document of a comparison; `evidence` and `analyses` are those of the left run and of the right one."""
    left, right = (analysis.trace for analysis in analyses)
    rows = [_divergence(one, left, right) for one in comparison.divergences]
    return ComparisonDocument(
        schema=COMPARISON,
        tool=program(),
        policy=policy_name(policy),
        rules=Digest(digest=rules_digest),
        evidence=[evidence_row(one) for one in evidence],
        traces=ComparedTraces(left=_trace(left), right=_trace(right)),
        result=comparison.result.value,
        first_divergence=rows[0] if rows else None,
        divergences=rows,
        handles=[
            RenamedRow(
                left=spell_surrogates(one.left),
                right=spell_surrogates(one.right),
                kind=one.kind,
                tool=spell_surrogates(left.calls[one.call].tool),
                left_step=one.left_step,
                right_step=one.right_step,
            )
            for one in comparison.handles
        ],
        not_compared=[
            UntoldRow(
                what=spell_surrogates(one.what),
                why=spell_surrogates(one_line(one.why, _WORDS)),
                left_step=one.left_step,
                right_step=one.right_step,
            )
            for one in comparison.not_compared
        ],
        events_compared=comparison.compared,
        side_by_side=list(comparison.beside),
        findings=_findings(comparison, evidence, left),
    )


def _findings(comparison: Comparison, evidence: Sequence[Examined], left: Trace) -> list[FindingRow]:
    """What the comparison found, and before it what is wrong with either evidence; steps are those of the left run."""
    read = [finding_row(one) for each in evidence if each.reading is not None for one in each.reading.findings]
    found = [finding_row(one, left.id) for one in comparison.findings]
    return list({msgspec.json.encode(row): row for row in (*read, *found)}.values())


def _trace(trace: Trace) -> ComparedTrace:
    return ComparedTrace(id=spell_surrogates(trace.id), format=trace.format, steps=len(trace), calls=len(trace.calls))


def _divergence(one: Divergence, left: Trace, right: Trace) -> DivergenceRow:
    return DivergenceRow(
        index=one.index,
        left=None if one.left is None else spell_surrogates(one.left),
        right=None if one.right is None else spell_surrogates(one.right),
        kind=one.kind.value,
        pointer=None if one.pointer is None else spell_surrogates(one.pointer),
        cause=one.cause.value,
        what=spell_surrogates(one.what),
        because=spell_surrogates(one.because) or None,
        lane=spell_surrogates(one.lane) or None,
        occurrence=one.occurrence,
        left_step=one.left_step,
        right_step=one.right_step,
        left_locator=_place(left, one.left_step),
        right_locator=_place(right, one.right_step),
        explained_by=one.explained_by,
    )


def _place(trace: Trace, step: int | None) -> Place | None:
    return None if step is None else place(trace.locator(step))
