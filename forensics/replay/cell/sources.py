"""Is what the child runs what lies there as source? Modules of the user's folders are compiled anew, whatever compiled
code lies beside them: a `.pyc` is taken by Python for a source of the same time and size, and is other code where
somebody wants it to be.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import (
    BYTECODE_SUFFIXES,
    EXTENSION_SUFFIXES,
    SOURCE_SUFFIXES,
    ExtensionFileLoader,
    FileFinder,
    SourceFileLoader,
    SourcelessFileLoader,
)
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import CodeType

_INSTALLED = frozenset({"site-packages", "dist-packages"})


def is_installed(path: str) -> bool:
    """Whether a path leads into a folder of installed packages."""
    return not _INSTALLED.isdisjoint(path.split(os.sep))


class _FromSource(SourceFileLoader):
    """A loader of sources that looks at no compiled code."""

    def get_code(self, fullname: str) -> CodeType:
        """The code of a module, compiled from its source."""
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


def finder(folder: str, sources: type[SourceFileLoader] = SourceFileLoader) -> FileFinder:
    """What looks for modules in one folder, in the order of Python's own import system. Whoever asks which code a name
    stands for and whoever loads it look with the same one.
    """
    return FileFinder(
        folder,
        (ExtensionFileLoader, EXTENSION_SUFFIXES),
        (sources, SOURCE_SUFFIXES),
        (SourcelessFileLoader, BYTECODE_SUFFIXES),
    )


def load_from_source(folders: Sequence[str]) -> None:
    """From now on load modules of these folders, and of packages in them, from their sources; installed ones within
    them as ever.
    """
    mine = tuple(os.path.join(folder, "") for folder in folders)

    def hook(folder: str) -> FileFinder:
        place = os.path.join(os.path.abspath(folder), "")
        if not place.startswith(mine) or is_installed(place):
            raise ImportError("not a folder of the user's", path=folder)
        return finder(folder, _FromSource)

    sys.path_hooks.insert(0, hook)
    for known in [known for known in sys.path_importer_cache if os.path.join(known, "").startswith(mine)]:
        del sys.path_importer_cache[known]
