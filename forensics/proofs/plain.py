"""Is a text short, shallow and free of characters that two readers may take differently?

Asked of every text before a parser sees it: the parsers are not ours, and a text in a trace is hostile.
"""

from __future__ import annotations

from forensics.core.late import late

MAX_CHARACTERS = 64 * 1024
MAX_DEPTH = 48

_ODD = late(r"[^\S\t\n\r ]|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|\r(?!\n)")
"""Spaces beyond ASCII, control characters, and a carriage return alone: an end of line to some readers only."""

_INVISIBLE = late(
    "[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
_BRACKETS = late(r"[(\[{)\]}]")


def is_plain(text: str) -> bool:
    """Whether the text may be given to a parser."""
    if len(text) > MAX_CHARACTERS or not text.strip():
        return False
    return _is_seen(text) and _depth(text) <= MAX_DEPTH


def _is_seen(text: str) -> bool:
    """Whether each character is seen, or a plain space or end of line."""
    if text.isascii() and text.isprintable():
        return True
    return _ODD.search(text) is None and _INVISIBLE.search(text) is None


def _depth(text: str) -> int:
    """How deep brackets of any kind nest, those in strings and comments counted too."""
    depth = deepest = 0
    for bracket in _BRACKETS.findall(text):
        depth = depth + 1 if bracket in "([{" else max(0, depth - 1)
        deepest = max(deepest, depth)
    return deepest
