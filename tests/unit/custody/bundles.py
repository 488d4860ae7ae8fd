"""A bundle to try things on, and what a verification found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.custody.bundle import sealed
from forensics.custody.statement import Custody, Input

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from forensics.custody.verify import Verification

TIMELINE = b"".join(b'{"event": %d}\n' % n for n in range(6))
OUTPUTS = {"timeline.jsonl": TIMELINE, "report.json": b'{"schema": "x"}\n', "traces/a.md": b"# a\n"}
EVIDENCE = b"the evidence"
INPUT = Input(
    name="local.db",
    sha256="e0c3ff28e9cb0b1bb2ec9a15d6d0a3b4d28ed3a72a7fd15a3ba1c4a6a8e7a0f8",
    size=12,
    sha256_after=None,
    size_after=None,
)
CUSTODY = Custody(
    tool={"name": "forensics", "version": "0"},
    command=("forensics", "report", "local.db"),
    started="2026-11-30T05:00:00Z",
    finished="2026-11-30T05:00:01Z",
    policy={"name": "strict", "digest": "sha256:0"},
    rules={"digest": "sha256:0"},
    counts={"records": 6},
    inputs=(INPUT,),
)


def write(folder: Path, files: Mapping[str, bytes]) -> Path:
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def bundle(folder: Path, key: Path | None = None) -> Path:
    return write(folder, sealed(OUTPUTS, CUSTODY, timeline="timeline.jsonl", key=key))


def faults(found: Verification) -> set[tuple[str, str]]:
    return {(one.kind, one.file) for one in found.faults}
