"""What do the tests of a corpus share? One audited folder, made once for those that only read it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from forensics.corpus.engines import serial
from forensics.corpus.run import Corpus, audit_corpus

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOT = Path(__file__).parents[3]
READ_ONLY = ("pager.otlp.jsonl", "double_charge.chat.json", "readonly.db", "crash.db")
HOSTILE = "x\x1b[31m\u202e|<b>'; DROP TABLE findings; --"


def event_log(path: Path, tool: str, day: str | None = None) -> None:
    """An event log of one call of that tool, on that day (none: without times)."""
    ids = {"id": "c1"}
    steps: list[dict[str, object]] = [
        {"type": "user", "text": "go on"},
        {"type": "tool_call", **ids, "name": tool, "args": {"n": 1}},
        {"type": "tool_result", "call_id": "c1", "result": {"id": "job_81723"}},
        {"type": "tool_call", "id": "c2", "name": "watch_it", "args": {"job": "job_81723"}},
        {"type": "tool_result", "call_id": "c2", "result": "done"},
        {"type": "model", "text": "job_81723 is done"},
    ]
    if day is not None:
        steps = [{**step, "ts": f"{day}T10:00:0{n}Z"} for n, step in enumerate(steps)]
    path.write_text("".join(json.dumps(step) + "\n" for step in steps), encoding="utf-8")


def audited(folder: Path, days: Iterable[str | None] = ("2026-03-02", "2026-03-10", None)) -> Path:
    """A corpus below that folder, audited into another; the folder of its results."""
    traces = folder / "traces"
    traces.mkdir(parents=True)
    for name in READ_ONLY:
        shutil.copy(ROOT / "samples" / name, traces / name)
    for number, day in enumerate(days):
        event_log(traces / f"log{number}.jsonl", "start_job" if number else HOSTILE, day)
    (traces / "none.json").write_bytes(b'{"no": "trace"}')
    audit_corpus([traces], folder / "results", Corpus(engine=serial()))
    return folder / "results"


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of an audited corpus, for tests that write nothing there."""
    return audited(tmp_path_factory.mktemp("audited"))
