"""What does a cleared run do when it is run again? The rerun: an agent in its cell, and the session that answers it.

`replay` takes a clearance and a plan. There is no way to it with a trace alone: what was checked is what runs.
"""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from forensics.analysis.run import TraceAnalysis
from forensics.core.jsonvalue import written
from forensics.core.reading import Reading
from forensics.core.sanitise import one_line
from forensics.core.trace import StepKind, Trace
from forensics.core.verdict import Clearance
from forensics.errors import ConfigurationError, StaleClearanceError
from forensics.replay import frames
from forensics.replay.blueprint import rebuild
from forensics.replay.cell import Ending, Isolation
from forensics.replay.fork import ForkedAnswers, fork_turn
from forensics.replay.log import Called, Disposition, Entry, Turned
from forensics.replay.plan import Mode, Plan
from forensics.replay.ports import Answerer
from forensics.replay.record_enough import check_record
from forensics.replay.recorded_answers import RecordedAnswers
from forensics.replay.retold import retold
from forensics.replay.running import Ended, Runner, in_cell
from forensics.replay.script import Script, script_of
from forensics.replay.session import Session
from forensics.replay.setting import Present, Setting
from forensics.replay.stops import Stopped
from forensics.rules.engine import RuleSet

_WHAT = ("evidence", "rules", "policy", "plan")


class World(msgspec.Struct, frozen=True, kw_only=True):
    """What a rerun rests on, as it is now: the analysed run, the rules, and the digests of evidence, rules and policy,
    computed again just before it starts. `may_execute` are the recorded calls that the policy lets run, `answerer` what
    answers the model where the plan asks one, `present` is a port of tests only, and `runner` says where the agent runs
    (tests of the gate run it in this process).
    """

    analysis: TraceAnalysis
    rules: RuleSet
    digests: tuple[str, str, str]
    may_execute: frozenset[int] = frozenset()
    answerer: Answerer | None = None
    present: Present | None = None
    runner: Runner = in_cell


class Rerun(msgspec.Struct, frozen=True, kw_only=True):
    """What happened in a rerun. `stopped` says why it ended before its agent did, `broke` how the agent's own code
    failed, and `broke_at` where; `reading` is the rerun told as a trace, `lacks` what the blueprint does without.
    """

    clearance: Clearance
    plan: Plan
    id: str
    log: tuple[Entry, ...]
    stopped: Stopped | None
    broke: str | None
    broke_at: str
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
    """An agent that is ready to start: with what, and how the session sees it."""

    start: frames.Start
    setting: Setting
    lacks: tuple[str, ...] = ()


def replay(clearance: Clearance, plan: Plan, world: World) -> Rerun:
    """Rerun a cleared run.

    Raises StaleClearanceError where evidence, rules, policy or plan are not what was cleared, MissingModelOutputError
    and IncompleteBlueprintError where the trace does not hold what the plan needs, and IsolationUnavailableError where
    the plan runs a tool and there is no wall.
    """
    check_fresh(clearance, plan, world.digests)
    check_trace(clearance, world.analysis.trace)
    script = script_of(world.analysis.trace)
    check_record(world.analysis.trace, script, plan)
    forks_at = fork_turn(plan, world.analysis.trace, script)
    ready = _prepare(world, script, plan, forks_at)
    answers = RecordedAnswers(script, plan.modifications, forks_at)
    session = Session(ready.setting, _answerer(plan, world, answers, forks_at), answers)
    ended = world.runner(session, ready.start, plan)
    return _told(clearance, world, session, ended, _Walked(plan, script, answers, ready.lacks))


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


def check_trace(clearance: Clearance, trace: Trace) -> None:
    """Raise StaleClearanceError for another trace than the cleared one: an evidence may hold many."""
    if (clearance.trace, clearance.digests[0]) != (trace.id, trace.evidence_sha256):
        message = f"the clearance is for the trace {one_line(clearance.trace, 80)}, not for {one_line(trace.id, 80)}"
        raise StaleClearanceError(message, hint="clear the trace that is to be rerun")


def _answerer(plan: Plan, world: World, recorded: RecordedAnswers, forks_at: int) -> Answerer:
    if plan.mode is Mode.RECORDED:
        return recorded
    if world.answerer is None:
        raise ConfigurationError("the plan asks a model, and nothing says where", hint="name an endpoint")
    return ForkedAnswers(recorded, world.answerer, forks_at) if forks_at else world.answerer


def _prepare(world: World, script: Script, plan: Plan, forks_at: int) -> _Prepared:
    analysis = world.analysis
    if plan.agent is not None:
        inputs = [one.value for turn in script.turns for one in turn.shown if one.kind is StepKind.USER]
        wanted = plan.modifications
        ready = frames.Start(
            plan.agent.target, None, inputs[0] if inputs else None, wanted.prompt, dict(wanted.settings), plan.paths
        )
        lane = script.turns[0].lane if script.turns else ""
        setting = _setting(world, plan, later=tuple(inputs[1:]), lane=lane, fork_turn=forks_at)
        return _Prepared(start=_changed(ready, plan), setting=setting)
    rebuilt = rebuild(analysis.trace, script, plan, forks_at)
    start = _changed(frames.Start(None, rebuilt.blueprint, rebuilt.input), plan)
    setting = _setting(
        world,
        plan,
        guards=rebuilt.guards,
        later=rebuilt.later,
        lane=rebuilt.blueprint.agent,
        script=script,
        fork_turn=forks_at,
    )
    return _Prepared(start=start, setting=setting, lacks=rebuilt.lacks)


def _setting(world: World, plan: Plan, **of_the_agent: Any) -> Setting:
    return Setting(
        analysis=world.analysis,
        rules=world.rules,
        plan=plan,
        may_execute=world.may_execute,
        present=world.present,
        **of_the_agent,
    )


def _changed(start: frames.Start, plan: Plan) -> frames.Start:
    """The start with the input that the plan gives in place of the recorded one."""
    given = plan.modifications.input
    return start if given is None else msgspec.structs.replace(start, input=given)


class _Walked(msgspec.Struct, frozen=True):
    """What a rerun went along: its plan, the recorded script, and the recorded answers that are left."""

    plan: Plan
    script: Script
    answers: RecordedAnswers
    lacks: tuple[str, ...]


def _id_of(clearance: Clearance, session: Session) -> str:
    """The id of a rerun: a digest of what was cleared and of what happened, so that two reruns that ask a model are
    two, and a rerun from the record is the same one every time.
    """
    digest = hashlib.sha256(":".join((*clearance.digests, clearance.trace)).encode())
    digest.update(written(session.log))
    return digest.hexdigest()[:32]


def _told(clearance: Clearance, world: World, session: Session, ended: Ended, along: _Walked) -> Rerun:
    plan, recorded = along.plan, world.analysis.trace
    rerun_id = _id_of(clearance, session)
    output = ended.output if session.stopped is None else None
    used = {one.row for one in session.log if isinstance(one, Called) and one.row is not None}
    return Rerun(
        clearance=clearance,
        plan=plan,
        id=rerun_id,
        log=tuple(session.log),
        stopped=session.stopped,
        broke=ended.broke,
        broke_at=ended.broke_at,
        output=output,
        reading=retold(recorded, along.script, session.log, output, rerun_id, stopped=session.stopped is not None),
        isolation=ended.isolation,
        ending=ended.ending,
        unused_calls=tuple(row for row in session.tools.rows if row not in used),
        unused_turns=tuple(turn.step for turn in along.answers.left) if plan.mode is Mode.RECORDED else (),
        without_effect=dict(along.answers.without_effect),
        handles=tuple((one.left, one.right) for one in session.course.renaming.renamed),
        lacks=along.lacks,
        blueprint=plan.agent is None,
    )
