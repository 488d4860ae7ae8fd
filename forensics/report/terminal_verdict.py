"""How does a verdict read? Cleared or refused, the step that decides, where its handle flows, and what to do."""

from __future__ import annotations

from bisect import bisect_left
from functools import partial
from typing import TYPE_CHECKING

from forensics.core import verdict as core_verdict
from forensics.report.rows import field_at, fields
from forensics.report.terminal_evidence import first_warning
from forensics.report.terminal_page import Span, cells, name, plural, short

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forensics.report.documents import (
        AuditDocument,
        CallRow,
        HandleRow,
        InspectionDocument,
        ReasonRow,
        RepeatRow,
        TraceRow,
    )
    from forensics.report.terminal_page import Page

    Head = AuditDocument | InspectionDocument

_CLEARED = {
    "dynamic": "Running its tools again adds no effect, as far as the evidence and the policy tell.",
    "inject": "A rerun may take every result from the record. It must not run the tools.",
}
_REFUSED = {
    "dynamic": "dynamic: strict itself clears it",
    "inject": "inject: a rerun may take results from the record, and run no tool",
    "static": "static: no rerun is safe; what is recorded can be read",
}
_ROLES = {"model_output": "model output", "final_answer": "final answer", "branch": "shown to model"}
_FLOWS = 3
_LOOKED_UP = 256  # calls; more are found by one look at all of them
_ID = 36  # characters of a trace id in a table: those of a UUID
_BRIEF, _FILE = 13, 28  # characters of a trace id and a file name where both don't fit into the line of the verdict
_HANG = "        "


def verdict(page: Page, document: Head, trace: TraceRow) -> None:
    """The verdict of one trace with what decides it."""
    verdict_line(page, document, trace)
    row = trace.verdict
    if row.cleared:
        todo = _CLEARED.get(row.level, "")
    else:
        reason = deciding(trace)
        _deciding(page, trace, reason)
        _alone(page, document, trace, reason)
        page.field("level", _REFUSED[row.level])
        todo = short(row.advice, 400)
    first_warning(page, document.policy)
    page.field("to do", todo)
    expired = document.policy.expired
    if expired:
        page.field("expired", f"as of {document.policy.as_of}: {', '.join(short(e) for e in expired)}")
    if trace.also_in:
        told = ", ".join(name(other, _FILE) for other in trace.also_in[:_FLOWS])
        more = f" and {len(trace.also_in) - _FLOWS} more" if len(trace.also_in) > _FLOWS else ""
        page.field("also in", f"{told}{more}: what they tell was compared")
    page.field("read", _how_much(trace, document.evidence[trace.evidence].coverage or ""))


def _alone(page: Page, document: Head, trace: TraceRow, reason: ReasonRow) -> None:
    """Which step of its own file the deciding one is: an audit numbers the steps over all of its files."""
    before = min(other.first_step for other in document.traces if other.evidence == trace.evidence)
    if before and reason.step is not None:
        own = reason.step - before
        file = name(document.evidence[trace.evidence].name, _FILE)
        page.field("in its file", f"step {own} of {file}, {before} less than here: forensics inspect FILE --step {own}")


def _how_much(trace: TraceRow, coverage: str) -> str:
    rows = trace.executions
    calls, paired = len(rows), sum(step is not None for (step,) in fields(rows, "result_step"))
    return f"{coverage}; {plural(trace.steps, 'step')}, {plural(calls, 'call')}, {paired} with a result"


def verdict_line(page: Page, document: Head, trace: TraceRow) -> None:
    """`REFUSED under strict, level inject: trace ID in FILE`."""
    row, policy = trace.verdict, document.policy
    word, style = ("CLEARED", "cleared") if row.cleared else ("REFUSED", "refused")
    under = row.policy if policy.name == row.policy else f"{row.policy} by policy {name(policy.name)}"
    whole = f" {name(trace.id)} in {name(document.evidence[trace.evidence].name)}"
    brief = f" {name(trace.id, _BRIEF)} in {name(document.evidence[trace.evidence].name, _FILE)}"
    room = page.width - cells(f"{word} under {under}, level {row.level}:")
    line = (Span(word, style), f" under {under}, level ", Span(row.level, "title"), ":")
    if cells(whole) <= room:
        page.line(*line, whole, rest=_HANG)
        return
    page.line(*line, brief, rest=_HANG)
    if brief != whole:  # what only goes on in the next line is told already
        page.field("trace", whole.strip())


def deciding(trace: TraceRow) -> ReasonRow:
    """The reason that says most, as the guard of the library names it."""
    policies, asked = trace.verdict.policies, trace.verdict.reasons
    steps = {reason.step for reason in policies.inject.reasons or asked}
    few = len(steps) <= _LOOKED_UP
    calls = (call_at(trace, step) for step in steps) if few else ()
    told = fields(trace.executions, "step", "effect") if not few else ()
    effects = {call.step: call.effect for call in calls if call is not None}
    effects.update((step, effect) for step, effect in told if step in steps)
    return core_verdict.deciding(policies.inject.reasons, asked, effects.get)


def call_at(trace: TraceRow, step: int | None) -> CallRow | None:
    """The call that was asked for in the step of this number; calls stand in the order of their steps."""
    calls = trace.executions
    step_at = partial(field_at, calls, name="step")
    at = len(calls) if step is None else bisect_left(range(len(calls)), step, key=step_at)
    return calls[at] if at < len(calls) and step_at(at) == step else None


def _deciding(page: Page, trace: TraceRow, reason: ReasonRow) -> None:
    call = call_at(trace, reason.step)
    if call is None:
        where = "" if reason.step is None else f"step {reason.step}, "
        page.field("decided by", f"{where}{reason.code}: {short(reason.message, 400)}")
        return
    tool = next(t for t in trace.tools if t.name == call.tool)
    if reason.code in ("not_idempotent", "unvouched"):
        labels = " and ".join(label for label in tool.labels if label != "volatile")
        why = f": {labels}, effect {call.effect}, which rests on {_rests(tool.rests_on)}"
        page.field("decided by", f"step {call.step}, ", Span(name(call.tool), call.class_), why)
    else:
        page.field("decided by", f"step {call.step}, ", Span(name(call.tool), call.class_), f": {reason.code}")
        page.field("", short(reason.message, 400))
    if call.result_preview is not None:
        page.field("it returned", Span(short(call.result_preview, 160), "quote"))
    for handle in _first_handles_of(trace, call):
        page.field("its handle", *flow(trace, handle))
    others = len(trace.verdict.reasons) - 1
    if others:
        page.field("", Span(f"and {plural(others, 'more reason')} below", "dim"))


def _first_handles_of(trace: TraceRow, call: CallRow) -> Sequence[HandleRow]:
    """The first few values that came with the result of a call, of which there may be a million; handles stand in the
    order of their steps.
    """
    if call.result_step is None:
        return ()
    begin = bisect_left(trace.handles, call.result_step, key=_minted_in)
    end = min(begin + _FLOWS, len(trace.handles))
    return [handle for handle in trace.handles[begin:end] if _minted_in(handle) == call.result_step]


def _minted_in(handle: HandleRow) -> int:
    return handle.minted.step


def _rests(word: str) -> str:
    return {"none": "nothing", "words": "words alone"}.get(word, word)


def flow(trace: TraceRow, handle: HandleRow) -> list[Span]:
    """`pg_8812 minted in step 7 by pager.trigger -> model output 8, argument /page_id of incident.annotate 9`."""
    verb = "read" if handle.kind == "reference" else "minted"
    spans = [
        Span(name(handle.value, 100), "handle"),
        Span(f" {verb} in step {handle.minted.step} by {name(handle.minted.tool)}"),
    ]
    uses = _uses(trace, handle)
    return [*spans, Span(f" -> {', '.join(uses)}" if uses else ", used nowhere later")]


def _uses(trace: TraceRow, handle: HandleRow, most: int = 12) -> list[str]:
    """Every later place of the value; a branch only where nothing recorded stands in the same step."""
    recorded = {use.step for use in handle.uses if use.role != "branch"}
    out = []
    for use in handle.uses:
        if use.role == "branch" and use.step in recorded:
            continue
        if use.role == "argument":
            call = call_at(trace, use.step)
            of = "" if call is None else f" of {name(call.tool)}"
            said = f"argument {short(use.pointer or '', 60)}{of} {use.step}"
        else:
            said = f"{'echo' if use.echo else _ROLES.get(use.role, use.role)} {use.step}"
        out.append(said if use.written == "verbatim" else f"{said} (as {use.written})")
    return out if len(out) <= most else [*out[:most], f"and {len(out) - most} more"]


# reruns --------------------------------------------------------------------------------------------------------------


def reruns(page: Page, original: TraceRow | None, again: Sequence[TraceRow]) -> None:
    """What each rerun of a run did with its calls."""
    if not again:
        return
    page.title("Reruns of this run in the evidence" if original is not None else "What it did")
    for trace in again:
        did = trace.rerun_of
        if did is None:
            continue
        word = "cleared" if trace.verdict.cleared else "refused"
        level = f"{word} under {trace.verdict.policy}, level {trace.verdict.level}"
        first = f"  {name(trace.id)}: "
        page.line(Span("rerun of "), name(did.trace), Span(f" ({did.basis}); {level}", "dim"), first=first, rest="    ")
        for repeat in did.did:
            style = "refused" if repeat.executed else ""
            page.line(
                f"step {repeat.step}: {name(repeat.tool)} ",
                Span(short(repeat.did), style),
                _instead(trace, original, repeat),
                first="    ",
                rest="      ",
            )


def _instead(rerun: TraceRow, original: TraceRow | None, repeat: RepeatRow) -> str:
    """`-> pg_9147 for the recorded pg_8812`, or the results where no handle was minted; nothing where they agree."""
    if not repeat.executed or not repeat.result or repeat.result == repeat.original:
        return ""
    new, old = _minted(rerun, original, repeat.step)
    if new and old and new != old:
        return f" -> {_names(new)} for the recorded {_names(old)}"
    recorded = f" for the recorded {short(repeat.original)}" if repeat.original else ""
    return f" -> {short(repeat.result)}{recorded}"


def _minted(rerun: TraceRow, original: TraceRow | None, step: int) -> tuple[list[str], list[str]]:
    """What a call of the rerun minted, and what the same call of the original did."""
    call = call_at(rerun, step)
    if call is None or original is None:
        return [], []
    theirs = next((c for c in original.calls if c.occurrence == call.occurrence), None)
    return call.minted, [] if theirs is None else theirs.minted


def _names(values: list[str]) -> str:
    return ", ".join(name(value) for value in values)


# many traces ---------------------------------------------------------------------------------------------------------


def overview(page: Page, document: Head) -> None:
    """One line a trace, after one line for all."""
    refused = [trace for trace in document.traces if not trace.verdict.cleared]
    word, style = ("REFUSED", "refused") if refused else ("CLEARED", "cleared")
    count = f" {len(refused) or len(document.traces)} of {plural(len(document.traces), 'trace')}"
    page.line(Span(word, style), f"{count} under {document.policy.base}")
    first_warning(page, document.policy)
    page.title("Traces")
    several = len({trace.evidence for trace in document.traces}) > 1
    for trace in document.traces:
        row = trace.verdict
        mark, style = ("cleared", "cleared") if row.cleared else ("refused", "refused")
        where = name(trace.id, _ID)
        if several:
            where = f"{name(trace.id, _BRIEF)} in {name(document.evidence[trace.evidence].name, _FILE)}"
        rerun = "" if trace.rerun_of is None else f", a rerun of {name(trace.rerun_of.trace, _BRIEF)}"
        why = "" if row.cleared else f"  {_because(trace)}"
        page.row(Span(mark, style), f"  {row.level.ljust(7)}  {where}{rerun}{why}")


def _because(trace: TraceRow) -> str:
    reason = deciding(trace)
    parts = [
        "" if reason.step is None else f"step {reason.step}",
        "" if reason.tool is None else name(reason.tool, 40),
        "" if reason.code == "not_idempotent" else reason.code,
    ]
    return " ".join(part for part in parts if part)
