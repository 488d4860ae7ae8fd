"""What does a run do when it is run again, as far as it may be? The rerun as a verb of the library.

`prepare` reads, judges and clears; `Prepared.run` reads everything once more, and reruns only what was cleared, byte
for byte. `rerun` does both.
"""

from __future__ import annotations

import contextlib
from math import isfinite
from typing import TYPE_CHECKING, TypeVar

import msgspec

from forensics.analysis.run import TraceAnalysis, analyse
from forensics.api import (
    Options,
    inventory,
    not_replayable,
    one_evidence,
    one_trace,
    options_asked,
    read,
    without_cycle_collection,
)
from forensics.compare.calls import call_in_words
from forensics.compare.comparison import Comparison, Result, compare, other_output
from forensics.compare.divergence import Cause, Divergence, Kind
from forensics.compare.events import CALL, OUTPUT
from forensics.compare.notes import Untold
from forensics.core.evidence import Severity
from forensics.core.expected import expected
from forensics.core.findings import Finding
from forensics.core.jsonvalue import raw, short_json, spell_surrogates
from forensics.core.limits import under
from forensics.core.policy import Policy
from forensics.core.sanitise import one_line
from forensics.core.trace import StepKind
from forensics.core.verdict import Clearance
from forensics.errors import ConfigurationError, ReplayFault, ReplayRefused
from forensics.formats.places import Where
from forensics.formats.shared.source import STDIN
from forensics.replay.blueprint_loop import GuardrailBlocked
from forensics.replay.executable import executable
from forensics.replay.findings import findings_of
from forensics.replay.frames import floats
from forensics.replay.late_calls import late_calls
from forensics.replay.log import Told, Turned
from forensics.replay.own_values import own_ids
from forensics.replay.plan import Code, Mode, Modifications, Override, Plan, Stub
from forensics.replay.rerun import Rerun, World, replay
from forensics.replay.running import in_cell
from forensics.replay.script import script_of
from forensics.replay.stand_ins import check_stand_ins
from forensics.replay.trace_out import Ended, Of, trace_out
from forensics.report.compose import Examined
from forensics.report.redaction import redactor_of
from forensics.report.rerun import Judged, Outcome, Refusal, recorded_output, rerun_document
from forensics.rules.engine import RuleSet, load_rules
from forensics.rules.policy_file import load_policy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from forensics.core.reading import Reading
    from forensics.core.trace import Payload, Trace
    from forensics.replay.ports import Answerer
    from forensics.replay.running import Runner
    from forensics.replay.setting import Present
    from forensics.report.rerun_documents import RerunDocument

D = TypeVar("D")
DONE, REFUSED, UNTOLD = 0, 1, 3
_SHOWN = 80
_HOW_CODE = "name it: Plan(agent=code_of('module:function', paths), paths=paths), see forensics.replay.code"
_PORTS = frozenset({"model", "call", "output", "system", "user", "approval", "memory"})
"""The kinds of events that an agent of the user's tells through its ports."""
_CALLS = frozenset({CALL})
"""Those of one that asks no model."""


def _keep_quiet(_told: str) -> None:
    """Say nothing."""


class Replayed(msgspec.Struct, frozen=True, kw_only=True):
    """A rerun with the comparison against the recorded run, or why there is none."""

    prepared: Prepared
    rerun: Rerun | None = None
    comparison: Comparison | None = None
    kinds: frozenset[str] | None = None
    analysis: TraceAnalysis | None = None
    refusal: Refusal | None = None
    refused: ReplayRefused | None = None
    findings: tuple[Finding, ...] = ()

    def raise_for_stop(self) -> None:
        """Do nothing where the rerun ran until its agent returned (the idea of httpx's `raise_for_status`), whatever it
        did: whether that is what was recorded, the comparison says.

        Raises the ReplayRefused that kept it from starting (NonReplayableTraceError where the verdict did), the
        ReplayFault, or PausedRunError, that stopped it, each with the code of the document; and a ReplayFault where the
        agent's own code raised.
        """
        if self.refused is not None:
            raise self.refused
        if self.rerun is None:
            raise not_replayable(self.prepared.analysis)
        if self.rerun.stopped is not None:
            raise self.rerun.stopped.error()
        if self.rerun.broke is not None:
            raise ReplayFault(f"the agent raised {self.rerun.broke}")

    def document(self) -> RerunDocument:
        """The rerun document, without the secrets of the record and what looks like one unless they were asked for."""
        done, compared, analysis = self.rerun, self.comparison, self.analysis
        outcome = None
        if done is not None and compared is not None and analysis is not None:
            outcome = Outcome(
                rerun=done, analysis=analysis, comparison=compared, kinds=self.kinds, findings=self.findings
            )
        return self.prepared.shown(rerun_document(self.prepared.judged(), outcome, self.refusal))

    def trace_out(self) -> bytes | None:
        """The rerun as a trace, a plain event log of its own; None where it was refused. It holds what the record
        holds, secrets too: a trace that lacks them could not be rerun.
        """
        done, prepared = self.rerun, self.prepared
        if done is None:
            return None
        of = Of(
            rerun=done.id,
            plan=done.plan,
            trace=prepared.analysis.trace.id,
            evidence=prepared.examined.name,
            evidence_sha256=prepared.examined.sha256,
            policy=prepared.policy.name,
            rules_digest=prepared.rules.digest,
        )
        broke = "" if done.broke is None else f"the agent raised {done.broke}"
        because = broke if done.stopped is None else f"{done.stopped.code}: {done.stopped.message}"
        trace = prepared.analysis.trace
        decisions = {row: said for row in trace.rows(StepKind.GUARDRAIL) if (said := trace.payload[row]) is not None}
        return trace_out(of, done.log, Ended(done.output, because), script_of(trace), decisions)


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """A run that was read and judged, with the clearance for one plan where there is nothing to refuse."""

    evidence: Where
    options: Options
    plan: Plan
    examined: Examined
    analysis: TraceAnalysis
    rules: RuleSet
    policy: Policy
    clearance: Clearance | None

    def shown(self, document: D) -> D:
        """What is told of this rerun as it may be shown: without the secrets of the record, and without what looks like
        one in what the rerun brought, unless they are asked for.
        """
        return redactor_of([self.examined.reading], new=True).document(document) if self.options.redact else document

    def judged(self) -> Judged:
        """What every document of this rerun rests on."""
        return Judged(
            examined=self.examined,
            analysis=self.analysis,
            policy=self.policy,
            rules_digest=self.rules.digest,
            plan=self.plan,
        )

    def run(
        self,
        *,
        answerer: Answerer | None = None,
        say: Callable[[str], None] = _keep_quiet,
        runner: Runner = in_cell,
        present: Present | None = None,
    ) -> Replayed:
        """The rerun, or its refusal. Where the plan asks a model, `answerer` answers (default: its endpoint), and `say`
        is told what leaves this machine before anything does. The other two are for tests: `runner` runs the agent
        elsewhere than in a cell, and `present` shows it another value than the recorded one.

        Raises ConfigurationError where the plan asks a model and names no endpoint, or the extra `live` is missing.
        """
        try:
            with _asking(self.plan, answerer, say) as asked:
                return self._run(asked, runner, present)
        except ReplayRefused as refused:
            return Replayed(prepared=self, refusal=Refusal.of(refused), refused=refused)

    def _run(self, answerer: Answerer | None, runner: Runner, present: Present | None) -> Replayed:
        if self.clearance is None:
            return Replayed(prepared=self, refusal=Refusal())
        world = World(
            analysis=self.analysis,
            rules=self.rules,
            digests=_digests(self),
            may_execute=executable(self.analysis, self.policy),
            answerer=answerer,
            runner=runner,
            present=present,
        )
        with under(self.options.limits):
            done = replay(self.clearance, self.plan, world)
            return _compared(self, done)


@contextlib.contextmanager
def _asking(plan: Plan, answerer: Answerer | None, say: Callable[[str], None]) -> Iterator[Answerer | None]:
    """What answers the model of a plan that asks one, closed at the end."""
    if answerer is not None or plan.mode is Mode.RECORDED or plan.endpoint is None:
        yield answerer
        return
    from forensics.replay.live.said import SayingAnswerer

    with contextlib.closing(SayingAnswerer(plan, say)) as asks:
        yield asks


def rerun(evidence: Where, options: Options | None = None, plan: Plan | None = None) -> Replayed:
    """Rerun a run as its plan says (default: its own blueprint, every answer and result from the record).

    A refusal is an outcome: `Replayed.refusal`. Raises EvidenceError for what can't be read, RuleError for a broken
    rule pack or policy, ConfigurationError where it is not clear which trace is meant, and IsolationUnavailableError
    where the plan runs a tool and this machine can't keep it from the world.
    """
    return prepare(evidence, options, plan).run()


def plan_asked(plan: Plan | None) -> Plan:
    """This plan, its modes by name or as such, or the default one. Raises ConfigurationError for what is none, and for
    one with another thing in it than it holds, such as a function where its code by name is due.
    """
    if plan is None:
        return Plan()
    expected(plan, "a plan", Plan, hint=_HOW_CODE if callable(plan) else "")
    if plan.agent is not None:
        expected(plan.agent, "the agent of a plan", Code, hint=_HOW_CODE)
    for one in plan.overrides:
        expected(one, "what stands in plan.overrides", Override)
        expected(one.code, f"the code that stands in for {one_line(str(one.tool), _SHOWN)}", Code, hint=_HOW_CODE)
    for stub in plan.stubs:
        expected(stub, "what stands in plan.stubs", Stub)
        if not stub.values:
            raise ConfigurationError(f"the stub of {one_line(str(stub.tool), _SHOWN)} holds no value")
    expected(plan.modifications, "the modifications of a plan", Modifications)
    return _of_plain_values(plan)


def _of_plain_values(plan: Plan) -> Plan:
    """The plan with every value as JSON has it. Raises ConfigurationError for one that JSON has not, or of a type that
    its place does not take.
    """
    try:
        told = msgspec.to_builtins(plan)
        if not all(map(isfinite, floats(told))):
            raise ConfigurationError("a plan holds NaN or an infinity, and JSON has no such number")
        return msgspec.convert(told, Plan)
    except (TypeError, RecursionError, msgspec.ValidationError) as error:
        raise ConfigurationError(f"a plan holds what it does not take: {one_line(str(error), 200)}") from None


def prepare(evidence: Where, options: Options | None = None, plan: Plan | None = None) -> Prepared:
    """Read and judge a run, and clear it for one plan. Raises as `rerun` does."""
    options, plan = options_asked(options), plan_asked(plan)
    if str(evidence) == STDIN:
        raise ConfigurationError("a rerun reads its evidence twice", hint="name a file, not standard input")
    rules = load_rules(options.rules)
    policy = load_policy(options.policy, options.date())
    with without_cycle_collection(), under(options.limits), one_evidence(evidence) as source:
        reading = read(source, 0, options.input_format)
        trace = one_trace(reading, options.trace, "--trace")
        _, listing = inventory(options.tools, 1)
        analyses = analyse(reading, rules, policy, listing)
        source.check_unchanged()
        examined = Examined(source.name, source.sha256, source.size, _only(reading, trace.id))
    analysis = next(one for one in analyses if one.trace is trace)
    cleared = analysis.verdict.clear()
    if cleared is not None:  # what is not cleared may hold calls that were not read
        check_stand_ins(plan, trace)
    plan = _completed(plan, analysis, rules, policy)
    return Prepared(
        evidence=evidence,
        options=options,
        plan=plan,
        examined=msgspec.structs.replace(examined, analyses=(analysis,)),
        analysis=analysis,
        rules=rules,
        policy=policy,
        clearance=None if cleared is None else cleared.for_plan(plan.digest),
    )


def _completed(plan: Plan, analysis: TraceAnalysis, rules: RuleSet, policy: Policy) -> Plan:
    """The plan with what the policy lets run, and the ids that the recorded agent minted."""
    minted = plan.minted
    if plan.agent is not None and not minted.ids:
        minted = msgspec.structs.replace(minted, ids=own_ids(analysis, rules))
    return msgspec.structs.replace(plan, execute=policy.execute, minted=minted)


def _only(reading: Reading, trace: str) -> Reading:
    """The reading with that trace alone."""
    return msgspec.structs.replace(reading, traces=tuple(one for one in reading.traces if one.id == trace))


def _digests(prepared: Prepared) -> tuple[str, str, str]:
    """The digests of evidence, rules and policy as they are now."""
    options = prepared.options
    with under(options.limits), one_evidence(prepared.evidence) as source:
        evidence = source.sha256
    return (
        evidence,
        load_rules(options.rules).digest,
        load_policy(options.policy, options.date()).digest,
    )


def _compared(prepared: Prepared, done: Rerun) -> Replayed:
    """The rerun beside the recorded run, as far as it tells of itself."""
    analysis = analyse(done.reading, prepared.rules, prepared.policy)[0]
    kinds = _kinds(done)
    outputs = _outputs(done, prepared.analysis.trace) if kinds == _CALLS else None
    recorded = prepared.analysis.trace
    compared = _with_its_order(compare(prepared.analysis, analysis, prepared.rules, kinds, outputs), done, recorded)
    comparison = _with_its_end(compared, done, recorded)
    return Replayed(
        prepared=prepared,
        rerun=done,
        comparison=comparison,
        kinds=kinds if outputs is None else _CALLS | {OUTPUT},
        analysis=analysis,
        findings=findings_of(done, prepared.analysis.trace),
    )


def _kinds(done: Rerun) -> frozenset[str] | None:
    """The kinds of events that the rerun tells of: of a blueprint all; of an agent what goes through its ports, and of
    one that asked no model nothing of one.
    """
    if done.blueprint:
        return None
    asked = any(isinstance(entry, (Turned, Told)) for entry in done.log)
    return _PORTS if asked else _CALLS


def _with_its_order(compared: Comparison, done: Rerun, recorded: Trace) -> Comparison:
    """A rerun that asks its model on, and makes a recorded call only then, is not the recorded run: what was said next
    rested on what the call returned.
    """
    late = next(late_calls(done.log, recorded), None)
    if late is None or compared.result in {Result.DIVERGED, Result.NOT_COMPARABLE}:
        return compared
    call = recorded.calls[late[0]]
    moved = Divergence(
        index=call.step,
        kind=Kind.ORDER,
        cause=Cause.AGENT,
        lane=call.agent,
        what="a call",
        left=call_in_words(call),
        right=call_in_words(call),
        left_step=call.step,
        occurrence=call.occurrence,
        because=f"it was made after the turn in step {late[1]}, which had its result before it in the record",
    )
    return msgspec.structs.replace(compared, result=Result.DIVERGED, divergences=(moved,))


def _with_its_end(compared: Comparison, done: Rerun, recorded: Trace) -> Comparison:
    """A rerun that was stopped, or whose agent failed, is not the recorded run, however alike both are up to there."""
    if compared.result in {Result.DIVERGED, Result.NOT_COMPARABLE}:
        return compared
    if done.stopped is not None:
        return _cut(compared, f"it was stopped there ({done.stopped.code})")
    if done.broke is None or _is_blocked_as_recorded(done):
        return compared
    before = recorded_output(recorded)
    if before is None:
        return _cut(compared, "its agent failed, and the record does not tell how the recorded run ended")
    last = other_output(
        (spell_surrogates(short_json(before, _SHOWN)), None), None, (len(recorded) - 1, len(done.trace) - 1)
    )
    failed = msgspec.structs.replace(last, because=f"the agent raised {one_line(done.broke, _SHOWN)}")
    return msgspec.structs.replace(compared, result=Result.DIVERGED, divergences=(failed,))


def _cut(compared: Comparison, why: str) -> Comparison:
    """The comparison of a rerun of which it is not known what it would have done in the end."""
    rest = Untold("what the rerun does in the end", why)
    return msgspec.structs.replace(compared, result=Result.NOT_COMPARABLE, not_compared=(*compared.not_compared, rest))


def _is_blocked_as_recorded(done: Rerun) -> bool:
    """Whether a rebuilt agent was ended by a guardrail; that the record says the same has been compared."""
    return done.blueprint and done.broke is not None and done.broke.startswith(f"{GuardrailBlocked.__name__}: ")


def _outputs(done: Rerun, recorded: Trace) -> tuple[Payload, Payload] | None:
    """What both runs answered in the end, where an agent that asks no model tells it by what it returns."""
    before = recorded_output(recorded)
    if done.output is None or before is None or done.stopped is not None:
        return None
    return raw(before), raw(done.output)


def _failed_anew(done: Rerun, compared: Comparison) -> bool:
    """Whether the agent failed where the recorded one did not."""
    return done.broke is not None and not (_is_blocked_as_recorded(done) and compared.result is Result.IDENTICAL)


def replay_exit_code(replayed: Replayed, fail_on: Severity = Severity.HIGH) -> int:
    """0 where the rerun went through and is no other run than the recorded one, and no finding is at or above
    `fail_on`; 3 where that could not be compared; else 1.
    """
    done, compared = replayed.rerun, replayed.comparison
    if done is None or compared is None or done.stopped is not None or _failed_anew(done, compared):
        return REFUSED
    loud = any(one.severity.rank >= fail_on.rank for one in (*replayed.findings, *compared.findings))
    if loud or compared.result is Result.DIVERGED:
        return REFUSED
    return UNTOLD if compared.result is Result.NOT_COMPARABLE else DONE
