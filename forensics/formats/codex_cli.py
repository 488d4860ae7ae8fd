"""What did a session of Codex CLI do? Its rollout file, one record a line.

The order is that of the file. Both generations are read: records with a `payload`, and the bare items of older files
(FORMATS section 7; the records are those of `codex-rs/protocol`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.formats.shared.codex.walk import Rollout
from forensics.formats.shared.fields import Fields, is_text, text
from forensics.formats.shared.walks import walk_lines

if TYPE_CHECKING:
    from forensics.core.reading import EvidenceBuilder
    from forensics.formats.shared.reader import Look
    from forensics.formats.shared.source import Source

NAME = "codex-cli"
ABOUT = "Codex CLI rollout: one record a line, with payloads or (older files) bare items"
CARRIES = "calls, arguments, results, instructions, compaction, interruptions, times, tokens, provider-run searches"
LACKS = "success flags, approvals (mostly), tool schemas (mostly), executions apart from results"
RERUN = "the schemas (mostly) and the files of the checkout; commit and sandbox are recorded"
RECORDS_CALLS = True
SPANS_ARE_COMPLETE = False

_RECORDS = frozenset({"session_meta", "turn_context", "response_item", "event_msg", "compacted"})


def sniff(look: Look) -> int:
    """95 for records with payloads, 90 for an older file by its head."""
    if any(_is_record(fields) for fields in look.lines):
        return 95
    if look.document is not None and _is_record(look.document):
        return 95
    return 90 if look.lines and _is_old_head(look.lines[0]) else 0


def _is_record(fields: Fields) -> bool:
    payload = fields.get("payload")
    return text(fields, "type") in _RECORDS and payload is not None and not is_text(payload)


def _is_old_head(fields: Fields) -> bool:
    """Whether a line is the head of a file from before records had a payload."""
    return (
        {"id", "timestamp"} <= fields.keys() and bool({"instructions", "git"} & fields.keys()) and "type" not in fields
    )


def read(source: Source, build: EvidenceBuilder) -> None:
    """Walk the rollout. Raises CorruptEvidenceError where no record can be read."""
    walk_lines(source, build, Rollout(build), "record of a session")
