"""How does a rerun become a document, or its refusal? What was planned, what happened, and how it compares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from forensics.analysis.run import TraceAnalysis
from forensics.compare.comparison import Comparison
from forensics.core.findings import Finding
from forensics.core.jsonvalue import decode, spell_surrogates, strict_value
from forensics.core.policy import Policy
from forensics.core.sanitise import one_line
from forensics.core.trace import StepKind
from forensics.errors import IncompleteBlueprintError
from forensics.replay.log import GuardedBy, Minted
from forensics.replay.plan import Plan
from forensics.replay.rerun import Rerun
from forensics.report.comparison import comparison_document
from forensics.report.compose import Examined, evidence_row, finding_row, place, policy_name, program, verdict_row
from forensics.report.documents import Digest, ReasonRow
from forensics.report.inspection import inspection_document
from forensics.report.rerun_documents import (
    RERUN,
    CapturedRow,
    DeniedRow,
    GuardRow,
    IsolationRow,
    MintedRow,
    ModelCallRow,
    NearestRow,
    OutputRow,
    PlanRow,
    PrintedRow,
    RerunCallRow,
    RerunDocument,
    StopRow,
    Tokens,
    UnusedRow,
    UsageRow,
)
from forensics.report.six_questions import six_questions

if TYPE_CHECKING:
    from forensics.core.trace import Trace
    from forensics.errors import ReplayRefused
    from forensics.replay.log import Called, Turned
    from forensics.replay.stops import Stopped
    from forensics.report.documents import ComparisonDocument, FindingRow, VerdictRow

_ALL = ("all",)
_WORDS = 300
_PRINTED = 4_000  # characters of each of the agent's outputs


class Refusal(msgspec.Struct, frozen=True):
    """Why a rerun did not start, beside what the verdict says: reasons of the rerun itself, and the way past them."""

    reasons: tuple[ReasonRow, ...] = ()
    hint: str = ""

    @classmethod
    def of(cls, refused: ReplayRefused) -> Refusal:
        """The refusal that an error tells."""
        missing = refused.missing if isinstance(refused, IncompleteBlueprintError) else (refused.message,)
        where = place(refused.locator)
        reasons = (ReasonRow(code=refused.code, message=spell_surrogates(one), locator=where) for one in missing)
        return cls(tuple(reasons), refused.hint)


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """What every document of a rerun rests on: the evidence with the recorded run, the policy and the rules."""

    examined: Examined
    analysis: TraceAnalysis
    policy: Policy
    rules_digest: str
    plan: Plan


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """A rerun with its comparison; `kinds` are the kinds of events that were compared (None: all)."""

    rerun: Rerun
    analysis: TraceAnalysis
    comparison: Comparison
    kinds: frozenset[str] | None
    findings: tuple[Finding, ...]


def rerun_document(judged: Judged, outcome: Outcome | None, refusal: Refusal | None) -> RerunDocument:
    """The document of a rerun (`outcome`), or of its refusal."""
    trace, done = judged.analysis.trace, None if outcome is None else outcome.rerun
    return RerunDocument(
        schema=RERUN,
        tool=program(),
        policy=policy_name(judged.policy),
        rules=Digest(digest=judged.rules_digest),
        evidence=[evidence_row(judged.examined)],
        trace=spell_surrogates(trace.id),
        rerun=None if done is None else done.id,
        plan=_plan(judged.plan),
        mode=judged.plan.mode.value,
        verdict=_verdict(judged, refusal),
        stopped=None if done is None or done.stopped is None else _stopped(done.stopped),
        agent_error=None if done is None or done.broke is None else _words(done.broke),
        agent_error_at=None if done is None or not done.broke_at else _words(done.broke_at),
        printed=_printed(done),
        isolation=_isolation(done),
        calls=[] if done is None else [_call(one, trace) for one in done.calls],
        model_calls=[] if done is None else [_turn(one) for one in done.turns],
        guardrails=[] if done is None else [_guard(one) for one in done.log if isinstance(one, GuardedBy)],
        minted=[] if done is None else [_minted(one) for one in done.log if isinstance(one, Minted)],
        output=OutputRow(
            original=strict_value(recorded_output(trace)), new=None if done is None else strict_value(done.output)
        ),
        usage=UsageRow(original=_recorded_tokens(trace), new=_tokens(done)),
        unused=_unused(done, trace),
        reproduction=done is not None and done.reproduces,
        lacks=[] if done is None else list(done.lacks),
        compared=[] if outcome is None else list(_ALL if outcome.kinds is None else sorted(outcome.kinds)),
        comparison=None if outcome is None else _comparison(judged, outcome),
        six_questions=six_questions(judged.plan, done, judged.examined, () if refusal is None else refusal.reasons),
        findings=_findings(judged, outcome),
        inspection=_inspection(judged) if outcome is None else None,
    )


def recorded_output(trace: Trace) -> Any:
    """What the recorded run said last: its final output where its format repeats one, else its last turn's words."""
    final = [row for row in trace.rows(StepKind.OTHER) if trace.strings[trace.name[row]] == "final output"]
    rows = final or [row for row in trace.rows(StepKind.MODEL) if trace.strings[trace.agent[row]] not in trace.judges]
    payload = trace.payload[rows[-1]] if rows else None
    return None if payload is None else decode(payload).value


# the verdict and the plan --------------------------------------------------------------------------------------------


def _verdict(judged: Judged, refusal: Refusal | None) -> VerdictRow:
    row = verdict_row(judged.analysis.verdict, 0)
    if refusal is None or not refusal.reasons:
        return row
    reasons = [*row.reasons, *refusal.reasons]
    return msgspec.structs.replace(row, cleared=False, reasons=reasons, advice=refusal.hint or row.advice)


def _plan(plan: Plan) -> PlanRow:
    stubs = {one.tool: f"{len(one.values)} values" if one.each else "one value" for one in plan.stubs}
    return PlanRow(
        digest=f"sha256:{plan.digest}",
        mode=plan.mode.value,
        agent=None if plan.agent is None else plan.agent.target,
        agent_sha256=None if plan.agent is None else plan.agent.source_sha256,
        imports={one.module: one.source_sha256 for code in plan.code for one in code.imports},
        on_miss=plan.on_miss.value,
        fork=plan.fork,
        execute=list(plan.execute),
        changes=list(plan.changes()),
        modifications=_modifications(plan),
        stand_ins={**{one.tool: one.code.target for one in plan.overrides}, **stubs},
        endpoint=plan.endpoint,
    )


def _modifications(plan: Plan) -> dict[str, Any]:
    told = msgspec.structs.asdict(plan.modifications)
    kept: dict[str, Any] = strict_value({name: value for name, value in told.items() if value not in (None, {})})
    return kept


# what happened -------------------------------------------------------------------------------------------------------


def _printed(done: Rerun | None) -> PrintedRow:
    ending = None if done is None else done.ending
    texts = ("", "") if ending is None else (ending.stdout, ending.stderr)
    stdout, stderr = (spell_surrogates(text[:_PRINTED]) for text in texts)
    return PrintedRow(stdout, stderr, any(len(text) > _PRINTED for text in texts))


def _stopped(stopped: Stopped) -> StopRow:
    return StopRow(
        code=stopped.code,
        message=_words(stopped.message, 1_000),
        hint=_words(stopped.hint, 1_000),
        step=stopped.step,
        asked=strict_value(stopped.asked),
        nearest=[
            NearestRow(
                step=near.row, because=_words(near.because), pointer=near.pointer, recorded=near.left, asked=near.right
            )
            for near in stopped.near
        ],
    )


def _call(one: Called, trace: Trace) -> RerunCallRow:
    known = None if one.row is None else trace.calls[one.row]
    return RerunCallRow(
        occurrence=known.occurrence if known is not None else f"{'-' if one.turn < 0 else one.turn}.{one.index}",
        tool=spell_surrogates(one.tool),
        arguments=strict_value(one.arguments),
        disposition=one.disposition.value,
        recorded_step=None if known is None else known.step,
        shown=strict_value(one.value),
        failed=one.failed,
        returned=strict_value(one.returned),
        renamed=[spell_surrogates(name) for name in one.mapped],
        rung=None if one.agreement is None else one.agreement.rung,
        set_aside=[] if one.agreement is None else [spell_surrogates(p) for p in one.agreement.set_aside],
    )


def _turn(one: Turned) -> ModelCallRow:
    return ModelCallRow(
        served="live" if one.answer.live else "recorded",
        agent=spell_surrogates(one.agent),
        model=None if one.answer.model is None else spell_surrogates(one.answer.model),
        recorded_step=one.step,
        text=strict_value(one.answer.text),
        calls=len(one.answer.calls),
        usage=one.answer.usage,
        ignored=[_words(name) for name in one.answer.ignored],
    )


def _guard(one: GuardedBy) -> GuardRow:
    return GuardRow(name=spell_surrogates(one.name), passed=one.passed, ran=one.again, recorded_step=one.step)


def _minted(one: Minted) -> MintedRow:
    return MintedRow(what=one.what, value=one.value, from_record=one.planned)


def _isolation(done: Rerun | None) -> IsolationRow:
    if done is None:
        return IsolationRow(level="none", denied=[], captured=[], more=0, missing=["nothing was run"])
    reached = done.isolation
    return IsolationRow(
        level=reached.level.value,
        denied=[DeniedRow(kind=one.kind, what=_words(one.what or one.event)) for one in reached.denied],
        captured=[
            CapturedRow(path=_words(one.path), kind=one.kind, size=one.size, sha256=one.sha256)
            for one in reached.captured
        ],
        more=reached.more,
        missing=[_words(one) for one in reached.missing],
        way=reached.way,
    )


def _recorded_tokens(trace: Trace) -> Tokens:
    read, wrote = (None, None) if trace.tokens is None else trace.tokens
    return Tokens(input_tokens=read, output_tokens=wrote, cost=None)


def _tokens(done: Rerun | None) -> Tokens:
    """What the rerun's own model turns took: a recorded answer takes nothing."""
    live = [] if done is None else [turn.answer.usage for turn in done.turns if turn.answer.live]
    if any("input_tokens" not in usage for usage in live):
        return Tokens(input_tokens=None, output_tokens=None, cost=None)
    read, wrote = (sum(usage.get(name, 0) for usage in live) for name in ("input_tokens", "output_tokens"))
    return Tokens(input_tokens=read, output_tokens=wrote, cost=None if live else 0.0)


def _unused(done: Rerun | None, trace: Trace) -> UnusedRow:
    if done is None:
        return UnusedRow(calls=[], turns=[])
    return UnusedRow(calls=[trace.calls[row].step for row in done.unused_calls], turns=list(done.unused_turns))


# what it is beside the recorded run ----------------------------------------------------------------------------------


def _comparison(judged: Judged, outcome: Outcome) -> ComparisonDocument:
    reading = outcome.rerun.reading
    evidence = (
        judged.examined,
        Examined(reading.evidence.name, reading.evidence.sha256, reading.evidence.size, reading),
    )
    analyses = judged.analysis, outcome.analysis
    return comparison_document(outcome.comparison, evidence, analyses, judged.policy, judged.rules_digest)


def _findings(judged: Judged, outcome: Outcome | None) -> list[FindingRow]:
    """What was found in the evidence, and in the rerun; of the comparison, its own document says it."""
    trace = judged.analysis.trace
    reading = judged.examined.reading
    found = [finding_row(one) for one in (() if reading is None else reading.findings)]
    found += [finding_row(one, trace.id) for one in judged.analysis.findings]
    if outcome is not None:
        found += [finding_row(one, trace.id) for one in (*outcome.findings, *outcome.comparison.findings)]
    return list({msgspec.json.encode(row): row for row in found}.values())


def _inspection(judged: Judged) -> Any:
    return inspection_document([judged.examined], judged.policy, judged.rules_digest)


def _words(text: str, limit: int = _WORDS) -> str:
    return spell_surrogates(one_line(text, limit))
