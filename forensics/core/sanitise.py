"""How is a text out of a trace shown without acting on whoever reads it? The terminal's one sanitiser.

Control characters (C0 but newline and tab, DEL, C1), bidirectional overrides, zero-width and private-use characters
and lone surrogates become visible escapes (Trojan Source, CVE-2021-42574; terminal escape injection, CWE-150).
"""

from __future__ import annotations

import re

_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ue000-\uf8ff\ud800-\udfff\U000e0000-\U000e0fff\U000f0000-\U0010ffff]"
)
_SPELLINGS = ((0xFF, "\\x{:02x}"), (0xFFFF, "\\u{:04x}"), (0x10FFFF, "\\U{:08x}"))
_BREAKS = re.compile(r"[\t\n ]+")


def visible(text: str) -> str:
    """The text with everything that could act on a terminal or hide spelled out; newlines and tabs stay."""
    if text.isascii() and text.isprintable():
        return text
    return _UNSAFE.sub(_spell, text)


def _spell(match: re.Match[str]) -> str:
    code = ord(match.group())
    return next(shown.format(code) for limit, shown in _SPELLINGS if code <= limit)


def one_line(text: str, limit: int = 120) -> str:
    """The text safe and on one line, cut at `limit` characters with an ellipsis."""
    head = text if len(text) <= limit * 4 else text[: limit * 4]
    line = _BREAKS.sub(" ", visible(head)).strip()
    return line if len(line) <= limit and len(head) == len(text) else line[: limit - 1] + "…"
