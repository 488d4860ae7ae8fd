"""Does an agent keep to its ports, so that it can be rerun? A contract suite for agents of one's own.

    from forensics.testing import check_agent

    def test_my_agent() -> None:
        assert check_agent(my_agent, "trace.json") == ()

The agent runs in this process, without a cell: the suite is for code that you trust.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from forensics.api import Options
from forensics.api_replay import Prepared, prepare
from forensics.compare.comparison import Result
from forensics.core.jsonvalue import written
from forensics.errors import NonReplayableTraceError
from forensics.replay.cell import Isolation, Level
from forensics.replay.child_ports import run_function
from forensics.replay.inline import DirectWire, here
from forensics.replay.plan import Code, Plan
from forensics.replay.running import Ended, Talk
from forensics.replay.stops import Stopped

if TYPE_CHECKING:
    from forensics.formats.places import Where
    from forensics.replay import frames
    from forensics.replay.ports import Agent
    from forensics.replay.session import Session

_CODE = Code("checked:agent", "0" * 64)
_PLACES = 5  # messages of the agent at which it is stopped


class AgentBreach(msgspec.Struct, frozen=True):
    """A promise that an agent did not keep: which, and what it did."""

    promise: str
    what: str


AgentPromise: TypeAlias = Callable[["Agent", Prepared], Iterator[AgentBreach]]


def check_agent(agent: Agent, evidence: Where, options: Options | None = None) -> tuple[AgentBreach, ...]:
    """Every promise that the agent does not keep when the run in this evidence is rerun with it; () where it keeps all.

    Raises NonReplayableTraceError where the run is not cleared (default: under the policy inject).
    """
    prepared = prepare(evidence, options or Options(policy="inject"), Plan(agent=_CODE))
    if prepared.clearance is None:
        raise NonReplayableTraceError("the run may not be rerun", prepared.analysis.verdict)
    return tuple(breach for promise in AGENT_PROMISES for breach in promise(agent, prepared))


def reproduces(agent: Agent, prepared: Prepared) -> Iterator[AgentBreach]:
    """Given what was recorded, it does what was recorded."""
    replayed = prepared.run(runner=here(agent))
    done, compared = replayed.rerun, replayed.comparison
    if done is None or compared is None:
        refusal = replayed.refusal
        yield AgentBreach("reproduces", "refused: " + "; ".join(r.message for r in refusal.reasons) if refusal else "")
    elif done.stopped is not None:
        yield AgentBreach("reproduces", done.stopped.message)
    elif done.broke is not None:
        yield AgentBreach("reproduces", f"it raised {done.broke}{f' ({done.broke_at})' if done.broke_at else ''}")
    elif compared.result in {Result.DIVERGED, Result.NOT_COMPARABLE}:
        first = compared.first
        where = "" if first is None else f" at step {first.index}: {first.what}"
        yield AgentBreach("reproduces", f"{compared.result.value}{where}")


def repeats(agent: Agent, prepared: Prepared) -> Iterator[AgentBreach]:
    """Two reruns ask for the same, in the same order: nothing comes from a clock, chance or a state of its own."""
    logs = [_log(agent, prepared) for _ in range(2)]
    if logs[0] != logs[1]:
        yield AgentBreach(
            "repeats", "a second rerun asked for something else: take times, ids and chance from the ports"
        )


def stops(agent: Agent, prepared: Prepared) -> Iterator[AgentBreach]:
    """Where the rerun ends, it ends: it does not return as if all were well."""
    for place in range(_PLACES):
        stopper = _Stopper(place)
        prepared.run(runner=stopper.runner(agent))
        if not stopper.reached:
            return
        if stopper.finished:
            yield AgentBreach("stops", f"it returned an output though the rerun had ended at its message {place}")


AGENT_PROMISES: tuple[AgentPromise, ...] = (reproduces, repeats, stops)


def _log(agent: Agent, prepared: Prepared) -> bytes:
    done = prepared.run(runner=here(agent)).rerun
    return b"" if done is None else written(done.log)


class _Stopper:
    """Ends a rerun at one message of the agent, and looks at what it does then."""

    def __init__(self, place: int) -> None:
        self.place = place
        self.said = 0
        self.reached = self.finished = False

    def runner(self, agent: Agent) -> Callable[[Session, frames.Start, Plan], Ended]:
        """The runner that does it."""

        def run(session: Session, start: frames.Start, _plan: Plan) -> Ended:
            talk = _Watched(session, self)
            run_function(DirectWire(talk), agent, start)
            return Ended(isolation=Isolation(level=Level.NONE))

        return run


class _Watched(Talk):
    def __init__(self, session: Session, stopper: _Stopper) -> None:
        super().__init__(session)
        self._stopper = stopper

    def take(self, data: bytes) -> bytes | None:
        stopper = self._stopper
        if stopper.said == stopper.place and b'"type":"finished"' not in data:
            stopper.reached = True
            self._session.course.stop(Stopped(code="replay_fault", message="ended by the contract suite"))
        stopper.said += 1
        return super().take(data)

    def _end(self, said: Any) -> None:
        super()._end(said)
        self._stopper.finished = self._stopper.reached and not hasattr(said, "raised")
