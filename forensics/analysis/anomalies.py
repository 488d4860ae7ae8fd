"""What happened twice, what is not known to have ended, and what did a read not tell? Findings about effects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from forensics.analysis.outcomes import failed_by_its_words, is_unanswered, masked_failures, unknown_outcomes
from forensics.core.classes import Classes, Effect, RestsOn
from forensics.core.evidence import Basis
from forensics.core.findings import Finding, finding
from forensics.core.handles import Handle
from forensics.core.jsonvalue import text_of, value_of
from forensics.core.sanitise import one_line
from forensics.core.trace import Call, Outcome, StepKind, Trace

if TYPE_CHECKING:
    from collections.abc import Iterator


_NAMED = 3
_ADDS = frozenset({Effect.REPEATING, Effect.IRREVERSIBLE})
_TOOK = frozenset({Outcome.RECORDED})
_DOUBTFUL = frozenset({Outcome.INDETERMINATE})
_KEYS = frozenset(
    [
        "idempotency_key",
        "idempotencykey",
        "idempotency-key",
        "client_token",
        "clienttoken",
        "request_id",
        "requestid",
        "client_request_id",
        "clientrequestid",
        "dedupe_key",
        "deduplication_id",
    ]
)


class Acts(msgspec.Struct, frozen=True):
    """What the anomalies are looked for in: a trace, the canonical arguments and class of each call,
    and its handles.
    """

    trace: Trace
    arguments_keys: tuple[bytes, ...]
    calls: Classes
    handles: Sequence[Handle]


def anomalies(acts: Acts) -> tuple[Finding, ...]:
    """Every finding about effects, handles and tools of one trace."""
    return (
        *_twice(acts),
        *unknown_outcomes(acts.trace, acts.calls),
        *masked_failures(acts.trace),
        *_flows(acts),
        *_unclassified(acts),
        *_incomplete(acts),
    )


# the same effect twice -----------------------------------------------------------------------------------------------


def _twice(acts: Acts) -> Iterator[Finding]:
    groups: dict[tuple[str, str, bytes], list[int]] = {}
    adds = acts.calls.each(lambda kind: kind.effect in _ADDS)
    for row, (call, adding, key) in enumerate(zip(acts.trace.calls, adds, acts.arguments_keys, strict=True)):
        if adding and call.arguments is not None and call.again_of < 0:
            groups.setdefault((call.agent, call.tool, key), []).append(row)
    for rows in groups.values():
        if len(rows) > 1:
            yield from _repeated(acts, rows)


def _repeated(acts: Acts, rows: list[int]) -> Iterator[Finding]:
    calls = acts.trace.calls
    took = [r for r in rows if calls[r].outcome in _TOOK and not failed_by_its_words(calls[r])]
    doubtful = [r for r in rows if calls[r].outcome in _DOUBTFUL or is_unanswered(calls[r])]
    if len(took) > 1 and not _same_key_same_answer(acts, took):
        yield _twice_finding("duplicate_side_effect", acts, took, f"took effect {len(took)} times in this trace")
    elif took and doubtful:
        yield _twice_finding(
            "possible_duplicate_side_effect", acts, sorted((*took, *doubtful)), "may have taken effect more than once"
        )
    elif len(doubtful) > 1:
        yield _twice_finding("possible_duplicate_side_effect", acts, doubtful, "may have taken effect more than once")


def _same_key_same_answer(acts: Acts, rows: Sequence[int]) -> bool:
    """Whether the calls carry one idempotency key and got one answer: the server may have done it once."""
    arguments = value_of(acts.trace.calls[rows[0]].arguments or msgspec.Raw(b"null"))
    keyed = isinstance(arguments, dict) and any(k.lower() in _KEYS for k in arguments)
    answers = {bytes(acts.trace.calls[r].result or b"") for r in rows}
    return keyed and len(answers) == 1


def _twice_finding(code: str, acts: Acts, rows: list[int], what: str) -> Finding:
    calls = [acts.trace.calls[r] for r in rows]
    among = frozenset(rows)
    minted = [h.value for h in acts.handles if h.call in among and h.minted]
    shown = f" ({', '.join(one_line(v, 40) for v in minted[:4])})" if minted else ""
    cause = _cause(acts.trace, calls)
    message = f"{one_line(calls[0].tool, 60)} {what} with the same arguments{shown}{cause}"
    return finding(code, message, steps=tuple(c.step for c in calls), basis=Basis.DERIVED)


def _cause(trace: Trace, calls: list[Call]) -> str:
    """What stands between the two calls: an error after the effect is the retry that this kind of fault is made of."""
    between = range(calls[0].step + 1, calls[1].step)
    if any(trace.kind[row] == StepKind.ERROR for row in between):
        return "; an error event stands between them, after the first had its result: a retry from the top"
    return ""


# handles, tools, the end --------------------------------------------------------------------------------------------


def _flows(acts: Acts) -> Iterator[Finding]:
    """One finding a minting tool: its values that later steps hold."""
    by_tool: dict[str, list[Handle]] = {}
    for handle in acts.handles:
        if handle.minted and handle.carried:
            by_tool.setdefault(acts.trace.calls[handle.call].tool, []).append(handle)
    for tool, handles in by_tool.items():
        values = ", ".join(one_line(h.value, 40) for h in handles[:_NAMED])
        more = f" and {len(handles) - _NAMED} more" if len(handles) > _NAMED else ""
        message = f"{one_line(tool, 60)} mints a value that later steps hold: {values}{more}"
        steps = [handles[0].step, *(u.step for u in handles[0].uses if u.role != "branch")]
        yield finding("handle_flow", message, steps=tuple(dict.fromkeys(steps)), basis=Basis.INFERRED)


def _unclassified(acts: Acts) -> Iterator[Finding]:
    told: set[str] = set()
    unknown = acts.calls.each(lambda kind: kind.effect is Effect.UNKNOWN and kind.rests_on is RestsOn.NONE)
    for call, nothing_tells in zip(acts.trace.calls, unknown, strict=True):
        if nothing_tells and call.tool not in told:
            told.add(call.tool)
            message = f"too little tells what {one_line(call.tool, 60)} does: it is taken as side-effecting"
            yield finding("unclassified_tool", message, steps=(call.step,), basis=Basis.DERIVED)


def _incomplete(acts: Acts) -> Iterator[Finding]:
    """A run that did not end: its last turn asks for calls, or something other than the model has the last word."""
    trace = acts.trace
    if not len(trace) or trace.ended_normally:
        return
    last = next((row for row in range(len(trace) - 1, -1, -1) if trace.kind[row] not in _SILENT), None)
    if last is None:
        return
    asking = {call.turn for call in trace.calls}
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
