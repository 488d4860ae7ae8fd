"""What happened twice, what is not known to have ended, and what did a read not tell? Findings about effects."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from forensics.analysis.duplicates import twice
from forensics.analysis.outcomes import masked_failures, unknown_outcomes
from forensics.core.classes import Classes, Effect, RestsOn
from forensics.core.evidence import Basis
from forensics.core.findings import Finding, finding
from forensics.core.handles import Handles
from forensics.core.jsonvalue import text_of
from forensics.core.sanitise import one_line
from forensics.core.trace import StepKind, Trace
from forensics.rules.engine import RuleSet

if TYPE_CHECKING:
    from collections.abc import Iterator


_NAMED = 3


class Acts(msgspec.Struct, frozen=True):
    """What the anomalies are looked for in: a trace, a number for the arguments of each call (the same for the same
    ones) and its class, the handles, the rules in force, which calls failed by their words, and the calls in whose
    results an answer is missed.
    """

    trace: Trace
    arguments: Sequence[int]
    calls: Classes
    handles: Handles
    rules: RuleSet
    failed: bytes = b""
    doubtful: tuple[int, ...] = ()


def anomalies(acts: Acts) -> tuple[Finding, ...]:
    """Every finding about effects, handles and tools of one trace."""
    return (
        *twice(acts),
        *unknown_outcomes(acts.trace, acts.calls, acts.doubtful),
        *masked_failures(acts.trace, acts.failed),
        *_flows(acts),
        *_unclassified(acts),
        *_incomplete(acts),
    )


# handles, tools, the end --------------------------------------------------------------------------------------------


def _flows(acts: Acts) -> Iterator[Finding]:
    """One finding a minting tool: its values that later steps hold."""
    tools, call_of = acts.trace.calls.column("tool"), acts.handles.call
    by_tool: defaultdict[int, array[int]] = defaultdict(lambda: array("i"))
    for at in acts.handles.carried():
        by_tool[tools[call_of(at)]].append(at)
    for number, places in by_tool.items():
        tool = acts.trace.strings[number]
        handles = [acts.handles[at] for at in places[:_NAMED]]
        values = ", ".join(one_line(h.value, 40) for h in handles)
        more = f" and {len(places) - _NAMED} more" if len(places) > _NAMED else ""
        message = f"{one_line(tool, 60)} mints a value that later steps hold: {values}{more}"
        steps = [handles[0].step, *(u.step for u in handles[0].uses if u.role != "branch")]
        yield finding("handle_flow", message, steps=tuple(dict.fromkeys(steps)), basis=Basis.INFERRED)


def _unclassified(acts: Acts) -> Iterator[Finding]:
    told: set[str] = set()
    unknown = [kind.effect is Effect.UNKNOWN and kind.rests_on is RestsOn.NONE for kind in acts.calls.kinds]
    calls = acts.trace.calls
    for tool, number, row, _ in calls.by_tool(acts.calls.numbers):
        if unknown[number] and tool not in told:
            told.add(tool)
            message = f"too little tells what {one_line(tool, 60)} does: it is taken as side-effecting"
            yield finding("unclassified_tool", message, steps=(calls[row].step,), basis=Basis.DERIVED)


def _incomplete(acts: Acts) -> Iterator[Finding]:
    """A run that did not end: its last turn asks for calls, or something other than the model has the last word."""
    trace = acts.trace
    if not len(trace) or trace.ended_normally:
        return
    last = next((row for row in range(len(trace) - 1, -1, -1) if trace.kind[row] not in _SILENT), None)
    if last is None:
        return
    asking = set(trace.calls.column("turn"))
    ended = trace.kind[last] == StepKind.MODEL and trace.turn[last] not in asking
    if not ended or trace.ended_normally is False:
        message = _how_it_ended(trace, last)
        yield finding("incomplete_run", message, steps=(last,), basis=Basis.DERIVED)


def _how_it_ended(trace: Trace, last: int) -> str:
    step = trace.step(last)
    if step.kind is StepKind.ERROR and step.payload is not None:
        return f"the run ended with an error, {one_line(step.name, 60)}: {one_line(text_of(step.payload), 200)}"
    return "the run did not end with an answer of the model: it was cut off, failed or is still going on"


_SILENT = frozenset({StepKind.AGENT, StepKind.OTHER, StepKind.MEMORY, StepKind.GUARDRAIL})
