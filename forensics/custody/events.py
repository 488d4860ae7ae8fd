"""Which events does a timeline hold, and what became of them since? A digest an event, and a chain over the digests.

An event is a line. The head of the chain stands for every event and for their order (the running hash of a secure audit
log: Schneier and Kelsey, 1999); the list of digests says which events an edit touched, which a head alone can't say.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_START = "0" * 64
_DIGEST = re.compile(r"[0-9a-f]{64}")


class Kind(StrEnum):
    """What was done to a list of events, or to a file of a bundle."""

    EDITED = "edited"
    INSERTED = "inserted"
    DELETED = "deleted"
    REORDERED = "reordered"
    CUT_TAIL = "cut_tail"


_RESIZING = frozenset({Kind.INSERTED, Kind.DELETED, Kind.CUT_TAIL})


class Change(msgspec.Struct, frozen=True):
    """What became of a list of events: `count` of them are concerned, the first is number `event` (counted from 1)."""

    kind: Kind
    event: int
    count: int


def digests(timeline: bytes) -> tuple[str, ...]:
    """The SHA-256 of each line, its line feed included, in hexadecimal digits."""
    return tuple(hashlib.sha256(line).hexdigest() for line in timeline.splitlines(keepends=True))


def head(of: Iterable[str]) -> str:
    """The last link of the chain in which each link is the SHA-256 of the one before and of an event's digest."""
    link = _START
    for digest in of:
        link = hashlib.sha256(f"{link}{digest}".encode()).hexdigest()
    return link


def listing(of: Iterable[str]) -> bytes:
    """The digests as a file, one a line."""
    return "".join(f"{digest}\n" for digest in of).encode()


def read_listing(data: bytes) -> tuple[str, ...] | None:
    """The digests out of such a file; None where it is none."""
    lines = data.decode("ascii", "replace").splitlines()
    return tuple(lines) if all(map(_DIGEST.fullmatch, lines)) else None


def change(recorded: Sequence[str], found: Sequence[str]) -> Change | None:
    """What became of the recorded events, in linear time; None where they are the same."""
    start = _alike(recorded, found)
    end = _alike(recorded[start:][::-1], found[start:][::-1])
    old, new = recorded[start : len(recorded) - end], found[start : len(found) - end]
    if not old and not new:
        return None
    kind = _kind(old, new, at_end=not end)
    count = abs(len(old) - len(new)) if kind in _RESIZING else max(len(old), len(new))
    return Change(kind, start + 1, count)


def _kind(old: Sequence[str], new: Sequence[str], *, at_end: bool) -> Kind:
    if not new and at_end:
        return Kind.CUT_TAIL
    if Counter(old) == Counter(new):
        return Kind.REORDERED
    if _within(new, old):
        return Kind.DELETED
    return Kind.INSERTED if _within(old, new) else Kind.EDITED


def _alike(left: Sequence[str], right: Sequence[str]) -> int:
    """How many events both begin with."""
    return next((n for n, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right)))


def _within(few: Sequence[str], many: Sequence[str]) -> bool:
    """Whether `few` is `many` with some left out."""
    rest = iter(many)
    return all(one in rest for one in few)
