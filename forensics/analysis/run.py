"""What is to be said of a reading? Every analysis of every trace, in one fixed order."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from forensics.analysis.anomalies import Acts, anomalies
from forensics.analysis.conflicts import conflicts, contradictions, distrusted, overruled
from forensics.analysis.decide import Case, decide
from forensics.analysis.flow import flow
from forensics.analysis.listing import NOTHING_LISTED, Listing
from forensics.analysis.oversight import oversight
from forensics.analysis.reruns import Repeat, executed_again, executed_effects, repeats
from forensics.analysis.resumptions import resumptions
from forensics.analysis.shown_effects import unproved
from forensics.analysis.stale import stale_handles
from forensics.analysis.strays import from_nowhere
from forensics.analysis.survey import survey
from forensics.analysis.uninformative import uninformative
from forensics.core.classes import Classes, ClassEvidence, Classification, Source, Stability, Tier, ToolFacts, resolve
from forensics.core.findings import Finding
from forensics.core.handles import Handle, Handles
from forensics.core.sanitise import one_line
from forensics.core.trace import NOWHERE, Trace
from forensics.core.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.analysis.survey import Survey, ToolKey
    from forensics.core.policy import Policy
    from forensics.core.reading import Reading
    from forensics.rules.engine import RuleSet


class Tool(msgspec.Struct, frozen=True):
    """One tool of a trace: how often it was called, its class with every piece of evidence, and its facts."""

    name: str
    calls: int
    classified: Classification
    facts: ToolFacts


class TraceAnalysis(msgspec.Struct, frozen=True):
    """All that the analyses say of one trace. `calls` are the classes of `trace.calls`, row by row; `did_nothing` the
    rows of those that count as answered, and of which the result says that they did nothing, and `unproved` those that
    count as repeating only since nothing proves that the text that they run only reads.
    """

    trace: Trace
    tools: tuple[Tool, ...]
    calls: Classes
    handles: Handles
    findings: tuple[Finding, ...]
    verdict: Verdict
    repeats: tuple[Repeat, ...] = ()
    did_nothing: tuple[int, ...] = ()
    unproved: Sequence[int] = ()


def analyse(
    reading: Reading, rules: RuleSet, policy: Policy, listing: Listing = NOTHING_LISTED
) -> tuple[TraceAnalysis, ...]:
    """Analyse every trace of a reading; `listing` is the inventory beside it. Findings name steps of their trace."""
    by_id = {trace.id: trace for trace in reading.traces}
    found = [analyse_trace(trace, rules, policy, by_id.get(trace.rerun_of or ""), listing) for trace in reading.traces]
    again = resumptions([(one.trace, one.calls) for one in found])
    return tuple(_with(one, again[one.trace.id]) if one.trace.id in again else one for one in found)


def _with(one: TraceAnalysis, more: list[Finding]) -> TraceAnalysis:
    return msgspec.structs.replace(one, findings=(*one.findings, *more))


def analyse_trace(
    trace: Trace, rules: RuleSet, policy: Policy, original: Trace | None = None, listing: Listing = NOTHING_LISTED
) -> TraceAnalysis:
    """Analyse one trace; `original` is the trace that it is a rerun of, where the same evidence holds it."""
    surveyed = survey(trace, rules, policy, listing)
    contradicted = contradictions(surveyed)
    studied = distrusted(trace, surveyed, contradicted)
    followed = flow(trace, studied.classified, rules)
    minting = array("i", [NOWHERE]) * len(
        trace.calls
    )  # by call, where among the handles the first stands that it minted
    for call, at in followed.handles.first_by_call():
        minting[call] = at
    calls = _final_classes(studied, minting)
    tools = _tools(trace, studied, _first_minted(trace, followed.handles, minting))
    case = Case(trace, calls, followed.own_values)
    verdict = decide(case, policy, (trace.evidence_sha256, rules.digest, policy.digest))
    done = repeats(trace, original) if trace.rerun_of is not None else ()
    found = (
        *trace.findings,
        *studied.findings,
        *oversight(trace),
        *anomalies(Acts(trace, studied.arguments, calls, followed.handles, rules, studied.failed, studied.doubtful)),
        *executed_effects(trace, done, calls),
        *executed_again(trace, calls),
        *conflicts(trace, contradicted),
        *uninformative(trace, surveyed, frozenset(one.tool.server for one in contradicted)),
        *_schema_faults(trace, studied),
        *from_nowhere(trace, followed.strays),
        *stale_handles(trace, followed.handles, studied.failed),
        *overruled(trace, studied),
    )
    ends = studied.did_nothing, unproved(calls, rules)
    return TraceAnalysis(trace, tools, calls, followed.handles, found, verdict, done, *ends)


def _schema_faults(trace: Trace, studied: Survey) -> Iterator[Finding]:
    """Arguments that a schema does not allow, where a tool declares one: the tools of most logs declare none."""
    if any(facts.input_schema for facts in studied.facts.values()):
        from forensics.analysis.schema_faults import schema_faults

        yield from schema_faults(trace, studied)


_MINTS = ClassEvidence(
    Source.BEHAVIOUR, Tier.PACK, "its result mints a value that no earlier text holds", result=Stability.HANDLE
)


def _first_minted(trace: Trace, handles: Handles, minting: Sequence[int]) -> dict[ToolKey, Handle]:
    """For each tool of which a call minted a handle, the first one of the first such call."""
    found: dict[ToolKey, int] = {}
    for key, at in zip(trace.calls.tools(), minting, strict=True):
        if at >= 0:
            found.setdefault(key, at)
    return {key: handles[at] for key, at in found.items()}


def _final_classes(studied: Survey, minting: Sequence[int]) -> Classes:
    """The class of each call, with what following the values showed: a second number for each class that also mints."""
    classes = studied.classified
    kinds = [*classes.kinds, *(resolve((*kind.evidence, _MINTS)) for kind in classes.kinds)]
    numbers = classes.numbers[:]
    for row, at in enumerate(minting):
        if at >= 0:
            numbers[row] += len(classes.kinds)
    return Classes(tuple(kinds), numbers)


def _tools(trace: Trace, studied: Survey, minted: dict[ToolKey, Handle]) -> tuple[Tool, ...]:
    again = trace.calls.rare("again_of")
    counts = Counter(key for row, key in enumerate(trace.calls.tools()) if row not in again)
    order = (*counts, *(key for key in studied.tools if key not in counts))
    return tuple(
        Tool(key[0], counts[key], resolve((*studied.tools[key], *_mints(trace, minted.get(key)))), studied.facts[key])
        for key in order
    )


def _mints(trace: Trace, handle: Handle | None) -> tuple[ClassEvidence, ...]:
    """The piece of evidence that a minted handle is."""
    if handle is None:
        return ()
    says = f"its result mints {one_line(handle.value, 60)}, which no earlier text of the trace holds"
    return (msgspec.structs.replace(_MINTS, says=says, locator=trace.locator(handle.step)),)
