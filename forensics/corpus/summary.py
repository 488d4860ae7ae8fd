"""What do the results of a corpus sum up to? Counted one result at a time, so that none is held."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from forensics.core.evidence import Severity
from forensics.report.corpus_documents import CorpusCounts, CorpusFindingRow, CorpusToolRow, Tally

if TYPE_CHECKING:
    from collections.abc import Iterable

    from forensics.corpus.result import Result
    from forensics.report.corpus_documents import CorpusTool, CorpusTrace

_Tool = tuple[str, str, str, str]


class _Tallied:
    """How many of each name, and in how many files each name occurs."""

    def __init__(self) -> None:
        self.count: Counter[str] = Counter()
        self.files: Counter[str] = Counter()

    def add(self, names: Iterable[str]) -> None:
        """The names of one file."""
        here = Counter(names)
        self.count.update(here)
        self.files.update(here.keys())

    def rows(self) -> list[Tally]:
        """The most frequent first."""
        ordered = sorted(self.count.items(), key=lambda pair: (-pair[1], pair[0]))
        return [Tally(name=name, count=count, files=self.files[name]) for name, count in ordered]


class Summary:
    """The sums over all results that were added."""

    def __init__(self) -> None:
        self._status: Counter[str] = Counter()
        self._sums: Counter[str] = Counter()
        self._levels, self._formats, self._reasons, self._errors = (_Tallied() for _ in range(4))
        self._tools: dict[_Tool, Counter[str]] = defaultdict(Counter)
        self._findings: Counter[tuple[str, str]] = Counter()
        self._finding_files: Counter[tuple[str, str]] = Counter()
        self.exit_code = 0

    def add(self, result: Result, files: int = 1) -> None:
        """One result; it is of several files where they were audited together."""
        self.exit_code = max(self.exit_code, result.exit_code)
        each = result.evidence if files == len(result.evidence) else None  # None: an archive, told as one file
        self._status.update([row.status for row in each] if each else [result.status] * files)
        size = sum(row.size for row in each) if each else result.size
        self._sums.update(files=files, bytes=size, records=result.records, findings=len(result.findings))
        self._sums["together"] += files if files > 1 else 0
        self._formats.add(row.format for row in result.evidence if row.format)
        self._errors.add(row.error.code for row in result.evidence if row.error)
        self._levels.add(trace.level for trace in result.traces)
        self._reasons.add(code for trace in result.traces for code in trace.reasons)
        for trace in result.traces:
            self._add_trace(trace)
        found = Counter((row.code, row.severity) for row in result.findings)
        self._findings.update(found)
        self._finding_files.update(found.keys())

    def _add_trace(self, trace: CorpusTrace) -> None:
        self._sums.update(traces=1, cleared=int(trace.cleared), steps=trace.steps, calls=trace.calls)
        for tool in trace.tools:
            refused = 0 if trace.cleared or not tool.calls else 1
            self._tools[_key(tool)].update(calls=tool.calls, traces=1, refused=refused)

    def counts(self, *, apart: int, trusted: int) -> CorpusCounts:
        """What was read."""
        named = {name: self._status[name] for name in ("read", "partial", "refused")}
        summed = ("files", "bytes", "records", "traces", "cleared", "steps", "calls", "findings", "together")
        return CorpusCounts(**named, **{name: self._sums[name] for name in summed}, apart=apart, trusted=trusted)

    def tallies(self) -> dict[str, list[Tally]]:
        """Levels, formats, reasons and errors."""
        return {
            "levels": self._levels.rows(),
            "formats": self._formats.rows(),
            "reasons": self._reasons.rows(),
            "errors": self._errors.rows(),
        }

    def tools(self) -> list[CorpusToolRow]:
        """The tools, those first that stand in most refused traces."""
        ordered = sorted(self._tools.items(), key=lambda pair: (-pair[1]["refused"], -pair[1]["calls"], pair[0]))
        return [
            CorpusToolRow(
                name=name,
                server=server or None,
                class_=kind,
                rests_on=rests_on,
                calls=sums["calls"],
                traces=sums["traces"],
                refused=sums["refused"],
            )
            for (name, server, kind, rests_on), sums in ordered
        ]

    def findings(self) -> list[CorpusFindingRow]:
        """The findings by code and severity, the heaviest first, then the most frequent."""
        ordered = sorted(self._findings.items(), key=lambda pair: (-Severity(pair[0][1]).rank, -pair[1], pair[0]))
        return [
            CorpusFindingRow(code=code, severity=severity, count=count, files=self._finding_files[code, severity])
            for (code, severity), count in ordered
        ]


def _key(tool: CorpusTool) -> _Tool:
    return (tool.name, tool.server or "", tool.class_, tool.rests_on)
