"""Which members does a zip archive have, by its directory or, where that is missing or broken, by their own headers?

Names are never used as paths. An archive inside the archive is not opened (APPNOTE.TXT 6.3.10 describes the format).
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from typing import TYPE_CHECKING

import msgspec

from forensics.core.findings import finding
from forensics.core.late import late
from forensics.core.limits import exceeded, limits
from forensics.core.sanitise import one_line
from forensics.formats.shared.packed.byte_view import ByteView
from forensics.formats.shared.packed.kinds import ZIP_MAGIC
from forensics.formats.shared.packed.unpacking import METHODS, Budget, unpack

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.core.reading import EvidenceBuilder
    from forensics.formats.shared.source import Source

_HEADER = struct.Struct("<4sHHHHHIIIHH")
_NEXT_HEADER = late(rb"PK(?:\x07\x08|\x03\x04|\x01\x02)")
_ENCRYPTED = 0x1
_SIZES_FOLLOW = 0x8
_UTF8 = 0x800
_NEVER_SAID = 0xFFFFFFFF
_BROKEN = (zipfile.BadZipFile, struct.error, ValueError, OSError, EOFError, NotImplementedError, OverflowError)


class Member(msgspec.Struct, frozen=True):
    """One member: where its packed bytes begin and how many they are, and what its header says of the rest (-1: not
    said). `size` and `checksum` are those of the unpacked bytes.
    """

    name: str
    method: int
    start: int
    packed: int
    size: int
    checksum: int
    encrypted: bool = False


class Archive(msgspec.Struct, frozen=True):
    """The members in order; `recovered` where the directory was of no use."""

    members: tuple[Member, ...]
    recovered: bool


class Content(msgspec.Struct, frozen=True):
    """The unpacked bytes of a member; `fault` says why they are not all or not those that were packed ("": nothing)."""

    data: bytes
    fault: str = ""


def open_archive(source: Source) -> Archive:
    """The members of an archive. Raises LimitExceededError for too many of them."""
    try:
        members = tuple(_listed(source))
    except _BROKEN:
        return Archive(_checked(tuple(_recovered(source))), recovered=True)
    return Archive(_checked(members), recovered=False)


def _checked(members: tuple[Member, ...]) -> tuple[Member, ...]:
    if len(members) > limits().members:
        raise exceeded("members", f"the archive has at least {len(members)} members")
    return members


def content_of(source: Source, member: Member, budget: Budget) -> Content:
    """What a member holds. Raises as `unpack` does; anything else that is wrong with it is its `fault`."""
    if member.encrypted:
        return Content(b"", "it is encrypted")
    if member.method not in METHODS:
        return Content(b"", f"it is packed by a method that is not read ({member.method})")
    found = unpack(source.data[member.start : member.start + member.packed], member.method, budget)
    if not found.whole or (member.size >= 0 and len(found.data) != member.size):
        return Content(found.data, "its packed bytes break off or are damaged")
    if member.checksum >= 0 and zlib.crc32(found.data) != member.checksum:
        return Content(found.data, "its checksum is not that of its bytes")
    return Content(found.data)


def note_names(members: tuple[Member, ...], build: EvidenceBuilder) -> None:
    """Say which names no careful program would unpack to: beyond the folder, twice, or told apart by case alone."""
    seen: set[str] = set()
    for member in members:
        why = odd_name(member.name, seen)
        if why:
            locator = build.places.locator(build.places.add_member(member.name, 0))
            message = f"the name of a member {why}: {one_line(member.name, 80)}"
            build.found(finding("unsafe_identifier", message, locators=(locator,)))


def odd_name(name: str, seen: set[str]) -> str:
    """What is wrong with a member's name ("": nothing); `seen` holds the names before it, in lower case."""
    why = "leaves its folder" if _leaves(name) else "stands twice" if name.lower() in seen else ""
    seen.add(name.lower())
    return why


def _leaves(name: str) -> bool:
    return name.startswith(("/", "\\")) or ":" in name[:2] or ".." in name.replace("\\", "/").split("/")


# by the directory ----------------------------------------------------------------------------------------------------


def _listed(source: Source) -> Iterator[Member]:
    with zipfile.ZipFile(ByteView(source.data)) as archive:
        for entry in archive.infolist():
            start = _data_start(source, entry.header_offset)
            if not entry.is_dir():
                yield Member(
                    entry.filename,
                    entry.compress_type,
                    start,
                    entry.compress_size,
                    entry.file_size,
                    entry.CRC,
                    bool(entry.flag_bits & _ENCRYPTED),
                )


def _data_start(source: Source, header: int) -> int:
    fields = _HEADER.unpack_from(source.data, header)
    if fields[0] != ZIP_MAGIC:
        raise ValueError(header)
    return header + _HEADER.size + int(fields[9]) + int(fields[10])


# by the headers of the members ---------------------------------------------------------------------------------------


def _recovered(source: Source) -> Iterator[Member]:
    """Every local header that can be found; a member goes as far as its header says or, where it leaves that open, to
    the next header. Packed bytes that look like a header are passed over with their member.
    """
    position, found = source.find(ZIP_MAGIC, 0), 0
    while position >= 0 and found <= limits().members:
        member = _member_at(source, position)
        if member is not None:
            found += 1
            yield member
        position = source.find(ZIP_MAGIC, position + 4 if member is None else member.start + member.packed)


def _member_at(source: Source, header: int) -> Member | None:
    try:
        _, _, flags, method, _, _, checksum, packed, size, name_length, extra = _HEADER.unpack_from(source.data, header)
    except struct.error:
        return None
    name_at = header + _HEADER.size
    name = bytes(source.data[name_at : name_at + name_length])
    start = name_at + name_length + extra
    if not name or start > source.size:
        return None
    known = not flags & _SIZES_FOLLOW and _NEVER_SAID not in (packed, size)
    return Member(
        name.decode("utf-8" if flags & _UTF8 else "cp437", "backslashreplace"),
        method,
        start,
        min(packed, source.size - start) if known else _to_next_header(source, start) - start,
        size if known else -1,
        checksum if known else -1,
        bool(flags & _ENCRYPTED),
    )


def _to_next_header(source: Source, start: int) -> int:
    header = _NEXT_HEADER.search(source.data, start)
    return source.size if header is None else header.start()
