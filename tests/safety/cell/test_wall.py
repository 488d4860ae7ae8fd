"""What does the wall hold with no tripwire before it? Each attempt is made, by Python and past it, and reaches nothing.

Both ways to raise it are tried; a machine that can't raise one skips by name.
"""

from __future__ import annotations

import errno
import hashlib
import os
import platform
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import forensics.replay.cell.cell as the_cell
from forensics.errors import IsolationUnavailableError
from forensics.replay.cell import Captured, CellPlan, Level, Limits, open_cell

Try = Callable[..., Any]  # the fixture of conftest.py, which can't be imported
AGENTS = str(Path(__file__).parent / "agents")
QUICK = Limits(seconds=60.0, cpu_seconds=30)


@pytest.fixture(params=["root", "user"])
def behind(request: pytest.FixtureRequest, behind_way: Callable[[str], Try]) -> Try:
    """Make an attempt behind a wall that was raised in one way, without the tripwire."""
    return behind_way(request.param)


def refused(ended: Any, *errors: int) -> None:
    """The attempt was made and failed with one of these errors, and the agent went on, which harms nobody."""
    assert ended.isolation.level == Level.WALL
    assert ended.went_on
    assert any(os.strerror(error) in ended.outcome for error in errors), ended.outcome


# -- the network


@pytest.mark.parametrize("function", ["tcp", "native:connect"])
def test_a_server_of_the_host_is_not_reached(function: str, behind: Try, listener: tuple[str, list[int]]) -> None:
    refused(behind(function, listener[0]), errno.ECONNREFUSED)
    assert listener[1] == []


@pytest.mark.parametrize("function", ["tcp", "udp", "native:connect"])
def test_the_world_is_not_reached(function: str, behind: Try) -> None:
    refused(behind(function, "192.0.2.1 80"), errno.ENETUNREACH)


def test_a_datagram_reaches_nobody(behind: Try) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as host:
        host.bind(("127.0.0.1", 0))
        host.settimeout(0.2)
        behind("udp", f"127.0.0.1 {host.getsockname()[1]}")
        with pytest.raises(TimeoutError):
            host.recv(10)


def test_no_name_is_resolved(behind: Try) -> None:
    assert "gaierror" in behind("name", "example.org").outcome


@pytest.mark.parametrize("function", ["unix", "native:connect_unix", "native:pair_connect_unix"])
@pytest.mark.parametrize("kind", [socket.SOCK_STREAM, socket.SOCK_DGRAM])
def test_a_socket_of_the_file_system_is_not_reached(
    function: str, kind: socket.SocketKind, behind: Try, tmp_path: Path
) -> None:
    place = tmp_path / "s"
    with socket.socket(socket.AF_UNIX, kind) as host:
        host.bind(str(place))
        place.chmod(0o777)
        refused(behind(function, str(place)), errno.EAFNOSUPPORT, errno.EBADF)


def test_an_abstract_socket_is_not_reached(behind: Try) -> None:
    with socket.socket(socket.AF_UNIX) as host:
        host.bind(b"\0forensics-test")
        host.listen()
        refused(behind("abstract_unix", "forensics-test"), errno.EAFNOSUPPORT)


@pytest.mark.parametrize("family", [1, 17, 38, 40, 44], ids=["unix", "packet", "alg", "vsock", "xdp"])
def test_other_families_have_no_sockets(family: int, behind: Try) -> None:
    refused(behind("family", str(family)), errno.EAFNOSUPPORT)


def test_raw_sockets_are_refused(behind: Try) -> None:
    refused(behind("raw"), errno.EPERM)


def test_loopback_is_there_for_the_child_itself(behind: Try) -> None:
    assert behind("loopback").said == [b"hello"]


# -- processes


@pytest.mark.parametrize(
    "function",
    ["command", "spawn", "execute", "fork", "around_the_hook", "native:fork", "native:execute", "native:command"],
)
def test_no_process_is_made(function: str, behind: Try, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    ended = behind(function, str(mark) if function == "fork" else f"echo here > {mark}")
    assert ended.went_on
    assert ended.isolation.captured == ()
    assert not mark.exists()


def test_a_shell_does_not_start(behind: Try, tmp_path: Path) -> None:
    ended = behind("system", f"echo here > {tmp_path}/mark")
    assert ended.outcome != "did 0"
    assert ended.isolation.captured == ()


def test_processes_of_the_host_are_not_there(behind: Try, host_process: str) -> None:
    assert behind("where").said == [b"{'host': 'cell', 'process': 2, 'parent': 1, 'folder': '/'}"]
    refused(behind("signal_to", host_process), errno.EPERM)
    refused(behind("native:read_memory", host_process), errno.EPERM)
    refused(behind("native:attach", host_process), errno.EPERM)
    refused(behind("read", f"/proc/{host_process}/environ"), errno.ENOENT)


def test_the_first_process_of_the_cell_tells_nothing_and_stays(behind: Try, secret: str) -> None:
    refused(behind("read", "/proc/1/environ"), errno.EACCES, errno.ENOENT)
    refused(behind("read", "/proc/1/mem"), errno.EACCES, errno.ENOENT)
    refused(behind("native:attach", "1"), errno.EPERM)
    refused(behind("native:signal_first"), errno.EPERM)
    refused(behind("signal_to_parent"), errno.EPERM)
    assert secret.encode() not in behind("ask_the_environment_of_all").said[0]


def test_a_signal_to_all_reaches_nobody_outside(behind: Try) -> None:
    refused(behind("native:signal_all"), errno.EPERM)


def test_nothing_is_done_to_the_first_process_of_the_cell(behind: Try) -> None:
    assert behind("acts_on_another", "1").outcome == "did []"


# -- the kernel


@pytest.mark.parametrize("space", ["268435456", "1073741824", "131072"], ids=["user", "network", "mounts"])
def test_no_other_namespace_is_entered(space: str, behind: Try) -> None:
    refused(behind("native:unshare", space), errno.EPERM)


@pytest.mark.parametrize("function", ["mount", "uncover", "remount", "new_root"])
@pytest.mark.parametrize("place", ["/", "/proc", "/dev"])
def test_no_mount_is_changed(function: str, place: str, behind: Try) -> None:
    refused(behind(f"native:{function}", place), errno.EPERM)


def test_no_device_is_made(behind: Try, tmp_path: Path) -> None:
    refused(behind("native:device", str(tmp_path / "disk")), errno.EPERM)


def test_devices_that_hold_something_are_not_there(behind: Try) -> None:
    (listed,) = behind("listing", "/dev").said
    assert listed.decode().split() == [
        *("fd", "full", "null", "random", "shm", "stderr", "stdin", "stdout", "urandom", "zero")
    ]


@pytest.mark.parametrize("place", ["/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/proc/sys/vm/drop_caches"])
def test_settings_of_the_kernel_are_not_written(place: str, behind: Try) -> None:
    ended = behind("write", place)
    assert ended.went_on
    assert not ended.outcome.startswith("did")


CALLS = {
    "keyctl": (250, 219, "0 -3 0"),
    "add_key": (248, 217, "0 0 0 0 0"),
    "io_uring_setup": (425, 425, "8 0"),
    "bpf": (321, 280, "0 0 0"),
    "open_by_handle_at": (304, 265, "-100 0 0"),
    "perf_event_open": (298, 241, "0 0 -1 -1 0"),
    "userfaultfd": (323, 282, "0"),
    "pidfd_open": (434, 434, "1 0"),
    "setns": (308, 268, "0 0"),
    "init_module": (175, 105, "0 0 0"),
    "kexec_load": (246, 104, "0 0 0 0"),
    "memfd_create": (319, 279, "0 0"),
    "shmget": (29, 194, "0 4096 0"),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_denied_call_is_denied(name: str, behind: Try) -> None:
    intel, arm, arguments = CALLS[name]
    number = intel if platform.machine() == "x86_64" else arm
    refused(behind("native:call", f"{number} {arguments}"), errno.EPERM)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="other numberings are a matter of x86-64")
def test_other_numberings_are_no_way_around(behind: Try) -> None:
    refused(behind("native:call", f"{0x40000000 + 57}"), errno.ENOSYS)  # fork, of x32
    ended = behind("native:other_numbering")
    assert (ended.said, ended.ending.how, ended.ending.code) == ([b"inside"], "killed", 31)  # SIGSYS


# -- files


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of the host with something in it, whose state must stay."""
    for name in ("old", "gone", "same", "folder/inner"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"{name}, as it was")
    return tmp_path


def state(folder: Path) -> dict[str, tuple[bytes, int]]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


def test_writes_are_captured_and_not_committed(behind: Try, folder: Path) -> None:
    before = state(folder)
    ended = behind("changes", str(folder))
    assert ended.went_on
    assert state(folder) == before

    def digest(text: bytes) -> str:
        return hashlib.sha256(text).hexdigest()

    assert ended.isolation.captured == tuple(
        Captured(f"{folder}/{name}", *rest)
        for name, *rest in (
            ("folder/inner", "deleted"),
            ("folder/other", "created", 5, digest(b"other")),
            ("gone", "deleted"),
            ("link", "created", 0, None, "/etc/passwd"),
            ("made/", "created"),
            ("made/inside", "created", 0, digest(b"")),
            ("new", "created", 3, digest(b"new")),
            ("old", "changed", 7, digest(b"changed")),
            ("pipe", "created"),
        )
    )


def test_native_writes_are_captured_too(behind: Try, folder: Path) -> None:
    (file,) = behind("native:write", f"{folder}/n").isolation.captured
    assert (file.path, file.kind, file.sha256) == (f"{folder}/n", "created", hashlib.sha256(b"native").hexdigest())
    assert not (folder / "n").exists()


def test_what_python_tells_nothing_of_is_captured_too(behind: Try, folder: Path) -> None:
    (made,) = behind("around_the_hook_to_the_disk", f"{folder}/pipe", tripwire=True).isolation.captured
    assert (made.path, made.kind) == (f"{folder}/pipe", "created")
    assert not (folder / "pipe").exists()


def test_a_link_leads_nowhere_else(behind: Try, folder: Path) -> None:
    ended = behind("write_through_a_link", f"{folder}/old")
    assert ended.outcome == "did 14"
    assert (folder / "old").read_text() == "old, as it was"
    assert {(file.path, file.kind, file.to) for file in ended.isolation.captured} == {
        ("/tmp/innocent", "created", f"{folder}/old"),  # noqa: S108 - in the child's own view
        (f"{folder}/old", "changed", None),
    }
    assert not Path("/tmp/innocent").exists()  # noqa: S108 - as above


def test_odd_names_are_listed_as_text(behind: Try, tmp_path: Path) -> None:
    listed = [file.path for file in behind("odd_names", str(tmp_path)).isolation.captured]
    assert f"{tmp_path}/\\xff\\xfe" in listed
    assert f"{tmp_path}/a\nb" in listed
    assert len(listed) == 6


def test_a_long_list_is_cut_and_counted(behind: Try, tmp_path: Path) -> None:
    kept = behind("many_files", f"{tmp_path} 1500", limits=Limits(captured=100)).isolation
    assert (len(kept.captured), kept.more) == (100, 1400)


def test_deep_folders_are_listed_as_far_as_that_goes(behind: Try, tmp_path: Path) -> None:
    kept = behind("deep_folders", f"{tmp_path} 300").isolation
    assert len(kept.captured) > 50
    assert kept.more == 1


def test_the_disk_of_a_child_is_bounded(behind: Try, tmp_path: Path) -> None:
    limits = Limits(seconds=60.0, storage=16 << 20)
    refused(behind("fill_the_disk", str(tmp_path), limits=limits), errno.ENOSPC)
    refused(behind("large_file", f"{tmp_path}/large", limits=limits), errno.EFBIG)


def test_homes_and_sockets_of_services_are_hidden(behind: Try, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws" / "credentials").write_text("aws_secret_access_key = x")
    monkeypatch.setenv("HOME", str(tmp_path))
    refused(behind("read", f"{tmp_path}/.aws/credentials"), errno.ENOENT)
    assert behind("listing", str(tmp_path)).said == [b""]
    assert behind("listing", "/run").said == [b""]


def test_a_folder_of_the_plan_is_shown_in_a_hidden_home(
    behind: Try, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a link leads to it, and its name has what separates the options of a mount."""
    code = tmp_path / "projects" / "a,b:c\\d"
    code.mkdir(parents=True)
    (code / "honest.py").write_text("def agent(channel, argument):\n    channel.send(__file__.encode())\n")
    (tmp_path / "current").symlink_to("projects/a,b:c\\d")
    (tmp_path / "token").write_text("secret")
    monkeypatch.setenv("HOME", str(tmp_path))
    plan = CellPlan(target="honest:agent", paths=(f"{tmp_path}/current",), limits=QUICK)
    with open_cell(plan) as cell:
        assert cell.channel.receive(20.0) == f"{tmp_path}/current/honest.py".encode()
    refused(behind("read", f"{tmp_path}/token"), errno.ENOENT)


# -- means


def test_memory_and_time_are_bounded(behind: Try) -> None:
    """Each limit alone: on a slow machine half a gigabyte in small bites takes more than a second of processor time."""
    assert behind("small_bites", limits=Limits(seconds=60.0, memory=512 << 20)).outcome.startswith("MemoryError")
    spun = behind("spin", limits=Limits(seconds=60.0, cpu_seconds=1)).ending
    assert (spun.how, spun.code) == ("killed", 24)  # SIGXCPU
    assert behind("sleep", limits=Limits(seconds=0.5)).ending.how == "out_of_time"


def test_threads_are_bounded(behind: Try) -> None:
    ended = behind("many_threads", limits=Limits(seconds=60.0, threads=64))
    assert ended.ending.how == "out_of_threads" or "can't start new thread" in ended.outcome


def test_surroundings_are_empty(behind: Try, secret: str) -> None:
    assert behind("surroundings").said == [b"{'environment': {}, 'descriptors': [0, 1, 2, 3], 'stdin': ''}"]


def test_the_end_is_told_as_without_a_wall(behind: Try) -> None:
    assert "ValueError: no such page" in behind("fails", "no such page").ending.what
    assert (behind("leave", "3").ending.how, behind("leave", "3").ending.code) == ("exited", 3)
    assert (behind("kill_itself").ending.how, behind("kill_itself").ending.code) == ("killed", 9)


# -- both together, and neither


def test_the_tripwire_tells_of_connections_behind_the_wall(behind: Try) -> None:
    ended = behind("tcp", "192.0.2.1 80", tripwire=True)
    assert ended.said == [b"inside"]
    assert [denied.kind for denied in ended.isolation.denied] == ["connection"]


def test_the_tripwire_leaves_files_to_the_wall(behind: Try, folder: Path) -> None:
    ended = behind("changes", str(folder), tripwire=True)
    assert ended.went_on
    assert len(ended.isolation.captured) == 9


def test_a_plan_that_executes_is_refused_without_a_wall(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = CellPlan(target="escapes:echo", paths=(AGENTS,), executes=True)
    for ways in ((), (None,)):
        monkeypatch.setattr(the_cell, "ways", lambda _plan, ways=ways: ways)
        with pytest.raises(IsolationUnavailableError) as refusal:
            open_cell(plan)
        assert refusal.value.code == "isolation_unavailable"


def test_a_wall_that_can_not_be_raised_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The child then starts at the next lower level, unless it executes something."""
    no_folder = tmp_path / "file"
    no_folder.touch()
    monkeypatch.setattr(the_cell, "ways", lambda _plan: ("root", None))
    monkeypatch.setattr("tempfile.mkdtemp", lambda **_: str(no_folder))
    with open_cell(CellPlan(target="escapes:leave", argument=b"0", paths=(AGENTS,))) as cell:
        assert cell.level == Level.TRIPWIRE
    (why,) = cell.isolation().missing
    assert why.startswith("root: ")
