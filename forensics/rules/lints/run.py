"""Which faults do these pack files have? Every lint over all rules in force, told of the files that are asked about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.errors import RuleError
from forensics.rules.lints.anchoring import RegexNotAnchored
from forensics.rules.lints.complaint import Complaint
from forensics.rules.lints.lowering import LowersWithoutRefines
from forensics.rules.lints.patterns import PatternNotLinear, ShapeNotLinear
from forensics.rules.lints.refusing import REFUSING
from forensics.rules.lints.shadowed import Shadowed
from forensics.rules.lints.silent import SaysNothing
from forensics.rules.lints.too_wide import TooWide
from forensics.rules.lints.unreachable import Unreachable
from forensics.rules.packfile import read_draft

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from forensics.rules.lints.complaint import Lint
    from forensics.rules.packfile import PackFile

FORM = "form"
"""The name under which a file that is no rule pack is complained about."""

_FIRST: tuple[Lint, ...] = (*REFUSING, PatternNotLinear())
_THEN: tuple[Lint, ...] = (
    SaysNothing(),
    Shadowed(),
    Unreachable(),
    TooWide(),
    LowersWithoutRefines(),
    RegexNotAnchored(),
)
LINTS = (*_FIRST, *_THEN)
"""Every lint. Those behind `PatternNotLinear` match patterns, so they are asked where all patterns can be."""


def lint(files: Iterable[tuple[str, bytes]], beside: Iterable[PackFile] = ()) -> tuple[Complaint, ...]:
    """Every complaint about `files` (name, content), by file and place; `beside` are the packs in force with them."""
    read: list[PackFile] = []
    found: list[Complaint] = []
    for name, data in files:
        try:
            read.append(read_draft(name, data))
        except RuleError as error:
            found += _faults_of_form(name, error)
    rules = [placed for file in (*beside, *read) for placed in file.rules()]
    told = [said for one in _FIRST for said in one.complaints(rules)]
    if not any(said.lint in (PatternNotLinear.name, ShapeNotLinear.name) for said in told):
        told += [said for one in _THEN for said in one.complaints(rules)]
    mine = {file.name for file in read}
    return tuple(sorted([*found, *(said for said in told if said.file in mine)]))


def _faults_of_form(name: str, error: RuleError) -> Iterator[Complaint]:
    for fault in error.faults:
        line, column, text = fault.removeprefix(f"{name}:").split(":", 2)
        yield Complaint(name, int(line), int(column), FORM, "", text.strip())
