"""What does a whole corpus tell? A report on its results: what stands in the way of its runs, and how much was read."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from forensics.core.evidence import Severity
from forensics.corpus.ranking import InTheWay, Ways
from forensics.corpus.rows import told
from forensics.corpus.trend import Calendar
from forensics.report.compose import program
from forensics.report.corpus_report_documents import (
    CORPUS_REPORT,
    CorpusReportDocument,
    Coverage,
    FindingTally,
    FormatVerdicts,
    UnreadRow,
)
from forensics.report.terminal_page import plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forensics.corpus.folder import Results
    from forensics.report.corpus_documents import CorpusDocument, CorpusFile, CorpusFinding

_UNREAD = 200  # evidences that are named; all are counted
_UNTOLD = 3


def corpus_report(results: Results, title: str | None = None) -> CorpusReportDocument:
    """The report on the results of a corpus audit, in one pass over their rows.

    Raises CorruptEvidenceError for rows that are none or that were not written together.
    """
    sums = _Sums()
    for row in told(results):
        sums.add(row.file, row.findings)
    document = results.document
    counts = document.counts
    return CorpusReportDocument(
        schema=CORPUS_REPORT,
        tool=program(),
        policy=document.policy,
        rules=document.rules,
        title=title or f"Audit of a corpus: {plural(counts.traces, 'trace')} in {plural(counts.files, 'file')}",
        counts=counts,
        coverage=sums.coverage(document),
        levels=document.levels,
        formats=sums.formats(),
        reasons=sums.in_the_way.reasons(),
        tools=sums.in_the_way.tools(),
        handles=sums.ways.rows(references=False),
        references=sums.ways.rows(references=True),
        findings=sums.findings(),
        trend=sums.calendar.trend(),
    )


def report_exit_code(document: CorpusReportDocument) -> int:
    """3 where an evidence could not be read, or nothing of a trace was in any."""
    return _UNTOLD if document.coverage.refused or not document.counts.traces else 0


class _Sums:
    """The sums over all rows that were added."""

    def __init__(self) -> None:
        self.in_the_way, self.ways, self.calendar = InTheWay(), Ways(), Calendar()
        self._status: Counter[str] = Counter()
        self._unread: list[UnreadRow] = []
        self._formats: dict[str, Counter[str]] = defaultdict(Counter)
        self._found: Counter[tuple[str, str]] = Counter()
        self._found_files: Counter[tuple[str, str]] = Counter()
        self._examples: dict[tuple[str, str], CorpusFinding] = {}

    def add(self, file: CorpusFile, findings: Sequence[CorpusFinding]) -> None:
        """One row of a file with its findings."""
        self._read(file)
        self._find(findings)
        high = Counter(one.trace for one in findings if Severity(one.severity).rank >= Severity.HIGH.rank)
        for trace in file.traces:
            self.in_the_way.add(trace, file.files[0])
            self.ways.add(trace, file.files[0])
            self.calendar.add(trace, high.pop(trace.id, 0))  # once, though several files tell of it
            self._formats[trace.format].update(["traces", trace.level])

    def _read(self, file: CorpusFile) -> None:
        self._status.update(row.status for row in file.evidence)
        for row in file.evidence:
            if row.error is not None and len(self._unread) < _UNREAD:
                self._unread.append(UnreadRow(name=row.name, code=row.error.code, message=row.error.message))

    def _find(self, findings: Sequence[CorpusFinding]) -> None:
        codes = [(one.code, one.severity) for one in findings]
        self._found.update(codes)
        self._found_files.update(set(codes))
        for code, one in zip(codes, findings, strict=True):
            self._examples.setdefault(code, one)

    def coverage(self, document: CorpusDocument) -> Coverage:
        """How much was read."""
        status = {name: self._status[name] for name in ("read", "partial", "refused")}
        evidences = sum(status.values())
        return Coverage(evidences=evidences, **status, errors=document.errors, unread=self._unread)

    def formats(self) -> list[FormatVerdicts]:
        """The traces by format and level, the most frequent format first."""
        ordered = sorted(self._formats.items(), key=lambda pair: (-pair[1]["traces"], pair[0]))
        levels = ("traces", "dynamic", "inject", "static")
        return [FormatVerdicts(name=name, **{level: count[level] for level in levels}) for name, count in ordered]

    def findings(self) -> list[FindingTally]:
        """By code and severity, the heaviest first, then the most frequent, each with the first of them."""
        ordered = sorted(self._found.items(), key=lambda pair: (-Severity(pair[0][1]).rank, -pair[1], pair[0]))
        return [
            FindingTally(
                code=code,
                severity=severity,
                count=count,
                files=self._found_files[code, severity],
                example=self._examples[code, severity].message,
                example_file=self._examples[code, severity].files[0],
            )
            for (code, severity), count in ordered
        ]
