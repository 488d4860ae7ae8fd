"""Which bytes stand in a file? Its SHA-256 and its size, read once and never held whole."""

from __future__ import annotations

import hashlib
from pathlib import Path


def digest_and_size(path: Path | str) -> tuple[str, int]:
    """The SHA-256 of a file's bytes in hexadecimal digits, and how many those are. Raises OSError as reading does."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest(), file.tell()


def sha256_of(path: Path | str) -> str:
    """The SHA-256 of a file's bytes in hexadecimal digits. Raises OSError as reading does."""
    return digest_and_size(path)[0]
