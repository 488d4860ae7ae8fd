"""How many of the planted handle flows does the analysis find, how much of what it finds was planted, and does every
use that it reports stand in the bytes of its step?

`python tests/benchmarks/bench_flow_accuracy.py [--steps N] [--generator FILE]` makes plain logs of 100,000 records in
three styles with the shared generator, which writes down what it planted: the record that minted a value, the record
that used it, and how it wrote it (verbatim, case, type, url, base64, and without the prefix of its kind, as `8812` of
`pg_8812`: substring). Recall is told by how; precision over the flows that are written as the value is, in whatever
type (exact), and over all of them (near).

The promises are those of issue 8 and of PERFORMANCE B8.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

import forensics
from forensics.core.jsonvalue import text_of

if TYPE_CHECKING:
    from forensics.analysis.run import TraceAnalysis
    from forensics.core.handles import Handle, Use

GENERATOR = Path(__file__).parents[3] / "shared" / "bench" / "gen_traces.py"
STYLES = ("prose", "log", "code")
RECALL = {"verbatim": 0.995, "case": 0.99, "type": 0.99, "substring": 0.95, "url": 0.75, "base64": 0.75}
EXACT, NEAR = 0.995, 0.97
AS_IT_IS = frozenset({"verbatim", "number"})

Pair = tuple[int, int]


class Accuracy(NamedTuple):
    """The share of what was planted that was found, by how it was written; the share of what was found that was
    planted, over the flows that are written as the value is and over all; how many were found, and how many uses do
    not stand in the bytes of their step.
    """

    recall: dict[str, float]
    planted: Counter[str]
    exact: float
    near: float
    found: int
    unfounded: int

    @property
    def kept(self) -> bool:
        """Whether every promise is kept."""
        recalled = all(self.recall.get(how, 1) >= least for how, least in RECALL.items())
        return recalled and self.exact >= EXACT and self.near >= NEAR and not self.unfounded


def accuracy(log: Path, truth: Path) -> Accuracy:
    """How well the flows of a log are found, beside what was planted in it."""
    (analysis,) = forensics.examine(log).analyses
    want, (got, unfounded) = planted(truth), flows(analysis)
    of, hit = Counter(want.values()), Counter(how for pair, how in want.items() if pair in got)
    recall = {how: hit[how] / count for how, count in of.most_common()}
    exact = [pair in want for pair, written in got.items() if written in AS_IT_IS]
    near = sum(pair in want for pair in got) / max(1, len(got))
    return Accuracy(recall, of, sum(exact) / max(1, len(exact)), near, len(got), unfounded)


def flows(analysis: TraceAnalysis) -> tuple[dict[Pair, str], int]:
    """The flows that the analysis finds, as pairs of record numbers with how the value is written; what a result only
    repeats is none. And how many uses do not stand in the bytes of their step.
    """
    found: dict[Pair, str] = {}
    unfounded = 0
    lines = [analysis.trace.locator(row).line or 0 for row in range(len(analysis.trace))]
    for handle in analysis.handles:
        uses = [use for use in handle.uses if use.role != "branch"]
        unfounded += sum(not stands(analysis, handle, use) for use in uses)
        for use in uses:
            if not use.echo:
                found.setdefault((lines[handle.step] - 1, lines[use.step] - 1), use.written)
    return found, unfounded


def stands(analysis: TraceAnalysis, handle: Handle, use: Use) -> bool:
    """Whether the text of a step holds a value as the use says that it does."""
    payload = analysis.trace.payload[use.step]
    text = "" if payload is None else text_of(payload)
    if use.written == "bare":
        return re.split("[-_]", handle.value, maxsplit=1)[1] in text
    if use.written == "case":
        return handle.value.lower() in text.lower()
    if use.written == "url":
        return handle.value.lower() in unquote(text).lower()
    if use.written == "base64":
        return any(handle.value.lower() in said.lower() for said in in_base64(text))
    return handle.value in text


def in_base64(text: str) -> list[str]:
    said = []
    for word in re.findall("[0-9A-Za-z]{8,}", text):
        with contextlib.suppress(ValueError):
            said.append(base64.b64decode(word + "=" * (-len(word) % 4)).decode())
    return said


def planted(path: Path) -> dict[Pair, str]:
    rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return {(row["mint"], row["use"]): row["as"] for row in rows}


def report(style: str, generator: Path, steps: int, folder: Path) -> bool:
    log, truth = folder / f"{style}.jsonl", folder / f"{style}.truth"
    shape = ["--format", "plain", "--style", style, "--steps", str(steps)]
    command = ["one", *shape, "--out", str(log), "--truth", str(truth)]
    subprocess.run([sys.executable, str(generator), *command], check=True, stdout=subprocess.DEVNULL)
    found = accuracy(log, truth)
    told = ", ".join(f"{how} {share:.4f} of {found.planted[how]}" for how, share in found.recall.items())
    print(f"{style}: precision {found.exact:.4f} exact, {found.near:.4f} of {found.found}; recall {told}")
    print(f"{style}: {found.unfounded} uses do not stand in the bytes of their step")
    return found.kept


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--generator", type=Path, default=GENERATOR)
    options = parser.parse_args()
    if not options.generator.is_file():
        print(f"skipped: no generator at {options.generator}; name one with --generator")
        return 0
    promised = ", ".join(f"{how} {least}" for how, least in RECALL.items())
    print(f"promise: precision {EXACT} exact, {NEAR} of all; recall {promised}; every use stands in the bytes")
    with tempfile.TemporaryDirectory() as folder:
        kept = [report(style, options.generator, options.steps, Path(folder)) for style in STYLES]
    print("kept" if all(kept) else "NOT KEPT")
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main())
