"""What do these packed bytes hold, and how much of it may be unpacked? Deflate, gzip, bzip2, XZ and Zstandard, in
small pieces, counted against limits before anything is kept (RELIABILITY section 4: a hundred megabytes of zeros are a
hundred kilobytes).
"""

from __future__ import annotations

import bz2
import importlib
import io
import lzma
import sys
import zlib
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from forensics.core.limits import exceeded, limits
from forensics.errors import EvidenceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_PIECE = 1 << 16
_STEP = 64  # bytes fed at once to find a broken place
_GZIP = 31  # zlib's number for a gzip header and the largest window
_WINDOW = 1 << 27  # bytes of history that a Zstandard frame may ask for
_ZSTANDARD = ("compression.zstd", "zstandard")
"""Python's own module (3.14), and the one of the extra `zstd`."""


class Budget:
    """How much one evidence may still unpack to, under the limits in force."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._unpacked = 0

    def spend(self, size: int, unpacked: int, packed: int) -> None:
        """Count a piece of `size` bytes of a part that has unpacked from `packed` to `unpacked` so far. Raises
        LimitExceededError.
        """
        allowed = limits()
        self._unpacked += size
        if self._unpacked > allowed.unpacked:
            raise exceeded("unpacked", f"{self._name} unpacks to more than {self._unpacked - size} bytes")
        if unpacked > allowed.ratio_floor and unpacked > allowed.ratio * max(packed, 1):
            raise exceeded("ratio", f"{self._name} unpacks to {unpacked // max(packed, 1)} times its size")


class Unpacked(msgspec.Struct, frozen=True):
    """What packed bytes hold: all of it (`whole`), or what stands before they break off."""

    data: bytes
    whole: bool


def unpack(packed: memoryview, method: int, budget: Budget) -> Unpacked:
    """What is packed by one of METHODS. Raises LimitExceededError, and EvidenceError (`extra_missing`) for Zstandard
    where nothing can unpack it.
    """
    pieces: list[bytes] = []
    size = 0
    whole = True
    try:
        for piece in METHODS[method](packed):
            size += len(piece)
            budget.spend(len(piece), size, len(packed))
            pieces.append(piece)
    except faults():
        whole = False
    return Unpacked(b"".join(pieces), whole)


def _stored(packed: memoryview) -> Iterator[bytes]:
    yield bytes(packed)


def _deflated(packed: memoryview) -> Iterator[bytes]:
    """One raw deflate stream; what stands behind it is no part of it."""
    return _streams(lambda: _Deflate(-zlib.MAX_WBITS), packed, most=1)


def gunzip(packed: memoryview) -> Iterator[bytes]:
    """The members of a gzip file, one after another. Raises zlib.error and EOFError."""
    return _streams(lambda: _Deflate(_GZIP), packed)


def bzip2(packed: memoryview) -> Iterator[bytes]:
    """Bzip2 streams, one after another. Raises OSError and EOFError."""
    return _streams(bz2.BZ2Decompressor, packed)


def xz(packed: memoryview) -> Iterator[bytes]:
    """XZ streams, one after another. Raises lzma.LZMAError, for a history beyond _WINDOW too, and EOFError."""
    return _streams(lambda: lzma.LZMADecompressor(memlimit=_WINDOW), packed)


class _Engine(Protocol):
    """What the two modules of the standard library make."""

    @property
    def eof(self) -> bool:
        """Whether the stream ended."""

    @property
    def needs_input(self) -> bool:
        """Whether nothing is left to give without more bytes."""

    @property
    def unused_data(self) -> bytes:
        """What stood behind the end of the stream."""

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        """At most `max_length` bytes more."""


class _Deflate:
    """zlib's engine with the manners of the other two. What stands before a broken place is given, then its error."""

    def __init__(self, window: int) -> None:
        self._engine = zlib.decompressobj(window)
        self._rest = b""
        self._error: zlib.error | None = None

    @property
    def eof(self) -> bool:
        """Whether the stream ended."""
        return self._engine.eof

    @property
    def needs_input(self) -> bool:
        """Whether nothing is left to give without more bytes."""
        return not self._rest and self._error is None

    @property
    def unused_data(self) -> bytes:
        """What stood behind the end of the stream."""
        return self._engine.unused_data

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        """At most `max_length` bytes more; zlib.error behind what stands before a broken place."""
        if self._error is not None:
            raise self._error
        fed, before = self._rest + data, self._engine.copy()
        try:
            piece = self._engine.decompress(fed, max_length)
        except zlib.error as error:
            self._error = error
            return b"".join(_before_the_fault(before, fed))
        self._rest = self._engine.unconsumed_tail
        return piece


def _before_the_fault(engine: zlib._Decompress, data: bytes) -> Iterator[bytes]:
    """What can be unpacked before the place that is broken."""
    for at in range(0, len(data), _STEP):
        try:
            yield engine.decompress(data[at : at + _STEP])
        except zlib.error:
            return


def _streams(make: Callable[[], _Engine], packed: memoryview, most: int = sys.maxsize) -> Iterator[bytes]:
    """At most that many streams, one after another, and the zeros that pad them."""
    engine, made = None, 0
    for start in range(0, len(packed), _PIECE):
        piece = bytes(packed[start : start + _PIECE])
        while piece or (engine is not None and not engine.eof and not engine.needs_input):
            if engine is None or engine.eof:
                if made == most:
                    return
                engine, made = make(), made + 1
            yield engine.decompress(piece, _PIECE)
            piece = engine.unused_data.lstrip(b"\x00") if engine.eof else b""
    if engine is None or not engine.eof:
        raise EOFError


def zstandard(packed: memoryview) -> Iterator[bytes]:
    """Python's own module raises EOFError where a frame breaks off; that of the extra ends, and the size tells."""
    codec = _zstandard_module()
    if codec is None:
        message = "a part of the evidence is packed with Zstandard, which this Python can't unpack"
        hint = "pip install 'trace-forensics[zstd]' (Python 3.14 needs nothing)"
        raise EvidenceError(message, hint=hint, code="extra_missing")
    stream = io.BytesIO(packed)
    reader = (
        codec.ZstdFile(stream)
        if hasattr(codec, "ZstdFile")
        else codec.ZstdDecompressor(max_window_size=_WINDOW).stream_reader(stream, read_across_frames=True)
    )
    while piece := reader.read(_PIECE):
        yield piece


def _zstandard_module() -> Any:
    """The module that unpacks Zstandard, or None. One of two names, never one out of a trace."""
    for name in _ZSTANDARD:
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    return None


def faults() -> tuple[type[Exception], ...]:
    """What the engines raise for bytes that break off or are damaged."""
    codec = _zstandard_module()
    own = (zlib.error, lzma.LZMAError, EOFError, OSError)
    return own if codec is None else (*own, codec.ZstdError)


METHODS: dict[int, Callable[[memoryview], Iterator[bytes]]] = {0: _stored, 8: _deflated, 93: zstandard}
"""The methods that are read, by their numbers in a zip archive (APPNOTE 4.4.5)."""
STREAMS: dict[str, Callable[[memoryview], Iterator[bytes]]] = {
    "gzip": gunzip,
    "zstd": zstandard,
    "bzip2": bzip2,
    "xz": xz,
}
"""The compressed streams that are read, by the names that documents have for them."""
