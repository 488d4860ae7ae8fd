"""At what rate is a trace audited, beside `for line in file: orjson.loads(line)` over the same bytes?

`python tests/benchmarks/bench_audit.py [--rounds N] [--megabytes N] [--generator FILE]` makes a plain log and OTLP
lines with the shared generator, then times reference and audits in fresh processes, interleaved, so that all of them
meet the same load. Medians of CPU time (user and system, of the whole process and its threads), their ratio to the
reference, and the peak of memory (VmHWM counts the mapped pages of the evidence, RssAnon at the end does not).

What each measure includes:
- `reference`: opening the file and parsing each line;
- `examine`: `forensics.examine(path)` in a warm interpreter: hash, recognition, reading, every analysis; the shipped
  rules are loaded in the time, imports are not;
- `document`: that, the audit document, and its JSON bytes;
- `command`: a whole process `forensics audit FILE`, start-up, imports and text output included;
- `command json`: the same with `--format json`.

The promise (issue 2) is a ratio of 0.1, and a peak below 80 MB plus the file.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

PROMISE = 0.1
ALLOWANCE = 80
MEGABYTE = 1_000_000
GENERATOR = Path(__file__).parents[3] / "shared" / "bench" / "gen_traces.py"
FORMATS = {"plain": "plain log", "otlpl": "OTLP lines"}

PROLOGUE = """\
import json, resource, sys, time
path = sys.argv[1]
"""
EPILOGUE = """
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
kilobytes = {name: int(status[name].split()[0]) for name in ("VmHWM", "RssAnon")}
print(json.dumps({"cpu": spent, **kilobytes}), file=sys.stderr)
"""
CHILDREN = {
    "reference": """
import orjson
start = time.process_time()
with open(path, "rb") as file:
    for line in file:
        orjson.loads(line)
spent = time.process_time() - start
""",
    "examine": """
import forensics, forensics.api
start = time.process_time()
examination = forensics.examine(path)
spent = time.process_time() - start
""",
    "document": """
import forensics, forensics.api, forensics.report.jsonout
start = time.process_time()
data = forensics.report.jsonout.json_bytes(forensics.examine(path).audit())
spent = time.process_time() - start
""",
    "command": """
from forensics.cli.main import main
sys.argv = ["forensics", "audit", path]
try:
    main()
except SystemExit:
    pass
used = resource.getrusage(resource.RUSAGE_SELF)
spent = used.ru_utime + used.ru_stime
""",
    "command json": """
from forensics.cli.main import main
sys.argv = ["forensics", "audit", "--format", "json", path]
try:
    main()
except SystemExit:
    pass
used = resource.getrusage(resource.RUSAGE_SELF)
spent = used.ru_utime + used.ru_stime
""",
}


def generate(generator: Path, kind: str, megabytes: float, folder: Path) -> Path:
    path = folder / f"{kind}.jsonl"
    size = str(megabytes * MEGABYTE)
    command = [sys.executable, str(generator), "one", "--format", kind, "--bytes", size, "--out", str(path)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return path


def measure(child: str, path: Path) -> dict[str, float]:
    code = PROLOGUE + CHILDREN[child] + EPILOGUE
    command = [sys.executable, "-c", code, str(path)]
    done = subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    figures: dict[str, float] = json.loads(done.stderr.splitlines()[-1])
    return figures


def report(title: str, path: Path, rounds: int) -> None:
    taken: dict[str, list[dict[str, float]]] = {child: [] for child in CHILDREN}
    for _ in range(rounds):
        for child, figures in taken.items():
            figures.append(measure(child, path))
    megabytes = path.stat().st_size / MEGABYTE
    reference = statistics.median(f["cpu"] for f in taken["reference"])
    print(f"{title}: {megabytes:.1f} MB, {rounds} rounds; peak allowed {ALLOWANCE + megabytes:.0f} MB")
    for child, figures in taken.items():
        cpu = statistics.median(f["cpu"] for f in figures)
        peak, anonymous = (max(f[name] for f in figures) * 1024 / MEGABYTE for name in ("VmHWM", "RssAnon"))
        ratio = reference / cpu
        memory = f"peak {peak:4.0f} MB, anonymous {anonymous:4.0f} MB"
        print(f"  {child:<13} {cpu:7.3f} s CPU   ratio {ratio:6.3f}   {memory}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--megabytes", type=float, default=30)
    parser.add_argument("--generator", type=Path, default=GENERATOR)
    options = parser.parse_args()
    if not options.generator.is_file():
        print(f"skipped: no generator at {options.generator}; name one with --generator")
        return 0
    print(f"promise: a ratio of {PROMISE}, a peak of {ALLOWANCE} MB plus the file")
    with tempfile.TemporaryDirectory() as folder:
        for kind, title in FORMATS.items():
            report(title, generate(options.generator, kind, options.megabytes, Path(folder)), options.rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
