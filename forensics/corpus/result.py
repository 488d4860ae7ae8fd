"""What came of auditing one place? Its evidences, traces and findings, small enough to keep for a hundred thousand."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import msgspec

from forensics.report.corpus_documents import CorpusBasis, CorpusHandles, CorpusTool, CorpusTrace
from forensics.report.documents import AuditDocument, EvidenceRow, Fault, FindingRow
from forensics.report.written import moment

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from forensics.core.trace import Trace
    from forensics.report.documents import HandleRow, ToolRow, TraceRow

SHAPE = 2
"""Which fields a result has: one that an earlier program kept with others is made anew."""

_PIECES, _SAID = 3, 160


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


def result_of(document: AuditDocument, traces: Iterable[Trace], exit_code: int) -> Result:
    """The result that an audit document comes to; `traces` are those that it tells of, in its order."""
    rows = document.evidence
    return Result(
        digest=rows[0].sha256 if rows else "",
        size=rows[0].size if rows else 0,
        exit_code=exit_code,
        evidence=rows,
        traces=[_trace(row, trace) for row, trace in zip(document.traces, traces, strict=True)],
        findings=document.findings,
        records=document.counts.records,
    )


def unread(name: str, code: str, message: str, hint: str) -> Result:
    """The result of a place that could not be audited at all: a row like any other."""
    fault = Fault(code=code, message=message, hint=hint)
    row = EvidenceRow(name=name, sha256="", size=0, status="refused", error=fault)
    return Result(digest="", size=0, exit_code=3, evidence=[row], traces=[], findings=[], records=0)


def _trace(row: TraceRow, trace: Trace) -> CorpusTrace:
    times = [at for at in trace.at if at >= 0]
    reasons: dict[str, dict[str, None]] = defaultdict(dict)
    for reason in row.verdict.reasons:
        reasons[reason.tool or ""][reason.code] = None
    return CorpusTrace(
        id=row.id,
        evidence=row.evidence,
        format=row.format,
        steps=row.steps,
        calls=len(row.calls),
        started=moment(min(times, default=-1)),
        ended=moment(max(times, default=-1)),
        level=row.verdict.level,
        cleared=row.verdict.cleared,
        reasons=list(dict.fromkeys(reason.code for reason in row.verdict.reasons)),
        tools=[_tool(tool, list(reasons.get(tool.name, ()))) for tool in row.tools],
        handles=list(_handles(row)),
    )


def _tool(tool: ToolRow, reasons: list[str]) -> CorpusTool:
    return CorpusTool(
        name=tool.name,
        server=tool.server,
        class_=tool.class_,
        labels=tool.labels,
        effect=tool.effect,
        result=tool.result,
        scope=tool.scope,
        rests_on=tool.rests_on,
        basis=list(_deciding(tool))[:_PIECES],
        calls=tool.calls,
        reasons=reasons,
    )


def _deciding(tool: ToolRow) -> Iterator[CorpusBasis]:
    """The pieces of evidence that say what the tool came to; what is joined to less decides nothing."""
    for one in tool.basis:
        if one.weighs and (one.effect == tool.effect or one.result == tool.result):
            says = one.says if len(one.says) <= _SAID else f"{one.says[: _SAID - 1]}…"
            yield CorpusBasis(source=one.source, says=says, rule=one.rule)


def _handles(row: TraceRow) -> Iterator[CorpusHandles]:
    """The values of the trace by the tool that brought them and by their kind."""
    alike: dict[tuple[str, str], list[HandleRow]] = defaultdict(list)
    for handle in row.handles:
        alike[handle.minted.tool, handle.kind].append(handle)
    called = {call.step: call.tool for call in row.executions}
    for (tool, kind), handles in sorted(alike.items()):
        yield _way(tool, kind, handles, called)


def _way(tool: str, kind: str, handles: Sequence[HandleRow], called: dict[int, str]) -> CorpusHandles:
    roles = [{use.role for use in handle.uses if not use.echo} for handle in handles]
    uses = (use for handle in handles for use in handle.uses if use.role == "argument")
    return CorpusHandles(
        tool=tool,
        kind=kind,
        number=len(handles),
        in_argument=sum("argument" in held for held in roles),
        in_model_output=sum("model_output" in held for held in roles),
        in_final_answer=sum("final_answer" in held for held in roles),
        in_prompt=sum("prompt" in held for held in roles),
        shown=sum("branch" in held for held in roles),
        into_tools=sorted({called[use.step] for use in uses if use.step in called}),
    )
