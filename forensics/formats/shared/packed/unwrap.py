"""What do the bytes of this evidence say once they are plain UTF-8? A compressed stream is unpacked and UTF-16 is
written as UTF-8, each into a private file, within limits; everything else stays as it is.

Offsets of locators are those of the unwrapped bytes; digest and size are those of the evidence.
"""

from __future__ import annotations

import codecs
import mmap
from typing import TYPE_CHECKING, Protocol

import msgspec

from forensics.errors import CorruptEvidenceError

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAGIC = {b"\x1f\x8b\x08": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz"}
_CHUNK = 1 << 20
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
        mapped = _spooled(_unpacked(compression), data, name, notes)
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
    import tempfile

    from forensics.formats.shared.packed.unpacking import Budget

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


def _unpacked(kind: str) -> _Layer:
    """The layer of a compressed stream; what stands before a damaged place is kept."""
    from forensics.formats.shared.packed.unpacking import STREAMS, faults

    def layer(data: memoryview, name: str, notes: list[Note]) -> Iterator[bytes]:
        try:
            yield from STREAMS[kind](data)
        except EOFError:
            notes.append(Note("container_truncated", f"{name}: the {kind} stream breaks off", hides=True))
        except faults():
            message = f"{name}: the {kind} stream is broken, or other bytes stand behind it"
            notes.append(Note("container_truncated", message, hides=True))

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
