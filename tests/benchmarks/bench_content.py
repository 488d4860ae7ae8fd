"""At what rate is an evidence looked through for secrets and hostile text, and what share of an audit is that?

`python tests/benchmarks/bench_content.py [--megabytes N] [--rounds N] [--generator FILE]` makes a plain log with the
shared generator, once as it is and once with an e-mail address in every second record and a password in every 5,000th.
It prints medians of CPU time: of the triggers alone, of the whole look, and of `forensics.examine` with it, and
of writing the audit document with and without redaction.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from forensics import api
from forensics.analysis.content.content import look_through
from forensics.analysis.content.patterns import triggers
from forensics.formats.shared.source import open_source

if TYPE_CHECKING:
    from collections.abc import Callable

GENERATOR = Path(__file__).parents[3] / "shared" / "bench" / "gen_traces.py"
MEGABYTE = 1_000_000


def with_personal_data(path: Path) -> Path:
    """The same log with addresses and passwords in it."""
    chance = random.Random(1)  # noqa: S311 - the same log every time
    other = path.with_name("personal.jsonl")
    with other.open("w") as out:
        for number, line in enumerate(path.read_text("utf-8").splitlines()):
            record = json.loads(line)
            if number % 2 == 0:
                record["text"] = f"{record.get('text') or ''} mail user{chance.randrange(5000)}@corp{number % 50}.io"
            if number % 5000 == 7:
                record["text"] = f"password=hunter{number}-x"
            out.write(json.dumps(record) + "\n")
    return other


def median(rounds: int, measured: Callable[[], Any]) -> float:
    """The median CPU time of a call."""
    times = []
    for _ in range(rounds):
        start = time.process_time()
        measured()
        times.append(time.process_time() - start)
    return statistics.median(times)


def look(path: Path) -> float:
    """How long the look at the content of one evidence takes."""
    with open_source(str(path)) as source:
        reading = api.read(source, 0)
        start = time.process_time()
        look_through(reading, source.data, source.find)
        return time.process_time() - start


def report(path: Path, rounds: int) -> None:
    """Print the figures of one log."""
    data = memoryview(path.read_bytes())
    size = len(data) / MEGABYTE
    fired = median(rounds, lambda: [sum(1 for _ in one.pattern.finditer(data)) for one in triggers()])
    looked = statistics.median(look(path) for _ in range(rounds))
    examined = median(rounds, lambda: api.examine(path))
    examination = api.examine(path)
    bare = msgspec.structs.replace(examination, redact=False)
    shown, plain = median(rounds, examination.audit), median(rounds, bare.audit)
    print(f"{path.name}: {size:.0f} MB")
    print(f"  triggers {fired:.3f} s ({size / fired:.0f} MB/s), the whole look {looked:.3f} s")
    print(f"  examine {examined:.3f} s: the look is {looked / examined:.0%} of it")
    print(f"  audit document {plain:.3f} s, redacted {shown:.3f} s")


def main() -> int:
    """Measure both logs."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--megabytes", type=float, default=30)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--generator", type=Path, default=GENERATOR)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "plain.jsonl"
        size = str(options.megabytes * MEGABYTE)
        made = [sys.executable, str(options.generator), "one", "--format", "plain", "--bytes", size, "--out", str(path)]
        subprocess.run(made, check=True, stdout=subprocess.DEVNULL)
        for log in (path, with_personal_data(path)):
            report(log, options.rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
