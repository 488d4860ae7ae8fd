"""What does an agent that means harm try? Each function here runs inside a cell, as `function(channel, argument)`.

Each sends `inside` before its attempt, so that a test knows that it was made, and `went on` behind it. A test that
never hears `went on` knows that the child was ended at the attempt.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import os
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from forensics.replay.cell import Channel

Attempt = Callable[[str], Any]


def attempt(channel: Channel, act: Callable[[], Any]) -> None:
    """Make an attempt and tell how it went, whatever it raises."""
    channel.send(b"inside")
    try:
        told = f"did {act()!r}"
    except BaseException as error:  # noqa: BLE001 - what a hostile agent would do
        told = f"{type(error).__name__}: {error}"
    channel.send(told.encode(errors="backslashreplace"))
    channel.send(b"went on")


def tcp(channel: Channel, argument: bytes) -> None:
    host, port = argument.decode().split()
    attempt(channel, lambda: socket.create_connection((host, int(port)), 2).send(b"hello"))


def udp(channel: Channel, argument: bytes) -> None:
    host, port = argument.decode().split()
    attempt(channel, lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"hello", (host, int(port))))


def unix(channel: Channel, argument: bytes) -> None:
    attempt(channel, lambda: socket.socket(socket.AF_UNIX).connect(argument))


def abstract_unix(channel: Channel, argument: bytes) -> None:
    attempt(channel, lambda: socket.socket(socket.AF_UNIX).connect(b"\0" + argument))


def raw(channel: Channel, argument: bytes) -> None:
    def send() -> int:
        return socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP).sendto(b"\x08", ("127.0.0.1", 1))

    attempt(channel, send)


def family(channel: Channel, argument: bytes) -> None:
    attempt(channel, lambda: socket.socket(int(argument), socket.SOCK_STREAM))


def name(channel: Channel, argument: bytes) -> None:
    attempt(channel, lambda: socket.getaddrinfo(argument.decode(), 80))


def command(channel: Channel, argument: bytes) -> None:
    attempt(channel, lambda: subprocess.run(["/bin/sh", "-c", argument.decode()], check=True, capture_output=True))


def system(channel: Channel, argument: bytes) -> None:
    attempt(channel, lambda: os.system(argument))  # noqa: S605 - the attempt


def execute(channel: Channel, argument: bytes) -> None:
    attempt(channel, lambda: os.execv("/bin/sh", ["sh", "-c", argument.decode()]))  # noqa: S606 - the attempt


def spawn(channel: Channel, argument: bytes) -> None:
    attempt(channel, lambda: os.posix_spawn("/bin/sh", ["sh", "-c", argument.decode()], {}))


def fork(channel: Channel, argument: bytes) -> None:
    def forked() -> int:
        if process := os.fork():
            return process
        Path(argument.decode()).write_text("by a fork")
        os._exit(0)

    attempt(channel, forked)


def write(channel: Channel, argument: bytes) -> None:
    attempt(channel, lambda: Path(argument.decode()).write_text("written by the agent"))


def append(channel: Channel, argument: bytes) -> None:
    def add() -> int:
        with Path(argument.decode()).open("a") as file:
            return file.write(" and more")

    attempt(channel, add)


def remove(channel: Channel, argument: bytes) -> None:
    attempt(channel, lambda: Path(argument.decode()).unlink())


def attributes(channel: Channel, argument: bytes) -> None:
    """By a file that is open for reading: a mark that its file system keeps (FS_IOC_SETFLAGS, no dump)."""
    import fcntl

    with Path(argument.decode()).open("rb") as file:
        attempt(channel, lambda: fcntl.ioctl(file, 0x40086602, struct.pack("l", 0x40)))


def lock(channel: Channel, argument: bytes) -> None:
    import fcntl

    with Path(argument.decode()).open("rb") as file:
        attempt(channel, lambda: fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB))


def lock_a_part(channel: Channel, argument: bytes) -> None:
    import fcntl

    with Path(argument.decode()).open("rb") as file:
        held = struct.pack("hhqqi", fcntl.F_RDLCK, os.SEEK_SET, 0, 1, 0)
        attempt(channel, lambda: fcntl.fcntl(file, fcntl.F_SETLK, held))


def take(channel: Channel, argument: bytes) -> None:
    """What is read out of a pipe is gone for whom it was meant."""
    attempt(channel, lambda: os.read(os.open(argument, os.O_RDONLY | os.O_NONBLOCK), 100))


def database(channel: Channel, argument: bytes) -> None:
    attempt(channel, lambda: sqlite3.connect(argument.decode()).execute("create table t (x)"))


def scratch(channel: Channel, argument: bytes) -> None:
    import tempfile

    with tempfile.NamedTemporaryFile("wb", delete=False) as file:
        file.write(argument)
    channel.send(b"went on")


def read(channel: Channel, argument: bytes) -> None:
    attempt(channel, lambda: Path(argument.decode()).read_bytes())


def surroundings(channel: Channel, _argument: bytes) -> None:
    """What is there without an attempt: the environment, the descriptors, the arguments."""
    with contextlib.suppress(OSError):
        os.fstat(4)
        channel.send(b"descriptor 4 is open")
    descriptors = [number for number in range(300) if _is_open(number)]
    channel.send(
        repr({"environment": dict(os.environ), "descriptors": descriptors, "stdin": sys.stdin.read()}).encode()
    )


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def signal_to(channel: Channel, argument: bytes) -> None:
    attempt(channel, lambda: os.kill(int(argument), 9))


def signal_to_parent(channel: Channel, argument: bytes) -> None:
    attempt(channel, lambda: os.kill(os.getppid(), 9))


def memory(channel: Channel, _argument: bytes) -> None:
    attempt(channel, lambda: len(bytearray(1 << 40)))


def small_bites(channel: Channel, _argument: bytes) -> None:
    def eat() -> None:
        held = []
        while True:
            held.append(bytearray(1 << 20))

    attempt(channel, eat)


def spin(channel: Channel, _argument: bytes) -> None:
    channel.send(b"inside")
    while True:
        pass


def sleep(channel: Channel, _argument: bytes) -> None:
    channel.send(b"inside")
    time.sleep(3600)


def stubborn(channel: Channel, argument: bytes) -> None:
    """Hold on to life in every way that Python has: except, finally, atexit, a thread."""
    atexit.register(channel.send, b"at exit")
    threading.Timer(0.3, channel.send, (b"a thread went on",)).start()
    try:
        try:
            socket.create_connection(("192.0.2.1", 80), 1)
        except BaseException:  # noqa: BLE001 - what a hostile agent would do
            channel.send(b"caught")
    finally:
        channel.send(b"finally")


def in_a_thread(channel: Channel, argument: bytes) -> None:
    thread = threading.Thread(target=tcp, args=(channel, argument))
    thread.start()
    thread.join()
    channel.send(b"went on")


def huge_message(channel: Channel, argument: bytes) -> None:
    attempt(channel, lambda: channel.send(b"x" * int(argument)))


def garbage(channel: Channel, argument: bytes) -> None:
    os.write(3, argument)


def flood(channel: Channel, _argument: bytes) -> None:
    while True:
        channel.send(b"x" * 1000)


def deaf(channel: Channel, _argument: bytes) -> None:
    channel.send(b"inside")
    time.sleep(3600)


def noisy(channel: Channel, argument: bytes) -> None:
    sys.stdout.write("o" * int(argument))
    sys.stderr.write("e" * int(argument))
    channel.send(b"went on")


def kill_itself(channel: Channel, _argument: bytes) -> None:
    os.kill(os.getpid(), 9)


def leave(channel: Channel, argument: bytes) -> None:
    os._exit(int(argument))


def echo(channel: Channel, argument: bytes) -> None:
    while (message := channel.receive()) is not None:
        channel.send(argument + message)


def fails(_channel: Channel, argument: bytes) -> None:
    raise ValueError(argument.decode())


def interpreter(channel: Channel, argument: bytes) -> None:
    names = ("_interpreters", "_xxsubinterpreters")  # from 3.13 on, and before
    found = next(name for name in names if importlib.util.find_spec(name))
    attempt(channel, lambda: importlib.import_module(found).create())


def looks_for_the_hook(channel: Channel, _argument: bytes) -> None:
    import gc

    attempt(channel, lambda: len(gc.get_objects()))


def asynchronous(channel: Channel, argument: bytes) -> None:
    """Honest: an event loop makes a socket pair, and reaches nobody."""
    import asyncio

    async def work() -> bytes:
        await asyncio.sleep(0)
        return argument

    channel.send(asyncio.run(work()))


def around_the_hook(channel: Channel, argument: bytes) -> None:
    """A process without an audit event: Python's own modules raise theirs by a name that can be replaced."""
    sys.audit = lambda *_: None
    vars(subprocess)["_USE_POSIX_SPAWN"] = False  # os.posix_spawn raises its own, in C
    attempt(channel, lambda: subprocess.run(["/bin/sh", "-c", argument.decode()], check=True, capture_output=True))


def changes(channel: Channel, argument: bytes) -> None:
    """Every kind of change below one folder, which holds `old`, `gone`, `same` and `folder/inner`."""
    place = Path(argument.decode())
    (place / "new").write_bytes(b"new")
    (place / "old").write_bytes(b"changed")
    (place / "gone").unlink()
    (place / "same").open("r+").close()
    (place / "made").mkdir()
    (place / "made" / "inside").write_bytes(b"")
    (place / "link").symlink_to("/etc/passwd")
    os.mkfifo(place / "pipe")
    (place / "folder" / "inner").unlink()
    (place / "folder").rmdir()
    (place / "folder").mkdir()
    (place / "folder" / "other").write_bytes(b"other")
    channel.send(b"went on")


def write_through_a_link(channel: Channel, argument: bytes) -> None:
    """A link in the agent's own folder that leads to a file elsewhere."""

    def act() -> int:
        link = Path("/tmp/innocent")  # noqa: S108 - in the child's own view
        link.symlink_to(argument.decode())
        return link.write_text("through a link")

    attempt(channel, act)


def odd_names(channel: Channel, argument: bytes) -> None:
    for odd in (b"a\nb", b"\xff\xfe", "\u202etxt.exe".encode(), b"-rf", b"'\"", b"x" * 255):
        (Path(argument.decode()) / os.fsdecode(odd)).touch()
    channel.send(b"went on")


def many_files(channel: Channel, argument: bytes) -> None:
    place, number = argument.decode().split()
    for index in range(int(number)):
        (Path(place) / f"f{index:06}").touch()
    channel.send(b"went on")


def deep_folders(channel: Channel, argument: bytes) -> None:
    place, depth = argument.decode().split()
    os.chdir(place)
    for _ in range(int(depth)):
        Path("d" * 200).mkdir()
        os.chdir("d" * 200)
    Path("bottom").write_text("here")
    channel.send(b"went on")


def fill_the_disk(channel: Channel, argument: bytes) -> None:
    def fill() -> None:
        for index in range(10_000):
            (Path(argument.decode()) / str(index)).write_bytes(b"\0" * (1 << 20))

    attempt(channel, fill)


def large_file(channel: Channel, argument: bytes) -> None:
    def grow() -> int:
        with Path(argument.decode()).open("wb") as file:
            return file.truncate(1 << 40)

    attempt(channel, grow)


def many_threads(channel: Channel, _argument: bytes) -> None:
    def start() -> None:
        threading.stack_size(32768)
        while True:
            threading.Thread(target=time.sleep, args=(3600,), daemon=True).start()

    attempt(channel, start)


def loopback(channel: Channel, _argument: bytes) -> None:
    """Honest: a server and its client, both in the child."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = socket.create_connection(server.getsockname(), 5)
        accepted = server.accept()[0]
        client.sendall(b"hello")
        channel.send(accepted.recv(5))


def where(channel: Channel, _argument: bytes) -> None:
    said = {"host": socket.gethostname(), "process": os.getpid(), "parent": os.getppid(), "folder": str(Path.cwd())}
    channel.send(repr(said).encode())


def listing(channel: Channel, argument: bytes) -> None:
    channel.send(
        "\n".join(sorted(path.name for path in Path(argument.decode()).iterdir())).encode(errors="backslashreplace")
    )


def ask_the_environment_of_all(channel: Channel, _argument: bytes) -> None:
    """The environment of every process that /proc shows."""
    told = b""
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            told += (process / "environ").read_bytes()
    channel.send(b"read: " + told)


def order(channel: Channel, _argument: bytes) -> None:
    channel.send(repr({f"text {number}" for number in range(100)}).encode())


def orphan(channel: Channel, _argument: bytes) -> None:
    """A process that outlives its parent, in a session of its own; its number is told."""
    reading, writing = os.pipe()
    if not os.fork():
        os.setsid()
        if process := os.fork():
            os.write(writing, str(process).encode())
            os._exit(0)
        time.sleep(3600)
    channel.send(os.read(reading, 20))


def locks_of_its_own(channel: Channel, _argument: bytes) -> None:
    """Honest: a file of the scratch folder is locked, and a descriptor set."""
    import fcntl
    import tempfile

    def act() -> str:
        with tempfile.TemporaryFile() as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            fcntl.lockf(file, fcntl.LOCK_EX)
            fcntl.fcntl(file, fcntl.F_SETFD, fcntl.fcntl(file, fcntl.F_GETFD))
        ours, theirs = os.pipe()
        fcntl.ioctl(ours, termios.FIONREAD, b"1234")
        fcntl.flock(theirs, fcntl.LOCK_SH)
        return "so"

    attempt(channel, act)


def honest(channel: Channel, _argument: bytes) -> None:
    """What libraries do in good faith: temporary folders, a look for IPv6, a database in memory."""
    import ctypes
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        inner = Path(folder) / "inner"
        inner.mkdir()
        (inner / "one").write_text("text")
        (inner / "one").rename(inner / "two")
        (inner / "link").symlink_to("two")
        (inner / "two").chmod(0o600)
        os.utime(inner / "two")
        sqlite3.connect(f"{folder}/database").execute("create table t (x)").connection.close()
    with socket.socket(socket.AF_INET6) as probe, contextlib.suppress(OSError):
        probe.bind(("::1", 0))
    sqlite3.connect(":memory:").close()
    ctypes.pythonapi.PyGILState_Check()
    ctypes.create_string_buffer(10)
    Path(os.devnull).write_text("nothing")
    os.kill(os.getpid(), 0)
    channel.send(b"done")


def _scratch() -> Path:
    import tempfile

    return Path(tempfile.mkdtemp())


def out_by_link(channel: Channel, argument: bytes) -> None:
    def act() -> int:
        link = _scratch() / "link"
        link.symlink_to(argument.decode())
        return (link / "new").write_text("outside")

    attempt(channel, act)


def out_by_folder(channel: Channel, argument: bytes) -> None:
    """From an open folder, while the working folder is the scratch folder."""
    os.chdir(_scratch())
    folder = os.open(argument, os.O_RDONLY)
    attempt(channel, lambda: os.remove("file", dir_fd=folder))


def out_by_names(channel: Channel, argument: bytes) -> None:
    """A name that is asked twice, and says another thing each time."""

    class Name(str):
        __slots__ = ()

        def startswith(self, *_: object) -> bool:
            return True

        def __str__(self) -> str:
            return os.devnull

        def __fspath__(self) -> str:
            return os.devnull

    attempt(channel, lambda: os.remove(Name(argument.decode() + "/file")))  # noqa: PTH107 - pathlib makes a plain one


def around_the_hook_to_the_disk(channel: Channel, argument: bytes) -> None:
    """Python tells of no event here."""
    attempt(channel, lambda: os.mkfifo(argument.decode()))


def _signal_of_a_file(other: int) -> None:
    """The kernel sends a signal for a file that has something to say, to whoever is named as its owner."""
    import fcntl

    ours, theirs = socket.socketpair()
    fcntl.fcntl(ours, fcntl.F_SETOWN, other)
    fcntl.fcntl(ours, 10, signal.SIGKILL)  # F_SETSIG
    fcntl.fcntl(ours, fcntl.F_SETFL, fcntl.fcntl(ours, fcntl.F_GETFL) | os.O_ASYNC)
    theirs.send(b"now")


def _owner_of_a_file(other: int) -> None:
    """The same owner, named by another call."""
    import fcntl

    fcntl.ioctl(socket.socketpair()[0], 0x8901, struct.pack("i", other))  # FIOSETOWN


def _limit(other: int) -> None:
    import resource

    resource.prlimit(other, resource.RLIMIT_NOFILE, (3, 3))


def _turn(other: int) -> None:
    os.setpriority(os.PRIO_PROCESS, other, 19)


def _processor(other: int) -> None:
    os.sched_setaffinity(other, {0})


ON_OTHERS = (_owner_of_a_file, _limit, _turn, _processor, _signal_of_a_file)


def acts_on_another(channel: Channel, argument: bytes) -> None:
    """Everything short of a signal by its name that one process may do to another; 0 is the parent of this one. Tells
    what was not refused.
    """
    other = int(argument) or os.getppid()

    def act() -> list[str]:
        return [one.__name__ for one in ON_OTHERS if not _is_refused(one, other)]

    attempt(channel, act)


def _is_refused(act: Callable[[int], None], other: int) -> bool:
    try:
        act(other)
    except PermissionError:
        return True
    return False


def own_means(channel: Channel, _argument: bytes) -> None:
    """Honest: what a process sets for itself."""
    import resource

    def act() -> str:
        os.setpriority(os.PRIO_PROCESS, 0, os.getpriority(os.PRIO_PROCESS, 0))
        os.sched_setaffinity(os.getpid(), os.sched_getaffinity(0))
        resource.prlimit(0, resource.RLIMIT_CORE, (0, 0))
        return "so"

    attempt(channel, act)


def write_from_an_open_folder(channel: Channel, argument: bytes) -> None:
    """A name below an open folder, from a working folder in which that name would be fine."""
    import tempfile

    def act() -> int:
        os.chdir(tempfile.gettempdir())
        folder = os.open(argument, os.O_RDONLY | os.O_DIRECTORY)
        return os.open("file", os.O_WRONLY | os.O_CREAT, 0o600, dir_fd=folder)

    attempt(channel, act)


def _special(file: str) -> None:
    os.mknod(file)


def _attached(file: str) -> None:
    """A database in memory that takes one of the disk in."""
    memory = sqlite3.connect(":memory:")
    memory.execute("ATTACH DATABASE ? AS disk", (file,))
    memory.execute("CREATE TABLE disk.found (it)")


def _copied(file: str) -> None:
    sqlite3.connect(":memory:").execute("VACUUM INTO ?", (file,))


def _log_of_keys(file: str) -> None:
    import ssl

    ssl.create_default_context().keylog_filename = file


def files_untold(channel: Channel, argument: bytes) -> None:
    """Files below a folder, made in ways of which Python tells nothing. Tells which were refused."""

    def act() -> list[str]:
        made = (_special, _attached, _copied, _log_of_keys)
        return [one.__name__ for one in made if not _makes(one, f"{argument.decode()}/{one.__name__}")]

    attempt(channel, act)


def _makes(act: Callable[[str], None], file: str) -> bool:
    try:
        act(file)
    except (PermissionError, sqlite3.OperationalError):
        return False
    return True


def environment_of_others(channel: Channel, argument: bytes) -> None:
    """From the open folder of all processes, by names that do not say where they lie."""

    def act() -> list[str]:
        folder = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY)
        numbers = [path.name for path in Path("/proc").iterdir() if path.name.isdigit()]
        return [number for number in numbers if argument in _environment(folder, number)]

    attempt(channel, act)


def _environment(folder: int, process: str) -> bytes:
    try:
        return os.read(os.open(f"{process}/environ", os.O_RDONLY, dir_fd=folder), 1 << 20)
    except OSError:
        return b""
