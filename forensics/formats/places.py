"""Which evidences does a person mean? Files, folders and globs, here or behind a URL, with their names in documents."""

from __future__ import annotations

import glob
from pathlib import Path
from typing import TYPE_CHECKING

from forensics.formats.shared import remote
from forensics.formats.shared.source import STDIN

if TYPE_CHECKING:
    from collections.abc import Sequence

Where = str | Path


def named_places(wanted: Sequence[Where]) -> list[tuple[str, str]]:
    """Each place with its name in documents: its path below the folder that was asked for, else its file name. Names
    of files alone would not tell `a/local.db` from `b/local.db`.
    """
    folders = [where for where in map(str, wanted) if where != STDIN]
    return [(place, _name(place, folders) or place) for place in expand(wanted)]


def expand(wanted: Sequence[Where]) -> list[str]:
    """Folders and globs as the files in them, in the order of their names; files and `-` as they are."""
    out: list[str] = []
    for where in map(str, wanted):
        out.extend(remote.expand(where) if remote.is_url(where) else _expand(where))
    return out


def _expand(where: str) -> list[str]:
    if where != STDIN and Path(where).is_dir():
        return sorted(str(p) for p in Path(where).rglob("*") if p.is_file() and not p.name.startswith("."))
    if not Path(where).exists() and glob.has_magic(where):
        return sorted(p for p in glob.iglob(where, recursive=True) if Path(p).is_file()) or [where]  # noqa: PTH207 - Path.glob takes no absolute pattern
    return [where]


def _name(place: str, folders: Sequence[str]) -> str:
    if remote.is_url(place):
        return remote.name_of(place, folders)
    path = Path(place)
    below = [path.relative_to(f).as_posix() for f in folders if path != Path(f) and path.is_relative_to(f)]
    return min(below, key=len, default=path.name)
