"""What do the bytes of this evidence say once they are plain UTF-8? gzip is unpacked and UTF-16 is written as UTF-8,
each into a private file, within limits; everything else stays as it is.

Offsets of locators are those of the unwrapped bytes; digest and size are those of the evidence.
"""

from __future__ import annotations

import codecs
import mmap
import tempfile
import zlib
from typing import TYPE_CHECKING, Protocol

import msgspec

from forensics.errors import CorruptEvidenceError
from forensics.formats.shared.packed.unpacking import Budget, bzip2, faults, xz, zstandard

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_GZIP = b"\x1f\x8b\x08"
_MAGIC = {_GZIP: "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz"}
_GZIP_WINDOW = 31  # zlib's number for a gzip header and the largest window
_CHUNK = 1 << 20
_STEP = 64  # bytes fed at once to find a broken place
_UTF_16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_NOT_UTF_16 = (codecs.BOM_UTF32_LE,)  # begins as UTF-16 LE does


class Note(msgspec.Struct, frozen=True):
    """Something that was met on the way: a code of the contract, a sentence, and whether records may be lost by it."""

    code: str
    message: str
    hides: bool = False


class Unwrapped(msgspec.Struct, frozen=True):
    """The plain bytes; `compression` names what held them, `notes` say what was met."""

    mapped: mmap.mmap
    compression: str | None = None
    notes: tuple[Note, ...] = ()


class Decompressor(Protocol):
    """What zlib makes to unpack one member."""

    def decompress(self, data: bytes) -> bytes:
        """The bytes that `data` unpacks to; zlib.error where it is broken."""


class _Layer(Protocol):
    """One wrapping: its pieces unwrapped, and what was met (a list that is filled while the pieces are taken)."""

    def __call__(self, data: memoryview, name: str, notes: list[Note]) -> Iterator[bytes]: ...


def unwrap(data: memoryview, name: str) -> Unwrapped | None:
    """The plain bytes of `data`, or None where they are plain already. Raises LimitExceededError where they grow
    beyond a limit, CorruptEvidenceError where nothing can be unpacked.
    """
    notes, mapped = list[Note](), None
    compression = _compression(data)
    if compression is not None:
        mapped = _spooled(_STREAMS[compression], data, name, notes)
        data = memoryview(mapped)
    if bytes(data[:2]) in _UTF_16 and bytes(data[:4]) not in _NOT_UTF_16:
        mapped = _spooled(_as_utf_8, data, name, notes)
    return None if mapped is None else Unwrapped(mapped, compression, tuple(notes))


def is_packed(data: memoryview) -> bool:
    """Whether the bytes are those of a compressed stream."""
    return _compression(data) is not None


def _compression(data: memoryview) -> str | None:
    return next((name for magic, name in _MAGIC.items() if bytes(data[: len(magic)]) == magic), None)


def _spooled(layer: _Layer, data: memoryview, name: str, notes: list[Note]) -> mmap.mmap:
    """The unwrapped bytes in an unnamed private file, mapped."""
    with tempfile.TemporaryFile(prefix="forensics-") as file:
        budget, total = Budget(name), 0
        for piece in layer(data, name, notes):
            total += len(piece)
            budget.spend(len(piece), total, len(data))
            file.write(piece)
        file.flush()
        if not file.tell():
            raise CorruptEvidenceError(f"{name} holds nothing that can be unpacked", hint="is this the whole file?")
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _gunzip(data: memoryview, name: str, notes: list[Note]) -> Iterator[bytes]:
    """The members of a gzip file, one after another; what stands before a cut or a broken place is kept."""
    at = 0
    member = zlib.decompressobj(_GZIP_WINDOW)
    pending = b""
    while not member.eof or _begins_a_member(data, at, pending):
        if member.eof:
            member = zlib.decompressobj(_GZIP_WINDOW)
        if not pending and at < len(data):
            pending, at = bytes(data[at : at + _CHUNK]), at + _CHUNK
        if not pending:
            notes.append(Note("container_truncated", f"{name}: the gzip stream breaks off", hides=True))
            return
        before = member.copy()
        try:
            piece = member.decompress(pending, _CHUNK)
        except zlib.error:
            yield from _until_broken(before, pending)
            notes.append(Note("container_truncated", f"{name}: the gzip stream is broken in the middle", hides=True))
            return
        pending = member.unused_data if member.eof else member.unconsumed_tail
        yield piece
    if pending.strip(b"\x00"):
        notes.append(Note("container_truncated", f"{name}: bytes that are no gzip stand behind the stream", hides=True))


def _until_broken(member: Decompressor, data: bytes) -> Iterator[bytes]:
    """What can be unpacked before the place that is broken."""
    for at in range(0, len(data), _STEP):
        try:
            yield member.decompress(data[at : at + _STEP])
        except zlib.error:
            return


def _begins_a_member(data: memoryview, at: int, pending: bytes) -> bool:
    """Whether another gzip member follows a finished one."""
    return (pending or bytes(data[at : at + len(_GZIP)])).startswith(_GZIP[:2])


def _unpacked_by(kind: str, unpack: Callable[[memoryview], Iterator[bytes]]) -> _Layer:
    """A stream that one of the engines of `unpacking` reads; what stands before a damaged place is kept."""

    def layer(data: memoryview, name: str, notes: list[Note]) -> Iterator[bytes]:
        try:
            yield from unpack(data)
        except faults():
            notes.append(Note("container_truncated", f"{name}: the {kind} stream breaks off or is broken", hides=True))

    return layer


def _as_utf_8(data: memoryview, name: str, notes: list[Note]) -> Iterator[bytes]:
    r"""UTF-16 as UTF-8; half of a surrogate pair is written as the JSON escape that it would be (`\udcb2`)."""
    encoding = _UTF_16[bytes(data[:2])]
    said = f"{name} is {encoding.upper()}: read as the same text in UTF-8, offsets are those of that text"
    notes.append(Note("encoding", said))
    decoder = codecs.getincrementaldecoder(encoding)("surrogatepass")
    for at in range(2, len(data), _CHUNK):
        yield decoder.decode(bytes(data[at : at + _CHUNK])).encode("utf-8", "backslashreplace")
    if decoder.getstate()[0]:
        notes.append(Note("container_truncated", f"{name} ends in the middle of a character", hides=True))


_STREAMS: dict[str, _Layer] = {
    "gzip": _gunzip,
    "zstd": _unpacked_by("zstd", zstandard),
    "bzip2": _unpacked_by("bzip2", bzip2),
    "xz": _unpacked_by("xz", xz),
}
