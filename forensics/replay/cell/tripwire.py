"""At which act does the child end itself? A table over CPython's audit events (PEP 578).

The hook runs inside the process that it watches, so it is a net for honest code and no border for code that means harm:
such code can reach around it (a C extension, `_posixsubprocess`, a changed closure). What holds then is the wall. Where
the wall stands, files, native code and introspection are left to it; without it they end the child as well.

It reports over the channel and calls `os._exit`: no `except BaseException`, no `finally`, no `atexit` runs after that.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import msgspec

from forensics.replay.cell.channel import TRIPPED, Channel
from forensics.replay.cell.isolation import Act, Denied

if TYPE_CHECKING:
    from collections.abc import Callable

EXIT_TRIPPED = 97
LEFT_TO_THE_WALL: frozenset[Act] = frozenset(("file", "native", "introspection"))
_PATIENCE, _SHOWN = 1.0, 300
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

_EVENTS: dict[str, Act] = {
    "os.startfile": "process",
    "os.startfile/2": "process",
    "os.exec": "process",
    "os.fork": "process",
    "os.forkpty": "process",
    "os.posix_spawn": "process",
    "os.spawn": "process",
    "os.system": "process",
    "pty.spawn": "process",
    "subprocess.Popen": "process",
    "webbrowser.open": "process",
    "os.kill": "signal",
    "os.killpg": "signal",
    "signal.pidfd_send_signal": "signal",
    "http.client.connect": "connection",
    "imaplib.open": "connection",
    "nntplib.connect": "connection",
    "poplib.connect": "connection",
    "syslog.openlog": "connection",
    "syslog.syslog": "connection",
    "telnetlib.Telnet.open": "connection",
    "urllib.Request": "connection",
    "open": "file",
    "os.chflags": "file",
    "os.chmod": "file",
    "os.chown": "file",
    "os.link": "file",
    "os.mkdir": "file",
    "os.remove": "file",
    "os.removexattr": "file",
    "os.rename": "file",
    "os.rmdir": "file",
    "os.setxattr": "file",
    "os.symlink": "file",
    "os.truncate": "file",
    "os.utime": "file",
    "sqlite3.connect": "file",
    "sqlite3.enable_load_extension": "native",
    "sqlite3.load_extension": "native",
    "cpython.PyInterpreterState_New": "introspection",  # the hooks of one interpreter don't watch another
    "gc.get_objects": "introspection",
    "gc.get_referents": "introspection",
    "gc.get_referrers": "introspection",
    "sys.remote_exec": "introspection",
}
_FAMILIES: dict[str, Act] = {
    "ftplib": "connection",
    "smtplib": "connection",
    "socket": "connection",
    "ctypes": "native",
    "winreg": "file",
    "_winapi": "process",
    "msvcrt": "native",
}


def kind_of(event: str) -> Act | None:
    """The kind of act that an audit event tells of; None for one that touches nothing outside."""
    return _EVENTS.get(event) or _FAMILIES.get(event.partition(".")[0])


def _plain(path: object) -> str | None:
    """A path as an exact str, without a call into a class of the agent's; None for what is none."""
    if isinstance(path, str):
        return str.__str__(path)
    if isinstance(path, bytes):
        return os.fsdecode(bytes.__getitem__(path, slice(None)))
    return None


class _Allowed:
    """What is let go of a kind that ends the child otherwise: acts that touch nothing but the child itself."""

    def __init__(self, scratch: str) -> None:
        self._scratch = os.path.join(os.path.realpath(scratch), "")
        self._process = os.getpid()

    def opening(self, path: object, _mode: object, flags: object) -> bool:
        """Reading, but nothing of another process; writing only in the scratch folder."""
        if isinstance(path, int):
            return True  # a descriptor that the child has already
        plain = _plain(path)
        if plain is None:
            return False
        place = os.path.realpath(plain)
        if isinstance(flags, int) and not flags & _WRITING:
            return not self._of_another(place)
        return self._writable(place)

    def changing(self, *paths: object) -> bool:
        """A change of names or attributes, if every path of it lies in the scratch folder."""
        plains = [_plain(path) for path in paths if isinstance(path, (str, bytes)) or not isinstance(path, int)]
        return bool(plains) and all(plain is not None and self._writable(os.path.realpath(plain)) for plain in plains)

    def database(self, name: object, *_more: object) -> bool:
        """A database in memory, or in the scratch folder."""
        plain = _plain(name)
        return plain == ":memory:" or (plain is not None and self._writable(os.path.realpath(plain)))

    def binding(self, _socket: object, address: object) -> bool:
        """A port of no number on loopback: how libraries try whether there is IPv6."""
        return isinstance(address, tuple) and len(address) > 1 and address[:2] in (("127.0.0.1", 0), ("::1", 0))

    def library(self, name: object) -> bool:
        """The program itself, which `import ctypes` opens."""
        return name is None

    def signalling(self, process: object, _signal: object) -> bool:
        """A signal to itself."""
        return process == self._process

    def _of_another(self, place: str) -> bool:
        owner = place.split("/")[2] if place.startswith("/proc/") else ""
        return owner.isdigit() and int(owner) != self._process

    def _writable(self, place: str) -> bool:
        return place == os.devnull or os.path.join(place, "").startswith(self._scratch)

    def table(self) -> dict[str, Callable[..., bool]]:
        """Which event is let go by which of these."""
        names = ("os.chmod", "os.mkdir", "os.remove", "os.rmdir", "os.truncate", "os.utime")
        return {
            "open": self.opening,
            "sqlite3.connect": self.database,
            "socket.__new__": lambda *_: True,  # a socket alone reaches nobody, and asyncio makes a pair
            "socket.gethostname": lambda *_: True,
            "socket.bind": self.binding,
            "ctypes.dlopen": self.library,
            "os.kill": self.signalling,
            "os.rename": self.changing,
            **{name: lambda path, *_: self.changing(path) for name in names},
        }


def _shown(value: object) -> str:
    """A value as a text, without a call into a class of the agent's."""
    if type(value) in (str, bytes, int, float, bool, type(None)):
        return repr(value)[:_SHOWN]
    if type(value) in (tuple, list):
        return f"({', '.join(_shown(item) for item in list(value)[:8])})"  # type: ignore[call-overload]  # it is one
    return f"<{type(value).__name__}>"


def set_tripwire(channel: Channel, *, scratch: str, behind_wall: bool) -> None:
    """Set the tripwire of this process. It can't be removed.

    `scratch` is where files may be written without a wall.
    """
    allowed = _Allowed(scratch).table()
    left = LEFT_TO_THE_WALL if behind_wall else frozenset[Act]()
    leave, report, encode = os._exit, channel.report, msgspec.json.encode

    def trip(kind: Act, event: str, args: tuple[Any, ...]) -> None:
        try:
            told = Denied(kind=kind, event=event, what=", ".join(_shown(arg) for arg in args)[:_SHOWN])
            report(TRIPPED, encode(told), _PATIENCE)
        finally:
            leave(EXIT_TRIPPED)

    def hook(event: str, args: tuple[Any, ...]) -> None:
        kind = kind_of(event)
        if kind is None or kind in left:
            return
        try:
            fine = event in allowed and allowed[event](*args)
        except BaseException:  # noqa: BLE001 - what can't be judged is not let go
            fine = False
        if not fine:
            trip(kind, event, args)

    sys.addaudithook(hook)
