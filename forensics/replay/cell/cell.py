"""How is a cell opened, used and closed? The parent's side.

with open_cell(CellPlan(target="package.module:function", argument=b"…")) as cell:
    cell.channel.send(b"…")
    answer = cell.channel.receive(timeout=5.0)
cell.isolation()
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Self

import msgspec

import forensics
from forensics.errors import CellFaultError, IsolationUnavailableError
from forensics.replay.cell.channel import RAISED, TRIPPED, Channel
from forensics.replay.cell.isolation import Denied, Ending, Isolation, Level
from forensics.replay.cell.orders import LIMIT, Ended, Start, Started, packed, unpacked

if TYPE_CHECKING:
    from types import TracebackType

    from forensics.replay.cell.plan import CellPlan
    from forensics.replay.cell.wall.raising import Way

_STARTING, _ENDING, _GRACE = 30.0, 30.0, 2.0
_BOOT = """
import sys
root, line, channel, *places = sys.argv[1:]
sys.path.insert(0, root)
import forensics
del sys.path[0]
sys.path.extend(place for place in (*places, root) if place not in sys.path)
from forensics.replay.cell.watch import main
main(int(line), int(channel))
"""


class Cell:
    """A child that runs. Leave it with `with`; `end` and `isolation` answer also after that."""

    def __init__(self, watcher: Watcher, channel: Channel, level: Level, missing: tuple[str, ...]) -> None:
        self._watcher = watcher
        self._missing = missing
        self._ended: Ended | None = None
        self.channel = channel
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


class Watcher:
    """The process that watches over the child, and the line to it."""

    def __init__(self, plan: CellPlan, way: Way | None) -> None:
        self._scratch = tempfile.mkdtemp(prefix="forensics-cell-")
        ours, theirs = socket.socketpair()
        channel, far = socket.socketpair()
        self._line = Channel(ours, LIMIT)
        self._socket = ours
        self.channel = Channel(channel, plan.limits.message)
        with theirs, far:
            self._process = _watching(theirs.fileno(), far.fileno())
        root = str(Path(forensics.__file__).resolve().parents[1])
        home = os.path.realpath(Path("~").expanduser())
        self._line.send(packed(Start(plan, root, os.path.realpath(self._scratch), home, way)))

    def started(self) -> Started:
        """The level that was reached. The watcher is gone where it is None."""
        told = self._line.receive(_STARTING)
        if told is None:
            self._hang_up()
            said = self._gone()
            return Started(None, (f"the process that watches over the cell did not start: {said}",))
        return unpacked(told, Started)

    def ended(self, grace: float) -> Ended:
        """How the child ended, by itself within `grace` seconds or now."""
        told = self._line.receive(grace)
        if told is None:
            self._hang_up()
            told = self._line.receive(_ENDING)
        self._gone()
        return unpacked(told, Ended) if told else Ended(Ending(how="lost"))

    def abandon(self) -> None:
        """End everything, without a question."""
        self._hang_up()
        self._line.receive(_ENDING)
        self.channel.close()
        self._gone()

    def _hang_up(self) -> None:
        try:
            self._socket.shutdown(socket.SHUT_WR)
        except OSError:
            return  # it has gone already

    def _gone(self) -> str:
        """Wait for the end of the process; the last line of what it said, which is nothing unless it broke."""
        self._line.close()
        try:
            said = self._process.communicate(timeout=_ENDING)[1]
        except subprocess.TimeoutExpired:
            self._process.send_signal(signal.SIGKILL)
            said = self._process.communicate()[1]
        shutil.rmtree(self._scratch, ignore_errors=True)
        return said.decode(errors="backslashreplace").strip().rpartition("\n")[2]


def _watching(line: int, channel: int) -> subprocess.Popen[bytes]:
    root = str(Path(forensics.__file__).resolve().parents[1])
    places = [place for place in sys.path if os.path.isabs(place)]  # what we can import, the child can
    return subprocess.Popen(  # noqa: S603 - our own interpreter with our own text
        [sys.executable, "-I", "-B", "-X", "utf8", "-c", _BOOT, root, str(line), str(channel), *places],
        env={},
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        pass_fds=(line, channel),
    )


def open_cell(plan: CellPlan) -> Cell:
    """Start the child of a plan, at the highest level that this machine allows.

    Raises IsolationUnavailableError where it can be started at none, or the plan executes something and there is no
    wall.
    """
    if not hasattr(os, "fork") or not sys.executable:
        raise IsolationUnavailableError("there is no cell on this system: it needs fork and an interpreter of its own")
    missing: list[str] = []
    for way in ways(plan):
        watcher = Watcher(_absolute(plan), way)
        started = watcher.started()
        if started.level is not None and not (plan.executes and started.level != Level.WALL):
            return Cell(watcher, watcher.channel, started.level, tuple(missing))
        watcher.abandon()
        missing.extend(started.missing)
    raise _unavailable(missing)


def ways(plan: CellPlan) -> tuple[Way | None, ...]:
    """The ways to start the child of a plan, the one to be tried first first; None is the way without a wall."""
    walls: tuple[Way, ...] = () if not plan.wall or sys.platform != "linux" else ("root", "user")
    if os.geteuid():
        walls = walls[1:]
    return walls if plan.executes else (*walls, None)


def _absolute(plan: CellPlan) -> CellPlan:
    paths = tuple(os.path.abspath(path) for path in plan.paths)
    return msgspec.structs.replace(plan, paths=paths, folder=os.path.abspath(plan.folder))


def _unavailable(missing: list[str]) -> IsolationUnavailableError:
    why = "; ".join(missing) or "there is no wall on this system, or none was asked for"
    return IsolationUnavailableError(
        f"this machine can't isolate a rerun that executes something: {why}",
        hint="`forensics doctor` says what is missing. A rerun that only injects what is recorded needs no wall.",
    )
