"""What is said when this program itself is at fault? Enough to report it, and nothing out of the trace.

An exception's own text may quote evidence, so only its type and the place inside `forensics` are shown; the whole
traceback only where the person asks for it with FORENSICS_DEBUG=1.
"""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from forensics import __version__

if TYPE_CHECKING:
    from types import TracebackType

_HOME = Path(__file__).resolve().parents[1]


def report(error: Exception) -> None:
    """Say on standard error what failed and where."""
    kind, places = type(error).__name__, _places(error.__traceback__)
    mark = hashlib.sha256("\n".join([__version__, kind, *places]).encode()).hexdigest()[:12]
    last = places[-1] if places else "outside forensics"
    click.echo("Error: this is a fault of forensics; please report it.", err=True)
    click.echo(f"  fingerprint {mark}: {kind} in {last}", err=True)
    click.echo(f"  forensics {__version__}, Python {platform.python_version()}, {sys.platform}", err=True)
    if os.environ.get("FORENSICS_DEBUG") == "1":
        _whole(error)
    else:
        click.echo("  FORENSICS_DEBUG=1 shows the traceback, which may quote the trace.", err=True)


def _places(trace: TracebackType | None) -> list[str]:
    """The frames inside this package, outermost first, as `core/build.py:120 finish`."""
    found = []
    while trace is not None:
        code = trace.tb_frame.f_code
        path = Path(code.co_filename)
        if path.is_relative_to(_HOME):
            found.append(f"{path.relative_to(_HOME).as_posix()}:{trace.tb_lineno} {code.co_name}")
        trace = trace.tb_next
    return found


def _whole(error: Exception) -> None:
    import traceback

    from forensics.cli.quoting import quoted

    click.echo(quoted("".join(traceback.format_exception(error))), err=True)
