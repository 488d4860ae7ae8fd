"""How is a wall raised around a child? Namespaces first, then the disk; a first process of its own keeps the child in.

Two ways lead there. `root` makes the namespaces with the right to do so; `user` makes a user namespace first, in which
anybody has that right. Either way the child ends with no capability, and with a filter before its system calls.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

from forensics.replay.cell.wall import kernel
from forensics.replay.cell.wall.calls import knows
from forensics.replay.cell.wall.root import Root

if TYPE_CHECKING:
    from collections.abc import Callable

    from forensics.replay.cell.isolation import Way
    from forensics.replay.cell.orders import Start

_SPACES = kernel.NEWNS | kernel.NEWUTS | kernel.NEWIPC | kernel.NEWPID | kernel.NEWNET | kernel.NEWCGROUP
_PROC = kernel.NOSUID | kernel.NODEV | kernel.NOEXEC | kernel.RDONLY


def raise_wall(start: Start, way: Way) -> Root:
    """Put this process and its children to come into new namespaces, and make the child's disk.

    Raises OSError where the kernel does not permit it, and this process is then of no further use.
    """
    machine = os.uname().machine
    if not knows(machine):
        raise OSError(f"there is no filter of system calls for {machine}")
    _enter(way)
    kernel.mount("none", "/", None, kernel.REC | kernel.PRIVATE)
    kernel.name_host(b"cell")
    kernel.raise_loopback()
    root = Root(start.scratch, start.plan.limits.storage, user_namespace=_in_user_namespace())
    root.build(start.seen)
    return root


def _enter(way: Way) -> None:
    if way == "root":
        kernel.unshare(_SPACES)
        return
    user, group = os.geteuid(), os.getegid()
    kernel.unshare(_SPACES | kernel.NEWUSER)
    with suppress(OSError):  # before Linux 3.19 there is no such file
        _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{user} {user} 1")
    _write("/proc/self/gid_map", f"{group} {group} 1")


def _in_user_namespace() -> bool:
    """Whether users have other numbers here than on the machine, and the kernel grants fewer rights."""
    with open("/proc/self/uid_map", encoding="ascii") as file:
        return file.read().split() != ["0", "0", "4294967295"]


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def first_process(root: str, child: Callable[[], NoReturn], descriptors: tuple[int, ...]) -> NoReturn:
    """Be the first process of the new namespace: enter the child's disk, start the child, and end when it does.

    Its end ends everything else in the namespace. It holds none of `descriptors`, no memory that can be read, and no
    right. A signal that ended the child is told as 128 and its number.
    """
    kernel.unshare(kernel.NEWNS)  # so that the watcher keeps the host's disk
    with suppress(OSError):  # where parts of /proc are hidden from us, as in containers, there is none
        kernel.mount("proc", f"{root}/proc", "proc", _PROC)
    kernel.enter_root(root)
    process = os.fork()
    if not process:
        child()
    for number in descriptors:
        os.close(number)
    kernel.renounce()
    kernel.hide_memory()
    kernel.end_with_parent(signal.SIGKILL)
    os._exit(_reaped(process))


def _reaped(process: int) -> int:
    while True:
        ended, status = os.waitpid(-1, 0)
        if ended == process:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code
