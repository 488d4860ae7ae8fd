"""What was read, how much of it, and what could not be read? The first and the last lines of every text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.report.documents import AuditDocument
from forensics.report.terminal_page import Span, name, plural, short

if TYPE_CHECKING:
    from collections.abc import Iterable

    from forensics.report.documents import CountsRow, EvidenceRow, InspectionDocument, Place, PolicyName
    from forensics.report.terminal_page import Page

    Head = AuditDocument | InspectionDocument

_SHOWN = 20
_FIRST = 3
_LISTED = 12


def not_read(page: Page, document: Head) -> None:
    """One line for each evidence that could not be read, before the verdicts; where they are many, after them."""
    rows = _unread(document)
    if not document.traces or len(rows) <= _FIRST:
        _not_read(page, rows)
    else:
        where = ", named at the end" if page.detail >= 0 else ""
        count = f" {len(rows)} of {plural(len(document.evidence), 'evidence', 'evidences')}{where}"
        page.line(Span("NOT READ", "refused"), count)
        page.blank()


def _unread(document: Head) -> list[EvidenceRow]:
    return [row for row in document.evidence if row.status == "refused"]


def _not_read(page: Page, rows: list[EvidenceRow]) -> None:
    """Name, code, message, hint."""
    for row in rows:
        error = row.error
        why = "" if error is None else f": {error.code}: {short(error.message, 300)}; {short(error.hint, 300)}"
        page.line(Span("NOT READ", "refused"), f" {name(row.name)}{why.removesuffix('; ')}", rest="         ")


def evidence(page: Page, document: Head) -> None:
    """Name, format, coverage and digest of each evidence, and the counts over all of them."""
    rows = [row for row in document.evidence if row.status != "refused"]
    page.title("Evidence")
    for row in rows[: len(rows) if page.detail > 0 else _SHOWN]:
        _row(page, row)
    if page.detail <= 0:
        page.more(len(rows) - _SHOWN)
    unread = _unread(document)
    if unread:
        page.line(f"{len(unread)} of {plural(len(document.evidence), 'evidence', 'evidences')} not read", first="  ")
    _counts(page, document.counts)
    _not_looked_for(page, document)
    page.line(
        Span(
            f"policy {name(document.policy.name)} {document.policy.digest[:19]}, rules {document.rules.digest[:19]}, "
            f"forensics {document.tool.version}",
            "dim",
        ),
        first="  ",
        rest="    ",
    )
    policy_warnings(page, document.policy)
    if document.traces and len(unread) > _FIRST:
        page.blank()
        _not_read(page, unread)


def first_warning(page: Page, policy: PolicyName) -> None:
    """What the author of the policy may not have meant, as a field near the verdict that rests on it: the first one."""
    if policy.warnings:
        more = f" (and {len(policy.warnings) - 1} more)" if len(policy.warnings) > 1 else ""
        page.field("warning", Span(f"policy {short(policy.warnings[0], 400)}", "medium"), more)


def policy_warnings(page: Page, policy: PolicyName) -> None:
    """What its author may not have meant, a paragraph each."""
    for warning in policy.warnings[:_SHOWN]:
        page.line(Span("warning", "medium"), f": {short(warning, 400)}", first="  ", rest="    ")
    page.more(len(policy.warnings) - _SHOWN)


def sources(page: Page, rows: Iterable[EvidenceRow]) -> None:
    """What two evidences that were put beside each other are: name, format, coverage and digest."""
    page.title("Evidence")
    for row in rows:
        page.line(f"{name(row.name)}: {row.format}, {row.coverage}", first="  ", rest="    ")
        _digest(page, row)


def _digest(page: Page, row: EvidenceRow) -> None:
    page.line(Span(f"sha256 {row.sha256}", "dim"), first="    ")


def _row(page: Page, row: EvidenceRow) -> None:
    dialect = "" if row.dialect is None else f" ({name(row.dialect)})"
    packed = "" if row.compression is None else f" in {row.compression}"
    page.line(
        f"{name(row.name)}: {row.format}{dialect}{packed}, {row.coverage}, {plural(row.size, 'byte')}",
        first="  ",
        rest="    ",
    )
    _digest(page, row)


def _not_looked_for(page: Page, document: Head) -> None:
    """What the document can't tell of, because it was asked not to look."""
    if isinstance(document, AuditDocument) and document.not_looked_for:
        codes = ", ".join(document.not_looked_for)
        page.line(
            Span("NOT LOOKED FOR", "refused"),
            f" (--no-content): {codes}; what secrets there are stand here as they are",
            first="  ",
            rest="    ",
        )


def _counts(page: Page, counts: CountsRow) -> None:
    read = [
        plural(counts.records, "record"),
        plural(counts.traces, "trace"),
        plural(counts.model_calls, "model call"),
        plural(counts.tool_calls, "tool call"),
        f"{counts.paired} paired with a result",
    ]
    page.line(", ".join(read), first="  ", rest="    ")
    if counts.input_tokens or counts.output_tokens:
        page.line(f"{counts.input_tokens} input tokens, {counts.output_tokens} output tokens", first="  ")
    amiss: dict[str, int | list[str]] = {
        "bad lines": [str(n) for n in counts.bad_lines],
        "duplicate records": counts.duplicate_records,
        "recovered records": counts.recovered_records,
        "unanswered calls": [name(i) for i in counts.unanswered],
        "results without a call": [name(i) for i in counts.orphan_results],
        "missing spans": [name(i) for i in counts.missing_spans],
    }
    for label, found in amiss.items():
        if found:
            page.line(f"{label}: {_listed(found)}", first="  ", rest="    ")


def _listed(found: int | list[str]) -> str:
    if isinstance(found, int):
        return str(found)
    more = f" and {len(found) - _LISTED} more" if len(found) > _LISTED else ""
    return ", ".join(found[:_LISTED]) + more


def place(where: Place) -> str:
    """A locator in words: `line 12`, `offset 340`, `spans row 3`, with its JSON Pointer."""
    parts = []
    if where.member is not None:
        parts.append(name(where.member))
    if where.table is not None:
        parts.append(f"{name(where.table)} row {where.row}")
    if where.line is not None:
        parts.append(f"line {where.line}")
    elif where.offset is not None:
        parts.append(f"offset {where.offset}")
    if where.pointer:
        parts.append(short(where.pointer, 100))
    return " ".join(parts) or "the whole evidence"
