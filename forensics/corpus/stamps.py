"""Which places of a corpus changed since they were audited? By their bytes or, if that is asked for, by size and time.

Nothing is read that no ledger knows: its audit will read it, and says what the bytes were.
"""

from __future__ import annotations

import functools
import hashlib
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

from forensics.corpus.ledger import Stamp
from forensics.errors import EvidenceError
from forensics.formats.shared.remote import PARTS, beside, is_url, opened

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

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
    names = _Names()
    return {one.where: _look_there(one) if is_url(one.where) else _look_here(one.where, names) for one in found}


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


class _Names(dict[str, "frozenset[str] | None"]):
    """The names in a folder, which is listed once; None where it may not be listed."""

    def __missing__(self, folder: str) -> frozenset[str] | None:
        try:
            self[folder] = frozenset(os.listdir(folder or "."))  # noqa: PTH208 - names are all that is asked for
        except OSError:
            self[folder] = None
        return self[folder]


def _look_here(where: str, names: _Names) -> Look:
    """A look at a file. One that can't be looked at has no size: its audit says what is wrong."""
    found = _size_and_time(where)
    if found is None:
        return Look(0, "")
    folder, name = os.path.split(where)
    listed = names[folder]
    ends = PARTS if listed is None else [end for end in PARTS if name + end in listed]
    parts = [(where + end, at) for end in ends if (at := _size_and_time(where + end)) is not None]
    times = [f"{found[1]}", *(f"{size}.{time}" for _, (size, time) in parts)]
    return Look(found[0], " + ".join(times), tuple(part for part, _ in parts))


def _size_and_time(where: str) -> tuple[int, int] | None:
    """Size and time of a regular file; None of anything else."""
    try:
        found = os.stat(where)  # noqa: PTH116 - a hundred thousand times
    except (OSError, ValueError):  # a name that no file can have
        return None
    return (found.st_size, found.st_mtime_ns) if stat.S_ISREG(found.st_mode) else None


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
    digests = {where: _digest_here(where, looked[where].size) for where in read}
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


def _digest_here(where: str, size: int = _CHUNK) -> str:
    """The digest of a file that has about that size; "" for one that can't be read: its audit says what is wrong."""
    try:
        handle = os.open(where, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        try:
            return _digest(functools.partial(os.read, handle), min(size + 1, _CHUNK))
        finally:
            os.close(handle)
    except (OSError, ValueError):
        return ""


def _digest_there(url: str) -> str:
    try:
        with opened(url) as stream:
            return _digest(stream.read, _CHUNK)
    except EvidenceError:
        return ""


def _digest(read: Callable[[int], bytes], first: int) -> str:
    """The digest of all that is read, so much at first."""
    digest = hashlib.sha256()
    asked = first
    while chunk := read(asked):
        digest.update(chunk)
        asked = _CHUNK
    return digest.hexdigest()
