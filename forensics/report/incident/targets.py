"""Into which files goes a report? A file takes the form of its suffix, a folder one file a trace."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from forensics.core.sanitise import file_name
from forensics.errors import ConfigurationError
from forensics.formats.places import is_folder
from forensics.report.incident.forms import FORMS, SUFFIXES, Form
from forensics.report.outputs import as_given

if TYPE_CHECKING:
    from collections.abc import Sequence

STDOUT = "-"
EACH = "*"
"""Stands for the trace in the name of a file."""
_FOLDER_FORM = "html"


class Target(msgspec.Struct, frozen=True):
    """A file with its form; `each` says that the name is a pattern, and every trace gets a file of its own."""

    path: Path
    form: Form
    each: bool = False

    def of_traces(self, ids: Sequence[str]) -> list[Path]:
        """The file of each trace. No text of a trace can make it anything else than a name in this folder, and traces
        of one id get a number behind it.
        """
        seen: Counter[str] = Counter()
        paths = []
        for name in ids:
            seen[name] += 1
            own = file_name(name) if seen[name] == 1 else f"{file_name(name)}-{seen[name]}"
            paths.append(self.path.with_name(self.path.name.replace(EACH, own)))
        return paths


def targets(asked: Sequence[str]) -> list[Target]:
    """What was asked for, standard output left out. Raises ConfigurationError for a suffix that is no form."""
    return [_target(one) for one in asked if one != STDOUT]


def _target(asked: str) -> Target:
    path = Path(asked)
    if asked.endswith(("/", os.sep)) or is_folder(path):
        return Target(path / f"{EACH}{FORMS[_FOLDER_FORM].suffix}", FORMS[_FOLDER_FORM], each=True)
    form = SUFFIXES.get("".join(path.suffixes[-2:]).lower()) or SUFFIXES.get(path.suffix.lower())
    if form is None:
        message = f"{as_given(path)} does not end in what says how to write it"
        raise ConfigurationError(message, hint=f"one of {' '.join(SUFFIXES)}, or a folder with / at its end")
    return Target(path, form, each=EACH in path.name)
