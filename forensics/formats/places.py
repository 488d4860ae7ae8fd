"""Which evidences does a person mean? Files, folders and globs, here or behind a URL, with their names in documents."""

from __future__ import annotations

import glob
import os
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from forensics.formats.names_apart import names_apart
from forensics.formats.shared import remote
from forensics.formats.shared.remote import Found
from forensics.formats.shared.source import STDIN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

Where = str | Path


def found_places(wanted: Sequence[Where]) -> list[Found]:
    """Each place with its name in documents: its path below the folder that was asked for, else its file name. Names
    of files alone would not tell `a/local.db` from `b/local.db`.
    """
    asked = [where for where in map(str, wanted) if where != STDIN]
    prefixes = [_prefix(where) for where in asked if not remote.is_url(where)]
    out: list[Found] = []
    for where in map(str, wanted):
        if remote.is_url(where):
            out.extend(replace(one, name=_name_there(one, asked)) for one in remote.listed(where))
        else:
            spelled = str if is_folder(where) else lambda place: str(Path(place))  # what is below a folder is already
            out.extend(Found(place, _name(spelled(place), prefixes) or place) for place in _expand(where))
    return out


def names_of(*files: Where) -> list[str]:
    """The names in documents of files that were asked for one by one; "" for what its opener names."""
    plain = [where for where in map(str, files) if where != STDIN and not remote.is_url(where)]
    names = dict(zip(plain, names_apart([(where, Path(where).name) for where in plain]), strict=True))
    return [names.get(str(where), "") for where in files]


def named_places(wanted: Sequence[Where]) -> list[tuple[str, str]]:
    """The same without what a store tells, and with a name of its own for each file here."""
    found = [(one.where, one.name) for one in found_places(wanted)]
    here = [at for at, (where, _) in enumerate(found) if where != STDIN and not remote.is_url(where)]
    for at, name in zip(here, names_apart([found[at] for at in here]), strict=True):
        found[at] = (found[at][0], name)
    return found


def expand(wanted: Sequence[Where]) -> list[str]:
    """Folders and globs as the files in them, in the order of their names; files and `-` as they are."""
    out: list[str] = []
    for where in map(str, wanted):
        out.extend([one.where for one in remote.listed(where)] if remote.is_url(where) else _expand(where))
    return out


def _expand(where: str) -> list[str]:
    if where != STDIN and is_folder(where):
        return sorted(_below(where)) or [where]  # which says itself that it holds nothing
    if not is_there(where) and glob.has_magic(where):
        return sorted(p for p in glob.iglob(where, recursive=True) if Path(p).is_file()) or [where]  # noqa: PTH207 - Path.glob takes no absolute pattern
    return [where]


def is_folder(where: Where) -> bool:
    """Whether a folder stands there. What may not be looked at, or has a name that no file can have, is none: whoever
    opens it then says why it can't be read.
    """
    return os.path.isdir(where)  # noqa: PTH112 - Path.is_dir raises where a folder above may not be entered


def is_there(where: Where) -> bool:
    """Whether anything stands there, as far as it may be looked at."""
    return os.path.exists(where)  # noqa: PTH110 - Path.exists raises where a folder above may not be entered


def _below(folder: str) -> Iterator[str]:
    """The files below a folder, and the folders that may not be listed: what is in those is not lost in silence. Links
    to folders are not followed.
    """
    waiting = [folder]
    while waiting:
        at = waiting.pop()
        prefix = _prefix(at)
        try:
            with os.scandir(at) as entries:
                for entry in entries:
                    if _is(entry.is_dir, follow_symlinks=False):
                        waiting.append(entry.path)
                    elif not entry.name.startswith(".") and _is(entry.is_file):
                        yield prefix + entry.name
        except OSError:
            yield str(Path(at))


def _is(kind: Callable[..., bool], **how: bool) -> bool:
    """Whether an entry is of a kind; one that may not be looked at is of none."""
    try:
        return kind(**how)
    except OSError:
        return False


def _name_there(one: Found, folders: Sequence[str]) -> str:
    return one.name or remote.name_of(one.where, folders) or remote.public(one.where)


def _name(place: str, prefixes: Sequence[str]) -> str:
    below = [place[len(prefix) :] for prefix in prefixes if prefix and place.startswith(prefix)]
    if not below and "" in prefixes and not Path(place).is_absolute():
        return Path(place).as_posix()
    return min(below, key=len).replace(os.sep, "/") if below else Path(place).name


def _prefix(folder: str) -> str:
    """How the places below a folder begin, in the one spelling that paths have; those below `.` begin with nothing."""
    path = str(Path(folder))
    return "" if path == "." else path if path.endswith(os.sep) else path + os.sep
