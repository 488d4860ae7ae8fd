"""Which audit events of CPython (PEP 578) tell of an act outside the process, and of which kind?"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from forensics.replay.cell.isolation import Act

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
    "fcntl.fcntl": "file",
    "fcntl.flock": "file",
    "fcntl.ioctl": "file",
    "fcntl.lockf": "file",
    "open": "file",
    "os.chflags": "file",
    "os.chmod": "file",
    "os.chown": "file",
    "os.link": "file",
    "os.lockf": "file",
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
    "cpython.PyInterpreterState_New": "introspection",  # the hooks of one interpreter don't watch another;
    "import": "introspection",  # and from 3.13 on a new one is not told of, so the module that makes it counts
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
