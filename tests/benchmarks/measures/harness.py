"""What did a process cost? Processor time, and the most anonymous memory that was seen while it ran.

Everything that the suite compares runs here: each in a fresh process, all of them in turn, round after round, so that
they meet the same load; what counts is the median. No figure means anything alone: a measure divides two of one run.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[3]
PAUSE = 0.004  # between two looks at the memory of a process
PATIENCE = 1800.0  # seconds after which a process is ended
MEGABYTE = 1_000_000

Command = Sequence[str]


class Failed(Exception):  # noqa: N818 - an outcome of a process
    """A process did not end well; the text says how."""


class Sample(NamedTuple):
    """One run of one process: processor seconds, most anonymous and resident memory in MB, and what it said itself."""

    cpu: float
    anonymous: float
    resident: float
    says: dict[str, Any]


class Cost(NamedTuple):
    """The runs of one process over all rounds."""

    samples: list[Sample]

    @property
    def cpu(self) -> float:
        """The median."""
        return statistics.median(sample.cpu for sample in self.samples)

    @property
    def anonymous(self) -> float:
        """The most over all rounds."""
        return max(sample.anonymous for sample in self.samples)

    @property
    def grown(self) -> float:
        """By how much a job's anonymous memory grew while it worked, at most."""
        return max(sample.anonymous - float(sample.says["before"]) for sample in self.samples)

    @property
    def resident(self) -> float:
        """The most over all rounds, mapped pages of files included."""
        return max(sample.resident for sample in self.samples)

    @property
    def says(self) -> dict[str, Any]:
        """What the last one said."""
        return self.samples[-1].says

    def figures(self) -> dict[str, float]:
        """As they stand in a result."""
        every = [sample.cpu for sample in self.samples]
        return {
            "cpu": round(self.cpu, 4),
            "cpu_least": round(min(every), 4),
            "cpu_most": round(max(every), 4),
            "anonymous_mb": round(self.anonymous, 1),
        }


def job(name: str, *arguments: object) -> Command:
    """The command that runs one of `jobs` and times its work alone, without start-up and imports."""
    return [sys.executable, "-m", "tests.benchmarks.measures.child", name, *map(str, arguments)]


def forensics(*arguments: object) -> Command:
    """The command line, as a whole process."""
    return [sys.executable, "-m", "forensics", *map(str, arguments)]


def interleaved(commands: Mapping[str, Command], rounds: int, *, warm: bool = False) -> dict[str, Cost]:
    """What each costs, in turn, over so many rounds; where `warm`, after one round that does not count."""
    costs: dict[str, Cost] = {name: Cost([]) for name in commands}
    for number in range(rounds + warm):
        for name, command in commands.items():
            sample = run(command)
            if number >= warm:
                costs[name].samples.append(sample)
    return costs


def run(command: Command) -> Sample:
    """Run a command to its end. Raises Failed where it ends by a signal, takes too long, or a job raises."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(command, cwd=ROOT, env=_environment(), stdout=out, stderr=errors)
        usage, anonymous, resident = _watched(process)
        out.seek(0)
        errors.seek(0)
        said = out.read() if "tests.benchmarks.measures.child" in command else b""
        if process.returncode < 0 or (said == b"" and "tests.benchmarks.measures.child" in command):
            raise Failed(f"{' '.join(command[1:4])} ended {process.returncode}: {errors.read()[-600:].decode()}")
    says: dict[str, Any] = json.loads(said.splitlines()[-1]) if said else {}
    return Sample(says.get("cpu", usage), anonymous, resident, says)


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "", "PYTHONHASHSEED": "0"}


def _watched(process: subprocess.Popen[bytes]) -> tuple[float, float, float]:
    """Processor seconds of a process and its children, and the most memory that was seen of it."""
    anonymous = resident = 0.0
    begun = time.monotonic()
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return usage.ru_utime + usage.ru_stime, anonymous, resident
        anonymous = max(anonymous, memory("RssAnon", process.pid))
        resident = max(resident, memory("VmHWM", process.pid))  # that of `usage` begins with what its parent had
        if time.monotonic() - begun > PATIENCE:
            process.send_signal(signal.SIGKILL)
        time.sleep(PAUSE)


def memory(name: str, pid: int | str = "self") -> float:
    """A figure of the memory of a process in MB, 0 where it is gone: `RssAnon` is what the process itself holds now,
    `VmHWM` the most it ever had, mapped pages of files included, which are the kernel's.
    """
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text("ascii").splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) * 1024 / MEGABYTE
    return 0.0
