"""Which evidences does an archive hold? The files in a zip or a tar, each a source of its own under its name in the
archive, which is never used as a path. An archive inside an archive is not opened.
"""

from __future__ import annotations

import hashlib
import tarfile
from typing import TYPE_CHECKING

from forensics.core.limits import exceeded, limits
from forensics.core.sanitise import one_line
from forensics.errors import CorruptEvidenceError, EvidenceError
from forensics.formats.shared.packed.byte_view import ByteView
from forensics.formats.shared.packed.kinds import Unopened, archive_kind
from forensics.formats.shared.packed.unpacking import Budget
from forensics.formats.shared.packed.unwrap import Note, is_packed
from forensics.formats.shared.packed.zipped import content_of, odd_name, open_archive
from forensics.formats.shared.source import Source, plain_source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_CUT = "container_truncated"


def members_of(source: Source, kind: str) -> Iterator[Source | Unopened]:
    """Each file of the archive, in order. Raises LimitExceededError, at the member where a limit is exceeded."""
    seen: set[str] = set()
    for name, data, notes in _KINDS[kind](source):
        label = f"{source.name}/{name}"
        if isinstance(data, EvidenceError):
            yield Unopened(label, data, source.sha256, source.size)
        elif is_packed(memoryview(data)) or archive_kind(memoryview(data)) is not None:
            yield Unopened(label, _nested(name), source.sha256, source.size)
        else:
            yield _member(source, kind, label, data, (*notes, *_odd(name, seen)))


_Found = tuple[str, bytes | EvidenceError, tuple[Note, ...]]


def _member(source: Source, kind: str, label: str, data: bytes, notes: tuple[Note, ...]) -> Source:
    member = plain_source(Source(label, memoryview(data), source.sha256, data))
    member.size = source.size
    member.compression = kind if source.compression is None else f"{source.compression}, {kind}"
    member.member_sha256 = hashlib.sha256(data).hexdigest()
    member.notes = (*source.notes, *notes, *member.notes)
    member.watch_with(source)
    return member


def _odd(name: str, seen: set[str]) -> tuple[Note, ...]:
    why = odd_name(name, seen)
    return (Note("unsafe_identifier", f"the name of a member {why}: {one_line(name, 80)}"),) if why else ()


def _nested(name: str) -> EvidenceError:
    message = f"{one_line(name, 80)} is packed itself: an archive inside an archive is not opened"
    return EvidenceError(message, hint="unpack the outer one, and name the inner one", code="container_nested")


def _zip(source: Source) -> Iterator[_Found]:
    archive = open_archive(source)
    budget = Budget(source.name)
    recovered = Note(_CUT, f"{source.name} has no directory that can be read: its files were found one by one")
    for member in archive.members:
        content = content_of(source, member, budget)
        if content.fault and not content.data:
            message = f"{one_line(member.name, 80)} can't be unpacked: {content.fault}"
            yield member.name, CorruptEvidenceError(message, hint="unpack it yourself, and name the file"), ()
            continue
        cut = (Note(_CUT, f"{one_line(member.name, 80)}: {content.fault}", hides=True),) if content.fault else ()
        yield member.name, content.data, (*((recovered,) if archive.recovered else ()), *cut)


def _tar(source: Source) -> Iterator[_Found]:
    budget = Budget(source.name)
    count = 0
    try:
        with tarfile.open(fileobj=ByteView(source.data), mode="r:") as archive:
            for entry in archive:
                count += 1
                if count > limits().members:
                    raise exceeded("members", f"the archive has at least {count} members")
                if not entry.isdir():
                    yield entry.name, *_tar_member(archive, entry, budget)
    except (tarfile.TarError, EOFError, OSError, ValueError) as error:
        message = f"{source.name} breaks off or is damaged behind {count} members: {type(error).__name__}"
        yield "(rest)", CorruptEvidenceError(message, hint="get the archive again", code=_CUT), ()


def _tar_member(
    archive: tarfile.TarFile, entry: tarfile.TarInfo, budget: Budget
) -> tuple[bytes | EvidenceError, tuple[Note, ...]]:
    if not entry.isreg():
        message = f"{one_line(entry.name, 80)} is a link or a device, no file"
        return EvidenceError(message, hint="name the file that it stands for", code="evidence_not_a_file"), ()
    budget.spend(entry.size, entry.size, entry.size)
    file = archive.extractfile(entry)
    data = b"" if file is None else file.read()
    if len(data) == entry.size:
        return data, ()
    return data, (Note(_CUT, f"{one_line(entry.name, 80)} breaks off", hides=True),)


_KINDS: dict[str, Callable[[Source], Iterator[_Found]]] = {"zip": _zip, "tar": _tar}
