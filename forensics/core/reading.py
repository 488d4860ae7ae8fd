"""What came out of one evidence? Its traces, what could not be read, and the counts that every output carries."""

from __future__ import annotations

from collections import defaultdict
from operator import itemgetter
from typing import TYPE_CHECKING

import msgspec

from forensics.core.build import Spot, TraceBuilder
from forensics.core.evidence import Basis, Evidence, Gap, Severity
from forensics.core.findings import Finding, default_severity, finding
from forensics.core.secrets import NO_SECRETS, Secrets
from forensics.core.trace import Places, Trace
from forensics.core.unread_calls import unread_calls

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forensics.core.jsonvalue import Fault


class Counts(msgspec.Struct, kw_only=True):
    """What was read (CONTRACT: numbers). Lists are ids in document order."""

    lines: int = 0
    records: int = 0
    bad_lines: list[int] = []
    duplicate_records: int = 0
    recovered_records: int = 0
    spans: int = 0
    roots: int = 0
    model_calls: int = 0
    branches: int = 0
    tool_results: int = 0
    orphan_results: list[str] = []
    missing_spans: list[str] = []
    input_tokens: int = 0
    output_tokens: int = 0


class Reading(msgspec.Struct, frozen=True):
    """One evidence as it was read. `records_calls` says that its format always records calls as such, so that a trace
    without any call really has none. `secrets` are the values of it that are not shown.
    """

    evidence: Evidence
    traces: tuple[Trace, ...]
    gaps: tuple[Gap, ...]
    findings: tuple[Finding, ...]
    counts: Counts
    records_calls: bool
    secrets: Secrets = NO_SECRETS

    @property
    def partial(self) -> bool:
        """Whether something of the evidence could not be read."""
        return bool(self.counts.bad_lines) or any(g.code in _UNREAD for g in self.gaps)


_UNREAD = frozenset(
    {"malformed_line", "nul_padding", "container_truncated", "truncated_payload", "encoding", "nesting_limit"}
)


class EvidenceBuilder:
    """What a reader fills while it walks one evidence. `spans_are_complete` holds for traces that begin from then on:
    a reader that finds its document cut takes it back.
    """

    def __init__(
        self,
        evidence: Evidence,
        *,
        records_calls: bool,
        spans_are_complete: bool = False,
        text: memoryview | bytes = b"",
    ) -> None:
        self.evidence = evidence
        self.places = Places(evidence.index, text)
        self.counts = Counts()
        self.records_calls = records_calls
        self.dialect: str | None = None
        self.spans_are_complete = spans_are_complete
        self._traces: dict[str, TraceBuilder] = {}
        self._gaps: list[Gap] = []
        self._findings: list[Finding] = []
        self._noted: dict[str, int] = {}

    def trace(self, trace_id: str) -> TraceBuilder:
        """The builder of that trace, made when first asked for."""
        builder = self._traces.get(trace_id)
        if builder is None:
            builder = TraceBuilder(
                trace_id, self.places, self.evidence.format, spans_are_complete=self.spans_are_complete
            )
            self._traces[trace_id] = builder
        return builder

    def gap(self, code: str, message: str, spot: Spot, *, hides: bool = True, trace: str | None = None) -> None:
        """Something that could not be read or is missing, with its place. A reading fault is a finding as well."""
        locator = self.places.locator(spot.place, spot.pointer)
        self._gaps.append(Gap(code, message, locator, trace, hides, Basis.RECORDED))

    def unread(self, code: str, message: str, spot: Spot, *, hides: bool = True, trace: str | None = None) -> None:
        """Something that can't be read: a gap of that trace (None: of each), and a finding."""
        self.gap(code, message, spot, hides=hides, trace=trace)
        self.found(finding(code, message, locators=(self.places.locator(spot.place, spot.pointer),)))

    def bad_line(self, number: int, code: str, message: str, spot: Spot, severity: Severity | None = None) -> None:
        """A line that can't be read: a gap that may hide anything, and a finding."""
        self.counts.bad_lines.append(number)
        self.gap(code, message, spot)
        self.found(finding(code, message, locators=(self.places.locator(spot.place),), severity=severity))

    def found(self, one: Finding) -> None:
        """Note a finding about the whole evidence."""
        self._findings.append(one)

    def once(self, code: str, message: str, spot: Spot, *, severity: Severity | None = None) -> None:
        """A finding about the whole evidence, said once with the place where it was first seen."""
        if code not in self._noted:
            self._noted[code] = 1
            self.found(
                finding(code, message, locators=(self.places.locator(spot.place, spot.pointer),), severity=severity)
            )

    def faults(self, faults: tuple[Fault, ...], spot: Spot) -> str | None:
        """Note what a text says in two ways; returns the code that taints what was read from it, or None."""
        tainted = None
        for fault in faults:
            place = spot if not fault.pointer else spot.down(f"/{fault.pointer}")
            self.found(
                finding(
                    fault.code,
                    fault.message,
                    locators=(self.places.locator(place.place, place.pointer),),
                    severity=default_severity(fault.code),
                )
            )
            if fault.code == "duplicate_key":
                tainted = fault.code
        return tainted

    def finish(self) -> Reading:
        """Close every trace and hand over what was read."""
        traces = []
        for builder in self._traces.values():
            traces.append(builder.finish())
            self._gaps.extend(builder.gaps)
            if not self.records_calls:
                self._gaps.extend(unread_calls(traces[-1], builder.shown_turns, builder.gaps))
            self.counts.orphan_results.extend(builder.orphan_results)
            self.counts.tool_results += builder.result_count
            self.counts.model_calls += builder.model_calls
        self.counts.branches = self.counts.branches or len(traces)
        concern = _by_trace(self._gaps)
        for trace in traces:
            trace.gaps = tuple(gap for _, gap in sorted([*concern[None], *concern[trace.id]], key=itemgetter(0)))
            trace.evidence_sha256 = self.evidence.sha256
            trace.records_calls = self.records_calls
        self._several(traces)
        evidence = msgspec.structs.replace(self.evidence, dialect=self.dialect)
        return Reading(
            evidence, tuple(traces), tuple(self._gaps), tuple(self._findings), self.counts, self.records_calls
        )

    def _several(self, traces: list[Trace]) -> None:
        """Say that there is more than one trace, and where the first two begin."""
        if len(traces) > 1:
            message = f"{len(traces)} traces stand in this evidence, and each has a verdict of its own"
            begins = tuple(trace.locator(0) for trace in traces[:2] if len(trace))
            self.found(finding("multiple_traces", message, locators=begins))


def _by_trace(gaps: Sequence[Gap]) -> defaultdict[str | None, list[tuple[int, Gap]]]:
    """The gaps of each trace, and under None those of every one, with their numbers."""
    found: defaultdict[str | None, list[tuple[int, Gap]]] = defaultdict(list)
    for number, gap in enumerate(gaps):
        found[gap.trace].append((number, gap))
    return found
