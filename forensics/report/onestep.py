"""What is there to know about one step? An inspection cut down to it, with the bytes that stand at its locator."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import msgspec

from forensics.core.jsonvalue import spell_surrogates
from forensics.core.sanitise import visible

if TYPE_CHECKING:
    from forensics.report.documents import InspectionDocument, StepRow, TraceRow

HEAD = 4_096  # bytes shown; the digest is over all of them


def one_step(document: InspectionDocument, step: int, data: bytes) -> InspectionDocument:
    """The inspection of one step: its row with its bytes, its trace, its tuple, and the findings that name it."""
    row = document.steps[step]
    trace = trace_of(document, step)
    shown = msgspec.structs.replace(
        row,
        bytes=spell_surrogates(visible(data[:HEAD].decode("utf-8", "backslashreplace")))
        + ("…" if len(data) > HEAD else ""),
        bytes_length=len(data),
        bytes_sha256=hashlib.sha256(data).hexdigest(),
    )
    return msgspec.structs.replace(
        document,
        traces=[trace],
        findings=[f for f in document.findings if step in f.steps],
        steps=[shown],
        tuples=[t for t in document.tuples if t.trace == row.trace and t.occurrence == row.occurrence],
    )


def trace_of(document: InspectionDocument, step: int) -> TraceRow:
    """The trace that holds the step."""
    return next(t for t in document.traces if t.first_step <= step < t.first_step + t.steps)


def stands_in_a_file(row: StepRow) -> bool:
    """Whether the step's locator is a range of bytes of the evidence (and not a row of a database, or a value)."""
    where = row.locator
    return where.offset is not None and where.length is not None and not where.pointer and where.member is None
