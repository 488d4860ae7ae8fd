"""How does an output come to stand in a file? Whole or not at all, over nothing that stood there, and never among the
evidence.

The bytes go to a temporary file of the same folder, are flushed to the disk, and get their name in one step: a link,
which fails where the name is taken, or a rename with `force`. A reader never sees half of an output, and two programs
that write to one name don't mix (the pattern of SQLite's and Git's own files).
"""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from forensics.core.sanitise import one_line
from forensics.errors import ReportError
from forensics.formats.places import expand, is_folder, is_there
from forensics.formats.shared.remote import is_url
from forensics.formats.shared.source import STDIN

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from forensics.formats.places import Where

_SYSTEM = {("/", "dev"), ("/", "proc"), ("/", "sys")}
_PATH = 300  # characters of a path in a message
_FORCE = "choose another name, or replace it with --force"
_OTHER_FOLDER = "name another folder"
_ELSEWHERE = "write it to another folder, so that the evidence stands as it stood"


def check_outputs(
    outputs: Sequence[Path], evidence: Iterable[Where], *, force: bool = False, files: Iterable[str] | None = None
) -> None:
    """Look, before any work, whether every output may be written. Nothing is written here. `files` are those that the
    evidence comes to, where the caller knows them already.

    Raises ReportError for a name that is taken (`force` allows that, but for evidence and folders), for one that was
    given twice, and for a place in the folder of an evidence, or below a folder that is one.
    """
    places = [str(where) for where in evidence if str(where) != STDIN and not is_url(str(where))]
    folders = [Path(where).resolve() for where in places if is_folder(where)]
    homes: dict[str, str] = {}
    beside = set(map(Path, {_home(one, homes) for one in (expand(places) if files is None else files)}))
    seen: set[Path] = set()
    for path in outputs:
        home = Path(os.path.realpath(path.absolute().parent))
        if home / path.name in seen:
            raise ReportError(f"{as_given(path)} is named twice as an output")
        seen.add(home / path.name)
        if home in beside or any(home.is_relative_to(folder) for folder in folders):
            raise ReportError(f"{as_given(path)} would be written into the folder of the evidence", hint=_ELSEWHERE)
        _check_home(path)
        _check_kind(path, home)
        if os.path.lexists(path) and not force:
            raise ReportError(f"{as_given(path)} exists already", hint=_FORCE)


def _home(where: str, known: dict[str, str]) -> str:
    """The folder in which a file really stands; of many files in one folder that is looked up once."""
    if os.path.islink(where):  # noqa: PTH114 - a hundred thousand times
        return os.path.dirname(os.path.realpath(where))  # noqa: PTH120
    folder = os.path.dirname(where)  # noqa: PTH120
    if folder not in known:
        known[folder] = os.path.realpath(folder)
    return known[folder]


def _check_home(path: Path) -> None:
    """Raise ReportError where a file stands in the place of a folder of the output."""
    there = next((folder for folder in path.parents if os.path.lexists(folder)), None)
    if there is not None and not is_folder(there):
        raise ReportError(f"{as_given(path)} can't be written: {as_given(there)} is no folder", hint=_OTHER_FOLDER)


def _check_kind(path: Path, home: Path) -> None:
    """Raise ReportError for what a file can't take the place of: no file that is forced may replace a device."""
    if is_folder(path):
        raise ReportError(f"{as_given(path)} is a folder")
    if home.parts[:2] in _SYSTEM or (is_there(path) and not path.is_file()):
        raise ReportError(f"{as_given(path)} is a device or a pipe", hint="name a file, or - for standard output")


def write_output(path: Path, data: bytes, *, force: bool = False) -> None:
    """Write one output, for its owner alone (mode 0600). A folder that is missing is made.

    Raises ReportError where it can't be written, or where the name is taken and `force` is not given.
    """
    _check_home(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _written(path, data) as temporary:
            _name_it(temporary, path, force=force)
        _flush_folder(path.parent)
    except FileExistsError:
        raise ReportError(f"{as_given(path)} exists already", hint=_FORCE) from None
    except OSError as error:
        raise ReportError(f"{as_given(path)} can't be written: {error.strerror}") from None


@contextmanager
def write_filled(path: Path) -> Iterator[Path]:
    """The same for an output that is too large for the memory: the block fills the file that it is given, which then
    takes the place of whatever stood there. Where the block raises, nothing is written.
    """
    try:
        with _written(path, b"") as part:
            yield part
            _flush(part)
            part.replace(path)
        _flush_folder(path.parent)
    except OSError as error:
        raise ReportError(f"{as_given(path)} can't be written: {error.strerror}") from None


def write_folder(path: Path, files: Mapping[str, bytes]) -> None:
    """Write a new folder of files, which is there whole or not at all: it is filled under another name beside it.

    Raises ReportError where the name is taken, or where it can't be written.
    """
    if os.path.lexists(path):
        raise ReportError(f"{as_given(path)} exists already", hint="choose another name")
    _check_home(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _folder_beside(path) as part:
            for name, data in files.items():
                _fill(part / name, data)
            _flush_folder(part)
            part.rename(path)
        _flush_folder(path.parent)
    except OSError as error:
        raise ReportError(f"{as_given(path)} can't be written: {error.strerror}") from None


def _fill(path: Path, data: bytes) -> None:
    """Write a file of a folder that nobody else knows yet: a fault of it is one of the folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with _written(path, data) as temporary:
        temporary.rename(path)


@contextmanager
def _folder_beside(path: Path) -> Iterator[Path]:
    """A temporary folder beside that one; it is gone afterwards, unless it got its name."""
    part = Path(tempfile.mkdtemp(prefix=".", suffix=".part", dir=path.parent))
    try:
        yield part
    finally:
        shutil.rmtree(part, ignore_errors=True)


@contextmanager
def _written(path: Path, data: bytes) -> Iterator[Path]:
    """A temporary file beside the output that holds its bytes, on the disk; it is gone afterwards."""
    handle, name = tempfile.mkstemp(prefix=".", suffix=".part", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        yield Path(name)
    finally:
        with suppress(FileNotFoundError):
            Path(name).unlink()


def _name_it(temporary: Path, path: Path, *, force: bool) -> None:
    if force:
        temporary.replace(path)
        return
    try:
        path.hardlink_to(temporary)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        if os.path.lexists(path):
            raise FileExistsError from None
        temporary.rename(path)


def _flush(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def _flush_folder(folder: Path) -> None:
    """Flush the name too, where the system lets a folder be opened."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def as_given(path: Path) -> str:
    """The name of an output as it was given, with its folders, on one line and safe for a terminal. For messages alone:
    a document holds no path of this machine.
    """
    return one_line(str(path), _PATH)
