"""Which JSON Schemas are published? One a document, and one for each kind of file that a person writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from forensics.report.case_documents import CASE_DOCUMENTS
from forensics.report.corpus_documents import CORPUS_DOCUMENTS
from forensics.report.corpus_report_documents import CORPUS_REPORT_DOCUMENTS
from forensics.report.custody_documents import CUSTODY_DOCUMENTS
from forensics.report.doctor_documents import DOCTOR_DOCUMENTS
from forensics.report.documents import DOCUMENTS
from forensics.report.incident.documents import ReportDocument
from forensics.report.incident.rows import TimelineRow
from forensics.report.incident.suppressions import suppressions_schema
from forensics.report.query_documents import QUERY_DOCUMENTS
from forensics.report.rerun_documents import RerunDocument
from forensics.report.rule_documents import RULE_DOCUMENTS
from forensics.rules.model import policy_schema, rule_pack_schema

if TYPE_CHECKING:
    from collections.abc import Callable

_DOCUMENTS: dict[str, type[msgspec.Struct]] = {
    **DOCUMENTS,
    "rerun": RerunDocument,
    "report": ReportDocument,
    "timeline": TimelineRow,
    **CUSTODY_DOCUMENTS,
    **CORPUS_DOCUMENTS,
    **CORPUS_REPORT_DOCUMENTS,
    **QUERY_DOCUMENTS,
    **DOCTOR_DOCUMENTS,
    **CASE_DOCUMENTS,
    **RULE_DOCUMENTS,
}
_FILES: dict[str, Callable[[], dict[str, Any]]] = {
    "policy": policy_schema,
    "rules": rule_pack_schema,
    "suppressions": suppressions_schema,
}
ALIASES = {"rule-pack": "rules"}


def names() -> tuple[str, ...]:
    """The names of all schemas."""
    return (*_DOCUMENTS, *_FILES)


def schema(name: str) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of that name. Raises KeyError for a name that is none."""
    name = ALIASES.get(name, name)
    body = msgspec.json.schema(_DOCUMENTS[name]) if name in _DOCUMENTS else _FILES[name]()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **body}
