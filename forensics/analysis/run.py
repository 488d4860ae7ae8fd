"""What is to be said of a reading? Every analysis of every trace, in one fixed order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.analysis.anomalies import Acts, anomalies
from forensics.analysis.decide import Case, decide
from forensics.analysis.flow import flow
from forensics.analysis.oversight import oversight
from forensics.analysis.reruns import Repeat, executed_effects, repeats
from forensics.analysis.survey import survey
from forensics.core.classes import Classification, ClassEvidence, Source, Stability, Tier, ToolFacts, resolve
from forensics.core.sanitise import one_line

if TYPE_CHECKING:
    from forensics.analysis.survey import Survey
    from forensics.core.findings import Finding
    from forensics.core.handles import Handle
    from forensics.core.policy import Policy
    from forensics.core.reading import Reading
    from forensics.core.trace import Trace
    from forensics.core.verdict import Verdict
    from forensics.rules.engine import RuleSet


class Tool(msgspec.Struct, frozen=True):
    """One tool of a trace: how often it was called, its class with every piece of evidence, and its facts."""

    name: str
    calls: int
    classified: Classification
    facts: ToolFacts


class TraceAnalysis(msgspec.Struct, frozen=True):
    """All that the analyses say of one trace. `calls` are the classes of `trace.calls`, row by row."""

    trace: Trace
    tools: tuple[Tool, ...]
    calls: tuple[Classification, ...]
    handles: tuple[Handle, ...]
    findings: tuple[Finding, ...]
    verdict: Verdict
    repeats: tuple[Repeat, ...] = ()


def analyse(reading: Reading, rules: RuleSet, policy: Policy) -> tuple[TraceAnalysis, ...]:
    """Analyse every trace of a reading. Findings name steps of their own trace."""
    by_id = {trace.id: trace for trace in reading.traces}
    return tuple(
        analyse_trace(trace, rules, policy, by_id.get(trace.rerun_of or "")) for trace in reading.traces
    )


def analyse_trace(trace: Trace, rules: RuleSet, policy: Policy, original: Trace | None = None) -> TraceAnalysis:
    """Analyse one trace; `original` is the trace that it is a rerun of, where the same evidence holds it."""
    studied = survey(trace, rules, policy)
    followed = flow(trace, studied.classified, rules)
    minting = _minting(trace, followed.handles)
    calls = _final_classes(studied, minting)
    tools = _tools(trace, studied, minting)
    case = Case(trace, calls, followed.own_values)
    verdict = decide(case, policy, (trace.evidence_sha256, rules.digest, policy.digest))
    done = repeats(trace, original) if trace.rerun_of is not None else ()
    found = (
        *trace.findings,
        *studied.findings,
        *oversight(trace),
        *anomalies(Acts(trace, studied.arguments_keys, calls, followed.handles)),
        *executed_effects(trace, done, calls),
    )
    return TraceAnalysis(trace, tools, calls, followed.handles, found, verdict, done)


def _minting(trace: Trace, handles: tuple[Handle, ...]) -> dict[int, ClassEvidence]:
    """For each call that minted a handle, the piece of evidence that says so (the first of its handles)."""
    found: dict[int, ClassEvidence] = {}
    for handle in handles:
        if handle.minted and handle.call not in found:
            says = f"its result mints {one_line(handle.value, 60)}, which no earlier text of the trace holds"
            found[handle.call] = ClassEvidence(
                Source.BEHAVIOUR, Tier.PACK, says, result=Stability.HANDLE, locator=trace.locator(handle.step)
            )
    return found


def _final_classes(studied: Survey, minting: dict[int, ClassEvidence]) -> tuple[Classification, ...]:
    """The class of each call, with what following the values showed."""
    return tuple(
        classified if row not in minting else resolve((*classified.evidence, minting[row]))
        for row, classified in enumerate(studied.classified)
    )


def _tools(trace: Trace, studied: Survey, minting: dict[int, ClassEvidence]) -> tuple[Tool, ...]:
    counts: dict[str, int] = {}
    minted: dict[str, ClassEvidence] = {}
    for row, call in enumerate(trace.calls):
        counts[call.tool] = counts.get(call.tool, 0) + 1
        if row in minting:
            minted.setdefault(call.tool, minting[row])
    order = (*counts, *(name for name in studied.tools if name not in counts))
    return tuple(
        Tool(name, counts.get(name, 0), resolve((*studied.tools[name], *_one(minted.get(name)))), studied.facts[name])
        for name in order
    )


def _one(piece: ClassEvidence | None) -> tuple[ClassEvidence, ...]:
    return () if piece is None else (piece,)
