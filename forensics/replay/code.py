"""Which code does `module:function` name, and what is it, byte for byte? Found as Python finds it; nothing is imported
here.

The name comes from the person who runs the rerun, never from a trace or a case.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from forensics.core.meant import FEW, meant
from forensics.errors import ConfigurationError
from forensics.replay.bound import bound_names
from forensics.replay.imports import imports_of, source_of
from forensics.replay.plan import Code

if TYPE_CHECKING:
    from collections.abc import Sequence

_TARGET = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)")

_TAKEN = sys.stdlib_module_names | {"forensics", "msgspec"}
"""What the cell may have loaded before it comes to a module of the user's, which would then not be read at all."""


def search_paths(folders: Sequence[str]) -> tuple[str, ...]:
    """The folders in which code is looked for, as the cell needs them (default: the working folder). Raises
    ConfigurationError for what is no folder.
    """
    found = tuple(os.path.realpath(folder) for folder in (folders or (".",)))
    for folder in found:
        if not Path(folder).is_dir():
            raise ConfigurationError(f"{folder} is no folder", hint="name the folder in which the module lies")
    return found


def code_of(target: str, paths: Sequence[str]) -> Code:
    """The code that a target names, with the digests of its source and of what that imports out of these folders.
    Raises ConfigurationError for what is not there.
    """
    matched = _TARGET.fullmatch(target)
    if matched is None:
        raise ConfigurationError(f"{target!r} is not MODULE:FUNCTION", hint="such as agents.oncall:run")
    if matched[1].partition(".")[0] in _TAKEN:
        message = f"{matched[1]} is the name of a module that Python or this program brings along"
        raise ConfigurationError(message, hint="a module of yours needs a name of its own")
    source = source_of(matched[1], paths)
    if source is None:
        named = ", ".join(paths)
        raise ConfigurationError(f"there is no module {matched[1]} in {named}", hint="--path FOLDER says where it lies")
    _check_name(matched[1], matched[2].partition(".")[0], source, paths)
    own = hashlib.sha256(Path(source).read_bytes()).hexdigest()
    return Code(target, own, imports_of(matched[1], paths))


def _check_name(module: str, name: str, source: str, paths: Sequence[str]) -> None:
    """Raise ConfigurationError where the source of a module tells that it has no such name; a module within a package
    is one of its names.
    """
    bound = bound_names(Path(source))
    if bound is not None and name not in bound and source_of(f"{module}.{name}", paths) is None:
        raise ConfigurationError(
            f"there is no {name} in the module {module}", hint=meant(name, sorted(bound), listed=FEW)
        )
