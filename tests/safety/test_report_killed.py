"""Does a report that is killed leave each output whole or absent, and the evidence as it was?

Fifty moments, spread over a run by a fixed seed; where they fall differs with the machine, what must hold does not.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from hashlib import sha256
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SUFFIXES = (".html", ".md", ".json", ".sarif", ".csv", ".jsonl", ".xml")
MOMENTS = 50


def start(evidence: Path, folder: Path) -> subprocess.Popen[bytes]:
    outputs = [part for suffix in SUFFIXES for part in ("--to", str(folder / f"report{suffix}"))]
    command = [sys.executable, "-m", "forensics", "report", str(evidence), *outputs]
    world = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, env=world, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def held(folder: Path) -> dict[str, bytes]:
    """The outputs by name; a temporary file (`.NAME.part`) is none, and nobody takes it for one."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.startswith(".")}


@pytest.mark.skipif(sys.platform == "win32", reason="kill -9 is a POSIX signal")
def test_killed_at_fifty_moments(tmp_path: Path) -> None:
    evidence = tmp_path / "evidence" / "pager.json"
    evidence.parent.mkdir()
    evidence.write_bytes((ROOT / "samples" / "pager.json").read_bytes())
    before = sha256(evidence.read_bytes()).digest()
    whole_folder = tmp_path / "whole"
    whole_folder.mkdir()
    began = time.monotonic()
    assert start(evidence, whole_folder).wait(timeout=120) == 0
    took = time.monotonic() - began
    whole = held(whole_folder)
    assert len(whole) == len(SUFFIXES)

    moments = random.Random(7)  # noqa: S311 - moments to kill at are no secret
    seen: set[int] = set()
    for number in range(MOMENTS):
        folder = tmp_path / f"killed-{number}"
        folder.mkdir()
        process = start(evidence, folder)
        # One at once, half of the others over the whole run, half where the files are written.
        late = moments.uniform(0, took) if number % 2 else moments.uniform(0.8 * took, took)
        time.sleep(late if number else 0)
        process.kill()
        process.wait(timeout=120)
        left = held(folder)
        assert all(left[name] == whole[name] for name in left), f"moment {number}"
        seen.add(len(left))
    assert sha256(evidence.read_bytes()).digest() == before
    assert [path.name for path in evidence.parent.iterdir()] == ["pager.json"]
    assert min(seen) < len(SUFFIXES)
