"""What does a document say to a person at a terminal? One layout a document; it sees the document and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from forensics.report.case_documents import CaseDocument, CaseRunDocument
from forensics.report.corpus_documents import CorpusDocument
from forensics.report.custody_documents import VerificationDocument
from forensics.report.doctor_documents import DoctorDocument
from forensics.report.documents import (
    AuditDocument,
    ClassificationDocument,
    ComparisonDocument,
    ExplanationDocument,
    FormatsDocument,
    InspectionDocument,
    MatchingDocument,
    PolicyCheckDocument,
)
from forensics.report.query_documents import QueryDocument, QuestionsDocument
from forensics.report.rerun_documents import RerunDocument
from forensics.report.rule_documents import (
    CodeDocument,
    RuleDocument,
    RuleLintsDocument,
    RuleListDocument,
    RuleTestsDocument,
)
from forensics.report.terminal_audit import audit
from forensics.report.terminal_cases import case, case_run
from forensics.report.terminal_classes import classification
from forensics.report.terminal_comparison import comparison
from forensics.report.terminal_corpus import corpus
from forensics.report.terminal_custody import verification
from forensics.report.terminal_doctor import doctor
from forensics.report.terminal_explain import explanation
from forensics.report.terminal_inspect import inspection
from forensics.report.terminal_matching import matching
from forensics.report.terminal_page import Page
from forensics.report.terminal_query import query, questions
from forensics.report.terminal_rerun import rerun
from forensics.report.terminal_rules import code, rule, rule_lints, rule_list, rule_tests
from forensics.report.terminal_tables import formats, policy_check

if TYPE_CHECKING:
    from collections.abc import Callable

    from forensics.report.terminal_page import Line

_LAYOUTS: dict[type, Callable[[Page, Any], None]] = {
    AuditDocument: audit,
    InspectionDocument: inspection,
    ClassificationDocument: classification,
    ExplanationDocument: explanation,
    MatchingDocument: matching,
    ComparisonDocument: comparison,
    RerunDocument: rerun,
    VerificationDocument: verification,
    CorpusDocument: corpus,
    QueryDocument: query,
    QuestionsDocument: questions,
    FormatsDocument: formats,
    DoctorDocument: doctor,
    PolicyCheckDocument: policy_check,
    RuleListDocument: rule_list,
    RuleDocument: rule,
    CodeDocument: code,
    RuleLintsDocument: rule_lints,
    RuleTestsDocument: rule_tests,
    CaseDocument: case,
    CaseRunDocument: case_run,
}


def lines_of(document: object, *, width: int = 80, detail: int = 0) -> list[Line]:
    """The document as lines. `width` is in cells; `detail` -1 shows the verdicts alone, 1 and more shows more."""
    page = Page(width, detail)
    _LAYOUTS[type(document)](page, document)
    return page.lines
