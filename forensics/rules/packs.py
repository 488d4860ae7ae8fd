"""Which rules are in force? Finds, reads and checks the shipped packs and those that a user adds."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from forensics.errors import RuleError
from forensics.rules.packfile import read_pack_file
from forensics.rules.shipped import shipped_folder
from forensics.rules.yaml_strict import rule_error

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from forensics.rules.lints.complaint import Lint
    from forensics.rules.model import Pack
    from forensics.rules.packfile import PackFile

FOLDERS = ("words", "tools", "handles")
TABLES = ("content", "proofs", "secrets", "source")
"""Folders whose files are no packs and decide all the same: they count in the digest."""


def shipped_files() -> tuple[tuple[str, bytes], ...]:
    """(name, content) of every shipped pack, sorted by name."""
    found = _files_in(FOLDERS)
    if not found:
        raise rule_error(["rules:1:1: the shipped rule packs are not there"])
    return found


def shipped_tables() -> tuple[tuple[str, bytes], ...]:
    """(name, content) of every shipped table that is no pack, sorted by name."""
    return _files_in(TABLES)


def _files_in(folders: tuple[str, ...]) -> tuple[tuple[str, bytes], ...]:
    root = shipped_folder()
    found = [
        (f"rules/{folder}/{entry.name}", entry.read_bytes())
        for folder in folders
        if (root / folder).is_dir()
        for entry in (root / folder).iterdir()
        if entry.name.endswith(".yaml")
    ]
    return tuple(sorted(found))


def extra_files(paths: Sequence[Path]) -> Iterator[tuple[str, bytes]]:
    """(name, content) of every pack that a user adds; a folder stands for every *.yaml below it, sorted."""
    for path in paths:
        inside = sorted(path.rglob("*.yaml")) if path.is_dir() else [path]
        for file in inside:
            name = file.relative_to(path).as_posix() if path.is_dir() else file.name
            try:
                yield name, file.read_bytes()
            except OSError as error:
                raise rule_error([f"{name}:1:1: {error.strerror or 'not readable'}"]) from None


def read_packs(
    files: Iterable[tuple[str, bytes]],
    tables: Iterable[tuple[str, bytes]] = (),
    lints: Sequence[Lint] = (),
) -> tuple[tuple[Pack, ...], str]:
    """Every pack and the digest over their contents and those of the tables beside them. Raises RuleError with the
    faults of all files at once: those of their form, and what these lints say.
    """
    read: list[PackFile] = []
    faults: list[str] = []
    digest = hashlib.sha256()
    for name, data in tables:
        digest.update(f"{name}\0{len(data)}\0".encode() + data)
    for name, data in files:
        digest.update(f"{name}\0{len(data)}\0".encode() + data)
        try:
            read.append(read_pack_file(name, data))
        except RuleError as error:
            faults += error.faults
    rules = [placed for file in read for placed in file.rules()]
    faults += [str(said) for lint in lints for said in lint.complaints(rules)]
    if faults:
        raise rule_error(faults)
    return tuple(file.pack for file in read), "sha256:" + digest.hexdigest()
