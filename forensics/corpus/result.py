"""What came of auditing one place? Its evidences, traces and findings, small enough to keep for a hundred thousand."""

from __future__ import annotations

import msgspec

from forensics.report.documents import AuditDocument, EvidenceRow, FindingRow


class CorpusTool(msgspec.Struct, frozen=True, rename={"class_": "class"}):
    """One tool of one trace: its class, what that rests on, and how often it was called."""

    name: str
    server: str | None
    class_: str
    rests_on: str
    calls: int


class CorpusTrace(msgspec.Struct, frozen=True):
    """One trace with its verdict. `evidence` counts within the place; `reasons` are the codes, each once."""

    id: str
    evidence: int
    format: str
    steps: int
    calls: int
    level: str
    cleared: bool
    reasons: list[str]
    tools: list[CorpusTool]


class Result(msgspec.Struct, frozen=True):
    """What came of one place: one evidence or, of an archive, several. `exit_code` is that of an audit of it alone;
    `digest` is the SHA-256 of its bytes ("": it could not be read).
    """

    digest: str
    size: int
    exit_code: int
    evidence: list[EvidenceRow]
    traces: list[CorpusTrace]
    findings: list[FindingRow]
    records: int

    @property
    def status(self) -> str:
        """`read`, `partial` or `refused`: the least of its evidences."""
        order = ("read", "partial", "refused")
        return max((row.status for row in self.evidence), key=order.index, default="refused")


def result_of(document: AuditDocument, exit_code: int) -> Result:
    """The result that an audit document comes to."""
    rows = document.evidence
    return Result(
        digest=rows[0].sha256 if rows else "",
        size=rows[0].size if rows else 0,
        exit_code=exit_code,
        evidence=rows,
        traces=[
            CorpusTrace(
                id=trace.id,
                evidence=trace.evidence,
                format=trace.format,
                steps=trace.steps,
                calls=len(trace.calls),
                level=trace.verdict.level,
                cleared=trace.verdict.cleared,
                reasons=list(dict.fromkeys(reason.code for reason in trace.verdict.reasons)),
                tools=[
                    CorpusTool(tool.name, tool.server, tool.class_, tool.rests_on, tool.calls) for tool in trace.tools
                ],
            )
            for trace in document.traces
        ],
        findings=document.findings,
        records=document.counts.records,
    )


def unread(name: str, code: str, message: str, hint: str) -> Result:
    """The result of a place that could not be audited at all: a row like any other."""
    from forensics.report.documents import Fault

    fault = Fault(code=code, message=message, hint=hint)
    row = EvidenceRow(name=name, sha256="", size=0, status="refused", error=fault)
    return Result(digest="", size=0, exit_code=3, evidence=[row], traces=[], findings=[], records=0)
