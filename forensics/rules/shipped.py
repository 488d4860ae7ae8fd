"""Where are the files that the program ships beside its code, and what do those say that were read before?

A strict reading of the YAML of all rules takes longer than most audits. So their values stand in `values.json`, each
under the SHA-256 of the file that it was read from: a file of which one byte is another is read as ever, and a test
holds each value against its file (docs/adr/0024).
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

VALUES = "values.json"
FOLDERS = ("content", "handles", "policies", "proofs", "secrets", "tools", "words")
"""Folders whose files are read by an ordinary command."""


@lru_cache(maxsize=1)
def shipped_folder() -> Traversable:
    """The folder of the shipped packs: inside an installed wheel, or beside the package in a checkout."""
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "_rules", package.parent / "rules"):
        if folder.is_dir():
            return folder
    from importlib.resources import files

    return files("forensics") / "_rules"


def value_read_before(data: bytes) -> msgspec.Raw | None:
    """The value of a YAML file with this content, as JSON; None where it was not read before."""
    return values_by_digest().get(hashlib.sha256(data).hexdigest())


@lru_cache(maxsize=1)
def values_by_digest() -> dict[str, msgspec.Raw]:
    """Everything that was read before, by the digest of the file."""
    file = shipped_folder() / VALUES
    return msgspec.json.decode(file.read_bytes(), type=dict[str, msgspec.Raw]) if file.is_file() else {}


def values_of(folder: Path) -> bytes:
    """What `values.json` has to hold, one file a line, for the files of this folder."""
    from forensics.rules.yaml_strict import read_strict

    lines = []
    for file in sorted(one for part in FOLDERS for one in (folder / part).glob("*.yaml")):
        data = file.read_bytes()
        value = msgspec.json.encode(read_strict(data, file.name).value)
        lines.append(b'"%s":%s' % (hashlib.sha256(data).hexdigest().encode(), value))
    return b"{\n" + b",\n".join(lines) + b"\n}\n"


def write_values() -> None:
    """Write `values.json` of a checkout anew, after its rules were changed. Raises RuleError for packs that are
    refused, because what stands there is taken as checked.
    """
    from forensics.rules.lints.refusing import REFUSING
    from forensics.rules.packs import FOLDERS as PACKS
    from forensics.rules.packs import read_packs

    folder = Path(str(shipped_folder()))
    files = sorted(file for part in PACKS for file in (folder / part).glob("*.yaml"))
    read_packs([(file.relative_to(folder).as_posix(), file.read_bytes()) for file in files], lints=REFUSING)
    (folder / VALUES).write_bytes(values_of(folder))
