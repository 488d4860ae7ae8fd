"""What did a session of Kimi do? The file of its events (`wire.jsonl`), as Kimi Code writes it and as Kimi CLI did
before it, or the file of the messages that the latter sent to its model (`context.jsonl`).

Each agent of a session has files of its own. (The writers are Kimi Code's `agent-core`, Kimi CLI's `wire` and `soul`.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.formats.shared.fields import Fields, is_text, object_in, text
from forensics.formats.shared.kimi_walk import CONTEXT, TYPES, WIRE, Session
from forensics.formats.shared.walks import walk_lines

if TYPE_CHECKING:
    from forensics.core.reading import EvidenceBuilder
    from forensics.formats.shared.reader import Look
    from forensics.formats.shared.source import Source

NAME = "kimi"
ABOUT = "Kimi Code session: the events of one agent (wire.jsonl), one a line; Kimi CLI's events and messages"
CARRIES = "calls, arguments, results, how each call ended, approvals, prompts, tool schemas (Kimi Code), times, tokens"
LACKS = "what sub-agents did (each has a file of its own), executions apart from results; schemas (Kimi CLI)"
RERUN = "what sub-agents did, the files that its tools read, and the schemas (Kimi CLI)"
RECORDS_CALLS = True
SPANS_ARE_COMPLETE = False

_TIMES = frozenset({"time", "created_at"})


def sniff(look: Look) -> int:
    """95 for the head of a file, for an event and for what is beside the messages of a context; 0 for anything else."""
    shown = [look.document] if look.document is not None else look.lines
    return 95 if any(map(_is_its_own, shown)) else 0


def _is_its_own(fields: Fields) -> bool:
    kind = text(fields, "type")
    if kind == "metadata":
        return "protocol_version" in fields
    if text(fields, "role") in CONTEXT:
        return True
    if kind in TYPES:
        return bool(_TIMES & fields.keys())
    message = fields.get("message")
    inner = {} if message is None or is_text(message) else object_in(fields, "message")
    return "timestamp" in fields and text(inner, "type") in WIRE and "payload" in inner


def read(source: Source, build: EvidenceBuilder) -> None:
    """Walk the session. Raises CorruptEvidenceError where no record can be read."""
    walk_lines(source, build, Session(build), "record of a session")
