"""What does a lint say? One complaint: which lint, about which rule, at which line and column, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from forensics.rules.packfile import PlacedRule


class Complaint(msgspec.Struct, frozen=True, order=True):
    """One fault of one rule. `line` and `column` count from 1; `rule` is its id, empty where the file has no rules."""

    file: str
    line: int
    column: int
    lint: str
    rule: str
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.message}"


class Lint(Protocol):
    """One question that is asked of a set of rules: all that are in force, because some faults are between two."""

    name: ClassVar[str]
    about: ClassVar[str]

    def complaints(self, rules: Sequence[PlacedRule]) -> Iterator[Complaint]:
        """Every fault of this kind, in the order of the rules."""


def complaint(lint: Lint, placed: PlacedRule, message: str, *within: str | int) -> Complaint:
    """A complaint about a rule, at the path `within` it (its own place when empty)."""
    line, column = placed.position(*within)
    return Complaint(placed.file.name, line, column, lint.name, placed.rule.id, message)
