"""B12, B13, B17: what do two processes, Dask and a second run save? `bench_corpus.py` says, and this gives its figures.

It times whole trees of processes by the clock too, as a speed-up of two processes has to be; so it has its own harness.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from tests.benchmarks.measures.harness import ROOT
from tests.benchmarks.measures.rows import Goal, Row, Skipped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.benchmarks.measures.asked import Asked

SCRIPT = Path("tests", "benchmarks", "bench_corpus.py")
FILES_A_MEGABYTE = 100  # 10,000 files where 100 MB were asked for
NUMBERS = {"dask": "B13", "the second time": "B17", "on trust": "B17"}


def measure(asked: Asked) -> Iterator[Row]:
    """Its figures, as rows. Raises Skipped where it ends without any."""
    files = max(1, round(asked.most * FILES_A_MEGABYTE))
    with tempfile.TemporaryDirectory(dir=asked.data.folder) as folder:
        told = Path(folder) / "figures.json"
        options = ["--files", str(files), "--again", str(asked.rounds), "--json", str(told)]
        done = subprocess.run([sys.executable, str(SCRIPT), *options], cwd=ROOT, check=False, capture_output=True)
        if not told.exists():
            raise Skipped(f"{SCRIPT.name} ended {done.returncode}: {done.stderr[-300:].decode(errors='replace')}")
        figures = json.loads(told.read_text("utf-8"))
    for one in figures:
        number = next((number for name, number in NUMBERS.items() if one["name"].startswith(name)), "B12")
        goal = Goal(at_least=one["at_least"], limit=one["promise"])
        yield Row(number, one["name"], f"{files} files", one["value"], "", goal, {"told": one["told"]})
