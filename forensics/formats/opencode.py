"""What did a session of OpenCode do? An export of it, the messages that its server gives, or what a run of it printed.

Messages consist of parts; a tool's part tells the call and, once it has ended, how. The server tells a part again
whenever something of it changes: the last word counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.core.build import Spot
from forensics.core.times import nanoseconds
from forensics.errors import UnknownFormatError
from forensics.formats.shared.document import find_document, note_cut
from forensics.formats.shared.document_values import document_values
from forensics.formats.shared.fields import Fields, fields_of, items_in, items_of, object_in, opens_with, present, text
from forensics.formats.shared.json_lines import json_lines
from forensics.formats.shared.opencode_session import Sessions

if TYPE_CHECKING:
    from forensics.core.reading import EvidenceBuilder
    from forensics.core.trace import Payload
    from forensics.formats.shared.document import Document
    from forensics.formats.shared.reader import Look
    from forensics.formats.shared.source import Source

NAME = "opencode"
ABOUT = "OpenCode session: an export, the messages that its server gives, or the lines that a run printed"
CARRIES = "calls, arguments, results, how each call ended, reasoning, times, tokens, sub-agents as calls"
LACKS = "system prompt, tool schemas, approvals; the prompt too, in what a run printed"
RERUN = "the system prompt and the schemas, the files that its tools read, and what sub-agents did"
RECORDS_CALLS = True
SPANS_ARE_COMPLETE = False

_STORED = frozenset({"sessionID", "id"})
_EVENTS = ("message.", "session.")


def sniff(look: Look) -> int:
    """95 for messages with their parts, 90 for parts one a line; 90, too, for one record of its storage, which is no
    session.
    """
    if look.document is not None:
        document = look.document
        if any(map(_is_message, _some(document.get("messages")))) or _is_line(document):
            return 95
        return 90 if _is_stored(document) else 0
    if any(map(_is_message, look.items())):
        return 95
    return 90 if any(_is_line(fields) or _is_message(fields) for fields in look.lines) else 0


def _some(raw: Payload | None) -> list[Fields]:
    return [] if raw is None or not opens_with(raw, b"[") else [fields_of(item) for item in items_of(raw)[:2]]


def _is_message(fields: Fields) -> bool:
    return "parts" in fields and object_in(fields, "info").keys() >= _STORED and "role" in object_in(fields, "info")


def _is_line(fields: Fields) -> bool:
    """Whether a record tells a part, or a message without its parts, as the server or a run does."""
    properties = object_in(fields, "properties")
    told = object_in(fields, "part") or object_in(properties, "part") or object_in(properties, "info")
    return "sessionID" in told and ("messageID" in told or "role" in told)


def _is_stored(fields: Fields) -> bool:
    """Whether a document is one record of OpenCode's storage: a message without its parts, or one part."""
    return {"messageID", "type"} <= fields.keys() or {"sessionID", "role", "time"} <= fields.keys()


def read(source: Source, build: EvidenceBuilder) -> None:
    """Tell the sessions. Raises UnknownFormatError for one record of the storage, CorruptEvidenceError where no message
    can be read.
    """
    sessions = Sessions(build)
    document = find_document(source, build)
    messages = None if document is None else _messages(document)
    if document is not None and messages is not None:
        _read_document(source, document, messages, sessions)
    else:
        document = None
        for one in json_lines(source, build):
            _line(one.fields, one.spot, one.tainted, sessions)
    sessions.close()
    if document is not None:
        note_cut(document, build)
    if not sessions.said:
        _refuse(source)


def _refuse(source: Source) -> None:
    if _is_stored(fields_of(source.data)):
        message = f"{source.name} is one record of OpenCode's storage, and no session"
        hint = "write the whole session with `opencode export SESSION` and read that"
        raise UnknownFormatError(message, hint=hint, code="no_trace")
    raise source.holds_no("message of a session")


def _messages(document: Document) -> tuple[list[Payload], str] | None:
    """The messages of a document and the pointer of their list; None for a record that is the only line."""
    if opens_with(document.body, b"["):
        return items_of(document.body), ""
    fields = fields_of(document.body)
    return (items_of(fields["messages"]), "/messages") if "messages" in fields else None


def _read_document(source: Source, document: Document, messages: tuple[list[Payload], str], sessions: Sessions) -> None:
    items, base = messages
    if base:
        fields = fields_of(document.body)
        sessions.about(object_in(fields, "info"))
        sessions.strange({name: held for name, held in fields.items() if name != "messages"}, document.spot)
    for item, spot, tainted in document_values(source, sessions.build, document, items, base):
        sessions.build.counts.records += 1
        _message(fields_of(item), spot, tainted, sessions)


def _message(fields: Fields, spot: Spot, tainted: str | None, sessions: Sessions) -> None:
    info = object_in(fields, "info")
    sessions.strange({name: held for name, held in fields.items() if name != "parts" or not info}, spot)
    if not info:
        return
    sessions.message(info, spot.down("/info"), tainted)
    if "parts" in fields and not opens_with(fields["parts"], b"["):
        sessions.build.gap("evidence_gap", "a message whose parts are no list", spot.down("/parts"))
    for at, part in enumerate(items_in(fields, "parts")):
        told = {"sessionID": info["sessionID"], "messageID": info["id"]} if info.keys() >= _STORED else {}
        sessions.part({**told, **fields_of(part)}, spot.down(f"/parts/{at}"), tainted)


def _line(fields: Fields, spot: Spot, tainted: str | None, sessions: Sessions) -> None:
    """One line: a message with its parts, a part or a message as it is told, or what else the server says."""
    spot = Spot(spot.place, spot.pointer, nanoseconds(present(fields, "timestamp")))
    properties, below = object_in(fields, "properties"), "/properties"
    if not properties:
        properties, below = fields, ""
    if _is_message(fields):
        _message(fields, spot, tainted, sessions)
    elif "messageID" in (part := object_in(properties, "part")):
        sessions.part(part, spot.down(f"{below}/part"), tainted)
    elif "role" in (info := object_in(properties, "info")) and below:
        sessions.message(info, spot.down(f"{below}/info"), tainted)
    elif text(fields, "type") == "error":
        sessions.failed(text(fields, "sessionID"), present(fields, "error"), spot.down("/error"))
    elif not text(fields, "type").startswith(_EVENTS):
        sessions.strange(fields, spot)
