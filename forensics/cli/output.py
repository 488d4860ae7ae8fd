"""Where does a document go? To standard output, whole, in one write; everything else goes to standard error."""

from __future__ import annotations

import errno
import os
import sys
from typing import TYPE_CHECKING

import click

from forensics.core.sanitise import visible
from forensics.errors import ReportError

if TYPE_CHECKING:
    from forensics.cli.options import Settings

NARROWEST, DEFAULT_WIDTH = 40, 80
_READER_LEFT = (errno.EPIPE, errno.EINVAL) if sys.platform == "win32" else (errno.EPIPE,)


def show(document: object, settings: Settings) -> None:
    """Write the document as the person asked for it: JSON, or text for this terminal."""
    if settings.format == "json":
        from forensics.report.jsonout import json_bytes

        write(json_bytes(document))
        return
    from forensics.report.terminal import lines_of
    from forensics.report.terminal_draw import coloured, plain

    lines = lines_of(document, width=width(), detail=settings.detail)
    write((coloured(lines) if wants_colour() else plain(lines)).encode("utf-8", "backslashreplace"))


def write(data: bytes) -> None:
    """Write bytes to standard output at once, so that an interrupt leaves nothing half written.

    Where the reader has left (`forensics audit … | head -1`) the rest goes nowhere; the exit code stays the verdict's.
    Raises ReportError where it can't be written otherwise: a full disk, or none was given (`>&-`).
    """
    if sys.stdout is None:
        raise ReportError("there is no standard output to write to", hint="it was closed before this program began")
    stream = sys.stdout.buffer
    try:
        stream.write(data)
        stream.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # where what is left of it goes at the end
        if error.errno not in _READER_LEFT:
            message = f"standard output can't be written: {error.strerror}"
            raise ReportError(message, hint="nothing of it counts as written: make room, or write elsewhere") from None


def note(text: str, settings: Settings | None = None) -> None:
    """Say something on standard error, unless the person asked for quiet."""
    if settings is None or settings.detail >= 0:
        click.echo(f"note: {visible(text)}", err=True)


def width() -> int:
    """The width to write for, in cells: COLUMNS, else that of the terminal, else 80."""
    told = os.environ.get("COLUMNS", "")
    if told.isdecimal() and int(told):
        return max(NARROWEST, int(told))
    if not is_terminal():
        return DEFAULT_WIDTH
    try:
        return max(NARROWEST, os.get_terminal_size(sys.stdout.fileno()).columns or DEFAULT_WIDTH)
    except OSError:
        return DEFAULT_WIDTH


def wants_colour() -> bool:
    """Whether to draw: on a terminal (or where FORCE_COLOR says so), and never against NO_COLOR or TERM=dumb."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return is_terminal() and os.environ.get("TERM") != "dumb"


def is_terminal() -> bool:
    """Whether a person looks on."""
    return sys.stdout is not None and sys.stdout.isatty()
