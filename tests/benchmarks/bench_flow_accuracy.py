"""How many of the planted handle flows does the analysis find, and how much of what it finds was planted?

`python tests/benchmarks/bench_flow_accuracy.py [--steps N] [--generator FILE]` makes plain logs of 10,000 records in
three styles with the shared generator, which writes down what it planted: the record that minted a value, the record
that used it, and how it wrote it (verbatim, case, type, url, base64, substring). Recall is told by how; precision over
all flows found. A value that a read returns as its own clock (a timestamp) is no handle by design and counts as missed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import forensics

GENERATOR = Path(__file__).parents[3] / "shared" / "bench" / "gen_traces.py"
STYLES = ("prose", "log", "code")

Pair = tuple[int, int]


def flows(path: Path) -> set[Pair]:
    """The flows that the analysis finds, as pairs of record numbers; what a result only repeats is none."""
    found: set[Pair] = set()
    for analysis in forensics.examine(path).analyses:
        lines = [analysis.trace.locator(row).line or 0 for row in range(len(analysis.trace))]
        for handle in analysis.handles:
            uses = (use for use in handle.uses if use.role != "branch" and not use.echo)
            found.update((lines[handle.step] - 1, lines[use.step] - 1) for use in uses)
    return found


def planted(path: Path) -> dict[Pair, str]:
    rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return {(row["mint"], row["use"]): row["as"] for row in rows}


def report(style: str, generator: Path, steps: int, folder: Path) -> None:
    log, truth = folder / f"{style}.jsonl", folder / f"{style}.truth"
    shape = ["--format", "plain", "--style", style, "--steps", str(steps)]
    command = ["one", *shape, "--out", str(log), "--truth", str(truth)]
    subprocess.run([sys.executable, str(generator), *command], check=True, stdout=subprocess.DEVNULL)
    want, got = planted(truth), flows(log)
    of, hit = Counter(want.values()), Counter(how for pair, how in want.items() if pair in got)
    recall = ", ".join(f"{how} {hit[how] / count:.3f} of {count}" for how, count in of.most_common())
    precision = sum(pair in want for pair in got) / max(1, len(got))
    print(f"{style}: precision {precision:.4f} of {len(got)}; recall {recall}")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--generator", type=Path, default=GENERATOR)
    options = parser.parse_args()
    if not options.generator.is_file():
        print(f"skipped: no generator at {options.generator}; name one with --generator")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        for style in STYLES:
            report(style, options.generator, options.steps, Path(folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
