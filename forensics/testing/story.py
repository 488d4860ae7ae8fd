"""What does an examination tell, apart from where it stands? The part that must be equal for the same content."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from forensics.core.evidence import Severity

if TYPE_CHECKING:
    from forensics.report.documents import AuditDocument

_ABOUT_BYTES = frozenset({"encoding", "large_payload", "recovered_record"})
"""Findings about how the content is written down."""


class Story(msgspec.Struct, frozen=True):
    """The calls with what they were given and gave, the verdicts, and the findings that are not about bytes."""

    calls: tuple[Any, ...]
    verdicts: tuple[Any, ...]
    findings: tuple[tuple[str, int], ...]
    error: str | None


def story_of(document: AuditDocument) -> Story:
    """The story of an audit document."""
    calls = [
        (trace.id, call.occurrence, call.tool, call.outcome, msgspec.json.encode(call.arguments, order="sorted"))
        for trace in document.traces
        for call in trace.calls
    ]
    verdicts = [
        (trace.id, trace.verdict.level, trace.verdict.cleared, tuple(sorted({r.code for r in trace.verdict.reasons})))
        for trace in document.traces
    ]
    loud = [f.code for f in document.findings if f.code not in _ABOUT_BYTES and f.severity != Severity.INFO]
    errors = [row.error.code for row in document.evidence if row.error is not None]
    findings = tuple(sorted((code, loud.count(code)) for code in set(loud)))
    return Story(tuple(sorted(calls)), tuple(sorted(verdicts)), findings, errors[0] if errors else None)
