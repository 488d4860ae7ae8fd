"""What did a session of Copilot CLI do? Its event log, one event a line (`events.jsonl`), as its SDK and editors write
it too.

Lines end at a line feed only: texts may hold U+2028 and other separators (FORMATS section 7).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.formats.shared.copilot_walk import Session
from forensics.formats.shared.fields import Fields, is_text, text
from forensics.formats.shared.walks import walk_lines

if TYPE_CHECKING:
    from forensics.core.reading import EvidenceBuilder
    from forensics.formats.shared.reader import Look
    from forensics.formats.shared.source import Source

NAME = "copilot-cli"
ABOUT = "Copilot CLI event log: one event a line ({type, data, id, parentId, timestamp})"
CARRIES = "turns, calls, executions with arguments and results, approvals and refusals, sub-agents, errors, times"
LACKS = "tool schemas, what exactly a prompt showed, how a call was classed by its server"
RERUN = "the schemas and the files of the checkout; the commit is recorded"
RECORDS_CALLS = True
SPANS_ARE_COMPLETE = False

_HEADS = ("session.", "user.", "assistant.", "tool.", "system.", "permission.", "hook.", "subagent.", "abort")


def sniff(look: Look) -> int:
    """95 for events that name their predecessor, 60 for events that do not."""
    shown = [look.document] if look.document is not None else look.lines
    return max((_score(fields) for fields in shown), default=0)


def _score(fields: Fields) -> int:
    data = fields.get("data")
    if data is None or is_text(data) or not text(fields, "type").startswith(_HEADS):
        return 0
    return 95 if "parentId" in fields and "id" in fields else 60


def read(source: Source, build: EvidenceBuilder) -> None:
    """Walk the log. Raises CorruptEvidenceError where no event can be read."""
    walk_lines(source, build, Session(build), "event of a session")
