"""Does a static pass touch anything? Every audit hook that writes, connects, spawns or imports by name is a fault.

The tripwire is CPython's own (`sys.addaudithook`, PEP 578), set in a child process, because a hook can't be removed.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SAMPLES = sorted(p for p in (ROOT / "samples").iterdir() if p.suffix in (".db", ".json", ".jsonl"))

CHILD = """
import os, sys, tempfile
where, scratch = sys.argv[1:]
tempfile.tempdir = scratch
import forensics.api, msgspec, sqlite3
import forensics.formats.registry as registry
[registry.reader(name) for name in registry.names()]
from forensics.rules import load_rules
load_rules()
def static_pass():
    examination = forensics.api.examine(where)
    msgspec.json.encode(examination.audit())
    msgspec.json.encode(examination.inspection())
static_pass()  # once before the hook: importing modules reads and unmarshals code
ours = [""]
def tripwire(event, args):
    if event == "shutil.rmtree":
        ours[0] = str(args[0])
    if event.split(".")[0] in ("socket", "subprocess", "ctypes", "marshal", "pickle", "ftplib", "smtplib", "urllib"):
        os._exit(41)
    if event in ("os.system", "os.exec", "os.posix_spawn", "os.fork", "os.remove", "os.rename", "shutil.move"):
        if event == "os.remove" and (str(args[0]).startswith(scratch) or ours[0].startswith(scratch)):
            return
        os._exit(42)
    if event == "open" and isinstance(args[1], str) and set(args[1]) & set("wax+"):
        if not str(args[0]).startswith(scratch):
            os._exit(43)
sys.addaudithook(tripwire)
static_pass()
os._exit(0)
"""


def run_under_tripwire(evidence: Path, scratch: Path) -> int:
    done = subprocess.run([sys.executable, "-c", CHILD, str(evidence), str(scratch)], cwd=ROOT, check=False)
    return done.returncode


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda p: p.name)
def test_reading_writes_connects_and_spawns_nothing(sample: Path, tmp_path: Path) -> None:
    folder = tmp_path / "evidence"
    folder.mkdir()
    copy = folder / sample.name
    copy.write_bytes(sample.read_bytes())
    before = hashlib.sha256(copy.read_bytes()).hexdigest()
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    assert run_under_tripwire(copy, scratch) == 0
    assert hashlib.sha256(copy.read_bytes()).hexdigest() == before
    assert [p.name for p in folder.iterdir()] == [sample.name]


def test_the_tripwire_trips(tmp_path: Path) -> None:
    """A check that can't fail is none: the same child with a write beside the evidence ends with 43."""
    child = CHILD.replace("(tripwire)\n", "(tripwire)\nopen(where + '-wal', 'w')\n")
    sample = tmp_path / "a.json"
    sample.write_text("[]")
    done = subprocess.run([sys.executable, "-c", child, str(sample), str(tmp_path / "s")], cwd=ROOT, check=False)
    assert done.returncode == 43


def test_private_copies_of_a_database_are_removed(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    assert run_under_tripwire(ROOT / "samples" / "pager.db", scratch) == 0
    assert list(scratch.iterdir()) == []
