"""What does one pack file hold, and where in it does each rule stand?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.rules.model import Pack, ShapeRule, ToolRule, WordRule, convert
from forensics.rules.yaml_strict import StrictYaml, load_strict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.rules.yaml_strict import Position

Rule = WordRule | ToolRule | ShapeRule
SECTIONS = ("words", "tools", "shapes")


class PackFile(msgspec.Struct, frozen=True):
    """A pack, the name by which faults call its file, and the document in which every node has its position."""

    name: str
    pack: Pack
    document: StrictYaml

    def rules(self) -> Iterator[PlacedRule]:
        """Every rule, in file order."""
        for section, index, rule in rules_of(self.pack):
            yield PlacedRule(self, section, index, rule)


class PlacedRule(msgspec.Struct, frozen=True):
    """A rule and where it stands."""

    file: PackFile
    section: str
    number: int
    rule: Rule

    def position(self, *within: str | int) -> Position:
        """The line and column (both from 1) of the rule, or of what stands at this path inside it."""
        return self.file.document.position((self.section, self.number, *within))


def rules_of(pack: Pack) -> Iterator[tuple[str, int, Rule]]:
    """(section, index, rule) of every rule of a pack, in file order."""
    for section in SECTIONS:
        for index, rule in enumerate(getattr(pack, section)):
            yield section, index, rule


def read_pack_file(name: str, data: bytes) -> PackFile:
    """One file as it is. Raises RuleError with every fault of its form."""
    document = load_strict(data, name)
    return PackFile(name, convert(document, Pack, name), document)


def read_draft(name: str, data: bytes) -> PackFile:
    """One file whose rules may still lack their `because` and their `tests`: those are left empty, for the lints to
    name. Raises RuleError with every other fault of its form.
    """
    document = load_strict(data, name)
    filled = StrictYaml(_filled(document.value), lambda: document.positions)
    return PackFile(name, convert(filled, Pack, name), document)


def _filled(value: object) -> object:
    if not isinstance(value, dict):
        return value
    sections = {key: [*map(_filled_rule, value[key])] for key in SECTIONS if isinstance(value.get(key), list)}
    return {**value, **sections}


def _filled_rule(rule: object) -> object:
    return {"because": "", "tests": [], **rule} if isinstance(rule, dict) else rule


def schema_of_file(data: bytes, name: str) -> str | None:
    """What a file says that it is (its `schema`), or None where it is silent. Raises RuleError for what is no YAML."""
    value = load_strict(data, name).value
    said = value.get("schema") if isinstance(value, dict) else None
    return said if isinstance(said, str) else None
