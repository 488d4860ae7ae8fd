"""How does a person see that long work goes on? A pulse on standard error, when that is a terminal, after a second."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from forensics.cli.options import Settings
    from forensics.corpus.run import Progress as Told

PATIENCE = 1.0  # seconds


@contextlib.contextmanager
def working(settings: Settings) -> Iterator[None]:
    """Show a progress bar while the body runs, if it takes long and somebody is there to see it."""
    if not _is_seen(settings):
        yield
        return
    done = threading.Event()
    shown = threading.Thread(target=_pulse, args=(done,), daemon=True)
    shown.start()
    try:
        yield
    finally:
        done.set()
        shown.join()


def _pulse(done: threading.Event) -> None:
    if done.wait(PATIENCE):
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("reading and analysing"), BarColumn(pulse_style="cyan"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        progress.add_task("", total=None)
        done.wait()


@contextlib.contextmanager
def counted(settings: Settings) -> Iterator[Callable[[Told], None]]:
    """Show how many files are done, at what rate, and how long the rest will take; what to tell it is yielded."""
    if not _is_seen(settings):
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
    from rich.progress import TransferSpeedColumn as Rate

    columns = (TextColumn("auditing"), BarColumn(), MofNCompleteColumn(), TextColumn("files"), TimeRemainingColumn())
    speed = (TextColumn(""), Rate())
    with Progress(*columns, *speed, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=None)
        yield lambda told: progress.update(task, completed=told.done, total=told.of)


def _is_seen(settings: Settings) -> bool:
    return settings.detail >= 0 and sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
