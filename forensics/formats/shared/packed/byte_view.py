"""How do the standard library's archive modules read bytes that are already here? A view of them as a file."""

from __future__ import annotations

import io


class ByteView(io.RawIOBase):
    """Mapped bytes as a file that is read and sought in, without a copy of the whole."""

    def __init__(self, data: memoryview) -> None:
        self._data = data
        self._at = 0

    def readable(self) -> bool:
        """Always."""
        return True

    def seekable(self) -> bool:
        """Always."""
        return True

    def tell(self) -> int:
        """Where the next read begins."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place. Raises OSError before the first byte."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: len(self._data)}[whence]
        if base + offset < 0:
            raise OSError(offset)
        self._at = base + offset
        return self._at

    def read(self, size: int = -1) -> bytes:
        """At most `size` bytes from here on."""
        end = len(self._data) if size < 0 else self._at + size
        found = bytes(self._data[self._at : end])
        self._at += len(found)
        return found
