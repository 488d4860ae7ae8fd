"""What do the documents about rules say? The packs as files, a rule as a row, and what lints and tests found."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.core.findings import GROUP_OF
from forensics.report.code_pages import REASONS_ONLY, severity_of
from forensics.report.documents import Digest
from forensics.report.rule_documents import (
    CODE,
    RULE,
    RULE_LINTS,
    RULE_LIST,
    RULE_TESTS,
    CodeDocument,
    ComplaintRow,
    LintRow,
    PackRow,
    RuleDocument,
    RuleLintsDocument,
    RuleListDocument,
    RuleRow,
    RuleTestsDocument,
    TestRow,
)
from forensics.rules.model import ShapeRule, ToolRule, WordRule

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from forensics.report.code_pages import CodePage
    from forensics.rules.lints.complaint import Complaint, Lint
    from forensics.rules.packfile import PackFile, PlacedRule, Rule
    from forensics.rules.trials import Trial

_KINDS: dict[type[Rule], str] = {WordRule: "words", ToolRule: "tool", ShapeRule: "shape"}


def rule_list_document(files: Iterable[PackFile], digest: str) -> RuleListDocument:
    """Every rule of these files, in their order."""
    read = tuple(files)
    packs = [
        PackRow(pack=file.pack.pack, file=file.name, about=file.pack.about, rules=sum(1 for _ in file.rules()))
        for file in read
    ]
    rows = [rule_row(placed) for file in read for placed in file.rules()]
    return RuleListDocument(schema=RULE_LIST, rules=Digest(digest=digest), packs=packs, entries=rows)


def rule_document(placed: PlacedRule, rules: Iterable[PlacedRule], digest: str) -> RuleDocument:
    """One rule whole, with those of `rules` that refine it."""
    refining = [other.rule for other in rules if isinstance(other.rule, ToolRule)]
    return RuleDocument(
        schema=RULE,
        rules=Digest(digest=digest),
        rule=rule_row(placed),
        definition=msgspec.to_builtins(placed.rule),
        refined_by=[other.id for other in refining if placed.rule.id in other.refines],
    )


def code_document(page: CodePage) -> CodeDocument:
    """The page of one code."""
    return CodeDocument(
        schema=CODE,
        group=GROUP_OF.get(page.code, REASONS_ONLY),
        severity=severity_of(page.code),
        **{**msgspec.structs.asdict(page), "see": [f"docs/{where}" for where in page.see]},
    )


def rule_row(placed: PlacedRule) -> RuleRow:
    """A rule as a row."""
    rule = placed.rule
    said = {} if isinstance(rule, ShapeRule) else {axis: getattr(rule, axis) for axis in ("effect", "result", "scope")}
    return RuleRow(
        id=rule.id,
        pack=placed.file.pack.pack,
        file=placed.file.name,
        line=placed.position()[0],
        kind=_KINDS[type(rule)],
        source=rule.role if isinstance(rule, WordRule) else rule.source if isinstance(rule, ToolRule) else None,
        says=_says(rule),
        because=rule.because,
        tests=len(rule.tests),
        proof=not isinstance(rule, ShapeRule) and rule.proof,
        refines=[*rule.refines] if isinstance(rule, ToolRule) else [],
        references=[*rule.references],
        **{axis: None if value is None else value.value for axis, value in said.items()},
    )


def _says(rule: Rule) -> str:
    if isinstance(rule, ToolRule):
        return rule.says
    if isinstance(rule, ShapeRule):
        return "no handle" if rule.kind is None else rule.kind
    shown = ", ".join(rule.words[:6])
    return shown if len(rule.words) <= 6 else f"{shown} and {len(rule.words) - 6} more"  # noqa: PLR2004 - the same six


def rule_lints_document(
    files: Sequence[str], checked: int, lints: Iterable[Lint], complaints: Iterable[Complaint]
) -> RuleLintsDocument:
    """What the lints say; `checked` counts the rules."""
    return RuleLintsDocument(
        schema=RULE_LINTS,
        files=[*files],
        checked=checked,
        lints=[LintRow(name=one.name, about=one.about) for one in lints],
        complaints=[ComplaintRow(**msgspec.structs.asdict(one)) for one in complaints],
    )


def rule_tests_document(
    files: Sequence[str], tried: Sequence[tuple[PlacedRule, Trial]], digest: str
) -> RuleTestsDocument:
    """What the tests say, each with the rule that it belongs to."""
    return RuleTestsDocument(
        schema=RULE_TESTS,
        rules=Digest(digest=digest),
        files=[*files],
        checked=len({placed.rule.id for placed, _ in tried}),
        tests=len(tried),
        failed=[_failed(placed, trial) for placed, trial in tried if not trial.holds],
    )


def _failed(placed: PlacedRule, trial: Trial) -> TestRow:
    line, column = placed.position("tests", trial.number)
    return TestRow(
        file=placed.file.name,
        line=line,
        column=column,
        rule=trial.rule,
        number=trial.number,
        expected="speaks" if trial.expected else "silent",
        test=msgspec.to_builtins(placed.rule.tests[trial.number]),
    )
