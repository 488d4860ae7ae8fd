"""At which act does the tripwire end the child? Each attempt is reported, nothing of it happens, nothing goes on."""

from __future__ import annotations

import ast
import hashlib
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from forensics.replay.cell import Level
from forensics.replay.cell.acts import kind_of

if sys.platform == "linux":
    from forensics.replay.cell.wall.kernel import system_call

AGENTS = str(Path(__file__).parent / "agents")
Try = Any  # the fixture of conftest.py, which can't be imported

ATTEMPTS = {
    "tcp": ("tcp", "192.0.2.1 80", "connection", "socket."),
    "udp": ("udp", "192.0.2.1 53", "connection", "socket.sendto"),
    "unix": ("unix", "/run/any.sock", "connection", "socket.connect"),
    "abstract": ("abstract_unix", "any", "connection", "socket.connect"),
    "dns": ("name", "example.org", "connection", "socket.getaddrinfo"),
    "subprocess": ("command", "true", "process", "subprocess.Popen"),
    "system": ("system", "true", "process", "os.system"),
    "exec": ("execute", "true", "process", "os.exec"),
    "spawn": ("spawn", "true", "process", "os.posix_spawn"),
    "fork": ("fork", "/nowhere", "process", "os.fork"),
    "write": ("write", "FILE", "file", "open"),
    "append": ("append", "FILE", "file", "open"),
    "remove": ("remove", "FILE", "file", "os.remove"),
    "database": ("database", "FILE", "file", "sqlite3.connect"),
    "attributes": ("attributes", "FILE", "file", "fcntl.ioctl"),
    "lock": ("lock", "FILE", "file", "fcntl.flock"),
    "part": ("lock_a_part", "FILE", "file", "fcntl.fcntl"),
    "init": ("read", "/proc/1/environ", "file", "open"),
    "signal": ("signal_to_parent", "", "signal", "os.kill"),
    "interpreter": ("interpreter", "", "introspection", "import"),
    "hook": ("looks_for_the_hook", "", "introspection", "gc.get_objects"),
}


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_an_attempt_ends_the_child(attempt: str, tmp_path: Path, tried: Try) -> None:
    function, argument, kind, event = ATTEMPTS[attempt]
    file = tmp_path / "file"
    file.write_text("as it was")
    ended = tried(function, argument.replace("FILE", str(file)))
    assert ended.said == [b"inside"]
    assert ended.ending.how == "tripped"
    assert ended.isolation.level == Level.TRIPWIRE
    assert [(denied.kind, denied.event.startswith(event)) for denied in ended.isolation.denied] == [(kind, True)]
    assert file.read_text() == "as it was"
    assert list(tmp_path.iterdir()) == [file]


def test_what_is_meant_for_others_is_not_read(tmp_path: Path, tried: Try) -> None:
    os.mkfifo(tmp_path / "pipe")
    keeper = os.open(tmp_path / "pipe", os.O_RDWR)
    try:
        os.write(keeper, b"for somebody else")
        ended = tried("take", str(tmp_path / "pipe"))
        assert (ended.ending.how, ended.isolation.denied[0].event) == ("tripped", "open")
        assert os.read(keeper, 100) == b"for somebody else"
    finally:
        os.close(keeper)


def test_locks_of_its_own_files_are_its_own(tried: Try) -> None:
    if sys.platform != "linux":
        pytest.skip("where a descriptor leads is not told elsewhere")
    assert tried("locks_of_its_own").outcome == "did 'so'"


def test_what_was_tried_is_shown(tried: Try) -> None:
    (denied,) = tried("tcp", "192.0.2.1 8080").isolation.denied
    assert "192.0.2.1" in denied.what
    assert "8080" in denied.what


def test_no_except_no_finally_and_no_atexit_goes_on(tried: Try) -> None:
    ended = tried("stubborn")
    assert ended.said == []
    assert ended.ending.how == "tripped"


def test_a_thread_trips_for_all(tried: Try) -> None:
    assert tried("in_a_thread", "192.0.2.1 80").said == [b"inside"]


def test_without_it_the_attempt_is_made(tried: Try) -> None:
    """A check that can't fail is none: the same attempt with no tripwire reaches this listener."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        ended = tried("tcp", f"127.0.0.1 {server.getsockname()[1]}", tripwire=False)
        assert ended.outcome == "did 5"
        assert ended.isolation.level == Level.PROCESS
        server.settimeout(5)
        with server.accept()[0] as connection:
            assert connection.recv(5) == b"hello"


@pytest.mark.skipif(sys.platform != "linux", reason="the filter of system calls is of Linux")
def test_the_kernel_refuses_what_gets_around_it(tried: Try, tmp_path: Path) -> None:
    """Without a wall, where a process can filter its own calls."""
    refused = tried("around_the_hook", f"echo here > {tmp_path}/mark")
    assert (refused.went_on, refused.isolation.denied) == (True, ())
    assert refused.outcome.startswith("PermissionError")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform != "linux", reason="the filter of system calls is of Linux")
@pytest.mark.parametrize("whom", ["the watcher", "the parent"])
def test_the_kernel_lets_nothing_be_done_to_others(whom: str, tried: Try) -> None:
    """No signal, no limit and no turn on the processor; Python tells of none of these as an act."""
    refused = tried("acts_on_another", "0" if whom == "the watcher" else str(os.getpid()))
    assert (refused.outcome, refused.ending.how) == ("did []", "returned")


def test_what_a_process_sets_for_itself_is_its_own(tried: Try) -> None:
    if sys.platform != "linux":
        pytest.skip("the calls are of Linux")
    assert tried("own_means").outcome == "did 'so'"


def test_the_kernel_refuses_files_of_which_python_tells_nothing(tried: Try, tmp_path: Path) -> None:
    """Without a wall, where the kernel has Landlock; where it has none, this is what the tripwire does not promise."""
    files = ["_attached", "_copied", "_log_of_keys", "_special"]
    refused = ast.literal_eval(tried("files_untold", str(tmp_path)).outcome.removeprefix("did "))
    made = sorted(file.name for file in tmp_path.iterdir())
    assert (sorted(refused), made) == ((files, []) if _has_landlock() else ([], files))


def test_a_name_below_an_open_folder_is_no_place(tried: Try, tmp_path: Path) -> None:
    assert tried("write_from_an_open_folder", str(tmp_path)).ending.how == "tripped"
    assert list(tmp_path.iterdir()) == []


def test_the_environment_of_the_parent_is_not_read(tmp_path: Path) -> None:
    """Of a parent with no more rights than its child, which the kernel lets look into it by itself."""
    if not _has_landlock():
        pytest.skip("this kernel has no Landlock")
    code = (
        "from forensics.replay.cell import CellPlan, open_cell\n"
        "from forensics.replay.cell.wall.kernel import renounce\n"
        "renounce()\n"
        "plan = CellPlan(target='escapes:environment_of_others', argument=b'sk-of-the-parent', "
        f"paths=({AGENTS!r},), wall=False)\n"
        "with open_cell(plan) as cell:\n"
        "    while (said := cell.channel.receive(20.0)) is not None:\n"
        "        print(said.decode())\n"
    )
    world = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "TMPDIR": str(tmp_path),
        "MODEL_API_KEY": "sk-of-the-parent",
    }
    done = subprocess.run([sys.executable, "-c", code], env=world, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["inside", "did []", "went on"], done.stderr


def _has_landlock() -> bool:
    if sys.platform != "linux":
        return False
    try:
        return system_call(444, None, 0, 1) > 0
    except OSError:
        return False


def test_temporary_files_are_listed_and_removed(tried: Try) -> None:
    ended = tried("scratch", "twelve bytes")
    assert ended.went_on
    (file,) = ended.isolation.captured
    assert (file.kind, file.size, file.path.startswith("scratch/")) == ("created", 12, True)
    assert file.sha256 == hashlib.sha256(b"twelve bytes").hexdigest()


def test_what_honest_code_does_is_no_attempt(tried: Try) -> None:
    assert tried("asynchronous", "done").said == [b"done"]
    assert tried("honest").said == [b"done"]


@pytest.mark.parametrize("way", ["link", "folder", "names"])
def test_the_scratch_folder_is_no_way_out(way: str, tmp_path: Path, tried: Try) -> None:
    """Neither through a link, nor from an open folder, nor by a name that says one thing and then another."""
    (tmp_path / "file").write_text("as it was")
    assert tried(f"out_by_{way}", str(tmp_path)).ending.how == "tripped"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_text() == "as it was"


@pytest.mark.parametrize("event", ["compile", "exec", "os.listdir", "time.sleep", "glob.glob", "object.__getattr__"])
def test_what_touches_nothing_is_no_act(event: str) -> None:
    assert kind_of(event) is None
