"""Which fields do the documents about rules and codes have? `forensics rules` writes them."""

from __future__ import annotations

from typing import Any

import msgspec

from forensics.report.documents import Digest

RULE_LIST = "forensics/rule-list/v1"
RULE = "forensics/rule/v1"
CODE = "forensics/code/v1"
RULE_LINTS = "forensics/rule-lints/v1"
RULE_TESTS = "forensics/rule-tests/v1"


class _Row(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The base of a row: fields that hold their default are left out."""


class RuleRow(_Row, frozen=True):
    """One rule: where it stands (line from 1), what kind of evidence it is, and what it says on each axis.

    `source` is the kind of evidence of a tool rule, the role of a list of words, and null for a shape, whose `says` is
    the kind of value that it names.
    """

    id: str
    pack: str
    file: str
    line: int
    kind: str
    source: str | None
    says: str
    because: str
    tests: int
    effect: str | None = None
    result: str | None = None
    scope: str | None = None
    proof: bool = False
    refines: list[str] = []
    references: list[str] = []


class PackRow(_Row, frozen=True):
    """One pack and the number of its rules."""

    pack: str
    file: str
    about: str
    rules: int


class RuleListDocument(msgspec.Struct, frozen=True, kw_only=True):
    """Every rule in force, in the order in which they count."""

    schema: str
    rules: Digest
    packs: list[PackRow]
    entries: list[RuleRow]


class RuleDocument(msgspec.Struct, frozen=True, kw_only=True):
    """One rule whole: `definition` is what its file holds, `refined_by` the rules before which it stays silent."""

    schema: str
    rules: Digest
    rule: RuleRow
    definition: dict[str, Any]
    refined_by: list[str]


class CodeDocument(msgspec.Struct, frozen=True, kw_only=True):
    """The page of one finding or reason code; `severity` is the usual one, null where the code is only a reason."""

    schema: str
    code: str
    group: str
    severity: str | None
    means: str
    matters: str
    example: str
    does_not_prove: str
    do: str
    see: list[str] = []


class LintRow(_Row, frozen=True):
    """One lint that was asked."""

    name: str
    about: str


class ComplaintRow(_Row, frozen=True):
    """One fault; `line` and `column` count from 1."""

    file: str
    line: int
    column: int
    lint: str
    rule: str
    message: str


class RuleLintsDocument(msgspec.Struct, frozen=True, kw_only=True):
    """What the lints say about the packs that were asked about."""

    schema: str
    files: list[str]
    checked: int
    lints: list[LintRow]
    complaints: list[ComplaintRow]


class TestRow(_Row, frozen=True):
    """A test in which its rule did not speak as it says; `number` counts from 0."""

    file: str
    line: int
    column: int
    rule: str
    number: int
    expected: str
    test: dict[str, Any]


class RuleTestsDocument(msgspec.Struct, frozen=True, kw_only=True):
    """What the tests inside the packs say; only those that fail are listed."""

    schema: str
    rules: Digest
    files: list[str]
    checked: int
    tests: int
    failed: list[TestRow]


RULE_DOCUMENTS: dict[str, type[msgspec.Struct]] = {
    "rule-list": RuleListDocument,
    "rule": RuleDocument,
    "code": CodeDocument,
    "rule-lints": RuleLintsDocument,
    "rule-tests": RuleTestsDocument,
}
