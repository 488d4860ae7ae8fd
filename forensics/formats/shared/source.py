"""Where do the bytes come from? The one module that opens evidence: read-only, as a private snapshot.

A database is read from a copy in a private temporary folder, because SQLite may write `-wal` and `-shm` files beside
what it opens (FORMATS: the trap of `mode=ro`).
"""

from __future__ import annotations

import contextlib
import glob
import hashlib
import itertools
import mmap
import os
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from forensics.core.limits import exceeded, limits
from forensics.errors import CorruptEvidenceError, EvidenceError
from forensics.formats.shared import remote
from forensics.formats.shared.packed.unwrap import Note, unwrap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import BinaryIO, Self

_CHUNK = 1 << 20
STDIN = "-"
_GONE = (-1, -1)


class Source:
    """One opened evidence: `data` is a read-only view of its plain bytes, and `find(needle, start)` the offset of
    `needle` in it at or after `start`, or -1. Close it with `close` or use it as a context.

    `sha256` and `size` are those of the evidence as it stands; `compression` names what `data` was unpacked from
    (of a file in an archive, `member_sha256` is its own digest), and `notes` say what was met on the way.
    """

    def __init__(self, name: str, data: memoryview, sha256: str, held: mmap.mmap | bytes | None = None) -> None:
        self.name = name
        self.data = data
        self.sha256 = sha256
        self.size = len(data)
        self.find: Callable[[bytes, int], int] = (bytes(data) if held is None else held).find
        self.compression: str | None = None
        self.member_sha256: str | None = None
        self.notes: tuple[Note, ...] = ()
        self._folders: list[str] = []
        self._watched: dict[Path, tuple[int, int]] = {}
        self._path: Path | None = None
        self._url = ""

    def copy_to_disk(self) -> Path:
        """A private copy of the bytes in a temporary folder that `close` removes.

        Raises EvidenceError where there is no room for it.
        """
        import tempfile

        with _room_for(self.name):
            folder = tempfile.mkdtemp(prefix="forensics-")
            self._folders.append(folder)
            path = Path(folder) / "evidence"
            with path.open("wb") as out:
                for start in range(0, len(self.data), _CHUNK):
                    out.write(self.data[start : start + _CHUNK])
        return path

    def beside(self, suffix: str) -> Source | None:
        """A snapshot of the file beside the evidence that has its name and this suffix (a database's log); None where
        there is none, or where the evidence has no place (standard input). Raises EvidenceError as `open_source` does.
        """
        if self._url:
            where = remote.beside(self._url, suffix)
            return open_source(where) if where is not None else None
        if self._path is None:
            return None
        path = self._path.with_name(self._path.name + suffix)
        if _state(path) == _GONE:
            return None
        self._watched[path] = _state(path)
        return open_source(str(path))

    def came_from(self, url: str) -> None:
        """Remember the URL behind which the evidence stands."""
        self._url = url

    def watch(self, path: Path, state: tuple[int, int]) -> None:
        """Remember where the file is and how it stood before it was read."""
        self._path = path.resolve()
        self._watched[path] = state

    def watch_with(self, whole: Self) -> None:
        """Watch the files of the source of which this one is a part."""
        self._watched = whole._watched

    def check_unchanged(self) -> None:
        """Raise EvidenceError where the file was changed while it was read: what was said of it no longer holds."""
        for path, state in self._watched.items():
            if _state(path) != state:
                message = f"{path.name} was changed while it was read"
                raise EvidenceError(message, hint="copy the evidence and read the copy", code="evidence_changed")

    def holds_no(self, what: str) -> CorruptEvidenceError:
        """The error for an evidence of which nothing could be read as its format: `what` is a record of that format."""
        message = f"{self.name} holds no {what} that can be read"
        return CorruptEvidenceError(message, hint="is this the whole file? see `forensics formats`")

    def close(self) -> None:
        """Remove the private copies. The map goes when the last payload that stands in it goes."""
        if self._folders:
            import shutil

            for folder in self._folders:
                shutil.rmtree(folder, ignore_errors=True)
            self._folders.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()


def open_source(where: str, name: str = "") -> Source:
    """Open a file, a URL or standard input (`-`), called `name` or by its file name.

    Raises EvidenceError, with a code, where it can't be read as evidence.

    The bytes go to memory or, where they are many, to an unnamed private file first, hashed on the way, and that file
    is mapped: what was hashed is what is read, even where somebody writes to the evidence or cuts it meanwhile (a cut
    map ends a process by SIGBUS).
    """
    if where == STDIN:
        if sys.stdin is None:
            raise EvidenceError("there is no standard input to read", hint="it was closed before this program began")
        return _snapshot(sys.stdin.buffer, STDIN)
    if remote.is_url(where):
        with remote.opened(where) as stream:
            source = _snapshot(stream, name or remote.name_of(where, ()) or remote.public(where))
            source.came_from(where)
            return source
    if not where:
        hint = "name a file; a variable of the shell that is not set gives an empty name"
        raise EvidenceError("no file is named", hint=hint, code="evidence_missing")
    path = Path(where)
    with _opened(path) as file:
        before = _state(path)
        _check_size(before[0], path.name)
        source = _snapshot(file, name or path.name)
        source.watch(path, before)
        return source


def _state(path: Path) -> tuple[int, int]:
    """Size (bytes) and modification time (ns) of a file; (-1, -1) where it is gone."""
    try:
        found = path.stat()
    except OSError:
        return _GONE
    return (found.st_size, found.st_mtime_ns)


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise _no_file(path)
        if not stat.S_ISREG(mode):
            message = f"{path.name} is no regular file"
            raise EvidenceError(message, hint="name a file; pipes are read with -", code="evidence_not_a_file")
        with path.open("rb") as file:
            yield file
    except FileNotFoundError:
        pattern = glob.has_magic(str(path))
        message = f"no file matches {path.name}" if pattern else f"there is no file {path.name}"
        raise EvidenceError(message, hint="check the path", code="evidence_missing") from None
    except OSError as error:
        message = f"{path.name} can't be opened: {error.strerror or type(error).__name__}"
        raise EvidenceError(message, hint="check that you may read it", code="evidence_unreadable") from None


def _no_file(folder: Path) -> EvidenceError:
    """Why a folder is opened: it can't be listed, holds nothing, or stands where one file is asked for."""
    name = folder.name or str(folder)
    try:
        os.scandir(folder).close()
    except OSError:
        message, hint = f"{name} is a folder that can't be listed", "check that you may read it"
        return EvidenceError(message, hint=hint, code="evidence_unreadable")
    if any(not file.startswith(".") for _, _, files in os.walk(folder) for file in files):
        message, hint = f"{name} is a folder, and one file is asked for", "name a file in it"
        return EvidenceError(message, hint=hint, code="evidence_not_a_file")
    message, hint = f"{name} is a folder without a file in it", "check the path; hidden files are not looked at"
    return EvidenceError(message, hint=hint, code="evidence_missing")


def _check_size(size: int, name: str) -> None:
    if size > limits().size:
        raise exceeded("size", f"{name} has {size} bytes or more")


def _snapshot(stream: BinaryIO, name: str) -> Source:
    """The bytes of the stream as a source: what is short stays in memory, the rest goes to a private file."""
    first = stream.read(_CHUNK)
    _check_size(len(first), what := "standard input" if name == STDIN else name)
    digest = hashlib.sha256(first)
    second = stream.read(_CHUNK) if first else b""
    if not second:
        return plain_source(Source(name, memoryview(first), digest.hexdigest(), first))
    import tempfile

    total = len(first)
    with _room_for(what), tempfile.TemporaryFile(prefix="forensics-") as file:
        file.write(first)
        for chunk in itertools.chain((second,), _chunks(stream, what)):
            total += len(chunk)
            _check_size(total, what)
            digest.update(chunk)
            file.write(chunk)
        file.flush()
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return plain_source(Source(name, memoryview(mapped), digest.hexdigest(), mapped))


def _chunks(stream: BinaryIO, name: str) -> Iterator[bytes]:
    try:
        yield from iter(lambda: stream.read(_CHUNK), b"")
    except OSError as error:
        message = f"{name} can't be read to its end: {error.strerror or type(error).__name__}"
        raise EvidenceError(message, hint="copy the evidence and read the copy", code="evidence_unreadable") from None


@contextlib.contextmanager
def _room_for(name: str) -> Iterator[None]:
    """Name what is wrong where a private copy can't be written: it is not the evidence."""
    try:
        yield
    except OSError as error:
        message = f"a private copy of {name} can't be written: {error.strerror or type(error).__name__}"
        raise EvidenceError(
            message, hint="make room for temporary files, or set TMPDIR", code="evidence_unreadable"
        ) from None


def plain_source(source: Source) -> Source:
    """The source itself, or its plain bytes where they are packed or in another encoding."""
    found = unwrap(source.data, source.name)
    if found is None:
        return source
    plain = Source(source.name, memoryview(found.mapped), source.sha256, found.mapped)
    plain.size, plain.compression, plain.notes = source.size, found.compression, found.notes
    return plain
