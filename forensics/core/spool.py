"""Where are texts kept that stand nowhere in the evidence as they are told, such as a text out of a text? In memory
while they are few; else, as the evidence itself, in an unnamed private file (docs/adr/0002).
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    import msgspec

_AT_ONCE = 1 << 20  # bytes that stay in memory


class Spool:
    """Texts one behind the other, by their offset."""

    def __init__(self) -> None:
        self._latest = bytearray()
        self._written = 0
        self._file: BinaryIO | None = None

    @property
    def size(self) -> int:
        """How many bytes are kept, which is the offset of the next text."""
        return self._written + len(self._latest)

    def add(self, text: bytes | msgspec.Raw) -> int:
        """Keep a text; returns its offset. One that is long goes to the file without a copy of it in memory."""
        offset, told = self.size, memoryview(text)
        if len(told) >= _AT_ONCE:
            self._flush()
            self._write(told)
            return offset
        self._latest += told
        if len(self._latest) >= _AT_ONCE:
            self._flush()
        return offset

    def get(self, offset: int, length: int) -> bytes:
        """The text of that length at that offset, which was kept as one."""
        if self._file is None or offset >= self._written:
            begin = offset - self._written
            return bytes(self._latest[begin : begin + length])
        self._file.seek(offset)
        return self._file.read(length)

    def _flush(self) -> None:
        self._write(self._latest)
        self._latest.clear()

    def _write(self, text: bytearray | memoryview) -> None:
        if self._file is None:
            import tempfile

            file = self._file = tempfile.TemporaryFile(prefix="forensics-")  # noqa: SIM115 - closed with the spool
            weakref.finalize(self, file.close)
        self._file.seek(self._written)
        self._written += self._file.write(text)
