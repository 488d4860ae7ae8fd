"""What did a session of Anthropic's managed agents do? Its events, as the API lists or streams them, or a recording of
the client's calls, `[method, what was given or came back]` a line.

Nobody wrote that recording down as a format: what an entry holds is told by its shape (a session, an event, a list of
events), wherever it stands in the entry, never by the name of the method.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.core.times import nanoseconds
from forensics.core.trace import NOWHERE
from forensics.formats.shared.document import find_document, note_cut
from forensics.formats.shared.document_values import document_values
from forensics.formats.shared.fields import (
    Fields,
    as_object,
    fields_of,
    is_text,
    items_of,
    json_inside,
    object_in,
    opens_with,
    present,
    text,
)
from forensics.formats.shared.json_lines import json_values
from forensics.formats.shared.managed_session import KINDS, Sessions
from forensics.formats.shared.messages.streams import is_event_stream
from forensics.formats.shared.sent_events import first_values, sent_values

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from forensics.core.build import Spot
    from forensics.core.reading import EvidenceBuilder
    from forensics.core.trace import Payload
    from forensics.formats.shared.document import Document
    from forensics.formats.shared.reader import Look
    from forensics.formats.shared.source import Source

    Placed = tuple[Payload, Spot, str | None]

NAME = "anthropic-managed-agents"
ABOUT = "Anthropic managed agents: the events of a session, listed, streamed, or in a recording of the client's calls"
CARRIES = (
    "calls, arguments, results, error flags, permissions, approvals, system prompt, the client's tools, times, tokens"
)
LACKS = "prompts as they were sent, schemas of built-in and MCP tools; what other threads and workflow runs did"
RERUN = "the prompts as they were sent, the container that its tools ran in, and what other threads did"
RECORDS_CALLS = True
SPANS_ARE_COMPLETE = False

_SESSION = frozenset({"agent", "environment_id"})
_LISTS = ("events", "data")
_FOREIGN = frozenset({"data", "properties", "payload"})
"""Members of other programs' events whose types are spelled alike."""
_OWN = ("agent.", "span.", "session.status_", "session.thread_")
_ID, _PROCESSED = "sevt_", "processed_at"
_HEAD = 1 << 12  # bytes that tell a stream of server-sent events
_DEPTH = 3  # of lists in an entry: what a client was given holds a list of events in an object in a list


def sniff(look: Look) -> int:
    """95 for events that only this API has, 60 for those whose types others spell alike."""
    entries = [fields_of(item) for line in look.line_arrays for item in line[:2]]
    entries += map(fields_of, first_values(look.head))
    shown = [look.document] if look.document is not None else [*look.lines, *look.items(), *entries]
    listed = [fields_of(item) for fields in shown for name in _LISTS for item in _items(fields.get(name))[:2]]
    return max(map(_score, [*shown, *listed]), default=0)


def _items(raw: Payload | None) -> list[Payload]:
    return items_of(raw) if raw is not None and opens_with(raw, b"[") else []


def _score(fields: Fields) -> int:
    kind = text(fields, "type")
    if kind == "session":
        return 95 if fields.keys() >= _SESSION else 0
    if kind not in KINDS or _PROCESSED not in fields or _FOREIGN & fields.keys():
        return 0
    return 95 if kind.startswith(_OWN) or text(fields, "id").startswith(_ID) else 60


def read(source: Source, build: EvidenceBuilder) -> None:
    """Tell the sessions. Raises CorruptEvidenceError where no event can be read."""
    sessions = Sessions(build)
    streamed = is_event_stream(bytes(source.data[:_HEAD]))
    document = None if streamed else find_document(source, build)
    placed = sent_values(source, build) if streamed else json_values(source, build)
    for value, spot, tainted in placed if document is None else _values(source, document, build):
        for fields, at in _unfolded(value, spot, sessions):
            sessions.record(fields, at, tainted)
    sessions.close()
    if document is not None:
        note_cut(document, build)
    if not sessions.told:
        raise source.holds_no("event of a managed agent")


def _values(source: Source, document: Document, build: EvidenceBuilder) -> Iterator[Placed]:
    """What a document says beside the list that it is or holds, then the values of that."""
    fields = {} if opens_with(document.body, b"[") else fields_of(document.body)
    name = next((name for name in _LISTS if _items(fields.get(name))), "")
    if fields:
        beside = as_object({member: held for member, held in fields.items() if member != name})
        yield beside, document.spot, document.taint_of(beside)
    listed = _items(fields[name] if name else document.body)
    yield from _as_they_happened(list(document_values(source, build, document, listed, f"/{name}" if name else "")))


def _as_they_happened(values: list[Placed]) -> Iterable[Placed]:
    """Events in the order of their times: the API lists them the other way round where it is asked to."""
    times = [at for value, _, _ in (*values[:1], *values[-1:]) if (at := _time_of(value)) >= 0]
    return reversed(values) if times != sorted(times) else values


def _time_of(value: Payload) -> int:
    return NOWHERE if opens_with(value, b"[") else nanoseconds(present(fields_of(value), _PROCESSED))


def _unfolded(value: Payload, spot: Spot, sessions: Sessions, depth: int = 0) -> Iterator[tuple[Fields, Spot]]:
    """The records in one entry: itself, those of a list in it, and those of an object's list of events; each may be
    spelled as a text.
    """
    value = json_inside(value)
    if is_text(value):
        sessions.named(value)
    elif opens_with(value, b"["):
        for at, item in enumerate(items_of(value)):
            below = spot.down(f"/{at}")
            yield from _unfolded(item, below, sessions, depth + 1) if depth < _DEPTH else iter([({}, below)])
    elif opens_with(value, b"{"):
        yield from _of_object(fields_of(value), spot, sessions, depth)


def _of_object(fields: Fields, spot: Spot, sessions: Sessions, depth: int) -> Iterator[tuple[Fields, Spot]]:
    if "type" not in fields and "session" in fields:
        yield object_in(fields, "session"), spot.down("/session")
    if text(fields, "type") in KINDS:
        yield fields, spot
        return
    lists = [name for name in _LISTS if _items(fields.get(name))]
    beside = {name: held for name, held in fields.items() if name not in lists}
    if beside:
        yield beside, spot
    for name in lists:
        yield from _unfolded(fields[name], spot.down(f"/{name}"), sessions, depth)
