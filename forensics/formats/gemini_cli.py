"""What did a session of Gemini CLI do? The file of its conversation: one JSON document or, in newer releases, lines.

A message is written again, under the same id, each time something of it becomes known; lines may also set the whole
conversation anew, or take it back to an earlier message. What was ever written was said, and is told (its own
`chatRecordingService` folds the lines in the same way, and forgets the rest).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.formats.shared.document import find_document, note_cut
from forensics.formats.shared.document_values import document_values
from forensics.formats.shared.fields import Fields, fields_of, items_of, object_in, opens_with, present, text
from forensics.formats.shared.gemini_session import MODEL, TYPES, Session
from forensics.formats.shared.json_lines import json_lines

if TYPE_CHECKING:
    from forensics.core.build import Spot
    from forensics.core.reading import EvidenceBuilder
    from forensics.formats.shared.document import Document
    from forensics.formats.shared.reader import Look
    from forensics.formats.shared.source import Source

NAME = "gemini-cli"
ABOUT = "Gemini CLI session: the file of its conversation, one JSON document or lines"
CARRIES = "calls, arguments, results, how each call ended, thoughts, times, tokens"
LACKS = "system prompt, tool schemas, approvals; the calls of its sub-agents, which stand in files of their own"
RERUN = "the system prompt and the schemas, the files that its tools read, and what sub-agents did"
RECORDS_CALLS = True
SPANS_ARE_COMPLETE = False

_HEAD = frozenset({"projectHash", "sessionId"})
_SET, _REWIND = "$set", "$rewindTo"
_CONTENT = frozenset({"content", "parts", "toolCalls"})


def sniff(look: Look) -> int:
    """95 for the head of a conversation, 60 for its messages where the head is lost."""
    if look.document is not None:
        return 95 if look.document.keys() >= _HEAD else 60 if _is_said(look.document) else 0
    if any(fields.keys() >= _HEAD for fields in look.lines):
        return 95
    return 60 if any(map(_is_said, look.lines)) else 0


def _is_said(fields: Fields) -> bool:
    """Whether a line is a message of the model as only this format writes it."""
    return text(fields, "type") == MODEL and "id" in fields and bool(_CONTENT & fields.keys())


def read(source: Source, build: EvidenceBuilder) -> None:
    """Tell the conversation. Raises CorruptEvidenceError where no record of it can be read."""
    session = Session(build)
    document = find_document(source, build)
    if document is not None and "messages" in fields_of(document.body):
        _read_document(source, document, session)
    else:
        document = None
        for one in json_lines(source, build):
            _line(one.fields, one.spot, one.tainted, session)
    session.close()
    if document is not None:
        note_cut(document, build)
    if not session.said:
        raise source.holds_no("message of a session")


def _read_document(source: Source, document: Document, session: Session) -> None:
    fields = fields_of(document.body)
    session.head(fields)
    session.strange({name: held for name, held in fields.items() if name != "messages"}, document.spot)
    messages = items_of(fields["messages"])
    for item, spot, tainted in document_values(source, session.build, document, messages, "/messages"):
        session.message(fields_of(item), spot, tainted)
        session.build.counts.records += 1


def _line(fields: Fields, spot: Spot, tainted: str | None, session: Session) -> None:
    """One line: a message, what is set anew, where the conversation was taken back to, or its head."""
    if _SET in fields or _REWIND in fields:
        session.strange({name: held for name, held in fields.items() if name not in (_SET, _REWIND)}, spot)
    if _SET in fields:
        _set(object_in(fields, _SET), spot, tainted, session)
    elif _REWIND in fields:
        session.rewind(spot)
    elif text(fields, "type") in TYPES or ("id" in fields and _CONTENT & fields.keys()):
        session.message(fields, spot, tainted)
    else:
        session.head(fields)
        session.strange(fields, spot)


def _set(fields: Fields, spot: Spot, tainted: str | None, session: Session) -> None:
    """Members of the conversation that take another value; messages that are left out were said all the same."""
    session.head(fields)
    anew = present(fields, "messages")
    if anew is None:
        return
    if not opens_with(anew, b"["):
        session.unread.append(spot.down(f"/{_SET}/messages"))
    session.set_anew([fields_of(item) for item in items_of(anew)], spot.down(f"/{_SET}/messages"), tainted)
