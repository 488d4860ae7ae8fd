"""What did the child write? The changes below a folder that took its writes, read without following any link.

The folder is the upper side of an overlay (what the kernel's overlayfs documentation calls whiteouts and opaque folders
are read here as deletions), or a plain scratch folder, which is one without a lower side. Names, depth, number and size
are the agent's choice, so each is bounded; what is beyond a bound is counted.
"""

from __future__ import annotations

import hashlib
import os
import stat
from typing import TYPE_CHECKING, Literal, NamedTuple

from forensics.replay.cell.isolation import Captured

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.replay.cell.plan import Limits

_DEEPEST = 64
_CHUNK = 1 << 20
_OPAQUE = ("trusted.overlay.opaque", "user.overlay.opaque")
_ATTRIBUTES = ("st_mode", "st_uid", "st_gid")
_CONTENT = (*_ATTRIBUTES, "st_size", "st_mtime_ns")


class Layer(NamedTuple):
    """A folder that takes writes, the path at which the child sees it, what lies below it (None: nothing), and paths
    that were in it before.
    """

    upper: str
    shown: str
    lower: str | None
    known: frozenset[str] = frozenset()


class Written:
    """The list of changes, filled folder by folder. `more` counts those that are not in it."""

    def __init__(self, limits: Limits) -> None:
        self.more = 0
        self._listed: list[Captured] = []
        self._room = limits.captured
        self._known: frozenset[str] = frozenset()
        self._device = 0
        self._bytes = 4 * limits.storage  # files with holes may be longer than what was stored

    def listed(self) -> tuple[Captured, ...]:
        """The changes, by path."""
        return tuple(sorted(self._listed, key=lambda change: change.path))

    def add(self, layer: Layer) -> None:
        """Add what was written to a layer. Other file systems that are mounted within it are no part of it."""
        folder = os.open(layer.upper, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        self._known, self._device = layer.known, os.fstat(folder).st_dev
        self._folder(folder, layer.shown, layer.lower, 0)

    def _folder(self, folder: int, shown: str, lower: str | None, depth: int) -> None:
        try:
            names = sorted(os.listdir(folder))
            for name in names:
                beneath = None if lower is None else os.path.join(lower, name)
                self._entry(folder, name, os.path.join(shown, name), beneath, depth)
            if lower is not None and _opaque(folder):
                self._vanished(set(names), shown, lower)
        finally:
            os.close(folder)

    def _entry(self, folder: int, name: str, shown: str, lower: str | None, depth: int) -> None:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        before = _before(lower)
        if found.st_dev != self._device:
            return
        if stat.S_ISDIR(found.st_mode):
            self._subfolder(folder, name, shown, lower, depth)
        elif stat.S_ISCHR(found.st_mode) and found.st_rdev == 0:
            self._note(Captured(_text(shown), "deleted"))
        elif stat.S_ISREG(found.st_mode):
            self._file(folder, name, shown, lower, found)
        else:
            if shown in self._known:
                return
            to = _text(os.readlink(name, dir_fd=folder)) if stat.S_ISLNK(found.st_mode) else None
            self._note(Captured(_text(shown), _kind(before), to=to))

    def _subfolder(self, parent: int, name: str, shown: str, lower: str | None, depth: int) -> None:
        found, before = os.stat(name, dir_fd=parent, follow_symlinks=False), _before(lower)
        was_folder = before is not None and stat.S_ISDIR(before.st_mode)
        if shown not in self._known and (not was_folder or not _alike(found, before, _ATTRIBUTES)):
            self._note(Captured(_text(shown) + "/", _kind(before)))
        if depth == _DEEPEST:
            self.more += 1
            return
        folder = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)
        self._folder(folder, shown, lower if was_folder else None, depth + 1)

    def _file(self, folder: int, name: str, shown: str, lower: str | None, found: os.stat_result) -> None:
        before = _before(lower)
        if len(self._listed) >= self._room or found.st_size > self._bytes:
            self._note(Captured(_text(shown), _kind(before), found.st_size))
            return
        self._bytes -= found.st_size
        digest = _digest(os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder))
        if lower is not None and _alike(found, before, _CONTENT) and _read(lower) == digest:
            return  # opened for writing, and nothing written
        self._note(Captured(_text(shown), _kind(before), found.st_size, digest))

    def _vanished(self, kept: set[str], shown: str, lower: str) -> None:
        """What a folder that was replaced held before."""
        for name in sorted(set(_names(lower)) - kept):
            self._note(Captured(_text(os.path.join(shown, name)), "deleted"))

    def _note(self, change: Captured) -> None:
        if len(self._listed) < self._room:
            self._listed.append(change)
        else:
            self.more += 1


def _before(lower: str | None) -> os.stat_result | None:
    try:
        return None if lower is None else os.lstat(lower)
    except OSError:
        return None


def _kind(before: os.stat_result | None) -> Literal["created", "changed"]:
    return "created" if before is None else "changed"


def _alike(now: os.stat_result, before: os.stat_result | None, names: tuple[str, ...]) -> bool:
    return before is not None and all(getattr(now, name) == getattr(before, name) for name in names)


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _opaque(folder: int) -> bool:
    return any(_attribute(folder, name) == b"y" for name in _OPAQUE)


def _attribute(folder: int, name: str) -> bytes:
    try:
        return os.getxattr(folder, name)
    except (OSError, AttributeError):  # not there; no such call on this system
        return b""


def _digest(file: int) -> str:
    """The SHA-256 of an open file, which is closed."""
    digest = hashlib.sha256()
    with open(file, "rb", buffering=0) as opened:
        for chunk in _chunks(opened.fileno()):
            digest.update(chunk)
    return digest.hexdigest()


def _read(path: str) -> str | None:
    try:
        return _digest(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK))
    except OSError:
        return None


def _chunks(file: int) -> Iterator[bytes]:
    while chunk := os.read(file, _CHUNK):
        yield chunk


def _text(path: str) -> str:
    return os.fsencode(path).decode(errors="backslashreplace")
