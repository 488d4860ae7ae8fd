"""Which calls of Linux does the wall need? libc's, an error for every failure; numbers from the kernel's headers."""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
from contextlib import suppress

NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET = (
    0x00020000,
    0x02000000,
    0x04000000,
    0x08000000,
    0x10000000,
    0x20000000,
    0x40000000,
)
RDONLY, NOSUID, NODEV, NOEXEC, REMOUNT, BIND, REC, PRIVATE = 1, 2, 4, 8, 32, 4096, 16384, 1 << 18
_DETACH = 2
_DEATH_SIGNAL, _DUMPABLE, _SECCOMP, _DROP_BOUND, _SECUREBITS = 1, 4, 22, 24, 28
_SUBREAPER, _NO_NEW_PRIVILEGES, _AMBIENT = 36, 38, 47
_FILTER_MODE, _CLEAR_ALL, _NO_ROOT_LOCKED = 2, 4, 0b1111
_CAPABILITY_VERSION = 0x20080522
_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 1
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}

_libc = ctypes.CDLL(None, use_errno=True)


def _checked(result: int, doing: str) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, f"{doing}: {os.strerror(number)}")


def system_call(number: int, *arguments: int | bytes | None) -> int:
    """Any call, by its number; what it returns. Raises OSError."""
    given = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    result = int(_libc.syscall(ctypes.c_long(number), *given))
    if result < 0:
        _checked(result, f"system call {number}")
    return result


def unshare(namespaces: int) -> None:
    """Leave these namespaces for new ones. Raises OSError, as all functions here do."""
    _checked(_libc.unshare(namespaces), "unshare")


def mount(what: str, where: str, kind: str | None, flags: int = 0, options: str = "") -> None:
    """Mount a file system, or change a mount."""
    given = (os.fsencode(what), os.fsencode(where), kind.encode() if kind else None)
    _checked(_libc.mount(*given, ctypes.c_ulong(flags), os.fsencode(options) or None), f"mount {where}")


def enter_root(new: str) -> None:
    """Make a mount the root of this mount namespace, and let go of the old one."""
    os.chdir(new)
    _checked(_libc.syscall(_PIVOT_ROOT[os.uname().machine], b".", b"."), "pivot_root")
    _checked(_libc.umount2(b".", _DETACH), "umount of the old root")
    os.chdir("/")


def name_host(name: bytes) -> None:
    """Set the name of this host, in this namespace."""
    _checked(_libc.sethostname(name, len(name)), "sethostname")


def raise_loopback() -> None:
    """Set the loopback interface of this network namespace going."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sH22x", b"lo", 0)
        flags = struct.unpack_from("16sH", fcntl.ioctl(any_socket, _GET_FLAGS, request))[1]
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sH22x", b"lo", flags | _UP))


def end_with_parent(signal: int) -> None:
    """Be sent this signal when the thread that made this process ends."""
    _checked(_libc.prctl(_DEATH_SIGNAL, signal, 0, 0, 0), "prctl(PR_SET_PDEATHSIG)")


def adopt_orphans() -> None:
    """Become the parent of what this process's children leave behind."""
    _checked(_libc.prctl(_SUBREAPER, 1, 0, 0, 0), "prctl(PR_SET_CHILD_SUBREAPER)")


def hide_memory() -> None:
    """Keep other processes, of the same user too, from reading this one."""
    _checked(_libc.prctl(_DUMPABLE, 0, 0, 0, 0), "prctl(PR_SET_DUMPABLE)")


def show_memory() -> None:
    """Undo `hide_memory`, which a child inherits: without it a process can't read what /proc tells of itself."""
    _checked(_libc.prctl(_DUMPABLE, 1, 0, 0, 0), "prctl(PR_SET_DUMPABLE)")


def renounce() -> None:
    """Give up all capabilities and every way to new ones, for good."""
    _checked(_libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0), "prctl(PR_SET_NO_NEW_PRIVS)")
    with suppress(OSError):  # before Linux 4.3 there is nothing to clear
        _checked(_libc.prctl(_AMBIENT, _CLEAR_ALL, 0, 0, 0), "prctl(PR_CAP_AMBIENT)")
    with suppress(OSError):  # needs CAP_SETPCAP; where that is missing, the empty sets below say the same
        _checked(_libc.prctl(_SECUREBITS, _NO_ROOT_LOCKED, 0, 0, 0), "prctl(PR_SET_SECUREBITS)")
    for capability in range(64):
        if _libc.prctl(_DROP_BOUND, capability, 0, 0, 0):
            break  # beyond the last one that this kernel knows
    _checked(_libc.capset(struct.pack("=Ii", _CAPABILITY_VERSION, 0), bytes(24)), "capset")


def filter_calls(program: bytes) -> None:
    """Put a seccomp filter (classic BPF) before every system call of this process from now on."""
    code = ctypes.create_string_buffer(program, len(program))
    head = struct.pack("@HP", len(program) // 8, ctypes.addressof(code))
    _checked(_libc.prctl(_SECCOMP, _FILTER_MODE, ctypes.create_string_buffer(head, len(head)), 0, 0), "seccomp")
