"""How does a person see that long work goes on? A pulse on standard error, when that is a terminal, after a second."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.cli.options import Settings

PATIENCE = 1.0  # seconds


@contextlib.contextmanager
def working(settings: Settings) -> Iterator[None]:
    """Show a progress bar while the body runs, if it takes long and somebody is there to see it."""
    if settings.detail < 0 or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
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
