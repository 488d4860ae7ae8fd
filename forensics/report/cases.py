"""How does a rerun become a case, and what became of each case of a run? The rows of both documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.core.jsonvalue import strict_value
from forensics.report.case_documents import CASE_RUN, CaseCounts, CaseRow, CaseRunDocument, ExpectedCall, ExpectedTuple
from forensics.report.compose import program

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forensics.report.documents import InspectionDocument, TupleRow

PASSED, FAILED, REFUSED, UNTOLD = "passed", "failed", "refused", "untold"


def tuples_of(document: InspectionDocument) -> tuple[ExpectedTuple, ...]:
    """The tuples of a rerun's trace as a case keeps them: without ids, which are evidence and no expectation."""
    return tuple(_tuple(row) for row in document.tuples)


def _tuple(row: TupleRow) -> ExpectedTuple:
    return ExpectedTuple(
        occurrence=row.occurrence,
        prompt_sha256=row.prompt.digest,
        prompt=row.prompt.preview,
        said=row.output,
        tool=row.call["tool"],
        arguments=row.call["arguments"],
        outcome=row.result["outcome"],
        result=row.result["value"],
    )


def calls_of(tuples: Sequence[ExpectedTuple]) -> list[ExpectedCall]:
    """The calls as evaluate() of FastAIAgent compares them."""
    return [ExpectedCall(name=one.tool, arguments=strict_value(one.arguments) or {}) for one in tuples]


def case_run_document(rows: Sequence[CaseRow], agent: str, baseline: CaseRunDocument | None = None) -> CaseRunDocument:
    """The document of a run; against a baseline only what passed there, or was not in it, is a regression."""
    before = {} if baseline is None else {row.name: row.result for row in baseline.cases}
    marked = [_marked(row, before.get(row.name)) for row in rows]
    count = {result: sum(row.result == result for row in marked) for result in (PASSED, FAILED, REFUSED, UNTOLD)}
    new = [row for row in marked if row.result != PASSED and not row.known]
    names = {row.name for row in marked}
    result = FAILED if any(row.result != UNTOLD for row in new) else UNTOLD if new else PASSED
    return CaseRunDocument(
        schema=CASE_RUN,
        tool=program(),
        result=result,
        agent=agent,
        counts=CaseCounts(
            cases=len(marked),
            passed=count[PASSED],
            failed=count[FAILED],
            refused=count[REFUSED],
            untold=count[UNTOLD],
            regressions=len(new),
        ),
        cases=marked,
        mended=[row.name for row in marked if row.result == PASSED and before.get(row.name, PASSED) != PASSED],
        gone=[name for name in before if name not in names],
    )


def _marked(row: CaseRow, before: str | None) -> CaseRow:
    """The row, known where the baseline has the same case with the same result."""
    return msgspec.structs.replace(row, known=row.result != PASSED and row.result == before)
