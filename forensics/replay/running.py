"""Where does the agent of a rerun run, and how did it end? In a cell, spoken to over its one channel."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from forensics.errors import CellFaultError, ConfigurationError, StaleClearanceError
from forensics.replay import frames
from forensics.replay.blueprint_loop import GuardrailBlocked
from forensics.replay.cell import CellPlan, Ending, Isolation, open_cell
from forensics.replay.code import code_of
from forensics.replay.leftovers import StillRunning
from forensics.replay.plan import Code, Plan
from forensics.replay.session import Session
from forensics.replay.stops import Stopped, is_pause, paused, ran_on

if TYPE_CHECKING:
    from forensics.replay.cell import Cell

_AGENT = "forensics.replay.child_ports:run_agent"
_PATIENCE = 600.0  # seconds without a word of the agent
_TOLD = 500  # characters of what a child that failed says
_CODES = {"out_of_time": "replay_timeout", "tripped": "effect_captured"}


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """How an agent ended: what it returned, or how its own code failed (`broke`) and where (`broke_at`)."""

    output: Any = None
    broke: str | None = None
    broke_at: str = ""
    isolation: Isolation
    ending: Ending | None = None


Runner: TypeAlias = Callable[[Session, frames.Start, Plan], Ended]


class Talk:
    """The conversation of a session with its agent, message by message."""

    def __init__(self, session: Session) -> None:
        self.output: Any = None
        self.broke: str | None = None
        self.broke_at = ""
        self.over = False
        self._session = session

    def take(self, data: bytes) -> bytes | None:
        """The reply to one message; None for one that waits for none. Raises CellFaultError for what is no message."""
        try:
            said = frames.decode_from_child(data)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            raise CellFaultError("what came out of the cell is no message of an agent's ports") from None
        reply = self._session.reply(said)
        if reply is not None:
            return frames.encode(reply)
        self._end(said)
        return None

    def _end(self, said: frames.FromChild) -> None:
        self.over = True
        if isinstance(said, frames.Finished):
            self._session.finish()
            self.output = said.output
        elif isinstance(said, frames.Broke) and self._session.stopped is None:
            if is_pause(said.raised):
                self._session.course.stop(paused("", said.said))
                return
            if said.raised == StillRunning.__name__:
                self._session.course.stop(ran_on(said.said))
                return
            self._session.finish(blocked=said.raised == GuardrailBlocked.__name__)
            self.broke, self.broke_at = f"{said.raised}: {said.said}", said.at


def in_cell(session: Session, start: frames.Start, plan: Plan) -> Ended:
    """Run the agent in a cell. Raises IsolationUnavailableError where the plan runs a tool and there is no wall, and
    StaleClearanceError where the code that was planned is not what lies there now.
    """
    check_code(plan)
    talk = Talk(session)
    asked = CellPlan(target=_AGENT, paths=plan.paths, argument=frames.encode(start), executes=plan.executes)
    with open_cell(asked) as cell:
        try:
            _converse(talk, cell)
        except CellFaultError as fault:
            session.course.stop(Stopped(code=fault.code, message=fault.message))
        ending = cell.end()
    isolation = cell.isolation()
    if not talk.over and session.stopped is None:
        session.course.stop(_cut_off(ending, isolation))
    return Ended(output=talk.output, broke=talk.broke, broke_at=talk.broke_at, isolation=isolation, ending=ending)


def check_code(plan: Plan) -> None:
    """Raise StaleClearanceError unless every module of the user's that the plan names, and each that these import, is,
    byte for byte, as planned.
    """
    for code in plan.code:
        try:
            now = code_of(code.target, plan.paths)
        except ConfigurationError as gone:
            raise StaleClearanceError(gone.message, hint=gone.hint) from None
        if now != code:
            message = f"the source of {_changed(code, now)} changed between clearing and running"
            raise StaleClearanceError(message, hint="plan it again with what is there now")


def _changed(planned: Code, now: Code) -> str:
    """The target, or the modules that it imports."""
    if planned.source_sha256 != now.source_sha256:
        return planned.target
    others = sorted({one.module for one in {*planned.imports} ^ {*now.imports}})
    return f"{', '.join(others)}, which {planned.target} imports,"


def _converse(talk: Talk, cell: Cell) -> None:
    while not talk.over and (data := cell.channel.receive(_PATIENCE)) is not None:
        reply = talk.take(data)
        if reply is not None:
            cell.channel.send(reply)


def _cut_off(ending: Ending, isolation: Isolation) -> Stopped:
    """The end of an agent that did not answer any more."""
    what = next((f"{one.event}({one.what}), of the kind {one.kind}" for one in isolation.denied), "")
    message = f"the agent ended before it answered ({ending.how}{': ' if what else ''}{what})"
    if ending.how == "tripped" and what:
        message = f"the first act outside the cell was denied, and ended the agent: {what}"
    return Stopped(code=_CODES.get(ending.how, "replay_fault"), message=message, hint=ending.what[-_TOLD:])
