"""Which acts are let go, though their kind ends the child? Those that touch nothing but it and its scratch folder.

What an audit event passes on may be an object of the agent's own class, so it is asked nothing: only exact values
count.
"""

from __future__ import annotations

import fcntl
import os
import stat
from typing import TYPE_CHECKING, NamedTuple

from forensics.replay.cell.wall.calls import FILE_SYSTEMS

if TYPE_CHECKING:
    from collections.abc import Callable

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_INTERPRETERS = ("_interpreters", "_xxsubinterpreters")
_IN_MEMORY = ":memory:"
_LOCKS = frozenset((fcntl.F_SETLK, fcntl.F_SETLKW, 37, 38))  # the last two: F_OFD_SETLK, F_OFD_SETLKW
_INEXHAUSTIBLE = frozenset(f"/dev/{name}" for name in ("full", "null", "random", "urandom", "zero"))
_LOOPBACK = ("127.0.0.1", "::1")
_OF_NO_EFFECT = (
    "ctypes.create_string_buffer",
    "ctypes.create_unicode_buffer",
    "ctypes.get_errno",
    "ctypes.set_errno",
    "socket.__new__",  # a socket alone reaches nobody, and every event loop makes a pair
    "socket.gethostname",
)


class _Path(NamedTuple):
    """Where the arguments of an event hold a path, and the descriptor of the folder that it starts from (None: none),
    and whether a link at its end is followed.
    """

    at: int
    folder: int | None
    follows: bool = False


_PATHS: dict[str, tuple[_Path, ...]] = {
    "os.chmod": (_Path(0, 2, follows=True),),
    "os.link": (_Path(0, 2), _Path(1, 3)),
    "os.mkdir": (_Path(0, 2),),
    "os.remove": (_Path(0, 1),),
    "os.rename": (_Path(0, 2), _Path(1, 3)),
    "os.rmdir": (_Path(0, 1),),
    "os.symlink": (_Path(1, 2),),
    "os.truncate": (_Path(0, None, follows=True),),
    "os.utime": (_Path(0, 3, follows=True),),
}


def harmless(scratch: str) -> dict[str, Callable[..., bool]]:
    """For each event that is let go at times, what says whether this one is; files may be written to `scratch`."""
    files = _Files(scratch)
    return {
        "open": files.opening,
        "fcntl.fcntl": files.controlling,
        "fcntl.flock": files.locking,
        "fcntl.ioctl": _commanding,
        "fcntl.lockf": files.locking,
        "os.lockf": files.locking,
        "sqlite3.connect": files.database,
        "import": _importing,
        "socket.bind": _binding,
        "ctypes.dlopen": _library,
        "ctypes.dlsym": _symbol,
        "os.kill": _signalling(os.getpid()),
        **{event: files.changing(paths) for event, paths in _PATHS.items()},
        **dict.fromkeys(_OF_NO_EFFECT, lambda *_: True),
    }


class _Files:
    """What may be done to files: to read them, and to change those of the scratch folder."""

    def __init__(self, scratch: str) -> None:
        self._scratch = os.path.join(os.path.realpath(scratch), "")
        self._process = os.getpid()

    def opening(self, path: object, mode: object, flags: object) -> bool:
        """Reading, but nothing of another process, and nothing that is gone for others once it is read; writing only in
        the scratch folder. `os.open`, which has no mode, may start from another folder than the working one and does
        not tell: a name without one is then no place.
        """
        if isinstance(path, int):
            return True  # a descriptor that the child has already
        plain = _plain(path)
        if plain is None:
            return False
        place = os.path.realpath(plain)
        if isinstance(flags, int) and not flags & _WRITING:
            return not self._of_another(place) and (not _runs_dry(place) or self._writable(place))
        return self._writable(place) and (mode is not None or os.path.isabs(plain))

    def changing(self, paths: tuple[_Path, ...]) -> Callable[..., bool]:
        """A change of names or attributes, if every path of it lies in the scratch folder."""

        def change(*args: object) -> bool:
            places = [_place(args[path.at], args[path.folder] if path.folder else -1, path) for path in paths]
            return all(place is not None and self._writable(place) for place in places)

        return change

    def locking(self, file: object, *_more: object) -> bool:
        """A lock of a file of the scratch folder, or of what is no file of the disk; one of another makes others wait
        for it.
        """
        place = _of_descriptor(file) if isinstance(file, int) else None
        return place is not None and (not place.startswith("/") or self._writable(place))

    def controlling(self, file: object, command: object, *_more: object) -> bool:
        """Whatever a process sets for a file that it has open; a lock as above."""
        return isinstance(command, int) and (command not in _LOCKS or self.locking(file))

    def database(self, name: object, *_more: object) -> bool:
        """A database in memory, or in the scratch folder."""
        plain = _plain(name)
        return plain == _IN_MEMORY or (plain is not None and self._writable(os.path.realpath(plain)))

    def _of_another(self, place: str) -> bool:
        owner = place.split("/")[2] if place.startswith("/proc/") else ""
        return owner.isdigit() and int(owner) != self._process

    def _writable(self, place: str) -> bool:
        return place == os.devnull or os.path.join(place, "").startswith(self._scratch)


def _runs_dry(place: str) -> bool:
    """Whether what is read there is taken from somebody: a pipe, a socket, a terminal or another device."""
    try:
        kind = os.stat(place).st_mode
    except OSError:
        return False
    return place not in _INEXHAUSTIBLE and not (stat.S_ISREG(kind) or stat.S_ISDIR(kind))


def _commanding(_file: object, command: object, *_more: object) -> bool:
    """Any command to a device, but none to the file system that a file lies on: it changes the file."""
    return isinstance(command, int) and command >> 8 & 0xFF not in FILE_SYSTEMS


def _importing(module: object, *_more: object) -> bool:
    """Any module but those that make another interpreter."""
    return _plain(module) not in _INTERPRETERS


def _binding(_socket: object, address: object) -> bool:
    """A port of no number on loopback: how libraries try whether there is IPv6."""
    if type(address) is not tuple or len(address) < 2:  # noqa: PLR2004 - a host and a port
        return False
    host, port = address[:2]
    return _plain(host) in _LOOPBACK and type(port) is int and port == 0


def _library(name: object) -> bool:
    """The program itself, which `import ctypes` opens."""
    return name is None


def _symbol(_library: object, name: object) -> bool:
    """A function of the interpreter itself, as some libraries take it from `ctypes.pythonapi`."""
    return (_plain(name) or "").startswith(("Py", "_Py"))


def _signalling(itself: int) -> Callable[..., bool]:
    return lambda process, _signal: process == itself


def _place(path: object, folder: object, rule: _Path) -> str | None:
    """Where a path ends; None where that can't be said."""
    if isinstance(path, int):
        return _of_descriptor(path)
    plain = _plain(path)
    if plain is None:
        return None
    if isinstance(folder, int) and folder >= 0:
        start = _of_descriptor(folder)
        plain = None if start is None else os.path.join(start, plain)
    if plain is None or rule.follows:
        return plain and os.path.realpath(plain)
    return os.path.join(os.path.realpath(os.path.dirname(plain)), os.path.basename(plain))


def _of_descriptor(number: int) -> str | None:
    try:
        return os.readlink(f"/proc/self/fd/{number}")
    except OSError:  # macOS has no such folder
        return None


def _plain(path: object) -> str | None:
    """A path as an exact str, without a call into a class of the agent's; None for what is none."""
    if isinstance(path, str):
        return str.__str__(path)
    if isinstance(path, bytes):
        return os.fsdecode(bytes.__getitem__(path, slice(None)))
    return None
