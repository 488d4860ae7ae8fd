"""What did a session of Pi do? Its entries, one a line, each following another; OpenClaw and Factory Droid write theirs
in the same way.

The order is that of the file. Entries form a tree: a person may go back and ask otherwise, and what was left then
stands in the file all the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.formats.shared.fields import Fields, is_text, object_in, text
from forensics.formats.shared.pi_walk import HEADS, Session
from forensics.formats.shared.walks import walk_lines

if TYPE_CHECKING:
    from forensics.core.reading import EvidenceBuilder
    from forensics.formats.shared.reader import Look
    from forensics.formats.shared.source import Source

NAME = "pi"
ABOUT = "Pi session, as OpenClaw and Factory Droid write theirs too: its entries, one a line"
CARRIES = "calls, arguments, results, error flags, branches, summaries, times, tokens"
LACKS = "system prompt, tool schemas, approvals, executions apart from results"
RERUN = "the system prompt and the schemas, and the files that its tools read"
RECORDS_CALLS = True
SPANS_ARE_COMPLETE = False

_BEGINS = frozenset({"cwd", "version", "timestamp"})


def sniff(look: Look) -> int:
    """95 for entries with a message and what they follow, 90 for the head of a session."""
    shown = [look.document] if look.document is not None else look.lines
    return max((_score(fields) for fields in shown), default=0)


def _score(fields: Fields) -> int:
    kind = text(fields, "type")
    if kind == "message" and "message" in fields and not is_text(fields["message"]):
        return 95 if "role" in object_in(fields, "message") and "parentId" in fields else 60
    return 90 if kind in HEADS and "id" in fields and _BEGINS & fields.keys() and "message" not in fields else 0


def read(source: Source, build: EvidenceBuilder) -> None:
    """Walk the session. Raises CorruptEvidenceError where no entry can be read."""
    walk_lines(source, build, Session(build), "entry of a session")
