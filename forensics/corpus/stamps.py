"""Which places of a corpus changed since they were audited? By their bytes or, if that is asked for, by size and time.

Nothing is read that no ledger knows: its audit will read it, and says what the bytes were.
"""

from __future__ import annotations

import hashlib
import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

from forensics.corpus.ledger import Stamp
from forensics.errors import EvidenceError
from forensics.formats.shared.remote import PARTS, beside, is_url, opened

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from io import FileIO
    from typing import BinaryIO

    from forensics.formats.shared.remote import Found

_CHUNK = 1 << 20
_AT_ONCE = 8  # URLs that are read at the same time: they wait for the network


class Look(NamedTuple):
    """What can be told of a place without reading it: its size in bytes, a mark that changes when it is written to ("":
    there is none), and the files beside it that are a part of it.
    """

    size: int
    mark: str
    beside: tuple[str, ...] = ()


def looks(found: Sequence[Found]) -> dict[str, Look]:
    """A look at each place. Of URLs it is what their store listed."""
    return {one.where: _look_there(one) if is_url(one.where) else look_at(one.where) for one in found}


def _look_there(one: Found) -> Look:
    if one.beside is not None:
        return Look(one.size, one.mark, one.beside)
    parts = tuple(filter(None, (_beside(one.where, end) for end in PARTS)))
    return Look(one.size, "" if parts else one.mark, parts)


def _beside(url: str, end: str) -> str | None:
    try:
        return beside(url, end)
    except EvidenceError:
        return None


def look_at(where: str) -> Look:
    """A look at a file. One that can't be looked at has no size: its audit says what is wrong."""
    found = _size_and_time(where)
    if found is None:
        return Look(0, "")
    parts = [(name, at) for name in (where + end for end in PARTS) if (at := _size_and_time(name)) is not None]
    times = [f"{found[1]}", *(f"{size}.{time}" for _, (size, time) in parts)]
    return Look(found[0], " + ".join(times), tuple(name for name, _ in parts))


def _size_and_time(where: str) -> tuple[int, int] | None:
    try:
        found = os.stat(where)  # noqa: PTH116 - a hundred thousand times
    except (OSError, ValueError):  # a name that no file can have
        return None
    return found.st_size, found.st_mtime_ns


def stamps_of(looked: Mapping[str, Look], known: Mapping[str, Stamp], *, trust_marks: bool) -> dict[str, Stamp]:
    """The stamps now of places that a ledger knows. Their bytes are read, of URLs several at a time; with `trust_marks`
    those of places with the same size and mark are not.
    """
    stamps: dict[str, Stamp] = {}
    read: list[str] = []
    fetched: list[str] = []
    for where, look in looked.items():
        if (was := known.get(where)) is None or not was.evidence:
            continue
        if trust_marks and look.mark and (look.size, look.mark) == (was.size, was.mark):
            stamps[where] = was if was.trusted else was._replace(trusted=True)
        else:
            (fetched if is_url(where) else read).append(where)
    digests = dict(zip(read, map(_digest_here, read), strict=True))
    if fetched:
        with ThreadPoolExecutor(_AT_ONCE) as threads:
            digests |= zip(fetched, threads.map(_digest_there, fetched), strict=True)
    for where, digest in digests.items():
        stamps[where] = stamp(digest, looked[where])
    return stamps


def stamp(digest: str, look: Look) -> Stamp:
    """The stamp of a place whose own bytes have that digest ("": they were not read), and of what stands beside it."""
    parts = [digest, *(_digest_there(one) if is_url(one) else _digest_here(one) for one in look.beside)]
    return Stamp("+".join(parts) if all(parts) else "", look.size, look.mark)


def _digest_here(where: str) -> str:
    """The digest of a file; "" for one that can't be read: its audit says what is wrong."""
    try:
        with open(where, "rb", buffering=0) as file:  # noqa: PTH123 - a hundred thousand times
            first = file.read(_CHUNK)
            return hashlib.sha256(first).hexdigest() if len(first) < _CHUNK else _digest(first, file)
    except (OSError, ValueError):
        return ""


def _digest_there(url: str) -> str:
    try:
        with opened(url) as stream:
            return _digest(b"", stream)
    except EvidenceError:
        return ""


def _digest(first: bytes, stream: BinaryIO | FileIO) -> str:
    digest = hashlib.sha256(first)
    while chunk := stream.read(_CHUNK):
        digest.update(chunk)
    return digest.hexdigest()
