"""What does a cleared run do when it is run again? The rerun: an agent in its cell, and the session that answers it.

`replay` takes a clearance and a plan. There is no way to it with a trace alone: what was checked is what runs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import msgspec

from forensics.analysis.run import TraceAnalysis
from forensics.core.reading import Reading
from forensics.core.trace import Call, Trace
from forensics.core.verdict import Clearance
from forensics.errors import CellFaultError, MissingModelOutputError, StaleClearanceError
from forensics.replay import frames
from forensics.replay.blueprint import rebuild
from forensics.replay.cell import CellPlan, Ending, Isolation, open_cell
from forensics.replay.guards import Guard
from forensics.replay.log import Called, Disposition, Entry, Turned
from forensics.replay.plan import Mode, Plan
from forensics.replay.ports import Answerer
from forensics.replay.recorded_answers import RecordedAnswers
from forensics.replay.retold import retold
from forensics.replay.script import Script, script_of
from forensics.replay.session import Session, Setting, Stopped, is_pause, paused
from forensics.rules.engine import RuleSet

_AGENT = "forensics.replay.child_ports:run_agent"
_WHAT = ("evidence", "rules", "policy", "plan")
_SHORT = 12
_PATIENCE = 600.0  # seconds without a word of the agent


class World(msgspec.Struct, frozen=True, kw_only=True):
    """What a rerun rests on, as it is now: the analysed run, the rules, and the digests of evidence, rules and policy,
    computed again just before it starts. `may_execute` are the recorded calls that the policy lets run, `answerer` what
    answers the model where the plan asks one, and `present` is a port of tests only.
    """

    analysis: TraceAnalysis
    rules: RuleSet
    digests: tuple[str, str, str]
    may_execute: frozenset[int] = frozenset()
    answerer: Answerer | None = None
    present: Callable[[Call, Any], Any] | None = None


class Rerun(msgspec.Struct, frozen=True, kw_only=True):
    """What happened in a rerun. `stopped` says why it ended before its agent did, `broke` how the agent's own code
    failed; `reading` is the rerun told as a trace, `lacks` what the blueprint does without.
    """

    clearance: Clearance
    plan: Plan
    id: str
    log: tuple[Entry, ...]
    stopped: Stopped | None
    broke: str | None
    output: Any
    reading: Reading
    isolation: Isolation
    ending: Ending | None
    unused_calls: tuple[int, ...]
    unused_turns: tuple[int, ...]
    without_effect: dict[str, int]
    handles: tuple[tuple[str, str], ...]
    lacks: tuple[str, ...] = ()
    blueprint: bool = True

    @property
    def trace(self) -> Trace:
        """The rerun as a trace."""
        return self.reading.traces[0]

    @property
    def calls(self) -> tuple[Called, ...]:
        """The calls of the rerun, in order."""
        return tuple(one for one in self.log if isinstance(one, Called))

    @property
    def turns(self) -> tuple[Turned, ...]:
        """The model turns of the rerun, in order."""
        return tuple(one for one in self.log if isinstance(one, Turned))

    @property
    def reproduces(self) -> bool:
        """Whether nothing of it was made up on the way: every word and result from the record, and no call refused."""
        live = any(turn.answer.live for turn in self.turns)
        refused = any(call.disposition is Disposition.REFUSED for call in self.calls)
        return self.stopped is None and not live and not refused and not self.plan.changes()


class _Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """An agent that is ready to start."""

    start: frames.Start
    guards: tuple[Guard, ...]
    later: tuple[Any, ...]
    lane: str
    lacks: tuple[str, ...]


def replay(clearance: Clearance, plan: Plan, world: World) -> Rerun:
    """Rerun a cleared run.

    Raises StaleClearanceError where evidence, rules, policy or plan are not what was cleared, MissingModelOutputError
    and IncompleteBlueprintError where the trace does not hold what the plan needs, and IsolationUnavailableError where
    the plan runs a tool and there is no wall.
    """
    check_fresh(clearance, plan, world.digests)
    script = script_of(world.analysis.trace)
    check_answers(world.analysis.trace, script, plan)
    prepared = _prepare(world.analysis.trace, script, plan)
    answers = RecordedAnswers(script, plan.modifications)
    setting = Setting(
        analysis=world.analysis,
        rules=world.rules,
        guards=prepared.guards,
        later=prepared.later,
        lane=prepared.lane,
        script=script if plan.agent is None else None,
        may_execute=world.may_execute,
        present=world.present,
    )
    recorded = plan.mode is Mode.RECORDED or world.answerer is None
    session = Session(setting, plan, answers if recorded else world.answerer or answers)
    run = _Run(session, _cell_plan(plan, prepared.start))
    run.go()
    return _told(clearance, plan, world, _Ended(session, answers, run, script, prepared.lacks))


def check_fresh(clearance: Clearance, plan: Plan, now: tuple[str, str, str]) -> None:
    """Raise StaleClearanceError unless everything is, byte for byte, what was cleared."""
    cleared = clearance.digests
    if len(cleared) != len(_WHAT):
        raise StaleClearanceError("the clearance is bound to no plan", hint="bind it with Clearance.for_plan")
    changed = [what for what, one, other in zip(_WHAT, cleared, (*now, plan.digest), strict=True) if one != other]
    if changed:
        told = " and ".join(changed)
        message = f"{told} changed between clearing and running: what was cleared is not what would run"
        raise StaleClearanceError(message, hint="clear it again: audit what is there now")


def check_answers(trace: Trace, script: Script, plan: Plan) -> None:
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


def _prepare(trace: Trace, script: Script, plan: Plan) -> _Prepared:
    changed = plan.modifications
    if plan.agent is not None:
        inputs = [one.value for turn in script.turns for one in turn.shown if one.kind.label == "user"]
        given = changed.input if changed.input is not None else (inputs[0] if inputs else None)
        start = frames.Start(plan.agent.target, None, given)
        lane = script.turns[0].lane if script.turns else ""
        return _Prepared(start=start, guards=(), later=tuple(inputs[1:]), lane=lane, lacks=())
    rebuilt = rebuild(trace, script, plan)
    given = rebuilt.input if changed.input is None else changed.input
    start = frames.Start(None, rebuilt.blueprint, given)
    lane = rebuilt.blueprint.agent
    return _Prepared(start=start, guards=rebuilt.guards, later=rebuilt.later, lane=lane, lacks=rebuilt.lacks)


def _cell_plan(plan: Plan, start: frames.Start) -> CellPlan:
    return CellPlan(target=_AGENT, paths=plan.paths, argument=frames.encode(start), executes=plan.executes)


class _Run:
    """The conversation with the agent in its cell, to its end."""

    def __init__(self, session: Session, plan: CellPlan) -> None:
        self.session = session
        self.output: Any = None
        self.broke: str | None = None
        self.isolation: Isolation
        self.ending: Ending | None = None
        self._plan = plan
        self._over = False

    def go(self) -> None:
        """Run it."""
        with open_cell(self._plan) as cell:
            try:
                while not self._over and (data := cell.channel.receive(_PATIENCE)) is not None:
                    self._take(data, cell.channel.send)
            except CellFaultError as fault:
                self.session.stop(Stopped(code=fault.code, message=fault.message))
            self.ending = cell.end()
        self.isolation = cell.isolation()
        if not self._over and self.session.stopped is None:
            how = self.ending.how
            code = (
                "replay_timeout" if how == "out_of_time" else "effect_captured" if how == "tripped" else "replay_fault"
            )
            what = ", ".join(f"{one.kind}: {one.what or one.event}" for one in self.isolation.denied[:1])
            message = f"the agent ended before it answered ({how}{': ' + what if what else ''})"
            self.session.stop(Stopped(code=code, message=message, hint=self.ending.what[-500:]))

    def _take(self, data: bytes, send: Callable[[bytes], None]) -> None:
        try:
            said = frames.decode_from_child(data)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            raise CellFaultError("what came out of the cell is no message of an agent's ports") from None
        reply = self.session.reply(said)
        if reply is not None:
            send(frames.encode(reply))
            return
        self._over = True
        if isinstance(said, frames.Finished):
            self.session.finish()
            self.output = said.output
        elif isinstance(said, frames.Broke) and self.session.stopped is None:
            if is_pause(said.raised):
                self.session.stop(paused("", said.said))
            self.broke = f"{said.raised}: {said.said}"


class _Ended(msgspec.Struct, frozen=True):
    """What is left when a rerun is over."""

    session: Any
    answers: Any
    run: Any
    script: Any
    lacks: tuple[str, ...]


def _told(clearance: Clearance, plan: Plan, world: World, ended: _Ended) -> Rerun:
    session: Session = ended.session
    rerun_id = hashlib.sha256(":".join((*clearance.digests, clearance.trace)).encode()).hexdigest()[:32]
    output = ended.run.output if session.stopped is None else None
    reading = retold(world.analysis.trace, ended.script, session.log, output, rerun_id)
    used = {one.row for one in session.log if isinstance(one, Called) and one.row is not None}
    return Rerun(
        clearance=clearance,
        plan=plan,
        id=rerun_id,
        log=tuple(session.log),
        stopped=session.stopped,
        broke=ended.run.broke,
        output=output,
        reading=reading,
        isolation=ended.run.isolation,
        ending=ended.run.ending,
        unused_calls=tuple(row for row in session.recorded_rows() if row not in used),
        unused_turns=tuple(turn.step for turn in ended.answers.left) if plan.mode is Mode.RECORDED else (),
        without_effect=dict(ended.answers.without_effect),
        handles=tuple((one.left, one.right) for one in session.renaming.renamed),
        lacks=ended.lacks,
        blueprint=plan.agent is None,
    )
