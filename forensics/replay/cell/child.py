"""What does the child do? It leaves everything behind that it inherited, limits itself, and calls the agent's code."""

from __future__ import annotations

import fcntl
import importlib
import os
import resource
import socket
import sys
import tempfile
import traceback
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

import msgspec

from forensics.replay.cell.channel import RAISED, Channel
from forensics.replay.cell.sources import load_from_source
from forensics.replay.cell.tripwire import set_tripwire
from forensics.replay.cell.wall.calls import program

if TYPE_CHECKING:
    from collections.abc import Callable

    from forensics.replay.cell.plan import CellPlan, Limits

EXIT_RAISED = 98
CHANNEL = 3  # the descriptor of the channel, after standard input, output and error
_SAYING = 4
READY = b"+"
_TEXT = 8000
_PATIENCE = 5.0


class Place(msgspec.Struct, frozen=True):
    """Where the child stands: whether behind the wall, the scratch folder that it has where it is not, and whether it
    then has a filter of system calls if that can be had.
    """

    behind_wall: bool
    scratch: str
    filtered: bool


def prepare(limits: Limits, place: Place, descriptors: tuple[int, int, int, int]) -> None:
    """Make this process safe to run anything in, and say so. Raises OSError or ValueError where that can't be.

    `descriptors` are those of the channel, standard output, standard error, and the pipe on which it is said.
    """
    _keep_only(descriptors)
    _limit(limits, behind_wall=place.behind_wall)
    if place.behind_wall:
        _give_up_rights(None)
    elif place.filtered and sys.platform == "linux":
        with suppress(OSError, KeyError):  # a net below the tripwire, where there is one
            _give_up_rights(place.scratch)
    os.write(_SAYING, READY)
    os.close(_SAYING)


def _give_up_rights(scratch: str | None) -> None:
    """Behind a wall for good, or this raises. Without one, whose `scratch` folder this is then, as far as it goes."""
    from forensics.replay.cell.wall.kernel import filter_calls, renounce, show_memory
    from forensics.replay.cell.wall.writes import keep_writes_in

    rules = program(os.uname().machine, os.getpid(), walled=scratch is None)
    renounce()
    show_memory()
    if scratch is not None:
        with suppress(OSError):  # before Linux 5.13, or where it was left out
            keep_writes_in(scratch)
    filter_calls(rules)


def not_ready(saying: int, error: BaseException) -> NoReturn:
    """Say why this process can't be made safe, and end it."""
    for number in (saying, _SAYING):  # where it is now, or was before everything was put in its place
        try:
            os.write(number, str(error).encode(errors="backslashreplace") or b"?")
        except OSError:
            continue
    os._exit(EXIT_RAISED)


def _keep_only(descriptors: tuple[int, int, int, int]) -> None:
    """Leave this process with nothing open but an empty input and these, the channel as 3 and the pipe as 4."""
    high = [fcntl.fcntl(number, fcntl.F_DUPFD, 64) for number in descriptors]
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number, place in zip(high, (CHANNEL, 1, 2, _SAYING), strict=True):
        os.dup2(number, place)
    os.closerange(_SAYING + 1, _highest() + 1)


def _highest() -> int:
    """The highest descriptor that may be open. A limit says nothing of what was opened before it was lowered."""
    try:
        return max(int(name) for name in os.listdir("/dev/fd"))
    except (OSError, ValueError):
        return resource.getrlimit(resource.RLIMIT_NOFILE)[1] % (1 << 20)


def _limit(limits: Limits, *, behind_wall: bool) -> None:
    """Take the limits that a process can set for itself; a child has no right to raise them again."""
    processes = {resource.RLIMIT_NPROC: limits.threads} if behind_wall else {}  # elsewhere it counts the user's others
    memory = {} if sys.platform == "darwin" else {resource.RLIMIT_AS: limits.memory}  # not to be had there
    table = {
        **processes,
        **memory,
        resource.RLIMIT_CPU: limits.cpu_seconds,
        resource.RLIMIT_FSIZE: limits.file,
        resource.RLIMIT_NOFILE: limits.open_files,
        resource.RLIMIT_CORE: 0,
    }
    for what, wanted in table.items():
        hard = resource.getrlimit(what)[1]
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        spare = 1 if what == resource.RLIMIT_CPU else 0  # SIGXCPU first, which says why; then SIGKILL
        resource.setrlimit(what, (most, most + spare if hard == resource.RLIM_INFINITY else most))


def run(plan: CellPlan, place: Place) -> NoReturn:
    """Call the target, and end this process without running anything else of it. Needs `prepare`."""
    channel = Channel(socket.socket(fileno=CHANNEL), plan.limits.message)
    try:
        os.environ.clear()
        os.chdir(plan.folder)
        sys.path[:0] = plan.paths
        load_from_source(plan.paths)
        sys.argv[:] = [plan.target]
        if not place.behind_wall:
            tempfile.tempdir = place.scratch
        if plan.tripwire:
            set_tripwire(channel, scratch=place.scratch, behind_wall=place.behind_wall)
        _target(plan.target)(channel, plan.argument)
    except BaseException:  # noqa: BLE001 - whatever the agent raised is told, and ends here
        _raised(channel)
    _flush()
    os._exit(0)


def _target(name: str) -> Callable[[Channel, bytes], object]:
    module, _, function = name.partition(":")
    found = importlib.import_module(module)
    for part in function.split("."):
        found = getattr(found, part)
    return found  # type: ignore[return-value]  # the user's function; a call of what is none raises, which is told


def _raised(channel: Channel) -> NoReturn:
    try:
        told = traceback.format_exc(limit=-20)[-_TEXT:]
        channel.report(RAISED, told.encode(errors="backslashreplace"), _PATIENCE)
        _flush()
    finally:
        os._exit(EXIT_RAISED)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            continue  # closed or replaced by the agent
