"""Where in the user's own code was an exception raised? File and line of the innermost frame in the user's folders.

Frames of libraries and of the ports stand below that one: what they say is in the exception. The path is told from the
folder that the user named, so that the same code says the same wherever it lies.
"""

from __future__ import annotations

import os
from traceback import walk_tb
from typing import TYPE_CHECKING

from forensics.replay.cell.sources import is_installed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def raised_at(error: BaseException, folders: Sequence[str]) -> str:
    """`agents/oncall.py:14 in run`, or the place of an error of syntax; "" where no frame is of the user's code."""
    found = ""
    for file, line, name in _places(error):
        own = _within(file, folders)
        if own is not None:
            found = f"{own}:{line}{name}"
    return found


def _places(error: BaseException) -> Iterator[tuple[str, int, str]]:
    """Outermost first."""
    for frame, line in walk_tb(error.__traceback__):
        code = frame.f_code
        yield code.co_filename, line, "" if code.co_name == "<module>" else f" in {code.co_qualname}"
    if isinstance(error, SyntaxError) and isinstance(error.filename, str):
        yield error.filename, error.lineno or 0, ""


def _within(file: str, folders: Sequence[str]) -> str | None:
    """The path within the first folder that holds it; None for an installed one, and for one that lies elsewhere."""
    for folder in folders:
        if file.startswith(os.path.join(folder, "")):
            own = os.path.relpath(file, folder)
            return None if is_installed(own) else own.replace(os.sep, "/")
    return None
