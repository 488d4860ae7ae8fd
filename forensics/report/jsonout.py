"""What are the bytes of a document as JSON? Strict, in UTF-8, the same on every machine, and harmless on a terminal."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from forensics.core.jsonvalue import strict_value
from forensics.report.rows import Rows

if TYPE_CHECKING:
    from collections.abc import Iterable

PRETTY_LIMIT = 1_000_000  # bytes of the compact form; above it nobody reads the document by eye


def _plain(value: object) -> object:
    """Rows that are made block by block, encoded block by block: none is kept."""
    if not isinstance(value, Rows):
        raise NotImplementedError
    text = bytearray(b"[")
    for rows in value.blocks():
        block = bytearray()
        _encoder.encode_into(rows, block)
        text += memoryview(block)[1:-1]
        text += b","
    text[max(len(text) - 1, 1) :] = b"]"
    return msgspec.Raw(text)


_encoder = msgspec.json.Encoder(enc_hook=_plain)
# What JSON allows in a string and a terminal may act on, in UTF-8: DEL, C1, bidirectional and zero-width characters
# (U+007F-9F AD 61C 180E 200B-200F 2028-202E 2060-206F FEFF FFF9-FFFB E0000-E0FFF).
_DELETE = b"\x7f"
_ACTS = re.compile(
    rb"\x7f|\xc2[\x80-\x9f\xad]|\xd8\x9c|\xe1\xa0\x8e|\xe2\x80[\x8b-\x8f\xa8-\xae]|\xe2\x81[\xa0-\xaf]"
    rb"|\xef\xbb\xbf|\xef\xbf[\xb9-\xbb]|\xf3\xa0[\x80-\xbf]{2}"
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
        data = _encoder.encode(strict_value(msgspec.to_builtins(document, enc_hook=list)))
    return _ACTS.sub(_escape, data) if _may_act(data) and _ACTS.search(data) else data


def _may_act(data: bytes) -> bool:
    """Whether there is anything in it but plain ASCII, which is soon told."""
    return not data.isascii() or _DELETE in data


def _escape(match: re.Match[bytes]) -> bytes:
    units = match.group().decode().encode("utf-16-be")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2)).encode()
