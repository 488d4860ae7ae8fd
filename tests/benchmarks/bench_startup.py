"""How long does `forensics --help` take beside the `--help` of a one-command click program?

Interleaved runs, wall medians and their ratio; `python tests/benchmarks/bench_startup.py [ROUNDS]`. The promise is a
ratio of at most 1.3.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROUNDS = 31
LIMIT = 1.3

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


def seconds(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> int:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    with tempfile.TemporaryDirectory() as folder:
        # Two scripts of the same kind: neither pays for a launcher that the other has not.
        one, ours = Path(folder) / "one.py", Path(folder) / "ours.py"
        one.write_text(ONE_COMMAND, encoding="utf-8")
        ours.write_text(OURS, encoding="utf-8")
        commands = {"click": [sys.executable, str(one), "--help"], "forensics": [sys.executable, str(ours), "--help"]}
        taken: dict[str, list[float]] = {name: [] for name in commands}
        for name, command in (pair for _ in range(rounds + 1) for pair in commands.items()):
            taken[name].append(seconds(command))
    medians = {name: statistics.median(times[1:]) for name, times in taken.items()}
    ratio = medians["forensics"] / medians["click"]
    for name, median in medians.items():
        sys.stdout.write(f"{name}: {median * 1000:.1f} ms (median of {rounds})\n")
    sys.stdout.write(f"ratio: {ratio:.2f} (limit {LIMIT})\n")
    return int(ratio > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
