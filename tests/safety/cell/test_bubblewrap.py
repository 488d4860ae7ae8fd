"""What does the wall hold that bubblewrap raises? The same attempts, where only temporary folders can be written to."""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from forensics.errors import IsolationUnavailableError
from forensics.replay.cell import CellPlan, Level, open_cell
from forensics.replay.cell.isolation import Ending
from forensics.replay.cell.orders import Start
from forensics.replay.cell.wall import bubblewrap
from forensics.replay.cell.wall.layout import Layout

Try = Callable[..., Any]  # the fixture of conftest.py, which can't be imported
AGENTS = str(Path(__file__).parent / "agents")


@pytest.fixture
def behind(behind_way: Callable[[str], Try]) -> Try:
    return behind_way("bubblewrap")


def refused(ended: Any, *errors: int) -> None:
    assert (ended.isolation.level, ended.isolation.way) == (Level.WALL, "bubblewrap")
    assert ended.went_on
    assert any(os.strerror(error) in ended.outcome for error in errors), ended.outcome


@pytest.mark.parametrize("function", ["tcp", "native:connect"])
def test_a_server_of_the_host_is_not_reached(function: str, behind: Try, listener: tuple[str, list[int]]) -> None:
    refused(behind(function, listener[0]), errno.ECONNREFUSED)
    assert listener[1] == []
    refused(behind(function, "192.0.2.1 80"), errno.ENETUNREACH)


@pytest.mark.parametrize("function", ["unix", "native:connect_unix", "native:pair_connect_unix"])
def test_a_socket_of_the_file_system_is_not_reached(function: str, behind: Try) -> None:
    """It can be seen there, in a folder that is shown as it is, and is not reached all the same."""
    place = Path(__file__).parent / "socket-of-the-host"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as host:
        try:
            host.bind(str(place))
            place.chmod(0o777)
            refused(behind(function, str(place)), errno.EAFNOSUPPORT, errno.EBADF)
        finally:
            place.unlink(missing_ok=True)


@pytest.mark.parametrize("function", ["command", "spawn", "execute", "fork", "around_the_hook", "native:fork"])
def test_no_process_is_made(function: str, behind: Try) -> None:
    mark = "/tmp/mark"  # noqa: S108 - in the child's own view
    ended = behind(function, mark if function == "fork" else f"echo here > {mark}")
    assert ended.went_on
    assert ended.isolation.captured == ()


def test_processes_of_the_host_are_not_there(behind: Try, secret: str, host_process: str) -> None:
    refused(behind("signal_to", host_process), errno.EPERM)
    refused(behind("native:attach", "1"), errno.EPERM)
    refused(behind("native:read_memory", "2"), errno.EPERM)


def test_the_watcher_in_there_is_out_of_reach(behind: Try) -> None:
    """Behind bubblewrap it has the namespaces of the child, so it is 1 or 2 there."""
    for process in "12":
        refused(behind("read", f"/proc/{process}/mem"), errno.EACCES, errno.EIO)
        refused(behind("append", f"/proc/{process}/mem"), errno.EACCES, errno.EROFS)
        refused(behind("signal_to", process), errno.EPERM)
    refused(behind("signal_to_parent"), errno.EPERM)


def test_nothing_is_done_to_the_watcher_in_there(behind: Try) -> None:
    assert behind("acts_on_another", "0").outcome == "did []"


def test_the_environment_of_the_parent_is_nowhere(behind: Try, secret: str) -> None:
    assert secret.encode() not in behind("ask_the_environment_of_all").said[0]


def test_temporary_files_are_captured_and_other_writes_refused(behind: Try) -> None:
    (file,) = behind("write", "/tmp/of-the-agent").isolation.captured  # noqa: S108 - in the child's own view
    assert (file.path, file.kind, file.size) == ("/tmp/of-the-agent", "created", 20)  # noqa: S108 - as above
    assert not Path("/tmp/of-the-agent").exists()  # noqa: S108 - as above
    refused(behind("write", "/etc/of-the-agent"), errno.EROFS)
    refused(behind("native:remount", "/"), errno.EPERM)
    refused(behind("write", "/proc/sys/kernel/core_pattern"), errno.EROFS, errno.EACCES)


def test_the_way_to_the_code_is_no_write(behind: Try, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = tmp_path / "projects" / "agent"
    code.mkdir(parents=True)
    (code / "honest.py").write_text("def agent(channel, argument):\n    channel.send(__file__.encode())\n")
    (tmp_path / "current").symlink_to("projects/agent")
    monkeypatch.setenv("HOME", str(tmp_path))
    plan = CellPlan(target="honest:agent", paths=(f"{tmp_path}/current",), executes=True)
    assert behind("leave", "0").isolation.captured == ()
    with open_cell(plan) as cell:
        assert cell.channel.receive(20.0) == f"{tmp_path}/current/honest.py".encode()
    assert cell.isolation().captured == ()


def test_the_end_is_told(behind: Try) -> None:
    assert "ValueError: no such page" in behind("fails", "no such page").ending.what
    assert behind("leave", "3").ending == Ending(how="exited", code=3)
    assert behind("kill_itself").ending == Ending(how="killed", code=9)


def test_it_is_not_taken_at_its_word(tmp_path: Path) -> None:
    """A program called bwrap that raises no wall is found out: the namespaces are still those of the parent."""
    start = Start(CellPlan(target="a:b"), str(tmp_path), "bubblewrap", Layout(), bubblewrap.spaces())
    with pytest.raises(OSError, match="net, mnt, pid, ipc"):
        bubblewrap.behind(start)


def test_where_it_is_not_installed_that_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr("forensics.replay.cell.cell.ways", lambda _plan: ("bubblewrap",))
    with pytest.raises(IsolationUnavailableError, match="bubblewrap: it is not installed"):
        open_cell(CellPlan(target="escapes:echo", paths=(AGENTS,), executes=True))


NOBODY, OF_NOBODY = 65534, "/tmp/of-nobody"  # noqa: S108 - written behind the wall
SCRIPT = """
import sys
import forensics.replay.cell.cell as the_cell
from forensics.replay.cell import CellPlan, open_cell
way, place, secret = sys.argv[1:]
the_cell.ways = lambda plan: (way,)
def tried(function, argument):
    said = []
    with open_cell(CellPlan(target=function, argument=argument.encode(), paths=(AGENTS,), tripwire=False)) as cell:
        while (message := cell.channel.receive(20.0)) is not None:
            said.append(message.decode(errors="replace"))
    return cell.level, said[1:2], [(file.path, file.kind) for file in cell.isolation().captured]
print(tried("escapes:tcp", "192.0.2.1 80"))
print(tried("escapes:write", place))
print(tried("native:fork", ""))
print(tried("escapes:read", secret))
"""


def as_nobody(*command: str) -> subprocess.CompletedProcess[str]:
    """Run a command with the Python of the system, which anybody may run; what it imports is found by PYTHONPATH."""
    places = [os.path.realpath(place) for place in sys.path if place]
    world = {"PYTHONPATH": os.pathsep.join(places), "HOME": "/nonexistent", "PATH": "/usr/bin"}
    try:
        return subprocess.run(
            ["/usr/bin/python3", *command],
            env=world,
            user=NOBODY,
            group=NOBODY,
            extra_groups=[],
            capture_output=True,
            text=True,
            check=False,
            cwd="/",
        )
    except OSError as error:
        pytest.skip(f"nobody else can be become here, or there is no other Python: {error}")


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="only root can become somebody else")
@pytest.mark.parametrize("way", ["user", "bubblewrap"])
def test_an_unprivileged_user_has_the_same_wall(way: str, tmp_path: Path) -> None:
    if as_nobody("-c", "import msgspec, forensics").returncode:
        pytest.skip("the Python of the system can't import what the cell needs")
    done = as_nobody("-c", SCRIPT.replace("AGENTS", repr(AGENTS)), way, OF_NOBODY, str(tmp_path))
    if "IsolationUnavailableError" in done.stderr:
        pytest.skip(done.stderr.strip().rpartition("\n")[2])
    level = "(<Level.WALL: 'wall'>, "
    assert done.stdout.splitlines()[:3] == [
        level + "['OSError: [Errno 101] Network is unreachable'], [])",
        level + "['did 20'], [('/tmp/of-nobody', 'created')])",
        level + "['error 1: Operation not permitted'], [])",
    ], done.stderr
    assert not Path(OF_NOBODY).exists()
