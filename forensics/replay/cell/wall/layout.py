"""Which parts of the disk does a child see? The whole disk as it is, but for other people's and its user's own places.

Hidden: home folders (keys and tokens lie there) and `/run` (sockets, and the secrets of containers). Shown within a
hidden place: the interpreter, what it imports from, and the folders that the plan names, each with the links that lead
to it.
"""

from __future__ import annotations

import os
import sys
from pathlib import PurePath
from typing import NamedTuple

HIDDEN = ("/home", "/root", "/run")
OWN = ("/dev", "/proc", "/sys")  # made anew, or left empty
_VIRTUAL = frozenset(
    (
        "autofs",
        "binfmt_misc",
        "bpf",
        "cgroup",
        "cgroup2",
        "configfs",
        "debugfs",
        "devpts",
        "devtmpfs",
        "efivarfs",
        "fusectl",
        "hugetlbfs",
        "mqueue",
        "nsfs",
        "proc",
        "pstore",
        "ramfs",
        "rpc_pipefs",
        "securityfs",
        "sysfs",
        "tracefs",
    )
)
_LINKS = 40  # as many as the kernel follows


class Layout(NamedTuple):
    """What is hidden, outermost only, and what is shown within that: folders, and links with their targets."""

    hidden: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    links: dict[str, str] = {}  # noqa: RUF012 - a default that nobody changes

    def led_through(self) -> frozenset[str]:
        """What has to lie in the hidden places, so that the way leads to what is shown."""
        ends = (*self.shown, *self.links)
        steps = (str(step) for end in ends for step in (PurePath(end), *PurePath(end).parents))
        return frozenset(step for step in steps if _in_any(step, self.hidden))


def within(path: str, folder: str) -> bool:
    """Whether a path is that folder or lies in it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def outermost(paths: tuple[str, ...]) -> tuple[str, ...]:
    """Those of the paths that lie in no other one of them, sorted."""
    kept: list[str] = []
    for path in sorted(set(paths)):
        if not any(within(path, other) for other in kept):
            kept.append(path)
    return tuple(kept)


def needed(paths: tuple[str, ...]) -> tuple[str, ...]:
    """What a child of this interpreter reads: its own folders, those that we import from (but not a whole home, from
    which Python imports if it was started there), and `paths`.
    """
    own = (sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix, sys.executable)
    home = os.path.expanduser("~")
    return (*own, *(place for place in sys.path if os.path.isabs(place) and place != home), *paths)


def layout(home: str, needed: tuple[str, ...], hidden: tuple[str, ...] = HIDDEN) -> Layout:
    """The layout for a user's home and the folders that the child needs."""
    candidates = outermost((*hidden, *((home,) if home != "/" else ())))
    hidden = tuple(path for path in candidates if os.path.isdir(path) and not os.path.islink(path))
    links: dict[str, str] = {}
    ends = [_followed(path, links) for path in needed]
    shown = outermost(tuple(end for end in ends if os.path.isdir(end) and _in_any(end, hidden)))
    return Layout(hidden, shown, {link: to for link, to in links.items() if _in_any(link, hidden)})


def mounted() -> dict[str, str]:
    """The mount points of this process with the kind of file system of each (the uppermost where several lie)."""
    points = {}
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as lines:
        for line in lines:
            fields, _, rest = line.partition(" - ")
            points[_unescaped(fields.split()[4])] = rest.split()[0]
    return points


def real_mounts(points: dict[str, str], hidden: tuple[str, ...]) -> tuple[str, ...]:
    """Those of the mount points below `/` that hold files, outside of what is hidden or made anew; outer ones first."""
    away = (*hidden, *OWN)
    real = (point for point, kind in points.items() if point != "/" and kind not in _VIRTUAL)
    return tuple(sorted(point for point in real if not _in_any(point, away)))


def is_virtual(point: str, points: dict[str, str]) -> bool:
    """Whether something that holds no files is mounted there."""
    return points.get(point) in _VIRTUAL


def _in_any(path: str, folders: tuple[str, ...]) -> bool:
    return any(within(path, folder) for folder in folders)


def _followed(path: str, links: dict[str, str], depth: int = 0) -> str:
    """Where a path ends, noting every link on the way."""
    place = "/"
    for part in os.path.normpath(path).split("/")[1:]:
        following = os.path.join(place, part)
        if os.path.islink(following) and depth < _LINKS:
            links[following] = os.readlink(following)
            place = _followed(os.path.join(place, links[following]), links, depth + 1)
        else:
            place = following
    return place


def _unescaped(text: str) -> str:
    """A path of mountinfo, where a blank, a tab, a line end and a backslash stand as octal numbers."""
    return text.replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n").replace("\\134", "\\")
