"""What is to be said of a rerun? What was asked in another order or never, what no change could reach, where it
stopped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.core.evidence import Basis
from forensics.core.findings import Finding, finding
from forensics.core.sanitise import one_line
from forensics.replay.log import Disposition
from forensics.replay.plan import Mode

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from forensics.core.trace import Trace
    from forensics.replay.rerun import Rerun

_CODES = frozenset({"replay_miss", "generated_id_differs", "result_mismatch", "effect_captured"})
_STOOD_IN = frozenset({Disposition.EXECUTED, Disposition.NORMALISED, Disposition.OVERRIDDEN})
_NAMED = 5
_MOST = 100


def findings_of(rerun: Rerun, recorded: Trace) -> tuple[Finding, ...]:
    """The findings of a rerun; steps are those of the recorded run."""
    return (
        *_stopped(rerun),
        *_without_effect(rerun),
        *_never_reached(rerun),
        *_never_called(rerun),
        *_order(rerun, recorded),
        *_unused(rerun, recorded),
        *_captured(rerun),
    )


def _stopped(rerun: Rerun) -> Iterator[Finding]:
    stopped = rerun.stopped
    if stopped is not None and stopped.code in _CODES:
        yield _found(stopped.code, stopped.message, () if stopped.step is None else (stopped.step,))


def _without_effect(rerun: Rerun) -> Iterator[Finding]:
    """Changes that recorded words can't heed."""
    if rerun.plan.mode is not Mode.RECORDED:
        return
    for name, step in rerun.without_effect.items():
        message = (
            f"{one_line(name, 60)} was changed and the model was not asked: its recorded answer comes back whatever it "
            "is told (ask it again with --mode live)"
        )
        yield _found("modification_without_effect", message, (step,))


def _never_reached(rerun: Rerun) -> Iterator[Finding]:
    """Changes at a step behind which the rerun asked its model nothing any more."""
    fork = rerun.plan.fork
    if fork is None or rerun.stopped is not None:
        return
    if any(turn.step is None or turn.step >= fork for turn in rerun.turns):
        return
    for name in rerun.plan.modifications.names():
        message = f"{one_line(name, 60)} was to be changed at step {fork}, and no turn of the model comes after it"
        yield _found("modification_without_effect", message, (fork,))


def _never_called(rerun: Rerun) -> Iterator[Finding]:
    """Stand-ins of tools that the rerun never called, at a fork from its step on: most likely a name that is written
    otherwise, or a step too late.
    """
    if rerun.stopped is not None:
        return
    fork = rerun.plan.fork
    tools = (*(one.tool for one in rerun.plan.stubs), *(one.tool for one in rerun.plan.overrides))
    called = {call.tool for call in rerun.calls if fork is None or call.disposition in _STOOD_IN}
    behind = "" if fork is None else f" from step {fork} on"
    for name in dict.fromkeys(tools):
        if name not in called:
            message = f"{one_line(name, 60)} has a stand-in, and the rerun never called a tool of that name{behind}"
            yield _found("modification_without_effect", message, (fork or 0,))


def _order(rerun: Rerun, recorded: Trace) -> Iterator[Finding]:
    """Calls that came in another order than recorded."""
    moved: dict[str, list[int]] = {"replay_order_changed": [], "parallel_order_differs": []}
    latest: dict[str, int] = {}
    for row in (call.row for call in rerun.calls if call.row is not None):
        call = recorded.calls[row]
        before = latest.get(call.agent, -1)
        latest[call.agent] = max(before, row)
        if row < before:
            parallel = call.turn >= 0 and call.turn == recorded.calls[before].turn
            moved["parallel_order_differs" if parallel else "replay_order_changed"].append(call.step)
    for code, steps in moved.items():
        if steps:
            where = "within one parallel batch" if code == "parallel_order_differs" else "than recorded"
            yield _found(code, f"{_numbered(steps, 'call')} made in another order {where}", steps)


def _unused(rerun: Rerun, recorded: Trace) -> Iterator[Finding]:
    """What is recorded and was never asked for; where a rerun stopped, that follows from it."""
    if rerun.stopped is not None:
        return
    calls = [recorded.calls[row].step for row in rerun.unused_calls]
    if calls:
        yield _found("unused_recording", f"{_numbered(calls, 'recorded call')} never asked for", calls)
    if rerun.unused_turns and rerun.turns:
        steps = rerun.unused_turns
        asked = _numbered(steps, "recorded answer", " of the model")
        yield _found("unused_recording", f"{asked} never asked for", steps)


def _captured(rerun: Rerun) -> Iterator[Finding]:
    """Effects that stayed in the cell."""
    written = [one.path for one in rerun.isolation.captured]
    tried = [f"{one.kind} {one.what}".strip() for one in rerun.isolation.denied]
    stopped_for_it = rerun.stopped is not None and rerun.stopped.code == "effect_captured"
    for what, names in (("written in the cell", written), ("tried and denied", [] if stopped_for_it else tried)):
        if names:
            listed = ", ".join(one_line(name, 60) for name in names[:_NAMED]) + (", …" if len(names) > _NAMED else "")
            yield _found("effect_captured", f"{len(names)} effects {what}, none reached the world: {listed}", (0,))


def _numbered(steps: Sequence[int], what: str, of: str = "") -> str:
    listed = ", ".join(map(str, steps[:_NAMED])) + (", …" if len(steps) > _NAMED else "")
    many = f"{what}s{of} (steps {listed}) were" if len(steps) > 1 else f"{what}{of} (step {listed}) was"
    return f"{len(steps)} {many}"


def _found(code: str, message: str, steps: Sequence[int]) -> Finding:
    return finding(code, message, steps=tuple(steps[:_MOST]), basis=Basis.DERIVED)
