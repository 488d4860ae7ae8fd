"""How is a child started, and what watches over it? The parent's line to the watcher, a process of its own."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import forensics
from forensics.replay.cell.channel import Channel
from forensics.replay.cell.isolation import Ending, Way
from forensics.replay.cell.orders import LIMIT, Ended, Start, Started, packed, unpacked
from forensics.replay.cell.wall import bubblewrap
from forensics.replay.cell.wall.layout import layout, needed

if TYPE_CHECKING:
    from forensics.replay.cell.plan import CellPlan

_ROOT = str(Path(forensics.__file__).resolve().parents[1])
_STARTING, _ENDING = 30.0, 30.0
_PYTHON = ("-s", "-P", "-B", "-X", "utf8")  # with our own environment, as isolated as -I, which lets no seed be set
_ENVIRONMENT = {"PYTHONHASHSEED": "0"}  # sets of texts have one order in every rerun
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


class Watcher:
    """The process that watches over the child, and the line to it."""

    def __init__(self, plan: CellPlan, way: Way | None) -> None:
        """Start it. Raises OSError where that can't be."""
        self._said: str | None = None
        self._scratch = os.path.realpath(tempfile.mkdtemp(prefix="forensics-cell-"))
        start = _start(plan, way, self._scratch)
        ours, theirs = socket.socketpair()
        channel, far = socket.socketpair()
        self._line = Channel(ours, LIMIT)
        self.channel = Channel(channel, plan.limits.message)
        with theirs, far:
            try:
                self._process = _process(start, theirs.fileno(), far.fileno())
            except OSError:
                os.rmdir(self._scratch)
                ours.close()
                channel.close()
                raise
        self._line.send(packed(start))

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
        self._line.finish()

    def _gone(self) -> str:
        """Wait for the end of the process; the last line of what it said, which is nothing unless it broke."""
        if self._said is None:
            self._line.close()
            said = self._last_words()
            shutil.rmtree(self._scratch, ignore_errors=True)
            self._said = said.decode(errors="backslashreplace").strip().rpartition("\n")[2]
        return self._said

    def _last_words(self) -> bytes:
        try:
            return self._process.communicate(timeout=_ENDING)[1]
        except subprocess.TimeoutExpired:
            self._process.send_signal(signal.SIGKILL)
            return self._process.communicate()[1]


def _start(plan: CellPlan, way: Way | None, scratch: str) -> Start:
    needs = needed((_ROOT, *plan.paths, plan.folder))
    home = os.path.realpath(os.path.expanduser("~"))
    if way is None:
        return Start(plan, scratch, None)
    if way == "bubblewrap":
        return Start(plan, scratch, way, bubblewrap.places(home, needs), bubblewrap.spaces())
    return Start(plan, scratch, way, layout(home, needs))


def _process(start: Start, line: int, channel: int) -> subprocess.Popen[bytes]:
    before = bubblewrap.command(start.seen, start.plan.limits.storage) if start.way == "bubblewrap" else []
    places = [place for place in sys.path if os.path.isabs(place)]  # what we can import, the child can
    return subprocess.Popen(  # noqa: S603 - our own interpreter with our own text
        [*before, sys.executable, *_PYTHON, "-c", _BOOT, _ROOT, str(line), str(channel), *places],
        env=_ENVIRONMENT,
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        pass_fds=(line, channel),
    )
