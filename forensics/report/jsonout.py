"""What are the bytes of a document as JSON? Strict, in UTF-8, the same on every machine, and harmless on a terminal."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from forensics.core.jsonvalue import strict_value

if TYPE_CHECKING:
    from collections.abc import Iterable

PRETTY_LIMIT = 1_000_000  # bytes of the compact form; above it nobody reads the document by eye

_encoder = msgspec.json.Encoder()
# What JSON allows in a string and a terminal may act on: DEL, C1, bidirectional and zero-width characters.
_ACTS = re.compile(
    "[\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]"
)


def json_bytes(document: object) -> bytes:
    """The document as JSON with a newline at its end: indented below 1 MB, else on one line."""
    data = compact(document)
    shown = msgspec.json.format(data, indent=1) if len(data) < PRETTY_LIMIT else data
    return shown + b"\n"


def json_lines(rows: Iterable[object]) -> bytes:
    """One JSON object a line."""
    return b"".join(compact(row) + b"\n" for row in rows)


def compact(document: object) -> bytes:
    """The document as JSON on one line. What a terminal may act on is written as an escape, which JSON reads alike."""
    try:
        data = _encoder.encode(document)
    except UnicodeEncodeError:  # a lone surrogate that nobody spelled out
        data = _encoder.encode(strict_value(msgspec.to_builtins(document)))
    if data.isascii() and b"\x7f" not in data:
        return data
    return _ACTS.sub(_escape, data.decode()).encode()


def _escape(match: re.Match[str]) -> str:
    units = match.group().encode("utf-16-be")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))
