"""B14: how fast are other tools on the same file, start-up included, and what do they keep in memory?

They are installed below the folder of the data. Each does on a file what it is for (an audit is more than that), and
none finds a home with anything in it. What can't be installed is told, and left out.
"""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tests.benchmarks.measures.harness import Command, forensics, interleaved
from tests.benchmarks.measures.rows import Goal, Row, Skipped, at_least, at_most

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.benchmarks.measures.asked import Asked
    from tests.benchmarks.measures.harness import Cost

SAMPLES = Path(__file__).parents[3] / "samples"
MEMORY = 0.1
CALL_ID = re.compile(r"\bcall_\d+")
READ_LOG = "import sys; from inspect_ai.log import read_eval_log; read_eval_log(sys.argv[1])"
REPLAY = """\
import sys
from fastaiagent.trace import Replay, TraceStore
Replay.load(sys.argv[2], TraceStore(sys.argv[1])).steps()
"""


class Peer(NamedTuple):
    """One tool: what it is called, how it is installed and started, on which kind of file, and what ours has to reach.

    `times` are by megabytes of the file; it is not tried on other sizes. `rounds` limits those of a slow one.
    """

    name: str
    packages: tuple[str, ...]
    command: Callable[[Path, str, Path], Command]
    times: dict[float, float]
    data: str = "cc"
    memory_at: float = 0
    rounds: int = 5


def measure(asked: Asked) -> Iterator[Row]:
    """Each peer beside `forensics audit` of the same file."""
    if not asked.peers:
        raise Skipped("the other tools are installed and run with --peers")
    folder = asked.data.folder / "peers"
    for peer in PEERS:
        try:
            binaries = _installed(peer, folder / peer.name)
        except Skipped as reason:
            print(f"B14: {peer.name} not taken, {reason}", flush=True)
            continue
        for size in sorted({*asked.sizes} & {*peer.times}):
            yield from _beside(asked, peer, binaries, size)


def _beside(asked: Asked, peer: Peer, binaries: Path, size: float) -> Iterator[Row]:
    path, data = DATA[peer.data](asked, size), f"{peer.data} {size:g} MB"
    with tempfile.TemporaryDirectory(dir=binaries.parent) as scratch:
        theirs = ["env", f"HOME={scratch}", "DO_NOT_TRACK=1", *peer.command(binaries, str(path), Path(scratch))]
        commands = {"theirs": theirs, "ours": forensics("audit", path)}
        costs = interleaved(commands, min(asked.rounds, peer.rounds))
    figures = {name: cost.figures() for name, cost in costs.items()}
    value = costs["theirs"].cpu / costs["ours"].cpu
    yield Row("B14", f"{peer.name}: its time over ours", data, value, "x", at_least(peer.times[size]), figures)
    yield _memory(peer, data, size, costs)


def _memory(peer: Peer, data: str, size: float, costs: dict[str, Cost]) -> Row:
    value = costs["ours"].anonymous / costs["theirs"].anonymous
    goal: Goal | None = at_most(MEMORY) if size == peer.memory_at else None
    return Row("B14", f"{peer.name}: our anonymous memory over its", data, value, "x", goal)


def _installed(peer: Peer, folder: Path) -> Path:
    """Where the programs of a peer are. Raises Skipped where it can't be installed."""
    binaries = folder / "bin"
    if not (folder / "installed").exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        install = [str(binaries / "pip"), "install", "--quiet", *peer.packages]
        done = subprocess.run(install, check=False, capture_output=True, text=True)
        if done.returncode:
            raise Skipped(f"it can't be installed: {done.stderr.strip().splitlines()[-1]}")
        (folder / "installed").touch()
    return binaries


PEERS = (
    Peer(
        "agent2perfetto",
        ("agent2perfetto",),
        lambda own, path, out: [str(own / "agent2perfetto"), path, "-o", str(out / "out.json")],
        {10: 5, 100: 5},
        memory_at=100,
    ),
    Peer(
        "agent-trajviz",
        ("agent-trajviz",),
        lambda own, path, out: [str(own / "agent-trajviz"), "--json", path, "-o", str(out / "views")],
        {10: 20, 100: 20},
        memory_at=100,
    ),
    Peer(
        "claude-code-log",
        ("claude-code-log",),
        lambda own, path, out: [
            *(str(own / "claude-code-log"), "convert", path, "--no-cache"),
            *("-o", str(out / "out.json")),
        ],
        {10: 10},
    ),
    Peer(
        "inspect_ai",
        ("inspect_ai",),
        lambda own, path, _: [str(own / "python"), "-c", READ_LOG, path],
        {10: 10},
        data="inspect",
    ),
    Peer(
        "FastAIAgent",
        ("fastaiagent",),
        lambda own, path, _: [str(own / "python"), "-c", REPLAY, path, _only_trace(path)],
        {10: 10},
        data="fastaiagent",
    ),
    Peer(
        "agent-strace",
        ("agent-strace",),
        lambda own, path, out: [str(own / "agent-strace"), "--trace-dir", str(out / "traces"), "import", path],
        {1: 10, 10: 10},
        rounds=1,
    ),
)


# their own kinds of files --------------------------------------------------------------------------------------------


def _session(asked: Asked, size: float) -> Path:
    return asked.data.trace("cc", megabytes=size)


def _inspect_log(asked: Asked, size: float) -> Path:
    """An eval log with the sample of ours, over and over."""

    def make(path: Path) -> None:
        log = json.loads((SAMPLES / "pager.inspect.json").read_text("utf-8"))
        (sample,) = log["samples"]
        count = round(size * 1e6 / len(json.dumps(sample)))
        log["samples"] = [{**sample, "id": number, "uuid": f"{sample['uuid']}{number}"} for number in range(count)]
        path.write_text(json.dumps(log), encoding="utf-8")

    return asked.data.made(f"inspect-{size:g}MB.json", make)


def _spans(asked: Asked, size: float) -> Path:
    """A database with one run of ours, whose spans come over and over."""

    def make(path: Path) -> None:
        path.write_bytes((SAMPLES / "pager.db").read_bytes())
        with sqlite3.connect(path) as database:
            trace = _only_trace(path)
            database.execute("DELETE FROM spans WHERE trace_id != ?", (trace,))
            told = database.execute("SELECT * FROM spans WHERE parent_span_id IS NOT NULL").fetchall()
            each = sum(len(str(value)) for row in told for value in row)
            holes = ",".join("?" * len(told[0]))
            for number in range(round(size * 1e6 / each)):
                rows = [(f"{number:08x}{row[0][8:]}", *(_renamed(value, number) for value in row[1:])) for row in told]
                database.executemany(f"INSERT OR IGNORE INTO spans VALUES ({holes})", rows)
        database.close()

    return asked.data.made(f"fastaiagent-{size:g}MB-ids.db", make)


def _renamed(value: object, number: int) -> object:
    """The same with ids of calls that no other copy has."""
    return CALL_ID.sub(rf"\g<0>x{number}", value) if isinstance(value, str) else value


def _only_trace(path: str | Path) -> str:
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
        (trace,) = database.execute("SELECT min(trace_id) FROM spans").fetchone()
    database.close()
    return str(trace)


DATA: dict[str, Callable[[Asked, float], Path]] = {
    "cc": _session,
    "inspect": _inspect_log,
    "fastaiagent": _spans,
}
