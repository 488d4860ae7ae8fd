"""What do the tests of engines of several processes share? A corpus, what an audit of it wrote, and a worker that dies.

A worker can't import a test: whoever uses `dies` has this module pickled by value.
"""

from __future__ import annotations

import os
import shutil
import signal
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from forensics.corpus.run import LEDGER

if TYPE_CHECKING:
    from collections.abc import Callable

    from forensics.corpus.engines import Engine

ROOT = Path(__file__).parents[3]
SAMPLES = ("pager.db", "pager.otlp.jsonl", "double_charge.chat.json", "readonly.db", "pager.chat.json", "pager.json")
LETHAL = "readonly.db"


def fill(folder: Path) -> Path:
    """A corpus in that new folder: samples, one of them lethal to `dies`, and a file that is no trace."""
    folder.mkdir()
    for name in SAMPLES:
        shutil.copy(ROOT / "samples" / name, folder / name)
    (folder / "broken.json").write_bytes(b'{"no": "trace"}')
    return folder


def outputs(folder: Path) -> dict[str, bytes]:
    """What an audit wrote beside its ledger."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if not path.name.startswith(LEDGER)}


class Through(Executor):
    """An executor that has each batch go through another function first, in the worker."""

    def __init__(self, inner: Executor, first: Callable[..., Any], *told: object) -> None:
        self.inner, self._first, self._told = inner, first, told

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return self.inner.submit(self._first, fn, *args, *self._told)

    def shutdown(self, *args: Any, **kwargs: Any) -> None:
        self.inner.shutdown(*args, **kwargs)


def through(engine: Engine, first: Callable[..., Any], *told: object) -> Engine:
    """The engine, each batch of which goes through that function first."""
    return msgspec.structs.replace(
        engine,
        start=lambda count: Through(engine.start(count), first, *told),
        check=lambda executor: engine.check(executor.inner) if isinstance(executor, Through) else None,
    )


def dies(fn: Callable[..., Any], units: Any, asked: bytes, mark: str) -> Any:
    """Kill this worker in the middle of the batch with the lethal file: always, or where there is a mark, only once."""
    if any(name == LETHAL for unit in units for _, name in unit) and not (mark and Path(mark).exists()):
        if mark:
            Path(mark).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return fn(units, asked)
