"""Which rules are in force? Finds, reads and checks the shipped packs and those that a user adds."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from forensics.errors import RuleError
from forensics.rules.model import Pack, ShapeRule, ToolRule, WordRule, convert
from forensics.rules.yaml_strict import StrictYaml, load_strict, rule_error

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from importlib.resources.abc import Traversable

Rule = WordRule | ToolRule | ShapeRule
FOLDERS = ("words", "tools", "handles")
TABLES = ("proofs", "source")
"""Folders whose files are no packs and decide all the same: they count in the digest."""


def shipped_folder() -> Traversable:
    """The folder of the shipped packs: inside an installed wheel, or beside the package in a checkout."""
    from importlib.resources import files

    installed = files("forensics") / "_rules"
    if installed.is_dir():
        return installed
    return Path(__file__).resolve().parents[2] / "rules"


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
    files: Iterable[tuple[str, bytes]], tables: Iterable[tuple[str, bytes]] = ()
) -> tuple[tuple[Pack, ...], str]:
    """Every pack and the digest over their contents and those of the tables beside them. Raises RuleError with the
    faults of all files at once.
    """
    packs: list[Pack] = []
    faults: list[str] = []
    seen: dict[str, str] = {}
    digest = hashlib.sha256()
    for name, data in tables:
        digest.update(f"{name}\0{len(data)}\0".encode() + data)
    for name, data in files:
        digest.update(f"{name}\0{len(data)}\0".encode() + data)
        try:
            document = load_strict(data, name)
            pack = convert(document, Pack, name)
        except RuleError as error:
            faults += error.faults
            continue
        faults += _pack_faults(pack, document, name, seen)
        packs.append(pack)
    faults += _refine_faults(packs, seen)
    if faults:
        raise rule_error(faults)
    return tuple(packs), "sha256:" + digest.hexdigest()


def rules_of(pack: Pack) -> Iterator[tuple[str, int, Rule]]:
    """(section, index, rule) of every rule of a pack, in file order."""
    for section in ("words", "tools", "shapes"):
        for index, rule in enumerate(getattr(pack, section)):
            yield section, index, rule


def _pack_faults(pack: Pack, document: StrictYaml, name: str, seen: dict[str, str]) -> Iterator[str]:
    for section, index, rule in rules_of(pack):
        line, column = document.position((section, index))
        for text in _rule_faults(rule, seen):
            yield f"{name}:{line}:{column}: {text}"
        seen.setdefault(rule.id, name)


def _rule_faults(rule: Rule, seen: dict[str, str]) -> Iterator[str]:
    if rule.id in seen:
        yield f"rule id {rule.id!r} is already used in {seen[rule.id]}"
    if not rule.because.strip():
        yield f"rule {rule.id!r} has no because"
    if {test.speaks for test in rule.tests} != {True, False}:
        yield f"rule {rule.id!r} needs at least two tests, one of each outcome"
    yield from _pattern_faults(rule)


def _pattern_faults(rule: Rule) -> Iterator[str]:
    import re

    if isinstance(rule, ShapeRule) and rule.pattern is not None:
        try:
            groups = re.compile(rule.pattern, re.ASCII).groups
        except re.error as error:
            yield f"rule {rule.id!r}: pattern: {error}"
            return
        if groups or "(?=" in rule.pattern or "(?!" in rule.pattern or "(?<" in rule.pattern:
            yield f"rule {rule.id!r}: pattern: no groups that capture and no look-around"


def _refine_faults(packs: list[Pack], seen: dict[str, str]) -> Iterator[str]:
    for pack in packs:
        for rule in pack.tools:
            for other in rule.refines:
                if other not in seen:
                    yield f"{seen.get(rule.id, pack.pack)}:1:1: rule {rule.id!r} refines {other!r}, which is not there"
