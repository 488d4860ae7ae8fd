"""What does a document say to a person at a terminal? One layout a document; it sees the document and nothing else."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from forensics.report.terminal_page import Page

if TYPE_CHECKING:
    from forensics.report.terminal_page import Line

LAYOUTS = {
    "AuditDocument": ("terminal_audit", "audit"),
    "InspectionDocument": ("terminal_inspect", "inspection"),
    "ClassificationDocument": ("terminal_classes", "classification"),
    "ExplanationDocument": ("terminal_explain", "explanation"),
    "MatchingDocument": ("terminal_matching", "matching"),
    "ComparisonDocument": ("terminal_comparison", "comparison"),
    "RerunDocument": ("terminal_rerun", "rerun"),
    "VerificationDocument": ("terminal_custody", "verification"),
    "CorpusDocument": ("terminal_corpus", "corpus"),
    "QueryDocument": ("terminal_query", "query"),
    "QuestionsDocument": ("terminal_query", "questions"),
    "FormatsDocument": ("terminal_tables", "formats"),
    "DoctorDocument": ("terminal_doctor", "doctor"),
    "PolicyCheckDocument": ("terminal_tables", "policy_check"),
    "RuleListDocument": ("terminal_rules", "rule_list"),
    "RuleDocument": ("terminal_rules", "rule"),
    "CodeDocument": ("terminal_rules", "code"),
    "RuleLintsDocument": ("terminal_rules", "rule_lints"),
    "RuleTestsDocument": ("terminal_rules", "rule_tests"),
    "CaseDocument": ("terminal_cases", "case"),
    "CaseRunDocument": ("terminal_cases", "case_run"),
}
"""By the type of a document, the module and the function that lay it out: a command imports those of its document."""


def lines_of(document: object, *, width: int = 80, detail: int = 0) -> list[Line]:
    """The document as lines. `width` is in cells; `detail` -1 shows the verdicts alone, 1 and more shows more."""
    module, layout = LAYOUTS[type(document).__name__]
    page = Page(width, detail)
    getattr(import_module(f"forensics.report.{module}"), layout)(page, document)
    return page.lines
