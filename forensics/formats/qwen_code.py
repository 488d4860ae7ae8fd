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

_NOTED = frozenset({"systemPayload", "toolCallResult"})


def sniff(look: Look) -> int:
    """97 for a record with the payload of a system record or of a result, or where every message is in parts: Claude
    Code's have neither, and one of its sessions may hold a message of somebody else.
    """
    shown = [look.document] if look.document is not None else look.lines
    records = [one for one in shown if text(one, "type") in TYPES and "uuid" in one and "sessionId" in one]
    messages = [one for one in records if one.get("message") is not None]
    noted = any(_NOTED & one.keys() for one in records if one.get("message") is None)
    return 97 if noted or (messages and all(map(_is_in_parts, messages))) else 0


def _is_in_parts(record: Fields) -> bool:
    return not is_text(record["message"]) and "parts" in object_in(record, "message")


def read(source: Source, build: EvidenceBuilder) -> None:
    """Walk the session. Raises CorruptEvidenceError where no record can be read."""
    walk_lines(source, build, Session(build), "record of a session")
