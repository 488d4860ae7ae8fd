"""B10, B11: how soon does the command answer, and a small audit end?"""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from tests.benchmarks.measures.harness import ROOT, forensics, interleaved
from tests.benchmarks.measures.rows import Row, at_most

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.benchmarks.measures.asked import Asked

ONE_COMMAND = """\
import click

@click.command()
@click.option("--count", default=1, help="How often.")
@click.argument("name")
def hello(count, name):
    \"\"\"Greet NAME.\"\"\"
    click.echo(name * count)

hello()
"""
OURS = "from forensics.cli.main import main; main()"
HEAVY = ("networkx", "numpy", "pydantic", "sqlglot")
TURNS = 4  # of such short runs more are needed for a median


def measure(asked: Asked) -> Iterator[Row]:
    """Two scripts of the same kind: neither pays for a launcher that the other has not."""
    one = asked.data.made("one.py", lambda path: path.write_text(ONE_COMMAND, "utf-8"))
    ours = asked.data.made("ours.py", lambda path: path.write_text(OURS, "utf-8"))
    trace = asked.data.trace("plain", megabytes=0.02)
    commands = {
        "click": [sys.executable, str(one), "--help"],
        "--help": [sys.executable, str(ours), "--help"],
        "--version": [sys.executable, str(ours), "--version"],
        "audit": [sys.executable, str(ours), "audit", str(trace)],
    }
    costs = interleaved(commands, asked.rounds * TURNS, warm=True)
    figures = {name: cost.figures() for name, cost in costs.items()}
    for name in ("--help", "--version"):
        value = costs[name].cpu / costs["click"].cpu
        yield Row("B10", f"{name} over the --help of one click command", "", value, "x", at_most(1.3), figures)
    value = costs["audit"].cpu / costs["--help"].cpu
    yield Row("B11", "audit of a small trace over our --help", "20 kB", value, "x", at_most(3))
    yield Row("B11", "heavy modules that it imports", ", ".join(HEAVY), len(_imported(trace)), "", at_most(0))


def _imported(trace: Path) -> set[str]:
    """The heavy modules among those that an audit imports."""
    command = [sys.executable, "-X", "importtime", *forensics("audit", trace)[1:]]
    done = subprocess.run(command, cwd=ROOT, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    told = {line.rpartition("|")[2].strip().partition(".")[0] for line in done.stderr.splitlines()}
    return told & set(HEAVY)
