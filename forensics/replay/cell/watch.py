"""Who watches over the child? A process between it and the parent: it starts the child, keeps its output within bounds,
ends it when its time is over or the parent is gone, and tells how it ended and what it wrote.

It runs no code of the agent's, and the child shares no descriptor with it but its own outputs.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
import time
import traceback
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from forensics.replay.cell import child
from forensics.replay.cell.channel import Channel
from forensics.replay.cell.isolation import Ending, How, Level
from forensics.replay.cell.orders import LIMIT, Ended, Start, Started, packed, unpacked
from forensics.replay.cell.tripwire import EXIT_TRIPPED
from forensics.replay.cell.written import Layer, Written

if TYPE_CHECKING:
    from forensics.replay.cell.plan import Limits

_CHUNK, _LAST_OUTPUT, _LOOK = 1 << 16, 0.2, 0.1
_HOW: dict[int, How] = {0: "returned", EXIT_TRIPPED: "tripped", child.EXIT_RAISED: "raised"}


def main(line: int, channel: int) -> NoReturn:
    """The watcher, from its two inherited descriptors to its end."""
    parent = Channel(socket.socket(fileno=line), LIMIT)
    order = parent.receive()
    if order is None:
        os._exit(1)
    os.environ.clear()
    _adopt_orphans()
    start = unpacked(order, Start)
    try:
        shelter = _shelter(start)
        process, outputs = _started(start, shelter, (line, channel))
    except OSError as error:
        parent.send(packed(Started(None, (error.strerror or str(error),))))
        os._exit(0)
    parent.send(packed(Started(_level(start))))
    parent.send(packed(_watched(start, shelter, process, line, outputs)))
    os._exit(0)


class Shelter(NamedTuple):
    """Where the child runs: the folders that take its writes, and the root that it has to enter (None: it is there)."""

    layers: tuple[Layer, ...]
    root: str | None


def _shelter(start: Start) -> Shelter:
    """Make it. Raises OSError where it can't be made."""
    if start.way is None:
        return Shelter((Layer(start.scratch, "scratch", None),), None)
    from forensics.replay.cell.wall import bubblewrap, raising

    if start.way == "bubblewrap":
        return Shelter(bubblewrap.behind(start), None)
    root = raising.raise_wall(start, start.way)
    return Shelter(tuple(root.layers), root.path)


def _level(start: Start) -> Level:
    if start.way:
        return Level.WALL
    return Level.TRIPWIRE if start.plan.tripwire else Level.PROCESS


def _started(start: Start, shelter: Shelter, ours: tuple[int, int]) -> tuple[int, tuple[int, int]]:
    """Start the child; its process (behind a wall, the first one) and the ends from which its output is read.

    Raises OSError, with what the child said, where it could not be made safe before it ran anything.
    """
    line, channel = ours
    (output, out), (error, err), (reading, ready) = os.pipe(), os.pipe(), os.pipe()
    theirs = (channel, out, err, ready)
    process = os.fork()
    if not process:
        for number in (line, output, error, reading):
            os.close(number)
        _become(start, shelter.root, theirs)
    for number in theirs:
        os.close(number)
    with open(reading, "rb") as said:
        told = said.read()
    if told != child.READY:
        os.waitpid(process, 0)
        raise OSError(told.decode(errors="backslashreplace") or "the child ended before it was ready")
    return process, (output, error)


def _become(start: Start, root: str | None, descriptors: tuple[int, int, int, int]) -> NoReturn:
    place = child.Place(start.way is not None, start.scratch, start.plan.tripwire)

    def agent() -> NoReturn:
        try:
            os.setsid()
            child.prepare(start.plan.limits, place, descriptors)
        except BaseException as error:  # noqa: BLE001 - a child that could not be made safe runs nothing
            child.not_ready(descriptors[-1], error)
        child.run(start.plan, place)

    try:
        if root is None:
            agent()
        from forensics.replay.cell.wall.raising import first_process

        first_process(root, agent, descriptors)
    except BaseException as error:  # noqa: BLE001 - as above
        child.not_ready(descriptors[-1], error)


def _watched(start: Start, shelter: Shelter, process: int, line: int, outputs: tuple[int, int]) -> Ended:
    changes = Written(start.plan.limits)
    try:
        ending = Watch(process, line, outputs, start.plan.limits, first=shelter.root is not None).until_the_end()
        for layer in shelter.layers:
            changes.add(layer)
    except Exception:  # noqa: BLE001 - the parent says so, with the traceback
        return Ended(Ending(how="lost", what=traceback.format_exc()), changes.listed(), changes.more)
    return Ended(ending, changes.listed(), changes.more)


class Watch:
    """Wait for one process, reading what it writes; behind some walls that is the `first` one, whose child is meant."""

    def __init__(self, process: int, line: int, outputs: tuple[int, int], limits: Limits, *, first: bool) -> None:
        self._process = process
        self._line = line
        self._kept = {number: bytearray() for number in outputs}
        self._limits = limits
        self._first = first
        self._poll = select.poll()
        self._woken = _woken_by_children()
        for number in (line, self._woken, *outputs):
            self._poll.register(number, select.POLLIN)

    def until_the_end(self) -> Ending:
        """How the process ended, of itself or by us."""
        until = time.monotonic() + self._limits.seconds
        status: int | None = None
        forced: How | None = None
        while status is None:
            forced = self._reason_to_end(until)
            if forced:
                os.kill(self._process, signal.SIGKILL)
            status = self._status(wait=forced is not None)
        if not self._first:  # whose end ends all others of its namespace
            self._end_the_rest()
        self._last_words()
        return self._ending(status, forced)

    def _reason_to_end(self, until: float) -> How | None:
        """Wait until there is something to do; why the process has to end now, or None."""
        left = max(until - time.monotonic(), 0.0)
        ready = self._ready(min(left, _LOOK))
        if self._line in ready:
            return "closed"
        if time.monotonic() >= until:
            return "out_of_time"
        return "out_of_threads" if self._threads() > self._limits.threads else None

    def _ready(self, seconds: float) -> set[int]:
        ready = {number for number, _ in self._poll.poll(seconds * 1000)}
        for number in ready & self._kept.keys():
            self._keep(number)
        if self._woken in ready:
            os.read(self._woken, _CHUNK)
        return ready

    def _keep(self, number: int) -> None:
        said = os.read(number, _CHUNK)
        if not said:
            self._poll.unregister(number)
        kept = self._kept[number]
        kept += said[: max(self._limits.output - len(kept), 0)]

    def _threads(self) -> int:
        """The threads of the child. The kernel limits them by user, and for root not at all."""
        processes = _children(self._process) if self._first else [self._process]
        return max(map(_threads_of, processes), default=0)

    def _status(self, *, wait: bool) -> int | None:
        process, status = os.waitpid(self._process, 0 if wait else os.WNOHANG)
        return status if process else None

    def _end_the_rest(self) -> None:
        """End what the child left behind: its group, and on Linux what came to us as an orphan."""
        with suppress(OSError):
            os.killpg(self._process, signal.SIGKILL)
        with suppress(ChildProcessError):
            while True:
                for orphan in _children(os.getpid()):
                    with suppress(OSError):
                        os.kill(orphan, signal.SIGKILL)
                os.waitpid(-1, 0)

    def _last_words(self) -> None:
        until = time.monotonic() + _LAST_OUTPUT
        while self._ready(0.0) & self._kept.keys() and time.monotonic() < until:
            continue

    def _ending(self, status: int, forced: How | None) -> Ending:
        said = [bytes(kept).decode(errors="backslashreplace") for kept in self._kept.values()]
        code = os.waitstatus_to_exitcode(status)
        if self._first and code > 128:  # noqa: PLR2004 - as a first process tells of a signal
            code = 128 - code
        how: How = forced or ("killed" if code < 0 else _HOW.get(code, "exited"))
        return Ending(how=how, code=abs(code), stdout=said[0], stderr=said[1])


def _adopt_orphans() -> None:
    """Where there is no first process to end them all, what the child leaves behind comes to us."""
    if sys.platform == "linux":
        from forensics.replay.cell.wall.kernel import adopt_orphans

        adopt_orphans()


def _woken_by_children() -> int:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    return reading


def _children(process: int) -> list[int]:
    try:
        with open(f"/proc/{process}/task/{process}/children", encoding="ascii") as listed:
            return [int(word) for word in listed.read().split()]
    except OSError:
        return []


def _threads_of(process: int) -> int:
    try:
        with open(f"/proc/{process}/status", encoding="utf-8", errors="replace") as lines:
            return next(int(line.split()[1]) for line in lines if line.startswith("Threads:"))
    except (OSError, StopIteration):
        return 0
