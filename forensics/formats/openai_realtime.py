"""What was said and called in a session of OpenAI's Realtime API? The events that client and server sent each other,
one a line or as a list.

Source: the client's and the server's events of that API. Several events tell of one item (it was added, it is done, its
words were written down): they are laid over each other, and the items are those of Responses.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

import msgspec

from forensics.core.build import Spot
from forensics.core.jsonvalue import raw
from forensics.core.sanitise import one_line
from forensics.core.trace import NOWHERE, StepKind
from forensics.formats.shared.document import find_document, note_cut
from forensics.formats.shared.fields import (
    Fields,
    as_object,
    fields_of,
    is_like_calls,
    items_in,
    items_of,
    object_in,
    opens_with,
    present,
    text,
    whole_number,
)
from forensics.formats.shared.json_lines import json_values
from forensics.formats.shared.messages.answers import join_items
from forensics.formats.shared.messages.telling import Doubts, Offers, taint, tell
from forensics.formats.shared.messages.vocabulary import parse_message

if TYPE_CHECKING:
    from collections.abc import Callable

    from forensics.core.reading import EvidenceBuilder
    from forensics.core.trace import Payload
    from forensics.formats.shared.reader import Look
    from forensics.formats.shared.source import Source

NAME = "openai-realtime"
ABOUT = "OpenAI Realtime sessions: the events of client and server, one a line or a list"
CARRIES = "calls, arguments, results, tools that the provider ran, tools on offer, what was written down of speech"
LACKS = "the words of speech that nobody wrote down, times (most logs), executions apart from results"
RERUN = "the sound itself, and what the session was set to before the log begins"
RECORDS_CALLS = True
SPANS_ARE_COMPLETE = False

_SURE = 90
_LOOKED_AT = 8
_OURS = ("session.", "conversation.item.", "response.", "input_audio_buffer.", "output_audio_buffer.", "rate_limits.")
_ALSO = frozenset({"conversation.created", "error", "response.create", "response.cancel"})
_SETS_UP = frozenset({"session.created", "session.update", "session.updated"})
_NO_EVENT = "a record that is no event of a session"
_CUT = frozenset({"failed", "incomplete"})
_BEGUN_BEFORE = "the log does not tell how the session was set up: it may begin after calls"


def sniff(look: Look) -> int:
    """90 where the first records are events, and one of them sets a session up or tells of an item of one."""
    events = [*look.items()[:_LOOKED_AT], *look.lines[:_LOOKED_AT]]
    kinds = [text(fields, "type") for fields in events]
    known = [kind for kind in kinds if kind.startswith(_OURS) or kind in _ALSO]
    told = any(kind in _SETS_UP or kind.startswith("conversation.item.") for kind in known)
    return _SURE if told and len(known) * 2 > len(kinds) else 0


def read(source: Source, build: EvidenceBuilder) -> None:
    """Tell the session. Raises CorruptEvidenceError where the evidence holds no event."""
    session = _Session(build)
    document = find_document(source, build)
    if document is not None:
        listed = items_of(document.body) if opens_with(document.body, b"[") else [document.body]
        for at, event in enumerate(listed):
            session.event(event, document.spot.down(f"/{at}"), document.tainted)
    else:
        for value, spot, tainted in json_values(source, build):
            session.event(value, spot, tainted)
    if not build.counts.records:
        raise source.holds_no("event")
    session.close()
    if document is not None:
        note_cut(document, build)


class _Item(msgspec.Struct):
    """An item while the events tell of it."""

    fields: Fields
    spot: Spot
    event: Spot
    by_server: bool


class _Session:
    """The items of a session, in the order in which they were met."""

    def __init__(self, build: EvidenceBuilder) -> None:
        self.build = build
        self.items: dict[str, _Item] = {}
        self.builder = build.trace("session")
        self.offers = Offers()
        self.errors: list[tuple[Payload, Spot]] = []
        self.tainted: str | None = None
        self.is_set_up = False

    def event(self, event: Payload, spot: Spot, tainted: str | None) -> None:
        """Take one event in."""
        fields = fields_of(event) if opens_with(event, b"{") else {}
        kind = text(fields, "type")
        if not kind.startswith(_OURS) and kind not in _ALSO:
            self.build.gap("evidence_gap", _NO_EVENT, spot)
            return
        self.build.counts.records += 1
        for ends, take in _EVENTS:
            if kind.startswith(ends):
                take(self, fields, spot, tainted)
                return
        held = next((name for name, one in fields.items() if name != "type" and is_like_calls(one)), "")
        if held and not kind.endswith(".delta"):
            message = f"an event of a kind that is not read ({one_line(kind, 60)}) looks like a call"
            self.builder.gap("evidence_gap", message, spot)

    def set_up(self, fields: Fields, spot: Spot, _tainted: str | None) -> None:
        """The session was set up, or anew: which tools it offers."""
        self.is_set_up = True
        self.offers.note(self.builder, present(object_in(fields, "session"), "tools"), spot.down("/session/tools"))

    def item(self, fields: Fields, spot: Spot, tainted: str | None) -> None:
        """An event that holds an item."""
        if "item" in fields:
            by_server = text(fields, "type") != "conversation.item.create"
            self._take(object_in(fields, "item"), spot, "/item", tainted, by_server=by_server)

    def response(self, fields: Fields, spot: Spot, tainted: str | None) -> None:
        """A response is done: its items whole, what it used, and how it ended."""
        body = object_in(fields, "response")
        for at, item in enumerate(items_in(body, "output")):
            self._take(fields_of(item), spot, f"/response/output/{at}", tainted, by_server=True)
        usage, status = object_in(body, "usage"), text(body, "status")
        self.build.counts.input_tokens += whole_number(usage, "input_tokens")
        self.build.counts.output_tokens += whole_number(usage, "output_tokens")
        if status in _CUT:
            why = f"a response that ended before it was whole ({one_line(status, 20)})"
            self.builder.gap("evidence_gap", why, spot.down("/response/status"))

    def words(self, fields: Fields, _spot: Spot, _tainted: str | None) -> None:
        """What was said was written down."""
        item, said = self.items.get(text(fields, "item_id")), present(fields, "transcript", "text")
        if item is not None and said is not None:
            item.fields["transcript"] = said

    def arguments(self, fields: Fields, _spot: Spot, _tainted: str | None) -> None:
        """The arguments of a call are whole."""
        item, given = self.items.get(text(fields, "item_id")), present(fields, "arguments")
        if item is not None and given is not None:
            item.fields["arguments"] = given

    def error(self, fields: Fields, spot: Spot, _tainted: str | None) -> None:
        """The server says that something went wrong."""
        self.errors.append((present(object_in(fields, "error"), "message") or as_object(fields), spot.down("/error")))

    def _take(self, fields: Fields, event: Spot, pointer: str, tainted: str | None, *, by_server: bool) -> None:
        """An item as an event tells of it; the latest event that does is where it stands."""
        self.tainted = self.tainted or tainted
        name = text(fields, "id") or f"#{len(self.items)}"
        known = self.items.get(name)
        if known is None:
            self.items[name] = _Item(dict(fields), event.down(pointer), event, by_server)
            return
        known.fields.update({member: held for member, held in fields.items() if bytes(held) not in _EMPTY})
        known.spot, known.event = event.down(pointer), event
        known.by_server = known.by_server or by_server

    def close(self) -> None:
        """Tell the items: neighbours of the model's that one event told are one turn."""
        lane, doubts = self.builder.lane(), Doubts()
        for event, items in groupby(self._told(), key=lambda item: item.event):
            said = tuple(parse_message(as_object(_with_words(one.fields)), one.spot.pointer) for one in items)
            messages = join_items(said, "")
            place = Spot(event.place)
            tell(self.builder, lane, messages, place)
            doubts.note(self.builder, messages, place)
        first = next((item.event for item in self.items.values()), Spot(NOWHERE))
        taint(self.builder, self.tainted, first)
        if not self.is_set_up:
            self.builder.gap("evidence_gap", _BEGUN_BEFORE, first)
        for told, spot in self.errors:
            self.builder.step(StepKind.ERROR, spot, payload=told)

    def _told(self) -> list[_Item]:
        """The items, without those that the client sent and the server told again under an id of its own."""
        echoed = {_identity(item.fields) for item in self.items.values() if item.by_server}
        return [item for item in self.items.values() if item.by_server or _identity(item.fields) not in echoed]


_EMPTY = (b"null", b'""', b"[]", b'"in_progress"')


def _identity(fields: Fields) -> tuple[str, ...]:
    """What tells an item that the client sent without an id in the server's words: its kind and what it answers."""
    kind = text(fields, "type")
    return (kind, text(fields, "call_id")) if kind.startswith("function_call") else (kind, text(fields, "role"))


def _with_words(fields: Fields) -> Fields:
    """An item with the words that were written down of its sound, where it has some."""
    said = present(fields, "transcript")
    parts = items_in(fields, "content")
    texts = [one for part in parts if (one := present(fields_of(part), "transcript", "text")) is not None]
    if said is None and not texts:
        return fields
    words = texts or ([] if said is None else [said])
    content = b",".join(bytes(as_object({"type": raw("text"), "text": one})) for one in words)
    return {**fields, "content": msgspec.Raw(b"[" + content + b"]")}


_EVENTS: tuple[tuple[str, Callable[[_Session, Fields, Spot, str | None], None]], ...] = (
    ("conversation.item.input_audio_transcription.completed", _Session.words),
    ("conversation.item.", _Session.item),
    ("response.output_item.", _Session.item),
    ("response.done", _Session.response),
    ("response.audio_transcript.done", _Session.words),
    ("response.output_audio_transcript.done", _Session.words),
    ("response.text.done", _Session.words),
    ("response.output_text.done", _Session.words),
    ("response.function_call_arguments.done", _Session.arguments),
    ("response.mcp_call_arguments.done", _Session.arguments),
    ("session.", _Session.set_up),
    ("error", _Session.error),
)
"""By how the kind of an event begins, the longer ones first."""
