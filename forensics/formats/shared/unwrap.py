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

from forensics.core.limits import exceeded, limits
from forensics.errors import CorruptEvidenceError

if TYPE_CHECKING:
    from collections.abc import Iterator

_GZIP = b"\x1f\x8b\x08"
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
    compression, notes, mapped = None, list[Note](), None
    if bytes(data[:3]) == _GZIP:
        compression, mapped = "gzip", _spooled(_gunzip, data, name, notes)
        data = memoryview(mapped)
    if bytes(data[:2]) in _UTF_16 and bytes(data[:4]) not in _NOT_UTF_16:
        mapped = _spooled(_as_utf_8, data, name, notes)
    return None if mapped is None else Unwrapped(mapped, compression, tuple(notes))


def _spooled(layer: _Layer, data: memoryview, name: str, notes: list[Note]) -> mmap.mmap:
    """The unwrapped bytes in an unnamed private file, mapped."""
    with tempfile.TemporaryFile(prefix="forensics-") as file:
        for piece in layer(data, name, notes):
            file.write(piece)
        file.flush()
        if not file.tell():
            raise CorruptEvidenceError(f"{name} holds nothing that can be unpacked", hint="is this the whole file?")
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _gunzip(data: memoryview, name: str, notes: list[Note]) -> Iterator[bytes]:
    """The members of a gzip file, one after another; what stands before a cut or a broken place is kept."""
    total, at = 0, 0
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
        total += len(piece)
        _check(total, len(data), name)
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


def _check(total: int, packed: int, name: str) -> None:
    bounds = limits()
    if total > bounds.unpacked:
        raise exceeded("unpacked", f"{name} unpacks to {total} bytes or more")
    if total > bounds.ratio_floor and total > packed * bounds.ratio:
        raise exceeded("ratio", f"{name} unpacks to {total // max(1, packed)} times its size or more")


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
