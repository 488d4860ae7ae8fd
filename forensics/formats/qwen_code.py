"""What did a session of Qwen Code do? The file of its records, one a line, each following another; that of a sub-agent
has the same form.

The records look like those of Claude Code, and hold messages as Gemini's API writes them (the writer is Qwen Code's
`chatRecordingService`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.formats.shared.fields import Fields, is_text, object_in, text
from forensics.formats.shared.qwen_walk import TYPES, Session
from forensics.formats.shared.walks import walk_lines

if TYPE_CHECKING:
    from forensics.core.reading import EvidenceBuilder
    from forensics.formats.shared.reader import Look
    from forensics.formats.shared.source import Source

NAME = "qwen-code"
ABOUT = "Qwen Code session: its records, one a line"
CARRIES = "calls, arguments, results, how each call ended, branches, summaries, times, tokens"
LACKS = "system prompt, tool schemas, approvals, what the models of sub-agents said and what their calls gave"
RERUN = "the system prompt and the schemas, the files that its tools read, and what sub-agents were told"
RECORDS_CALLS = True
SPANS_ARE_COMPLETE = False


def sniff(look: Look) -> int:
    """97 for a record with a message in parts or with the payload of a system record: Claude Code's have neither."""
    shown = [look.document] if look.document is not None else look.lines
    return 97 if any(map(_is_record, shown)) else 0


def _is_record(fields: Fields) -> bool:
    if text(fields, "type") not in TYPES or "uuid" not in fields or "sessionId" not in fields:
        return False
    message = fields.get("message")
    if message is None:
        return "systemPayload" in fields or "toolCallResult" in fields
    return not is_text(message) and "parts" in object_in(fields, "message")


def read(source: Source, build: EvidenceBuilder) -> None:
    """Walk the session. Raises CorruptEvidenceError where no record can be read."""
    walk_lines(source, build, Session(build), "record of a session")
