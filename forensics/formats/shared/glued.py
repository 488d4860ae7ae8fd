"""Which JSON objects stand one after another on one line? Those that two writers, or a crash, ran together."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from forensics.core.depth import nesting
from forensics.core.limits import limits

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_BLANK = " \t\r"
_MOST = 64


def glued(data: bytes) -> Iterator[tuple[int, int]]:
    """Where the objects stand, each by its offset and its bytes, up to the first text that is none."""
    if nesting(data) > limits().nesting:
        return
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return
    scan = json.JSONDecoder().raw_decode
    at = offset = 0
    for _ in range(_MOST):
        try:
            value, end = scan(text, at)
        except (ValueError, RecursionError):
            return
        if not isinstance(value, dict):
            return
        size = len(text[at:end].encode())
        yield offset, size
        blank = len(text[end:]) - len(text[end:].lstrip(_BLANK))
        at, offset = end + blank, offset + size + blank
        if at >= len(text):
            return


def covers(found: Sequence[tuple[int, int]], data: bytes) -> bool:
    """Whether nothing but blanks stands behind the last of these objects."""
    return bool(found) and not data[sum(found[-1]) :].strip(_BLANK.encode())
