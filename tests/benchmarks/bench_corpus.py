"""What does a corpus cost: in one process and in two, the second time, and the second time on trust?

`python tests/benchmarks/bench_corpus.py [--files N] [--bytes N] [--rounds N] [--again N] [--json FILE]` makes sessions
with the shared generator and audits them by the command line, each time in a fresh process; what is compared is
interleaved, so that all of it meets the same load. Medians, and their ratios:

- `two processes`: the first run with one process, and with two. Beside the wall clock stands what two processors make
  of it: the processor time of one process, over that of the process that asks and half of that of its two workers, as
  if the one never worked while the others do. A machine that has other things to do disturbs it less.
- `a worker's memory`: the peak of each worker (RssAnon; VmHWM counts the pages of the program too).
- `the second time`: a run in which nothing changed, beside one process that reads and hashes the same bytes.
- `on trust`: the same with --trust-mtime, beside the first run with two processes.
- `dask`: a LocalCluster of two processes on loopback, beside the first run with one, in the work phase: without the
  start of the cluster. Skipped where dask is not installed.

All first runs must come to the same results, byte for byte. The promises (issue 8; PERFORMANCE B12, B13, B17) are
printed beside the figures.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
GENERATOR = ROOT.parent / "shared" / "bench" / "gen_traces.py"
MEGABYTE = 1_000_000
_TICK = os.sysconf("SC_CLK_TCK")
_LOOK = 0.05  # seconds between two looks at the processes of a run

REFERENCE = """
import hashlib, sys
from pathlib import Path
for path in sorted(Path(sys.argv[1]).rglob("*.jsonl")):
    with open(path, "rb") as file:
        hashlib.sha256(file.read()).hexdigest()
"""
DASK = """
import sys, time
from pathlib import Path
from distributed import LocalCluster
from forensics.corpus.run import Corpus, audit_corpus
from forensics.corpus.named_engines import engine_named

if __name__ == "__main__":
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=None
    )
    with cluster:
        start = time.perf_counter()
        engine = engine_named("dask", 2, cluster.scheduler_address)
        audit_corpus([sys.argv[1]], Path(sys.argv[2]), Corpus(engine=engine))
        print(time.perf_counter() - start)
"""


class Cost(NamedTuple):
    """What a run cost: seconds on the clock, seconds of processors (its own, and those of its workers), the peaks of a
    worker's memory (bytes), and what it printed.
    """

    wall: float
    own: float
    workers: float
    anonymous: int
    resident: int
    printed: str


def run(command: list[str]) -> Cost:
    """Run a command to its end, and look at its processes meanwhile."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    spent: dict[int, float] = {}
    memory: dict[int, tuple[int, int]] = {}
    start = time.perf_counter()
    with tempfile.TemporaryFile() as printed:
        leader = subprocess.Popen(command, env=environment, stdout=printed, start_new_session=True)
        while not (ended := os.wait4(leader.pid, os.WNOHANG))[0]:
            for pid in _session(leader.pid):
                _look(pid, spent, memory)
            time.sleep(_LOOK)
        wall = time.perf_counter() - start
        leader.returncode = ended[1]
        printed.seek(0)
        text = printed.read().decode()
    spent.pop(leader.pid, None)
    own = ended[2].ru_utime + ended[2].ru_stime
    peaks = [memory[pid] for pid in memory if pid != leader.pid] or [*memory.values()]
    anonymous, resident = (max(kind) for kind in zip(*peaks, strict=True))
    return Cost(wall, own, sum(spent.values()), anonymous, resident, text)


def _session(leader: int) -> list[int]:
    """The processes of a session, by /proc."""
    running = [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208 - twenty times a second
    return [pid for pid in running if (fields := _stat(pid)) and int(fields[3]) == leader]


def _stat(pid: int) -> list[str]:
    """The fields of a process behind its name; none where it has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    except OSError:
        return []


def _look(pid: int, spent: dict[int, float], memory: dict[int, tuple[int, int]]) -> None:
    try:
        lines = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text("utf-8").splitlines())
    except OSError:
        return
    fields = _stat(pid)
    if "RssAnon" not in lines or not fields:
        return  # it has ended
    spent[pid] = (int(fields[11]) + int(fields[12])) / _TICK
    anonymous, resident = (int(lines[name].split()[0]) * 1024 for name in ("RssAnon", "VmHWM"))
    before = memory.get(pid, (0, 0))
    memory[pid] = (max(before[0], anonymous), max(before[1], resident))


# what is measured ----------------------------------------------------------------------------------------------------


class Bench:
    """A corpus, and where its results go."""

    def __init__(self, corpus: Path, results: Path) -> None:
        self._corpus, self._results = corpus, results
        self._first: dict[str, bytes] | None = None

    def first(self, engine: str, *more: str) -> Cost:
        """A run that finds nothing there; its results must be those of the other first runs."""
        into = self._results / engine
        shutil.rmtree(into, ignore_errors=True)
        cost = run(self._audit(into, "--engine", engine, *more))
        self._check(into)
        return cost

    def again(self, *more: str) -> Cost:
        """A run in which nothing changed."""
        return run(self._audit(self._results / "process", *more))

    def reference(self) -> Cost:
        """One process that reads and hashes the same bytes."""
        return run([sys.executable, "-c", REFERENCE, str(self._corpus)])

    def dask(self) -> Cost:
        """A first run on a cluster of two processes; the clock is that of the work phase."""
        into = self._results / "dask"
        shutil.rmtree(into, ignore_errors=True)
        script = self._results / "on_dask.py"
        script.write_text(DASK, "utf-8")
        cost = run([sys.executable, str(script), str(self._corpus), str(into)])
        self._check(into)
        return cost._replace(wall=float(cost.printed.split()[-1]))

    def _audit(self, into: Path, *more: str) -> list[str]:
        return [sys.executable, "-m", "forensics", "audit", str(self._corpus), "--into", str(into), "--quiet", *more]

    def _check(self, into: Path) -> None:
        """Raise ValueError where the results are others than those of the first run."""
        found = {path.name: path.read_bytes() for path in into.iterdir() if not path.name.startswith("ledger")}
        self._first = self._first or found
        if found != self._first:
            message = f"{into.name} came to other results"
            raise ValueError(message)


def _median(costs: list[Cost], what: str) -> float:
    return float(statistics.median(getattr(cost, what) for cost in costs))


class Figure(NamedTuple):
    """One figure beside its promise: at least, or at most."""

    name: str
    value: float
    promise: float
    at_least: bool
    told: str

    @property
    def holds(self) -> bool:
        """Whether the promise is kept."""
        return self.value >= self.promise if self.at_least else self.value <= self.promise


def _at_least(name: str, value: float, promise: float, told: str) -> Figure:
    return Figure(name, value, promise, at_least=True, told=told)


def _at_most(name: str, value: float, promise: float, told: str) -> Figure:
    return Figure(name, value, promise, at_least=False, told=told)


def measure(bench: Bench, rounds: int, again: int) -> list[Figure]:
    """Everything, interleaved."""
    one, two, dask = [], [], []
    with_dask = all(map(importlib.util.find_spec, ("distributed", "forensics.corpus.named_engines")))
    for _ in range(rounds):
        one.append(bench.first("serial"))
        two.append(bench.first("process", "--workers", "2"))
        if with_dask:
            dask.append(bench.dask())
    bench.again()
    pairs = [(bench.reference(), bench.again()) for _ in range(again)]
    read, second = map(list, zip(*pairs, strict=True))
    trusting = [bench.again("--trust-mtime") for _ in range(again)]
    alone, both = _median(one, "wall"), _median(two, "wall")
    asking, working = _median(two, "own"), _median(two, "workers")
    reading, unchanged, trusted = _median(read, "own"), _median(second, "own"), _median(trusting, "wall")
    work = f"{_median(one, 'own'):.1f} s to {asking:.1f} s and {working:.1f} s"
    figures = [
        _at_least("two processes, wall", alone / both, 1.8, f"{alone:.1f} s to {both:.1f} s"),
        _at_least("two processes, of the work", _median(one, "own") / (asking + working / 2), 1.8, work),
        _at_most("a worker's memory, MB", max(c.anonymous for c in two) / MEGABYTE, 60, "RssAnon"),
        _at_most("the same, all pages, MB", max(c.resident for c in two) / MEGABYTE, 60, "VmHWM"),
        _at_most("the second time", unchanged / reading, 2, f"{unchanged:.2f} s to {reading:.2f} s of CPU"),
        _at_least("on trust", both / trusted, 20, f"{both:.1f} s to {trusted:.2f} s"),
    ]
    if dask:
        on_dask = _median(dask, "wall")
        figures.append(_at_least("dask, two workers", alone / on_dask, 1.2, f"{alone:.1f} s to {on_dask:.1f} s"))
    return figures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--bytes", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=1, help="of first runs")
    parser.add_argument("--again", type=int, default=5, help="of second runs")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--generator", type=Path, default=GENERATOR)
    asked = parser.parse_args()
    if not asked.generator.is_file():
        print(f"skipped: no generator at {asked.generator}; name one with --generator")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        corpus, results = Path(folder) / "corpus", Path(folder) / "results"
        size = ["--n", str(asked.files), "--bytes", str(asked.bytes)]
        made = [sys.executable, str(asked.generator), "corpus", "--format", "cc", *size, "--out", str(corpus)]
        subprocess.run(made, check=True, stdout=subprocess.DEVNULL)
        results.mkdir()
        figures = measure(Bench(corpus, results), asked.rounds, asked.again)
    print(f"{asked.files} files of {asked.bytes} bytes; {asked.rounds} first and {asked.again} second rounds")
    for one in figures:
        said = f"{'>=' if one.at_least else '<='} {one.promise:g}"
        print(f"  {one.name:<28} {one.value:8.2f}   {said:<8} {'holds' if one.holds else 'MISSED':<7} {one.told}")
    if asked.json:
        asked.json.write_text(json.dumps([{**one._asdict(), "holds": one.holds} for one in figures], indent=1), "utf-8")
    return 0 if all(one.holds for one in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
