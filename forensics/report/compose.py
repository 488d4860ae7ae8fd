"""How does an analysis become a document? Step numbers become unique over the document, values become strict JSON.

The order of everything is that of the evidence, so the same input gives the same bytes.
"""

from __future__ import annotations

from array import array
from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET

from forensics import __version__
from forensics.analysis.content.noted import CODES
from forensics.analysis.decide import advice
from forensics.analysis.run import TraceAnalysis
from forensics.core.classes import ClassEvidence, Classification, Effect, weighs
from forensics.core.jsonvalue import short_json, spell_surrogates
from forensics.core.reading import Reading
from forensics.core.sanitise import one_line
from forensics.core.secrets import CREDENTIAL, PERSONAL
from forensics.core.trace import Absence, Boundary
from forensics.errors import EvidenceError
from forensics.report.call_rows import CallRows
from forensics.report.documents import (
    AUDIT,
    AuditDocument,
    BasisRow,
    CountsRow,
    Digest,
    EvidenceRow,
    Fault,
    FindingRow,
    Place,
    PolicyName,
    Program,
    ReasonRow,
    RepeatRow,
    RerunOf,
    Ruling,
    Rulings,
    ToolRow,
    TraceRow,
    VerdictRow,
)
from forensics.report.handle_rows import HandleRows
from forensics.report.rows import Making, Rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from forensics.analysis.run import Tool
    from forensics.core.evidence import Gap, Locator
    from forensics.core.findings import Finding
    from forensics.core.policy import Policy
    from forensics.core.trace import Call, Calls
    from forensics.core.verdict import Reason, Verdict
    from forensics.report.documents import CallRow

_NOT_READ = frozenset({"container_truncated", "truncated_payload"})
INVENTORY = "tools-list"
"""The format of an evidence that declares tools and holds no trace."""
_TOOLS = frozenset({Boundary.TOOL, Boundary.PROVIDER_TOOL, Boundary.SUB_AGENT})


class Examined(msgspec.Struct, frozen=True):
    """One evidence as it was examined: its reading and analyses, the error that stopped it or, of an inventory beside
    the evidence, how many tools it declares. `looked_for` says whether its values were to be looked through.
    """

    name: str
    sha256: str
    size: int
    reading: Reading | None = None
    analyses: tuple[TraceAnalysis, ...] = ()
    error: EvidenceError | None = None
    declares: int | None = None
    looked_for: bool = True

    @property
    def sought(self) -> bool:
        """Whether its values were looked through, or would have been, had anything been read."""
        return self.looked_for if self.reading is None else self.reading.secrets.sought


class Numbering:
    """The numbers that are unique over a document: the first step of each trace, and the names of ids used twice."""

    def __init__(self, examined: Sequence[Examined]) -> None:
        self.base: dict[int, int] = {}
        self._analyses = analyses = [a for one in examined for a in one.analyses]
        step = 0
        for analysis in analyses:
            self.base[id(analysis.trace)] = step
            step += len(analysis.trace)
        self._numbers = _numbers_of_repeated([analysis.trace.calls for analysis in analyses])

    def first(self, analysis: TraceAnalysis) -> int:
        """The number of a trace's first step in the document."""
        return self.base[id(analysis.trace)]

    def holder(self, step: int) -> TraceAnalysis | None:
        """The trace that has the step of this number; None where none has."""
        return next((a for a in self._analyses if 0 <= step - self.first(a) < len(a.trace)), None)

    def name(self, call: Call) -> str:
        """The name of a call in lists: its id, `id#n` where the id names several, its occurrence where it has none."""
        return self.names(call.calls, range(call.row, call.row + 1))[0]

    def names(self, calls: Calls, rows: range) -> list[str]:
        """The names of these calls of a trace."""
        ids = calls.recorded_ids(rows)
        names = [spell_surrogates(one) if one else calls[row].occurrence for row, one in zip(rows, ids, strict=True)]
        for at, row in enumerate(rows) if self._numbers else ():
            number = self._numbers.get((id(calls), row))
            if number is not None:
                names[at] += f"#{number}"
        return names


def _numbers_of_repeated(traces: Sequence[Calls]) -> dict[tuple[int, int], int]:
    """By calls and row, how often its id stood up to there, of the ids that stand more than once."""
    seen: set[str] = set()
    several: dict[str, int] = {}
    for _, _, recorded_id in _ids(traces):
        if recorded_id in seen:
            several[recorded_id] = 0
        seen.add(recorded_id)
    found = {}
    for calls, row, recorded_id in _ids(traces) if several else ():
        if recorded_id in several:
            several[recorded_id] += 1
            found[id(calls), row] = several[recorded_id]
    return found


def _ids(traces: Sequence[Calls]) -> Iterator[tuple[Calls, int, str]]:
    """Every call that has an id."""
    for calls in traces:
        for row, recorded_id in enumerate(calls.recorded_ids(range(len(calls)))):
            if recorded_id:
                yield calls, row, recorded_id


def audit_document(
    examined: Sequence[Examined], policy: Policy, rules_digest: str, *, at_once: bool = True
) -> AuditDocument:
    """The audit document of these evidences; its calls and handles as lists or, where not `at_once`, each made when it
    is asked for.
    """
    numbering = Numbering(examined)
    return AuditDocument(
        schema=AUDIT,
        tool=program(),
        policy=policy_name(policy),
        rules=Digest(digest=rules_digest),
        evidence=[evidence_row(one) for one in examined],
        counts=counts_row(examined, numbering),
        traces=[trace_row(a, numbering, at_once=at_once) for one in examined for a in one.analyses],
        findings=finding_rows(examined, numbering),
        not_looked_for=UNSET if _sought(examined) else list(CODES),
    )


def _sought(examined: Sequence[Examined]) -> bool:
    """Whether the values of all were looked through, as far as they could be read."""
    return all(one.sought for one in examined)


def program() -> Program:
    """The program that writes."""
    return Program(name="forensics", version=__version__)


def policy_name(policy: Policy) -> PolicyName:
    """The policy in force."""
    as_of = policy.as_of.isoformat() if policy.as_of is not None else None
    return PolicyName(
        name=spell_surrogates(policy.name),
        digest=policy.digest,
        base=policy.base.value,
        as_of=as_of,
        expired=list(policy.expired),
        warnings=[spell_surrogates(doubt) for doubt in _doubts(policy)],
    )


def _doubts(policy: Policy) -> tuple[str, ...]:
    """What is odd about the entries of a policy; the shipped ones have none."""
    if not policy.tools:
        return ()
    from forensics.rules.policy_doubts import policy_doubts

    return policy_doubts(policy)


def evidence_row(one: Examined) -> EvidenceRow:
    """One evidence, with its coverage in words."""
    name = spell_surrogates(one.name)
    if one.declares is not None:
        tools = f"{one.declares} tool{'s' if one.declares != 1 else ''} declared"
        return EvidenceRow(name=name, sha256=one.sha256, size=one.size, status="read", format=INVENTORY, coverage=tools)
    if one.reading is None:
        fault = one.error
        error = (
            None
            if fault is None
            else Fault(code=fault.code, message=spell_surrogates(fault.message), hint=spell_surrogates(fault.hint))
        )
        return EvidenceRow(name=name, sha256=one.sha256, size=one.size, status="refused", error=error)
    reading = one.reading
    return EvidenceRow(
        name=name,
        sha256=one.sha256,
        size=one.size,
        status="partial" if reading.partial else "read",
        format=reading.evidence.format,
        dialect=reading.evidence.dialect,
        compression=reading.evidence.compression,
        member_sha256=reading.evidence.member_sha256,
        coverage=coverage(reading),
    )


def coverage(reading: Reading) -> str:
    """How much was read, in words: N of M records."""
    count, of = records_read(reading)
    return f"{count} of {of} records read"


def records_read(reading: Reading) -> tuple[int, int]:
    """How many records were read, of how many."""
    bad = len(reading.counts.bad_lines) + sum(map(_is_a_record, reading.gaps))
    return reading.counts.records, reading.counts.records + bad


def _is_a_record(gap: Gap) -> bool:
    """Whether the gap stands for what was not read; a bad line is counted as one, the row of a database is none."""
    return gap.code in _NOT_READ or (
        gap.code == "malformed_line" and gap.locator is not None and gap.locator.row is not None
    )


def counts_row(examined: Sequence[Examined], numbering: Numbering) -> CountsRow:
    """The counts over all evidences."""
    readings = [one.reading.counts for one in examined if one.reading is not None]
    traces = [a.trace.calls for one in examined for a in one.analyses]

    def total(field: str) -> int:
        return sum(getattr(r, field) for r in readings)

    return CountsRow(
        lines=total("lines"),
        records=total("records"),
        bad_lines=[n for r in readings for n in r.bad_lines],
        duplicate_records=total("duplicate_records"),
        recovered_records=total("recovered_records"),
        traces=sum(len(one.analyses) for one in examined),
        spans=total("spans"),
        roots=total("roots"),
        model_calls=total("model_calls"),
        branches=total("branches"),
        tool_calls=sum(map(_tool_calls, traces)),
        tool_results=total("tool_results"),
        paired=sum(map(_paired, traces)),
        unanswered=[numbering.name(call) for calls in traces for call in _unanswered(calls)],
        orphan_results=[spell_surrogates(x) for r in readings for x in r.orphan_results],
        missing_spans=[x for r in readings for x in r.missing_spans],
        secrets=_distinct(examined, CREDENTIAL),
        personal_data=_distinct(examined, PERSONAL),
        input_tokens=total("input_tokens"),
        output_tokens=total("output_tokens"),
    )


def _distinct(examined: Sequence[Examined], group: str) -> int | None:
    """How many different values of a group the evidences hold; None where nobody looked for them."""
    if not _sought(examined):
        return None
    known = (one.reading.secrets.known for one in examined if one.reading is not None)
    return len({value for values in known for value, secret in values.items() if secret.group == group})


def _tool_calls(calls: Calls) -> int:
    """How many calls asked for a tool."""
    again = (row for row, of in calls.rare("again_of").items() if of >= 0)
    kinds = Counter(calls.each("boundary"))
    kinds.subtract(calls[row].boundary for row in again)
    return sum(kinds[kind] for kind in _TOOLS)


def _paired(calls: Calls) -> int:
    """How many calls have exactly one result."""
    several = {
        row for row, blocks in calls.rare("blocks").items() if any(b.code == "conflicting_results" for b in blocks)
    }
    return sum(step >= 0 and row not in several for row, step in enumerate(calls.column("result_step")))


def _unanswered(calls: Calls) -> list[Call]:
    return [calls[row] for row, absence in enumerate(calls.each("absence")) if absence is Absence.UNANSWERED]


# one trace -----------------------------------------------------------------------------------------------------------


def trace_row(analysis: TraceAnalysis, numbering: Numbering, *, at_once: bool = True) -> TraceRow:
    """One trace of the document; `at_once` as for the document."""
    trace, first = analysis.trace, numbering.first(analysis)
    rows, steps = CallRows(analysis, numbering), trace.calls.column("step")
    again = sorted(row for row, of in trace.calls.rare("again_of").items() if of >= 0)
    making = Making(trace.calls.parts, rows.fields)
    calls = Rows(len(rows) - len(again), _but(rows, again)) if again else Rows(len(rows), rows.of, making)
    handles = Rows(len(analysis.handles), HandleRows(analysis, first).of)
    return TraceRow(
        id=spell_surrogates(trace.id),
        evidence=trace.places.evidence,
        agents=[spell_surrogates(a) for a in trace.agents],
        format=trace.format,
        steps=len(trace),
        first_step=first,
        tools=[tool_row(t) for t in analysis.tools],
        calls=list(calls) if at_once else calls,
        handles=list(handles) if at_once else handles,
        verdict=verdict_row(analysis.verdict, first),
        rerun_of=_rerun_of(analysis, first),
        executed_again=[row for at in again for row in rows.of(range(at, at + 1))],
        also_in=[spell_surrogates(name) for name in trace.also_in],
        did_nothing=[first + trace.calls[row].step for row in analysis.did_nothing if _may_act(analysis, row)],
        unproved=[first + steps[row] for row in analysis.unproved],
    )


def _may_act(analysis: TraceAnalysis, row: int) -> bool:
    return analysis.calls[row].effect is not Effect.NONE


def _but(rows: CallRows, left: Sequence[int]) -> Callable[[range], list[CallRow]]:
    """Makes the rows of calls without those of some, which ascend; numbers count what is left."""
    dropped = frozenset(left)
    kept = array("i", (row for row in range(len(rows)) if row not in dropped))

    def make(numbers: range) -> list[CallRow]:
        wanted = range(kept[numbers.start], kept[numbers.stop - 1] + 1)
        return [made for row, made in zip(wanted, rows.of(wanted), strict=True) if row not in dropped]

    return make


def tool_row(tool: Tool) -> ToolRow:
    """One tool with its class."""
    return ToolRow(
        name=spell_surrogates(tool.name),
        calls=tool.calls,
        server=tool.facts.server,
        **classed(tool.classified),
    )


def classed(classified: Classification) -> dict[str, Any]:
    """The fields that every classified thing has."""
    return {
        "class_": classified.tool_class.value,
        "labels": list(classified.labels),
        "effect": classified.effect.name.lower(),
        "result": classified.result.name.lower(),
        "scope": classified.scope.value,
        "rests_on": classified.rests_on.value,
        "basis": [basis_row(piece) for piece in classified.evidence],
        "missing": list(classified.missing),
    }


def basis_row(piece: ClassEvidence) -> BasisRow:
    """One piece of evidence; `weighs` is false for a claim that may not lower and tries to."""
    return BasisRow(
        source=piece.source.value,
        tier=piece.tier.name.lower(),
        says=spell_surrogates(piece.says),
        effect=None if piece.effect is None else piece.effect.name.lower(),
        result=None if piece.result is None else piece.result.name.lower(),
        scope=None if piece.scope is None else piece.scope.value,
        rule=piece.rule,
        locator=place(piece.locator),
        weighs=weighs(piece),
    )


def place(locator: Locator | None) -> Place | None:
    """A locator as it is written down; None where there is none."""
    if locator is None or locator.evidence < 0:
        return None
    pointer = None if locator.pointer is None else spell_surrogates(locator.pointer)
    return Place(
        evidence=locator.evidence,
        line=locator.line,
        offset=locator.offset,
        length=locator.length,
        member=locator.member,
        table=locator.table,
        row=locator.row,
        pointer=pointer,
    )


def verdict_row(verdict: Verdict, first: int) -> VerdictRow:
    """The verdict under both policies."""
    strict, inject = _ruling(verdict.strict, first), _ruling(verdict.inject, first)
    chosen = strict if verdict.policy.value == "strict" else inject
    return VerdictRow(
        level=verdict.level.value,
        policy=verdict.policy.value,
        cleared=chosen.cleared,
        reasons=chosen.reasons,
        advice="" if chosen.cleared else advice(verdict),
        policies=Rulings(strict=strict, inject=inject),
    )


def _ruling(reasons: tuple[Reason, ...], first: int) -> Ruling:
    return Ruling(cleared=not reasons, reasons=[_reason_row(r, first) for r in reasons])


def _reason_row(reason: Reason, first: int) -> ReasonRow:
    return ReasonRow(
        code=reason.code,
        message=spell_surrogates(reason.message),
        step=None if reason.step is None else first + reason.step,
        tool=None if reason.tool is None else spell_surrogates(reason.tool),
        locator=place(reason.locator),
    )


def _rerun_of(analysis: TraceAnalysis, first: int) -> RerunOf | None:
    trace = analysis.trace
    if trace.rerun_of is None:
        return None
    did = [
        RepeatRow(
            step=first + r.step,
            tool=spell_surrogates(r.tool),
            did=r.did,
            executed=r.executed,
            result=spell_surrogates(r.result),
            original=spell_surrogates(r.original),
        )
        for r in analysis.repeats
    ]
    return RerunOf(trace=spell_surrogates(trace.rerun_of), basis=trace.rerun_basis.value, did=did)


# findings ------------------------------------------------------------------------------------------------------------


def finding_rows(examined: Sequence[Examined], numbering: Numbering) -> list[FindingRow]:
    """Every finding, those about a whole evidence first; the same finding twice stands once."""
    rows: list[FindingRow] = []
    for one in examined:
        if one.reading is not None:
            rows.extend(finding_row(f) for f in one.reading.findings)
        for analysis in one.analyses:
            first = numbering.first(analysis)
            rows.extend(finding_row(f, analysis.trace.id, first) for f in analysis.findings)
    return list({msgspec.json.encode(row): row for row in rows}.values())


def finding_row(one: Finding, trace: str | None = None, first: int = 0) -> FindingRow:
    """One finding; `first` is the number of its trace's first step in the document."""
    return FindingRow(
        code=one.code,
        severity=one.severity.value,
        confidence=one.confidence,
        basis=one.basis.value,
        message=spell_surrogates(one.message),
        steps=[first + step for step in one.steps],
        locators=[p for p in map(place, one.locators) if p is not None],
        tags=list(one.tags),
        trace=None if trace is None else spell_surrogates(trace),
    )


def shown(value: object, limit: int = 80) -> str:
    """A value on one line, safe and short."""
    return one_line(short_json(value, limit), limit)
