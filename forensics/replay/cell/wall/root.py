"""How is the child's disk made? A tmpfs takes every write, and overlays show the host's files below it.

One overlay over `/` where the kernel permits that. In a user namespace it does not (the mounts beneath `/` came from
outside and may not be uncovered), and there each folder gets an overlay of its own. What can't be overlaid is shown
read only, or not at all.
"""

from __future__ import annotations

import os
from contextlib import suppress

from forensics.replay.cell.wall import kernel
from forensics.replay.cell.wall.layout import OWN, Layout, is_virtual, mounted, real_mounts, within
from forensics.replay.cell.written import Layer

_DEVICES = ("full", "null", "random", "urandom", "zero")
_FILES = 65536
_ENTRIES = 4096
_PRIVATE = kernel.NOSUID | kernel.NODEV


class Root:
    """The root of a child, built on a tmpfs over an empty folder; `layers` say where its writes end up."""

    def __init__(self, base: str, storage: int, *, user_namespace: bool) -> None:
        self.path = f"{base}/root"
        self.layers: list[Layer] = []
        self._base = base
        # Otherwise the list of writes would show a renamed folder as empty, and a file with another mode as holes.
        self._options = ",userxattr" if user_namespace else ",redirect_dir=off,metacopy=off"
        self._points = mounted()
        kernel.mount("tmpfs", base, "tmpfs", _PRIVATE, f"size={storage},nr_inodes={_FILES},mode=755")
        os.mkdir(self.path)
        kernel.mount(self.path, self.path, None, kernel.BIND)

    def build(self, layout: Layout) -> None:
        """Mount everything. Raises OSError where the root itself can't be made."""
        try:
            self._overlay("/", "/")
        except OSError:
            self._cover_entries("/", layout.hidden)
            bare = True
        else:
            bare = False
            for point in real_mounts(self._points, layout.hidden):  # an overlay shows none of the mounts beneath it
                self._cover(point, layout.hidden)
        for place in layout.hidden:
            self._hide(place, layout)
        for place in layout.shown:
            self._cover(place, layout.hidden)
        self._devices()
        if bare:  # what was made to hold the overlays is no place to write to
            kernel.mount(self.path, self.path, None, kernel.REMOUNT | kernel.BIND | kernel.RDONLY | _PRIVATE)

    def _cover(self, place: str, hidden: tuple[str, ...]) -> None:
        """Show a folder of the host, whole or by what is in it."""
        try:
            self._overlay(place, place)
        except OSError:
            if any(within(point, place) for point in self._points if point != place):
                self._cover_entries(place, hidden)
            else:
                with suppress(OSError):
                    self._read_only(place)

    def _cover_entries(self, folder: str, hidden: tuple[str, ...]) -> None:
        for name in sorted(os.listdir(folder))[:_ENTRIES]:
            place = os.path.join(folder, name)
            here = self.path + place
            with suppress(OSError):  # vanished, or not for us to see
                if os.path.islink(place):
                    os.symlink(os.readlink(place), here)
                elif os.path.isdir(place):
                    os.mkdir(here)
                    if place not in (*OWN, *hidden) and not is_virtual(place, self._points):
                        self._cover(place, hidden)
                elif os.path.isfile(place):
                    os.close(os.open(here, os.O_CREAT | os.O_WRONLY, 0o600))
                    self._read_only(place)

    def _overlay(self, lower: str, shown: str) -> None:
        number = len(self.layers)
        upper, work = f"{self._base}/upper{number}", f"{self._base}/work{number}"
        for made in (upper, work):
            os.makedirs(made, exist_ok=True)
        _as(lower, upper)
        options = f"lowerdir={_escaped(lower)},upperdir={_escaped(upper)},workdir={_escaped(work)}{self._options}"
        kernel.mount("overlay", self.path + shown, "overlay", _PRIVATE, options)
        self.layers.append(Layer(upper, shown, lower))

    def _hide(self, place: str, layout: Layout) -> None:
        """An empty folder in the place of one, with nothing in it but the way to what is shown."""
        hollow = self._hollow(place)
        for shown in (path for path in layout.shown if within(path, place)):
            os.makedirs(hollow + shown[len(place) :], exist_ok=True)
        for link, to in layout.links.items():
            if within(link, place):
                os.makedirs(os.path.dirname(hollow + link[len(place) :]), exist_ok=True)
                with suppress(FileExistsError):
                    os.symlink(to, hollow + link[len(place) :])
        self._overlay(hollow, place)

    def _devices(self) -> None:
        """The devices that hold nothing and reach nobody."""
        hollow = self._hollow("/dev")
        os.mkdir(f"{hollow}/shm")
        os.chmod(f"{hollow}/shm", 0o1777)  # noqa: S103 - as on every system; nobody else sees this one
        for name, to in (("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")):
            os.symlink(f"/proc/self/fd{to}", f"{hollow}/{name}")
        for name in _DEVICES:
            os.close(os.open(f"{hollow}/{name}", os.O_CREAT | os.O_WRONLY, 0o600))
        self._overlay(hollow, "/dev")
        for name in _DEVICES:
            kernel.mount(f"/dev/{name}", f"{self.path}/dev/{name}", None, kernel.BIND)

    def _hollow(self, place: str) -> str:
        hollow = f"{self._base}/hollow{len(self.layers)}"
        os.makedirs(hollow)
        _as(place, hollow)
        return hollow

    def _read_only(self, place: str) -> None:
        here = self.path + place
        kernel.mount(place, here, None, kernel.BIND)
        kernel.mount(here, here, None, kernel.REMOUNT | kernel.BIND | kernel.RDONLY | _PRIVATE)


def _as(model: str, made: str) -> None:
    """Give a folder the owner and mode of another; where it can't have that owner, what its mode means for us."""
    found = os.stat(model)
    mode = found.st_mode & 0o7777
    try:
        os.chown(made, found.st_uid, found.st_gid)
    except OSError:
        mode = mode if os.access(model, os.W_OK) else mode & ~0o222
    os.chmod(made, mode)


def _escaped(path: str) -> str:
    """A path in the options of a mount, where a comma ends an option and a colon a folder."""
    return path.replace("\\", "\\\\").replace(",", "\\,").replace(":", "\\:")
