"""How does a picture or a sound look in a report? By its kind, its size and its digest, never by its bytes.

Agents' logs hold media as base64 inside their texts, megabytes a piece. What looks like that (a long run of letters of
RFC 4648, mixed with digits, that decodes) is named in its place; everything around it stays as it is.
"""

from __future__ import annotations

import base64
import binascii
import re
from hashlib import sha256

_LEAST = 400  # characters: no name, token or digest is as long
_RUN = re.compile(r"(?:[A-Za-z0-9+/_-]|\\/){400,}={0,2}")
_MIXED = (re.compile("[a-z]"), re.compile("[A-Z]"), re.compile("[0-9]"))
_HEAD = 2_000  # characters in which the letters of any media are mixed
_URL_SAFE = str.maketrans("-_", "+/")
_KINDS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
    (b"\x1f\x8b", "application/gzip"),
    (b"OggS", "audio/ogg"),
    (b"ID3", "audio/mpeg"),
    (b"fLaC", "audio/flac"),
)
_RIFF = {b"WEBP": "image/webp", b"WAVE": "audio/wav", b"AVI ": "video/avi"}


def without_media(text: str) -> str:
    """The text with each medium in it replaced by `(image/png, 1500000 bytes, sha256:1f3c…)`."""
    return text if len(text) < _LEAST else _RUN.sub(_named, text)


def _named(match: re.Match[str]) -> str:
    run = match.group()
    if not all(letters.search(run, 0, _HEAD) for letters in _MIXED):
        return run
    letters = run.replace("\\/", "/").translate(_URL_SAFE).rstrip("=")
    try:
        data = base64.b64decode(letters + "=" * (-len(letters) % 4), validate=True)
    except binascii.Error:
        return run
    return f"({_kind(data)}, {len(data)} bytes, sha256:{sha256(data).hexdigest()})"


def _kind(data: bytes) -> str:
    if data.startswith(b"RIFF"):
        return _RIFF.get(data[8:12], "base64")
    return next((kind for magic, kind in _KINDS if data.startswith(magic)), "base64")
