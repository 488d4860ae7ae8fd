"""Does what an agent began still go on once it has returned? Its threads, waited for as Python waits for them at the
end of a process: what they call belongs to the run as well.

Daemons are not waited for, and functions for the end of the process (`atexit`) are not called: both are left behind.
"""

from __future__ import annotations

import sys
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

PATIENCE = 10.0  # seconds
_POOLS = "concurrent.futures.thread"
_NAMED, _LONGEST = 5, 60


class StillRunning(Exception):  # noqa: N818 - how the run goes on, not what is wrong with it
    """Threads of an agent run on though it has returned. The message names them."""


def wait_for_threads(before: Collection[threading.Thread], patience: float = PATIENCE) -> None:
    """Wait for every thread that was not there `before`. Raises StillRunning where one outlasts the patience."""
    until = time.monotonic() + patience
    _dismiss_idle_workers()
    while (running := _running(before)) and time.monotonic() < until:
        running[0].join(until - time.monotonic())
    if running:
        names = ", ".join(thread.name[:_LONGEST] for thread in running[:_NAMED])
        more = ", …" if len(running) > _NAMED else ""
        raise StillRunning(f"{len(running)} of its threads ({names}{more}) still ran {patience:g} s after it returned")


def _running(before: Collection[threading.Thread]) -> list[threading.Thread]:
    return [one for one in threading.enumerate() if not one.daemon and one not in before]


def _dismiss_idle_workers() -> None:
    """Let the workers of thread pools that nobody has shut down end after what they still have to do. Python does the
    same before it waits; where it should do so by another name, idle workers count as threads that run.
    """
    dismiss = getattr(sys.modules.get(_POOLS), "_python_exit", None)
    if callable(dismiss):
        threading.Thread(target=dismiss, daemon=True).start()  # it waits for them, without an end
