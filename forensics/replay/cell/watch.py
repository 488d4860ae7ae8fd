"""Who watches over the child? A process between it and the parent: it starts the child, keeps its output within bounds,
ends it when its time is over or the parent is gone, and tells how it ended.

It runs no code of the agent's, and the child inherits no descriptor of it but the channel.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import time
import traceback
from typing import TYPE_CHECKING, NoReturn

from forensics.replay.cell import child
from forensics.replay.cell.channel import Channel
from forensics.replay.cell.isolation import Ending, How, Level
from forensics.replay.cell.orders import LIMIT, Ended, Start, Started, packed, unpacked
from forensics.replay.cell.tripwire import EXIT_TRIPPED
from forensics.replay.cell.written import Written

if TYPE_CHECKING:
    from forensics.replay.cell.plan import Limits

_CHUNK, _LAST_OUTPUT = 1 << 16, 0.2
_HOW: dict[int, How] = {0: "returned", EXIT_TRIPPED: "tripped", child.EXIT_RAISED: "raised"}


def main(line: int, channel: int) -> NoReturn:
    """The watcher, from its two inherited descriptors to its end."""
    parent = Channel(socket.socket(fileno=line), LIMIT)
    order = parent.receive()
    if order is None:
        os._exit(1)
    os.environ.clear()
    try:
        ended = _watched(unpacked(order, Start), parent, line, channel)
    except Exception:  # noqa: BLE001 - the parent says so, with the traceback
        ended = Ended(Ending(how="lost", what=traceback.format_exc()))
    parent.send(packed(ended))
    os._exit(0)


def _watched(start: Start, parent: Channel, line: int, channel: int) -> Ended:
    if start.plan.wall:
        parent.send(packed(Started(None, ("this version builds no wall",))))
        os._exit(0)
    limits = start.plan.limits
    outputs, inputs = zip(os.pipe(), os.pipe(), strict=True)
    process = os.fork()
    if not process:
        _become(start, channel, *inputs)
    for number in (channel, *inputs):
        os.close(number)
    parent.send(packed(Started(Level.TRIPWIRE if start.plan.tripwire else Level.PROCESS)))
    ending = Watch(process, line, outputs, limits).until_the_end()
    changes = Written(limits)
    changes.add(start.scratch, "scratch", None)
    return Ended(ending, changes.listed(), changes.more)


def _become(start: Start, channel: int, output: int, error: int) -> NoReturn:
    try:
        os.setsid()
        child.keep_only(channel, output, error)
        child.limit(start.plan.limits)
    except BaseException:  # noqa: BLE001 - a child that could not be made safe runs nothing
        traceback.print_exc()
        os._exit(child.EXIT_RAISED)
    child.run(start.plan, child.Place(behind_wall=False, scratch=start.scratch, root=start.root))


class Watch:
    """Wait for one process, reading what it writes."""

    def __init__(self, process: int, line: int, outputs: tuple[int, ...], limits: Limits) -> None:
        self._process = process
        self._line = line
        self._kept = {number: bytearray() for number in outputs}
        self._limits = limits
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
            left = until - time.monotonic()
            ready = self._ready(max(left, 0.0))
            forced = "closed" if self._line in ready else "out_of_time" if left <= 0 else None
            if forced:
                os.kill(self._process, signal.SIGKILL)
            status = self._status(wait=forced is not None)
        self._end_the_rest()
        self._last_words()
        return self._ending(status, forced)

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
        kept += said[: self._limits.output - len(kept)]

    def _status(self, *, wait: bool) -> int | None:
        process, status = os.waitpid(self._process, 0 if wait else os.WNOHANG)
        return status if process else None

    def _end_the_rest(self) -> None:
        """End what the child left behind: its group and, on Linux, whatever of it came to us as orphans."""
        with contextlib.suppress(OSError):
            os.killpg(self._process, signal.SIGKILL)
        for orphan in _children():
            with contextlib.suppress(OSError):
                os.kill(orphan, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, 0)[0]:
                for orphan in _children():
                    with contextlib.suppress(OSError):
                        os.kill(orphan, signal.SIGKILL)

    def _last_words(self) -> None:
        until = time.monotonic() + _LAST_OUTPUT
        while self._ready(0.0) & self._kept.keys() and time.monotonic() < until:
            continue

    def _ending(self, status: int, forced: How | None) -> Ending:
        said = [bytes(kept).decode(errors="backslashreplace") for kept in self._kept.values()]
        code = os.waitstatus_to_exitcode(status)
        how: How = forced or ("killed" if code < 0 else _HOW.get(code, "exited"))
        return Ending(how=how, code=abs(code), stdout=said[0], stderr=said[1])


def _woken_by_children() -> int:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    return reading


def _children() -> list[int]:
    try:
        with open(f"/proc/self/task/{os.getpid()}/children") as listed:
            return [int(word) for word in listed.read().split()]
    except OSError:
        return []
