"""How does an analysis become a document? Step numbers become unique over the document, values become strict JSON.

The order of everything is that of the evidence, so the same input gives the same bytes.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from forensics import __version__
from forensics.analysis.decide import advice
from forensics.analysis.run import TraceAnalysis
from forensics.core.classes import ClassEvidence, Classification, weighs
from forensics.core.jsonvalue import short_json, spell_surrogates, strict_value, text_of, value_of
from forensics.core.reading import Reading
from forensics.core.sanitise import one_line
from forensics.core.secrets import CREDENTIAL, PERSONAL
from forensics.core.trace import Absence, Boundary, Outcome
from forensics.errors import EvidenceError
from forensics.report.documents import (
    AUDIT,
    AuditDocument,
    BasisRow,
    CallRow,
    CountsRow,
    Digest,
    EvidenceRow,
    Fault,
    FindingRow,
    HandleRow,
    MintedAt,
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
    UseRow,
    VerdictRow,
)
from forensics.report.rows import Rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forensics.analysis.run import Tool
    from forensics.core.evidence import Gap, Locator
    from forensics.core.findings import Finding
    from forensics.core.handles import Handle
    from forensics.core.policy import Policy
    from forensics.core.trace import Call, Calls
    from forensics.core.verdict import Reason, Verdict

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - UTC throughout; without a zone it is written four times as fast
_PREVIEW = 200
_NOT_READ = frozenset({"container_truncated", "truncated_payload"})
INVENTORY = "tools-list"
"""The format of an evidence that declares tools and holds no trace."""
_TOOLS = frozenset({Boundary.TOOL, Boundary.PROVIDER_TOOL, Boundary.SUB_AGENT})


class Examined(msgspec.Struct, frozen=True):
    """One evidence as it was examined: its reading and analyses, the error that stopped it or, of an inventory beside
    the evidence, how many tools it declares.
    """

    name: str
    sha256: str
    size: int
    reading: Reading | None = None
    analyses: tuple[TraceAnalysis, ...] = ()
    error: EvidenceError | None = None
    declares: int | None = None


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
        recorded_id = call.recorded_id
        if not recorded_id:
            return call.occurrence
        number = self._numbers.get((id(call.calls), call.row))
        return spell_surrogates(recorded_id) + ("" if number is None else f"#{number}")


def _numbers_of_repeated(traces: Sequence[Calls]) -> dict[tuple[int, int], int]:
    """By calls and row, how often its id stood up to there, of the ids that stand more than once."""
    seen: set[str] = set()
    several: dict[str, int] = {}
    for calls in traces:
        for row in range(len(calls)):
            recorded_id = calls.recorded_id(row)
            if recorded_id in seen:
                several[recorded_id] = 0
            elif recorded_id:
                seen.add(recorded_id)
    found = {}
    for calls in traces if several else ():
        for row in range(len(calls)):
            recorded_id = calls.recorded_id(row)
            if recorded_id in several:
                several[recorded_id] += 1
                found[id(calls), row] = several[recorded_id]
    return found


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
    )


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
    )


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
        tool_calls=sum(call.boundary in _TOOLS and call.again_of < 0 for calls in traces for call in calls),
        tool_results=total("tool_results"),
        paired=sum(call.result_step >= 0 and _has_one_result(call) for calls in traces for call in calls),
        unanswered=[numbering.name(c) for calls in traces for c in calls if c.absence is Absence.UNANSWERED],
        orphan_results=[spell_surrogates(x) for r in readings for x in r.orphan_results],
        missing_spans=[x for r in readings for x in r.missing_spans],
        secrets=_distinct(examined, CREDENTIAL),
        personal_data=_distinct(examined, PERSONAL),
        input_tokens=total("input_tokens"),
        output_tokens=total("output_tokens"),
    )


def _distinct(examined: Sequence[Examined], group: str) -> int:
    """How many different values of a group the evidences hold."""
    known = (one.reading.secrets.known for one in examined if one.reading is not None)
    return len({value for values in known for value, secret in values.items() if secret.group == group})


def _has_one_result(call: Call) -> bool:
    return not any(block.code == "conflicting_results" for block in call.blocks)


# one trace -----------------------------------------------------------------------------------------------------------


def trace_row(analysis: TraceAnalysis, numbering: Numbering, *, at_once: bool = True) -> TraceRow:
    """One trace of the document; `at_once` as for the document."""
    trace, first = analysis.trace, numbering.first(analysis)
    rows = CallRows(analysis, numbering)
    again = sorted(row for row, of in trace.calls.rare("again_of").items() if of >= 0)
    asked = [row for row in range(len(rows)) if row not in frozenset(again)] if again else range(len(rows))
    calls = Rows(len(asked), lambda number: rows[asked[number]])
    handles = Rows(len(analysis.handles), lambda number: handle_row(analysis.handles[number], analysis, first))
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
        executed_again=[rows[row] for row in again],
        also_in=[spell_surrogates(name) for name in trace.also_in],
    )


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


def decision(call: Call) -> str:
    """What a rerun would do with a call: inject its record, or refuse. Nothing runs without a plan that names it."""
    if call.blocks or call.outcome is Outcome.ABSENT or (call.outcome is Outcome.INDETERMINATE and call.result is None):
        return "refuse"
    return "inject"


class CallRows:
    """Every call of a trace by its row, made when it is asked for; the names of a class are worked out once a class."""

    def __init__(self, analysis: TraceAnalysis, numbering: Numbering) -> None:
        self._analysis = analysis
        self._numbering = numbering
        self._names = [_class_names(kind) for kind in analysis.calls.kinds]

    def __len__(self) -> int:
        return len(self._analysis.trace.calls)

    def __getitem__(self, row: int) -> CallRow:
        names = self._names[self._analysis.calls.numbers[row]]
        minted = [spell_surrogates(value) for value in self._analysis.handles.minted_by(row)]
        return call_row(self._analysis, row, self._numbering, names, minted)


class _ClassNames(NamedTuple):
    effect: str
    result: str
    tool_class: str


def _class_names(kind: Classification) -> _ClassNames:
    return _ClassNames(kind.effect.name.lower(), kind.result.name.lower(), kind.tool_class.value)


def call_row(analysis: TraceAnalysis, row: int, numbering: Numbering, names: _ClassNames, minted: list[str]) -> CallRow:
    """One call with its class and what a rerun would do with it."""
    call, first = analysis.trace.calls[row], numbering.first(analysis)
    return CallRow(
        step=first + call.step,
        result_step=None if call.result_step < 0 else first + call.result_step,
        id=numbering.name(call),
        occurrence=call.occurrence,
        tool=spell_surrogates(call.tool),
        agent=spell_surrogates(call.agent),
        at=moment(call.start if call.start >= 0 else analysis.trace.at[call.step]),
        arguments=None if call.arguments is None else strict_value(value_of(call.arguments)),
        result_preview=None if call.result is None else preview(call.result),
        outcome=call.outcome.value,
        absence=None if call.absence is None else call.absence.value,
        effect=names.effect,
        result=names.result,
        class_=names.tool_class,
        decision=decision(call),
        pairing=call.pairing.value,
        agreement=call.agreement,
        added=list(call.added),
        minted=minted,
        boundary=call.boundary.value,
        blocks=[b.code for b in call.blocks],
    )


def preview(payload: msgspec.Raw, limit: int = _PREVIEW) -> str:
    """The head of a payload as text: a JSON string's own text, else its JSON."""
    head = text_of(payload)
    return spell_surrogates(head if len(head) <= limit else head[: limit - 1] + "…")


def moment(nanoseconds: int) -> str | None:
    """A time as RFC 3339 in UTC with microseconds, or None."""
    if nanoseconds < 0:
        return None
    try:
        at = _EPOCH + timedelta(microseconds=nanoseconds // 1_000)
    except OverflowError:
        return None
    return at.isoformat(timespec="microseconds") + "Z"


def handle_row(handle: Handle, analysis: TraceAnalysis, first: int) -> HandleRow:
    """One value and its way."""
    tool = spell_surrogates(analysis.trace.calls[handle.call].tool)
    return HandleRow(
        value=spell_surrogates(handle.value),
        kind=handle.kind,
        minted=MintedAt(step=first + handle.step, pointer=handle.pointer, tool=tool),
        uses=[
            UseRow(
                step=first + use.step,
                role=use.role,
                written=use.written,
                pointer=use.pointer,
                echo=use.echo,
                basis="inferred" if use.role == "branch" else "recorded",
            )
            for use in (sorted(handle.uses, key=lambda u: (u.step, u.role)) if len(handle.uses) > 1 else handle.uses)
        ],
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
