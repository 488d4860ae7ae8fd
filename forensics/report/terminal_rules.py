"""How do rules read at a terminal: the list, one rule, the page of a code, and what lints and tests found?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.report.terminal_page import Span, plural, short, value

if TYPE_CHECKING:
    from forensics.report.rule_documents import (
        CodeDocument,
        RuleDocument,
        RuleLintsDocument,
        RuleListDocument,
        RuleRow,
        RuleTestsDocument,
    )
    from forensics.report.terminal_page import Page

_COLUMN = 17


def rule_list(page: Page, document: RuleListDocument) -> None:
    """One section a pack, one line a rule."""
    for pack in document.packs:
        page.title(f"{pack.pack}: {short(pack.about, 300)}")
        for row in document.entries:
            if row.file == pack.file:
                page.row(row.id, Span(f"  {_axes(row)}", "dim"), f"  {short(row.says, 200)}")
    page.blank()
    page.line(Span(f"{plural(len(document.entries), 'rule')}; digest {document.rules.digest}", "dim"), rest="  ")


def _axes(row: RuleRow) -> str:
    """What a rule says: its values, with those of the result and the scope named where they stand alone."""
    said = [one for one in (row.effect, row.result and f"result {row.result}", row.scope and f"in {row.scope}") if one]
    return f"[{', '.join(said)}]" if said else f"[{row.source or row.kind}]"


def rule(page: Page, document: RuleDocument) -> None:
    """Everything about one rule, as its file holds it."""
    row, definition = document.rule, document.definition
    page.line(Span(row.id, "title"), f": {short(row.says, 300)}", rest="  ")
    page.blank()
    page.field("stands in", f"{row.file}:{row.line} (pack {short(row.pack, 60)})", column=_COLUMN)
    page.field("kind", row.kind if row.source is None else f"{row.kind}, {row.source}", column=_COLUMN)
    for axis in ("effect", "result", "scope"):
        if (said := getattr(row, axis)) is not None:
            page.field(axis, said, column=_COLUMN)
    page.field("because", short(row.because, 1_000), column=_COLUMN)
    if row.proof:
        page.field("answered by", "a proof that the text of the call only reads", column=_COLUMN)
    _listed(page, "refines", row.refines)
    _listed(page, "refined by", document.refined_by)
    _listed(page, "see", row.references)
    for label in ("when", "words", "pattern", "keys", "last_words"):
        if definition.get(label):
            page.field(label, value(definition[label], 4_000), column=_COLUMN)
    for test in definition["tests"]:
        subject = {key: one for key, one in test.items() if key != "speaks"}
        page.field("speaks of" if test["speaks"] else "silent about", value(subject, 400), column=_COLUMN)


def _listed(page: Page, label: str, items: list[str]) -> None:
    for item in items:
        page.field(label, short(item, 300), column=_COLUMN)


def code(page: Page, document: CodeDocument) -> None:
    """The page of one code."""
    severity = "a reason, no finding" if document.severity is None else f"severity {document.severity}"
    page.line(Span(document.code, "title"), f" ({document.group}; {severity})", rest="  ")
    for label, text in (
        ("means", document.means),
        ("matters", document.matters),
        ("example", document.example),
        ("does not prove", document.does_not_prove),
        ("do", document.do),
        ("see", ", ".join(document.see)),
    ):
        if text:
            page.blank()
            page.field(label, text, column=_COLUMN)


def rule_lints(page: Page, document: RuleLintsDocument) -> None:
    """One line a complaint, as compilers write it, so that editors find the place."""
    for row in document.complaints:
        where = f"{short(row.file, 200)}:{row.line}:{row.column}:"
        page.line(where, " ", Span(row.lint, "medium"), f": {short(row.message, 500)}", rest="    ")
    page.blank()
    found, style = plural(len(document.complaints), "complaint"), "refused" if document.complaints else "cleared"
    checked = f"{plural(document.checked, 'rule')} in {plural(len(document.files), 'file')}"
    page.line(Span(found, style), f": {checked}, {plural(len(document.lints), 'lint')}", rest="  ")


def rule_tests(page: Page, document: RuleTestsDocument) -> None:
    """One line a test that fails."""
    for row in document.failed:
        where = f"{short(row.file, 200)}:{row.line}:{row.column}:"
        said = f" rule {row.rule!r}: "
        wrong = "it speaks" if row.expected == "silent" else "it is silent"
        page.line(where, said, Span(wrong, "refused"), f" about test {row.number}: {value(row.test, 400)}", rest="    ")
    page.blank()
    found, style = f"{len(document.failed)} failed", "refused" if document.failed else "cleared"
    checked = f"{plural(document.tests, 'test')} of {plural(document.checked, 'rule')}"
    page.line(Span(found, style), f": {checked} in {plural(len(document.files), 'file')}", rest="  ")
