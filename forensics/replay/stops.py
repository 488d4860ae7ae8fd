"""Why did a rerun end before its agent did? A code of the contract, what was asked, and what the record has nearest."""

from __future__ import annotations

from typing import Any

import msgspec

from forensics.core.sanitise import one_line
from forensics.errors import (
    CellFaultError,
    ForensicsError,
    InjectionMissError,
    PausedRunError,
    ReplayFault,
    ReplayTimeoutError,
    ResultMismatchError,
)
from forensics.replay.nearest import Near

_ERRORS: dict[str, type[ForensicsError]] = {
    kind.code: kind
    for kind in (CellFaultError, InjectionMissError, PausedRunError, ReplayTimeoutError, ResultMismatchError)
}

_INTERRUPTS = frozenset({"InterruptSignal", "GraphInterrupt", "NodeInterrupt", "Interrupt", "PauseAsked"})
"""Names of the exceptions by which frameworks pause a run for a person."""


class Stopped(msgspec.Struct, frozen=True, kw_only=True):
    """Why a rerun ended before its agent did: a code of the contract, a sentence, and of a miss the nearest recordings,
    each with the first place that differs (`row` is the recorded step). `asked` is what was asked.
    """

    code: str
    message: str
    asked: Any = None
    near: tuple[Near, ...] = ()
    step: int | None = None
    hint: str = ""

    def error(self) -> ForensicsError:
        """The error that a caller of the library can raise for it: by its code, else a ReplayFault with that code."""
        return _ERRORS.get(self.code, ReplayFault)(self.message, hint=self.hint, code=self.code)


def fault(message: str) -> Stopped:
    """The end of a rerun whose agent does not keep to its ports."""
    return Stopped(code="replay_fault", message=message)


def is_pause(raised: str) -> bool:
    """Whether an exception of that class is a framework's way to pause."""
    return raised in _INTERRUPTS


def paused(tool: str, said: Any) -> Stopped:
    """The end of a rerun in which something paused for a person."""
    who = one_line(tool, 60) if tool else "the agent"
    why = one_line(str(said), 100)
    return Stopped(
        code="run_paused",
        message=f"{who} paused for a person ({why}), and a rerun holds no pause: it has no checkpointer",
        hint=f"give the answer with --stub {tool or 'TOOL'}=JSON, or another function with --tool",
    )


def ran_on(said: str) -> Stopped:
    """The end of a rerun whose agent returned while its threads ran on."""
    return Stopped(
        code=ReplayTimeoutError.code,
        message=f"the agent returned, and {one_line(said, 400)}: what they would have called is not known",
        hint="let the agent wait for its threads; one that may be left behind is a daemon",
    )
