"""Which pack files were asked about, and which are in force beside them?

Whoever names no file asks about all that are in force: the shipped packs, and those of `--rules`. Of packs with one
name the last counts, so that a changed copy of a shipped pack can be checked in its place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from forensics.errors import RuleError
from forensics.rules.model import PACK_SCHEMA
from forensics.rules.packfile import PackFile, read_draft, schema_of_file
from forensics.rules.packs import extra_files, shipped_files
from forensics.rules.yaml_strict import rule_error

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

File = tuple[str, bytes]

_OURS = "forensics/"


class Collection(NamedTuple):
    """The files that were asked about, and those in force beside them, as (name, content)."""

    asked: tuple[File, ...]
    beside: tuple[File, ...]

    @property
    def files(self) -> tuple[File, ...]:
        """All of them, in the order in which they count."""
        return (*self.beside, *self.asked)


def collect(paths: Sequence[Path], extra: Sequence[Path] = ()) -> Collection:
    """The packs at these paths (files, or folders of *.yaml), or all in force where there are none. Raises RuleError
    for a path that can't be read, and where no pack is at any of them.
    """
    in_force = (*shipped_files(), *_packs(extra))
    if not paths:
        return Collection(in_force, ())
    asked = tuple(_packs(paths))
    if not asked:
        raise rule_error([f"{paths[0].name}:1:1: no rule pack is there"])
    names = {_pack_name(*file) for file in asked}
    return Collection(asked, tuple(file for file in in_force if _pack_name(*file) not in names))


def read_all(files: Iterable[File]) -> tuple[PackFile, ...]:
    """These files as packs; those whose form is wrong are left out."""
    read = (_read(name, data) for name, data in files)
    return tuple(file for file in read if file is not None)


def _packs(paths: Sequence[Path]) -> Iterable[File]:
    """Every file at these paths; of a folder, without the files of ours that are no rule packs (policies, tables)."""
    for path in paths:
        for name, data in extra_files([path]):
            if not path.is_dir() or not _is_another(name, data):
                yield name, data


def _is_another(name: str, data: bytes) -> bool:
    try:
        schema = schema_of_file(data, name)
    except RuleError:
        return False
    return schema is not None and schema.startswith(_OURS) and schema != PACK_SCHEMA


def _pack_name(name: str, data: bytes) -> str | None:
    file = _read(name, data)
    return None if file is None else file.pack.pack


def _read(name: str, data: bytes) -> PackFile | None:
    try:
        return read_draft(name, data)
    except RuleError:
        return None
