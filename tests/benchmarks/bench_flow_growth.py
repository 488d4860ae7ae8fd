"""How does the time of following values grow with the steps, the values, the way between them and their uses?

`python tests/benchmarks/bench_flow_growth.py [--rounds N] [--steps N]` writes plain logs of two sizes, ten times apart
in one respect, and times each in a fresh process, interleaved, so that both meet the same load: CPU time of the audit's
analyses (`audit`, reading left out) and of following values alone (`flow`). Medians, their ratio, and whether as many
uses were found as the log holds. What is varied:

- `steps`: ten times the records, everything else alike;
- `handles`: ten times the values that one result brings;
- `distance`: a value is used ten times as many steps after the result that brought it;
- `fan-out`: one value is used ten times as often, in a log of the same length.

The promise (issue 8, PERFORMANCE B6) is a ratio of at most 11.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

PROMISE = 11
RECORDS_A_CALL = 2

CHILD = """\
import json, sys, time
import forensics, forensics.analysis.run as run
spent = {"flow": 0.0}
follow, analyse = run.flow, run.analyse_trace
def timed(name, function):
    def call(*given):
        start = time.process_time()
        try:
            return function(*given)
        finally:
            spent[name] = time.process_time() - start
    return call
run.flow, run.analyse_trace = timed("flow", follow), timed("audit", analyse)
one = forensics.examine(sys.argv[1]).analyses[0]
spent["uses"] = sum(use.role == "argument" for handle in one.handles for use in handle.uses)
print(json.dumps(spent))
"""


class Shape(NamedTuple):
    """What a log is like: its calls, the values in each result, how many calls later the first of them is used, from
    which call on, and how many calls use the very first value of all.
    """

    calls: int
    handles: int = 2
    distance: int = 3
    begin: int = 3
    fan_out: int = 1


def word(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def write(path: Path, shape: Shape) -> int:
    """Write a log of this shape; returns how often an argument holds a value of an earlier result."""
    every, uses = max(1, shape.calls // shape.fan_out), 0
    with path.open("w", encoding="utf-8") as file:
        for n in range(shape.calls):
            arguments: dict[str, object] = {"query": f"what of {word('query', n)[:8]}", "limit": n % 90}
            if n >= shape.begin:
                arguments["after"] = f"job_{word('job', n - shape.distance, 0)[:14]}"
                uses += 1
            if n and n % every == 0:
                arguments["of"] = f"root_{word('root')[:14]}"
                uses += 1
            items = [{"id": f"job_{word('job', n, k)[:14]}", "size": k} for k in range(shape.handles)]
            result: dict[str, object] = {"items": items, "log": "the worker is done with it " * 8}
            if n == 0:
                result["root"] = f"root_{word('root')[:14]}"
            call = {"call_id": word("call", n)[:24], "name": f"tool_{n % 9}"}
            for line in (
                {"type": "tool_call", **call, "args": arguments},
                {"type": "tool_result", **call, "result": result},
            ):
                file.write(json.dumps(line, separators=(",", ":")) + "\n")
    return uses


def pairs(steps: int) -> dict[str, tuple[Shape, Shape]]:
    few, many = steps // RECORDS_A_CALL, 10 * steps // RECORDS_A_CALL
    return {
        "steps": (Shape(few), Shape(many)),
        "handles": (Shape(few // 4), Shape(few // 4, handles=20)),
        "distance": (Shape(few, distance=few // 20, begin=few // 2), Shape(few, distance=few // 2, begin=few // 2)),
        "fan-out": (Shape(few, fan_out=few // 10), Shape(few, fan_out=few)),
    }


def measure(path: Path) -> dict[str, float]:
    done = subprocess.run([sys.executable, "-c", CHILD, str(path)], check=True, capture_output=True)
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def report(title: str, shapes: tuple[Shape, Shape], rounds: int, folder: Path) -> bool:
    paths = [folder / f"{title}-{number}.jsonl" for number in range(2)]
    planted = [write(path, shape) for path, shape in zip(paths, shapes, strict=True)]
    taken = [[measure(path) for path in paths] for _ in range(rounds)]
    kept = True
    for what in ("flow", "audit"):
        small, large = (statistics.median(figures[at][what] for figures in taken) for at in range(2))
        ratio = large / small
        kept = kept and ratio <= PROMISE
        print(f"  {title:<9} {what:<5} {small:8.3f} s -> {large:8.3f} s   ratio {ratio:6.2f}")
    found = [int(figures["uses"]) for figures in taken[0]]
    print(f"  {title:<9} uses  found {found}, planted {planted}")
    return kept and found == planted


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=10_000, help="of the smaller logs")
    options = parser.parse_args()
    print(f"promise: ten times as much takes at most {PROMISE} times as long")
    with tempfile.TemporaryDirectory() as folder:
        kept = [report(title, shapes, options.rounds, Path(folder)) for title, shapes in pairs(options.steps).items()]
    print("kept" if all(kept) else "NOT KEPT")
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main())
