"""How does bubblewrap raise the wall, where the kernel lets that program make namespaces and not us?

Its overlays are too new to count on (0.11), so the host's files are shown read only and a tmpfs takes what is written
to the folders for temporary files and to hidden places: writes elsewhere are refused and not captured.
https://github.com/containers/bubblewrap
"""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from forensics.replay.cell.wall import kernel
from forensics.replay.cell.wall.layout import HIDDEN, Layout, layout
from forensics.replay.cell.written import Layer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.replay.cell.orders import Start

_TEMPORARY = ("/tmp", "/var/tmp")  # noqa: S108 - the child gets its own
_SPACES = ("net", "mnt", "pid", "ipc")
_FIXED = (
    *("--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"),
    *("--hostname", "cell", "--new-session", "--ro-bind", "/", "/"),
    *("--dev", "/dev", "--remount-ro", "/dev", "--proc", "/proc", "--remount-ro", "/proc"),
    *("--tmpfs", "/sys", "--remount-ro", "/sys"),
)


def places(home: str, needed: tuple[str, ...]) -> Layout:
    """What the child sees: as with overlays, but for empty folders for temporary files."""
    return layout(home, needed, (*HIDDEN, *_TEMPORARY))


def command(seen: Layout, storage: int) -> list[str]:
    """The beginning of a command line that runs the rest of it behind the wall. Raises OSError without bubblewrap."""
    found = shutil.which("bwrap")
    if found is None:
        raise OSError("it is not installed")
    return [found, *_FIXED, *_mounts(seen, storage), "--"]


def _mounts(seen: Layout, storage: int) -> Iterator[str]:
    for place in seen.hidden:
        yield from ("--size", str(storage), "--tmpfs", place)
    for link, to in seen.links.items():
        yield from ("--symlink", to, link)
    for place in seen.shown:
        yield from ("--ro-bind", place, place)


def spaces() -> dict[str, str]:
    """The namespaces of this process, by their kinds."""
    return {kind: os.readlink(f"/proc/self/ns/{kind}") for kind in _SPACES}


def behind(start: Start) -> tuple[Layer, ...]:
    """Where the child's writes end up. Raises OSError unless this process is in other namespaces than the parent.

    The watcher is in here with the child, so its memory is hidden.
    """
    kernel.hide_memory()
    shared = [kind for kind, space in spaces().items() if start.spaces.get(kind) == space]
    if shared or not start.spaces:
        raise OSError(f"bubblewrap left us in the parent's namespaces: {', '.join(shared)}")
    known = start.seen.led_through()
    return tuple(Layer(place, place, None, known) for place in start.seen.hidden)
