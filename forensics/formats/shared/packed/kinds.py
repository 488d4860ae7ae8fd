"""Is this an archive, and of which kind? Told by the first bytes, without what unpacks one."""

from __future__ import annotations

import msgspec

from forensics.errors import EvidenceError

ZIP_MAGIC = b"PK\x03\x04"
_TAR_MAGIC, _TAR_AT = b"ustar", 257  # POSIX.1-1988 and later, GNU tar


class Unopened(msgspec.Struct, frozen=True):
    """What can't be evidence, and why: a place, or a file of an archive (digest and size are those of the archive)."""

    name: str
    error: EvidenceError
    sha256: str = ""
    size: int = 0


def archive_kind(data: memoryview) -> str | None:
    """`zip` or `tar`, by the first bytes; None where they are of no archive."""
    if bytes(data[: len(ZIP_MAGIC)]) == ZIP_MAGIC:
        return "zip"
    return "tar" if bytes(data[_TAR_AT : _TAR_AT + len(_TAR_MAGIC)]) == _TAR_MAGIC else None
