"""How is a cell opened, used and closed? The parent's side.

A conversation, and what came of it:

    with open_cell(CellPlan(target="package.module:function", argument=b"…")) as cell:
        cell.channel.send(b"…")
        answer = cell.channel.receive(timeout=5.0)
    cell.isolation()
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Self

import msgspec

from forensics.errors import CellFaultError, IsolationUnavailableError
from forensics.replay.cell.channel import RAISED, TRIPPED
from forensics.replay.cell.isolation import Denied, Ending, Isolation, Level, Way
from forensics.replay.cell.watcher import Watcher

if TYPE_CHECKING:
    from types import TracebackType

    from forensics.replay.cell.orders import Ended
    from forensics.replay.cell.plan import CellPlan

_GRACE = 2.0
WAYS: tuple[Way, ...] = ("root", "user", "bubblewrap")


class Cell:
    """A child that runs. Leave it with `with`; `end` and `isolation` answer also after that."""

    def __init__(self, watcher: Watcher, level: Level, way: Way | None, missing: tuple[str, ...]) -> None:
        self._watcher = watcher
        self._way = way
        self._missing = () if level == Level.WALL else missing
        self._ended: Ended | None = None
        self.channel = watcher.channel
        self.level = level

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end(grace=0.0 if kind else _GRACE)

    def end(self, grace: float = _GRACE) -> Ending:
        """How the child ended. One that still runs after `grace` seconds is ended now."""
        if self._ended is None:
            self.channel.finish()
            self._ended = self._watcher.ended(grace)
            self._read_reports()
        ending = self._ended.ending
        raised = [body.decode(errors="backslashreplace") for kind, body in self.channel.reports if kind == RAISED]
        return msgspec.structs.replace(ending, what=raised[0]) if raised and ending.how == "raised" else ending

    def isolation(self) -> Isolation:
        """The level reached, what was denied and what was captured. Ends the child if it still runs."""
        self.end()
        assert self._ended is not None  # noqa: S101 - `end` has set it
        return Isolation(
            level=self.level,
            denied=tuple(_denied(self.channel.reports)),
            captured=self._ended.captured,
            more=self._ended.more,
            missing=self._missing,
            way=self._way,
        )

    def _read_reports(self) -> None:
        try:
            self.channel.drain()
        except CellFaultError:
            pass  # garbage behind the last message that was read says nothing
        finally:
            self.channel.close()


def _denied(reports: list[tuple[int, bytes]]) -> list[Denied]:
    denied = []
    for kind, body in reports:
        if kind != TRIPPED:
            continue
        try:
            denied.append(msgspec.json.decode(body, type=Denied))
        except msgspec.MsgspecError:
            continue  # made up by the agent
    return denied


def open_cell(plan: CellPlan) -> Cell:
    """Start the child of a plan, at the highest level that this machine allows.

    Raises IsolationUnavailableError where it can be started at none, or the plan executes something and there is no
    wall.
    """
    if not hasattr(os, "fork") or not sys.executable:
        raise IsolationUnavailableError("there is no cell on this system: it needs fork and an interpreter of its own")
    missing: list[str] = []
    for way in ways(plan):
        try:
            opened = start_cell(plan, way, tuple(missing))
        except OSError as error:
            missing.append(f"{way or 'process'}: {error.strerror or error}")
            continue
        if opened.level == Level.WALL or not plan.executes:
            return opened
        opened.end(grace=0.0)
    raise _unavailable(missing)


def start_cell(plan: CellPlan, way: Way | None, missing: tuple[str, ...] = ()) -> Cell:
    """Start the child in one way; None is the way without a wall. Raises OSError, which says why it can't be done."""
    watcher = Watcher(_absolute(plan), way)
    started = watcher.started()
    if started.level is None:
        watcher.abandon()
        raise OSError("; ".join(started.missing))
    return Cell(watcher, started.level, way, missing)


def ways(plan: CellPlan) -> tuple[Way | None, ...]:
    """The ways to start the child of a plan, the one to be tried first first; None is the way without a wall."""
    walls = WAYS if plan.wall and sys.platform == "linux" else ()
    return tuple(way for way in walls if way != "root" or not os.geteuid()) + (() if plan.executes else (None,))


def _absolute(plan: CellPlan) -> CellPlan:
    paths = tuple(os.path.abspath(path) for path in plan.paths)
    return msgspec.structs.replace(plan, paths=paths, folder=os.path.abspath(plan.folder))


def _unavailable(missing: list[str]) -> IsolationUnavailableError:
    why = "; ".join(missing) or "there is no wall on this system, or none was asked for"
    return IsolationUnavailableError(
        f"this machine can't isolate a rerun that executes something: {why}",
        hint="`forensics doctor` says what is missing. A rerun that only injects what is recorded needs no wall.",
    )
