"""Can a pattern be matched in linear time? Values are hostile, so that look-around and back-references are refused."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from forensics.rules.conditions import compile_pattern
from forensics.rules.lints.complaint import Complaint, complaint
from forensics.rules.lints.parts import patterns_of
from forensics.rules.model import ShapeRule

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from forensics.rules.packfile import PlacedRule

_LOOKS = ("(?=", "(?!", "(?<")


class ShapeNotLinear:
    """The pattern of a shape is none, looks around, or captures: shapes are joined into one alternation."""

    name: ClassVar[str] = "shape-not-linear"
    about: ClassVar[str] = "The pattern of a shape is no regular expression, looks around, or captures."

    def complaints(self, rules: Sequence[PlacedRule]) -> Iterator[Complaint]:
        """One complaint a shape."""
        for placed in rules:
            pattern = placed.rule.pattern if isinstance(placed.rule, ShapeRule) else None
            fault = None if pattern is None else _shape_fault(pattern)
            if fault is not None:
                yield complaint(self, placed, f"rule {placed.rule.id!r}: pattern: {fault}", "pattern")


class PatternNotLinear:
    """RE2 does not take the pattern of a condition."""

    name: ClassVar[str] = "pattern-not-linear"
    about: ClassVar[str] = "RE2 does not take a pattern, because it looks around, refers back, or is none."

    def complaints(self, rules: Sequence[PlacedRule]) -> Iterator[Complaint]:
        """One complaint a pattern."""
        for placed in rules:
            for found in patterns_of(placed.rule):
                fault = _fault(found.pattern)
                if fault is not None:
                    yield complaint(self, placed, f"rule {placed.rule.id!r}: pattern: {fault}", *found.path)


def _shape_fault(pattern: str) -> str | None:
    try:
        groups = re.compile(pattern, re.ASCII).groups
    except re.error as error:
        return str(error)
    looks = any(mark in pattern for mark in _LOOKS)
    return "no groups that capture and no look-around" if groups or looks else None


def _fault(pattern: str) -> str | None:
    try:
        compile_pattern(pattern)
    except ValueError as error:
        return str(error)
    return None
