"""Is what a trace holds enough for the rerun that a plan asks for? What its model said, and the agent itself.

That is asked of a trace whose verdict is cleared; what the verdict is about, this does not look at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.core.jsonvalue import text_of
from forensics.core.sanitise import one_line
from forensics.core.trace import Outcome
from forensics.errors import MissingModelOutputError, PausedRunError, ReplayRefused
from forensics.replay.blueprint import rebuild
from forensics.replay.plan import Mode
from forensics.replay.script import script_of

if TYPE_CHECKING:
    from forensics.core.trace import Trace
    from forensics.replay.plan import Plan
    from forensics.replay.script import Script


def why_not(trace: Trace, plan: Plan) -> ReplayRefused | None:
    """Why the rerun of a cleared trace would be refused all the same; None where it would start."""
    script = script_of(trace)
    try:
        check_record(trace, script, plan)
        if plan.agent is None:
            rebuild(trace, script, plan)
    except ReplayRefused as refused:
        return refused
    return None


def check_record(trace: Trace, script: Script, plan: Plan) -> None:
    """Raise MissingModelOutputError or PausedRunError where the record lacks what the plan needs beside its agent."""
    _check_answers(trace, script, plan)
    _check_pause(trace, plan)


def _check_answers(trace: Trace, script: Script, plan: Plan) -> None:
    """Raise MissingModelOutputError where recorded mode has not all that the model said."""
    if plan.mode is not Mode.RECORDED:
        return
    silent = [turn for turn in script.turns if turn.silent]
    if script.turns and not silent:
        return
    what = f"turn {silent[0].number}" if silent else "any turn"
    message = f"what the model said in {what} is not in the record ({trace.format}), and recorded mode serves it"
    locator = trace.locator(silent[0].step) if silent else None
    hint = "record the model's answers, or ask a model again with --mode deterministic or live"
    raise MissingModelOutputError(message, hint=hint, locator=locator)


def _check_pause(trace: Trace, plan: Plan) -> None:
    """Raise PausedRunError for a run that waits for a person, unless the plan gives the answer that it waits for."""
    if plan.agent is not None or not any(setup.paused for setup in trace.setups):
        return
    unsettled = (call for call in reversed(trace.calls) if call.outcome is Outcome.INDETERMINATE)
    waits = next((call for call in unsettled if call.marked is None), None)
    answered = {*(stub.tool for stub in plan.stubs), *(one.tool for one in plan.overrides)}
    if waits is not None and waits.tool in answered:
        return
    where = "" if waits is None else f" in {one_line(waits.tool, 60)}"
    asked = "" if waits is None or waits.result is None else f" ({one_line(text_of(waits.result), 100)})"
    tool = "TOOL" if waits is None else waits.tool
    raise PausedRunError(
        f"the run paused{where} for a person{asked}, and a rerun holds no pause: it has no checkpointer",
        hint=f"give the answer with --stub {one_line(tool, 60)}=JSON, and go on with --mode live",
        locator=None if waits is None else trace.locator(waits.step),
    )
