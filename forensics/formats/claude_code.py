"""What did a Claude Code session do? Its session file, a sub-agent's file, or what the SDK streamed.

The order is that of the file: `parentUuid` chains parallel calls one below the other and is no causality. Lines that
share a `message.id` are pieces of one model turn; side chains are lanes of their own; a record that stands again is
told once (FORMATS section 6; the format has no public specification).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from forensics.core.build import Spot
from forensics.errors import UnknownFormatError
from forensics.formats.shared.claude.at_once import AtOnce
from forensics.formats.shared.claude.walk import Session
from forensics.formats.shared.document import find_document, note_cut
from forensics.formats.shared.fields import Fields, fields_of, is_text, items_of, opens_with, text
from forensics.formats.shared.lines import BOM, blocks
from forensics.formats.shared.yaml_evidence import note_place, note_rest
from forensics.formats.shared.yaml_text import read_yaml

if TYPE_CHECKING:
    from forensics.core.reading import EvidenceBuilder
    from forensics.core.trace import Payload
    from forensics.formats.shared.reader import Look
    from forensics.formats.shared.source import Source

NAME = "claude-code"
ABOUT = "Claude Code session: its JSON lines, a sub-agent's, or the SDK's stream as lines, one JSON or YAML document"
CARRIES = "calls, arguments, results, refusals, errors, sub-agents, times, tokens"
LACKS = "system prompt, tool schemas, tool hints, executions apart from results"
RERUN = "the system prompt and the schemas, and the files of the checkout that its tools read"
RECORDS_CALLS = True
SPANS_ARE_COMPLETE = False

_STREAMED = frozenset({"user", "assistant", "system", "result", "stream_event"})
_BOOKKEEPING = frozenset(
    {"file-history-snapshot", "last-prompt", "permission-mode", "pr-link", "progress", "queue-operation", "summary"}
)
_YAML = re.compile(rb"\s*(?:#.*\s+)*(?:---\s+)?messages:\s*\n\s*- ")
_SPOKEN = re.compile(
    rb"^(?:- |  )(?:type: control_(?:request|response)|(?:session_id|parent_tool_use_id): )", re.MULTILINE
)
_HEAD = 1 << 16
_BLOCK = 1 << 17  # bytes of lines that are told together
_NONE = msgspec.Raw(b"[]")
_SMALL = 4096  # bytes of the file that says what a sub-agent is for


def sniff(look: Look) -> int:
    """95 for a session's lines, 90 for the SDK's stream, 60 for a session that shows its bookkeeping only, or for the
    description of a sub-agent, which is no session.
    """
    if look.document is not None and (_is_recording(look.document) or _is_description(look.document)):
        return 90 if _is_recording(look.document) else 60
    if look.document is not None:
        return _score(look.document)
    if _is_yaml(look.head):
        return 90
    return max((_score(fields) for fields in (*look.lines, *look.items())), default=0)


def _score(fields: Fields) -> int:
    kind, message = text(fields, "type"), fields.get("message")
    if kind and "parentUuid" in fields and ("sessionId" in fields or message is not None):
        return 95
    spoken = "subtype" in fields if message is None else not is_text(message)
    if kind in _STREAMED and "session_id" in fields and spoken:
        return 90
    return 60 if kind in _BOOKKEEPING else 0


def _is_description(fields: Fields) -> bool:
    """Whether a document says what a sub-agent was started for (`agent-<id>.meta.json`)."""
    return "agentType" in fields and "type" not in fields


def _is_recording(fields: Fields) -> bool:
    """Whether a document is a list of what went over the SDK's pipe: `{"messages": [{"direction", "message"}]}`."""
    sent = fields.get("messages")
    if sent is None or is_text(sent):
        return False
    first = items_of(sent)[:1]
    return bool(first) and {"direction", "message"} <= fields_of(first[0]).keys()


def _is_yaml(head: bytes) -> bool:
    """Whether a text begins as such a list in YAML, and holds what only the SDK's pipe says."""
    return _YAML.match(head.removeprefix(BOM)) is not None and _SPOKEN.search(head) is not None


def read(source: Source, build: EvidenceBuilder) -> None:
    """Walk the session. Raises UnknownFormatError for the description of a sub-agent, CorruptEvidenceError where no
    record can be read.
    """
    if source.size < _SMALL and _is_description(fields_of(source.data)):
        message = f"{source.name} says what a sub-agent was started for, and is no session"
        raise UnknownFormatError(message, hint="its session stands beside it (.jsonl)", code="no_trace")
    session = Session(build)
    if _is_yaml(bytes(source.data[:_HEAD])):
        _read_yaml(source, session)
    elif not _read_document(source, session):
        at_once = AtOnce(session)
        for block in blocks(source, _BLOCK):
            at_once.block(source, block)
    session.close()
    if not build.counts.records:
        raise source.holds_no("record of a session")


def _read_document(source: Source, session: Session) -> bool:
    """Read a recording that is one JSON document; False where the evidence is lines."""
    document = find_document(source, session.build)
    items, base = ([], "") if document is None else _recorded(document.body)
    if document is None or not items:
        return False
    for index, item in enumerate(items):
        session.item(item, document.spot.down(f"{base}/{index}"))
    note_cut(document, session.build)
    return True


def _read_yaml(source: Source, session: Session) -> None:
    """Read a recording that is a YAML document; what stands behind damage is a gap."""
    told, build = read_yaml(source.data), session.build
    for index, item in enumerate(items_of(fields_of(told.body).get("messages", _NONE))):
        pointer = f"/messages/{index}"
        session.item(item, Spot(note_place(told.records[pointer], build), pointer))
    note_rest(told, build)


def _recorded(body: Payload) -> tuple[list[Payload], str]:
    """The messages of a document and the JSON Pointer of their list; none for a record that is the only line."""
    if opens_with(body, b"["):
        return items_of(body), ""
    whole = fields_of(body)
    return (items_of(whole["messages"]), "/messages") if _is_recording(whole) else ([], "")
