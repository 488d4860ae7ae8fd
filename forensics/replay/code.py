"""Which code does `module:function` name, and what is it, byte for byte? Found by its path; nothing is imported here.

The name comes from the person who runs the rerun, never from a trace or a case.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING

from forensics.errors import ConfigurationError
from forensics.replay.plan import Code

if TYPE_CHECKING:
    from collections.abc import Sequence

_TARGET = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)")


def search_paths(folders: Sequence[str]) -> tuple[str, ...]:
    """The folders in which code is looked for, as the cell needs them (default: the working folder). Raises
    ConfigurationError for what is no folder.
    """
    found = tuple(str(Path(folder).resolve()) for folder in (folders or (".",)))
    for folder in found:
        if not Path(folder).is_dir():
            raise ConfigurationError(f"{folder} is no folder", hint="name the folder in which the module lies")
    return found


def code_of(target: str, paths: Sequence[str]) -> Code:
    """The code that a target names, with the digest of its source. Raises ConfigurationError for what is not there."""
    matched = _TARGET.fullmatch(target)
    if matched is None:
        raise ConfigurationError(f"{target!r} is not MODULE:FUNCTION", hint="such as agents.oncall:run")
    parts = matched[1].split(".")
    for folder in map(Path, paths):
        for source in (folder.joinpath(*parts).with_suffix(".py"), folder.joinpath(*parts, "__init__.py")):
            if source.is_file():
                return Code(target, hashlib.sha256(source.read_bytes()).hexdigest())
    named = ", ".join(paths)
    raise ConfigurationError(f"there is no module {matched[1]} in {named}", hint="--path FOLDER says where it lies")
