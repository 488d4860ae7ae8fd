"""What holds of every child, at every level? Its surroundings are empty, its means bounded, and its end told."""

from __future__ import annotations

import os
import resource
import struct
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from forensics.errors import CellFaultError
from forensics.replay.cell import CellPlan, Level, Limits, open_cell

if TYPE_CHECKING:
    from collections.abc import Callable

AGENTS = str(Path(__file__).parent / "agents")
ALLOWANCE = Limits(seconds=60.0, cpu_seconds=30)
Try = Any  # the fixture of conftest.py, which can't be imported


def plan(function: str, argument: bytes = b"", **more: Any) -> CellPlan:
    settings = {"wall": False, "limits": ALLOWANCE, **more}
    return CellPlan(target=f"escapes:{function}", paths=(AGENTS,), argument=argument, **settings)


def test_messages_go_both_ways_in_order() -> None:
    with open_cell(plan("echo", b"> ")) as cell:
        for word in (b"one", b"", b"x" * 1_000_000):
            cell.channel.send(word)
        assert [cell.channel.receive(10.0) for _ in range(3)] == [b"> one", b"> ", b"> " + b"x" * 1_000_000]
    assert cell.end().how == "returned"  # it heard that no more messages come


def test_the_child_inherits_nothing_but_the_channel(monkeypatch: pytest.MonkeyPatch, tried: Try) -> None:
    monkeypatch.setenv("MODEL_API_KEY", "sk-secret")
    leak = os.open("/etc/hostname", os.O_RDONLY)
    os.set_inheritable(leak, True)  # noqa: FBT003 - the signature of the standard library
    try:
        said = tried("surroundings").said
    finally:
        os.close(leak)
    assert said == [b"{'environment': {}, 'descriptors': [0, 1, 2, 3], 'stdin': ''}"]


def test_what_is_raised_is_told_with_its_traceback(tried: Try) -> None:
    ending = tried("fails", "no such page").ending
    assert ending.how == "raised"
    assert "ValueError: no such page" in ending.what


@pytest.mark.parametrize("target", ["nowhere:agent", "escapes:nothing", "escapes"])
def test_a_target_that_is_not_there_is_told(target: str) -> None:
    with open_cell(CellPlan(target=target, paths=(AGENTS,), wall=False)) as cell:
        assert cell.channel.receive(10.0) is None
    assert cell.end().how == "raised"
    assert "Error" in cell.end().what


@pytest.mark.parametrize(("code", "how"), [(0, "returned"), (3, "exited")])
def test_leaving_by_itself_is_told(code: int, how: str, tried: Try) -> None:
    assert (tried("leave", str(code)).ending.how, tried("leave", str(code)).ending.code) == (how, code)


def test_a_child_that_is_killed_is_told(tried: Try) -> None:
    ending = tried("kill_itself").ending
    assert (ending.how, ending.code) == ("killed", 9)


def test_too_much_memory_is_refused(tried: Try) -> None:
    limits = Limits(seconds=60.0, memory=512 << 20)
    assert tried("memory", limits=limits).outcome.startswith("MemoryError")
    assert tried("small_bites", limits=limits).outcome.startswith("MemoryError")


def test_a_spinning_child_is_ended_by_the_limit_of_processor_time(tried: Try) -> None:
    ending = tried("spin", limits=Limits(seconds=60.0, cpu_seconds=1)).ending
    assert (ending.how, ending.code) == ("killed", 24)  # SIGXCPU


def test_a_child_that_never_answers_is_ended_by_the_limit_of_time(tried: Try) -> None:
    before = time.monotonic()
    assert tried("sleep", limits=Limits(seconds=0.5)).ending.how == "out_of_time"
    assert time.monotonic() - before < 10.0


def test_a_child_that_never_answers_is_ended_when_the_cell_is_left() -> None:
    with open_cell(plan("sleep")) as cell:
        assert cell.channel.receive(10.0) == b"inside"
        assert cell.channel.receive(0.1) is None
        assert not cell.channel.ended
        assert cell.end(grace=0.1).how == "closed"


def test_a_child_that_takes_no_message_stops_the_conversation() -> None:
    with open_cell(plan("deaf")) as cell:
        assert cell.channel.receive(10.0) == b"inside"
        with pytest.raises(CellFaultError, match="takes no message"):
            cell.channel.send(b"x" * 10_000_000, timeout=0.2)
        assert cell.channel.receive(0.1) is None
        assert cell.end(grace=0.0).how == "closed"


@pytest.mark.parametrize(
    "frame",
    [b"\xff" * 64, struct.pack(">IB", 1 << 31, 0), struct.pack(">IB", 2, 9) + b"{}", b"GET / HTTP/1.1\r\n\r\n"],
    ids=["ones", "length", "kind", "http"],
)
def test_garbage_on_the_channel_is_a_fault_of_the_cell(frame: bytes) -> None:
    with open_cell(plan("garbage", frame)) as cell:
        with pytest.raises(CellFaultError, match="no message"):
            cell.channel.receive(10.0)
        assert cell.channel.receive(0.0) is None
    assert cell.isolation().level == Level.TRIPWIRE


def test_half_a_message_is_no_message() -> None:
    with open_cell(plan("garbage", struct.pack(">IB", 100, 0) + b"half")) as cell:
        assert cell.channel.receive(10.0) is None
        assert cell.channel.ended


def test_a_made_up_report_is_no_denial_unless_it_is_well_formed() -> None:
    with open_cell(plan("garbage", struct.pack(">IB", 5, 1) + b"hello")) as cell:
        assert cell.channel.receive(10.0) is None
    assert cell.isolation().denied == ()


def test_a_huge_report_is_no_report() -> None:
    with open_cell(plan("garbage", struct.pack(">IB", 1 << 20, 1) + b"x" * (1 << 20))) as cell:
        with pytest.raises(CellFaultError, match="no message"):
            cell.channel.receive(10.0)
        assert cell.isolation().denied == ()


def test_sets_of_texts_have_one_order_in_every_rerun(tried: Try) -> None:
    assert tried("order").said == tried("order").said


def test_what_a_child_leaves_behind_is_ended(tried: Try) -> None:
    """Without the tripwire and the wall, a process of a session of its own."""
    orphan = int(tried("orphan", tripwire=False).said[0])
    assert _gone(orphan)


def test_a_huge_message_is_refused_on_either_side(tried: Try) -> None:
    limits = Limits(seconds=60.0, message=1000)
    assert tried("huge_message", "1001", limits=limits).outcome.startswith("CellFaultError")
    with open_cell(plan("echo", limits=limits)) as cell, pytest.raises(CellFaultError, match="limit"):
        cell.channel.send(b"x" * 1001)


def test_a_flood_of_messages_is_read_one_by_one() -> None:
    with open_cell(plan("flood")) as cell:
        assert all(cell.channel.receive(10.0) == b"x" * 1000 for _ in range(2000))
        assert cell.end(grace=0.0).how == "closed"


def test_output_is_kept_up_to_its_limit(tried: Try) -> None:
    ended = tried("noisy", "5000000", limits=Limits(seconds=60.0, output=1000))
    assert ended.went_on
    assert (ended.ending.stdout, ended.ending.stderr) == ("o" * 1000, "e" * 1000)


def test_nothing_of_a_cell_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tried: Try) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = _descriptors()
    tried("scratch", "some text")
    assert list(tmp_path.iterdir()) == []
    assert _descriptors() == before


def _descriptors() -> list[str]:
    return sorted(str(path) for path in Path("/dev/fd").iterdir())


def test_a_cell_can_be_opened_in_a_thread_that_ends(tried: Try) -> None:
    cells = []
    thread = threading.Thread(target=lambda: cells.append(open_cell(plan("echo"))))
    thread.start()
    thread.join()
    with cells[0] as cell:
        cell.channel.send(b"still there")
        assert cell.channel.receive(10.0) == b"still there"


def test_the_child_ends_with_its_parent(tmp_path: Path) -> None:
    """A parent that is killed takes its cells along."""
    import subprocess
    import sys

    code = (
        "import sys, time\nfrom forensics.replay.cell import CellPlan, open_cell\n"
        f"cell = open_cell(CellPlan(target='escapes:sleep', paths=({AGENTS!r},), wall=False))\n"
        "cell.channel.receive(10.0)\nprint(cell._watcher._process.pid, flush=True)\ntime.sleep(60)\n"
    )
    world = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(tmp_path)}
    parent = subprocess.Popen([sys.executable, "-c", code], env=world, stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    with parent:
        watcher = int(parent.stdout.readline())
        parent.kill()
    assert _gone(watcher)


def _gone(process: int) -> bool:
    until = time.monotonic() + 10.0
    while time.monotonic() < until:
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        if Path(f"/proc/{process}/stat").exists() and Path(f"/proc/{process}/stat").read_text().split()[2] == "Z":
            return True
        time.sleep(0.05)
    return False


def test_limits_are_not_raised_where_the_parent_has_lower_ones(tried: Try) -> None:
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 0
    said: Callable[..., Any] = tried
    assert said("surroundings", limits=Limits(seconds=60.0, open_files=1 << 30)).ending.how == "returned"
