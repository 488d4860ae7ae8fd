"""How is a list of messages walked, whoever's API wrote it? The shared walk of the four message formats.

Containers: a bare list, `{"messages": …}` (or `contents`, `input`, `items`), a whole request with its response, and
any of these one JSON a line, where a line that repeats an earlier conversation goes on with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.core.build import Spot
from forensics.core.jsonvalue import decode
from forensics.core.trace import StepKind
from forensics.errors import CorruptEvidenceError
from forensics.formats.shared.document import find_document, note_cut
from forensics.formats.shared.fields import Fields, call_marks, fields_of, items_of, opens_with, whole_number
from forensics.formats.shared.json_lines import json_values
from forensics.formats.shared.lines import plain_start
from forensics.formats.shared.messages.conversation import (
    Conversation,
    Locate,
    is_conversation,
    is_message,
    nowhere,
    parse_conversation,
)
from forensics.formats.shared.messages.model_messages import parse_messages
from forensics.formats.shared.messages.telling import (
    Begun,
    Doubts,
    Finder,
    Offers,
    asked_in,
    gone_on,
    taint,
    tell,
)

if TYPE_CHECKING:
    from forensics.core.build import Lane, TraceBuilder
    from forensics.core.messages import Message
    from forensics.core.reading import EvidenceBuilder
    from forensics.core.trace import Payload
    from forensics.formats.shared.document import Document
    from forensics.formats.shared.source import Source


def read_chat(source: Source, build: EvidenceBuilder) -> None:
    """Walk a message-list evidence. Raises CorruptEvidenceError where nothing of it is JSON."""
    walk = ChatWalk(build)
    document = find_document(source, build)
    if document is not None:
        walk.document(source, document)
        note_cut(document, build)
        return
    for value, spot, tainted in json_values(source, build):
        build.counts.records += 1
        walk.line(value, spot.place, tainted)
    walk.close()
    if not build.counts.records:
        message = f"the file is no JSON: {decode(source.data[plain_start(source) :]).error}"
        raise CorruptEvidenceError(message, hint="check that the file is whole; a JSON document must end where it says")


class ChatWalk:
    """The conversations of one evidence, told to the builder; `latest` is the trace of the last one."""

    def __init__(self, build: EvidenceBuilder) -> None:
        self.build = build
        self.loose: list[tuple[Message, Spot]] = []
        self.loose_taint: str | None = None
        self.locate: Locate = nowhere
        self.begun: dict[bytes, list[Begun]] = {}
        self.ids: set[str] = {""}
        self.doubts = Doubts()
        self.offers = Offers()
        self.latest: TraceBuilder | None = None

    def document(self, source: Source, document: Document) -> None:
        """The whole file is one JSON value: a conversation, or an array of conversations."""
        body, spot, tainted = document.body, document.spot, document.tainted
        self.locate = Finder(source, self.build.places, document.start).place
        items = items_of(body) if opens_with(body, b"[") else []
        if _are_conversations(items):
            for index, item in enumerate(items):
                self._one_of_many(item, spot.down(f"/{index}"), tainted)
            self.build.counts.records = len(items)
            return
        self.build.counts.records = self._conversation(body, spot, tainted)

    def _one_of_many(self, item: Payload, spot: Spot, tainted: str | None) -> None:
        if is_conversation(item):
            self._conversation(item, spot, tainted)
        else:
            self.build.gap("evidence_gap", _STRANGE, spot)

    def line(self, one: Payload, place: int, tainted: str | None) -> None:
        """A line is a conversation of its own, or one message of a list written a message a line."""
        if is_conversation(one):
            self._conversation(one, Spot(place), tainted)
            return
        fields = fields_of(one)
        if not is_message(fields):
            self._strange_line(fields, Spot(place))
            return
        self.loose.extend((message, Spot(place)) for message in parse_messages(one, ""))
        self.loose_taint = self.loose_taint or tainted

    def _strange_line(self, fields: Fields, spot: Spot) -> None:
        """A line that is neither message nor list: it may hide what happened, unless it only heads the file."""
        self.build.once("dialect", _STRANGE, spot)
        if self.loose or self.begun or not fields or call_marks(fields):
            self.build.gap("evidence_gap", _STRANGE, spot)

    def close(self) -> None:
        """Tell the messages that stood one a line: they are one list."""
        if not self.loose:
            return
        builder = self.build.trace(f"trace-{len(self.ids) - 1}")
        lane = builder.lane()
        for message, spot in self.loose:
            tell(builder, lane, (message,), spot)
            self.doubts.note(builder, (message,), spot)
        taint(builder, self.loose_taint, self.loose[0][1])

    def _conversation(self, raw: Payload, spot: Spot, tainted: str | None) -> int:
        """Tell one conversation; returns how many messages it has."""
        return self.tell(parse_conversation(raw, self.locate), spot, tainted)

    def tell(self, one: Conversation, spot: Spot, tainted: str | None = None) -> int:
        """Tell a conversation that was parsed; returns how many messages it has."""
        if not one.prompt and not one.answer and one.error is None:
            self._untold(one, spot)
            return 0
        builder, lane, goes_on = self._trace_of(one)
        self.latest = builder
        before = len(builder.trace.calls)
        if goes_on:
            builder.feed(lane, one.prompt, spot)
        else:
            tell(builder, lane, one.prompt, spot)
        self._respond(builder, lane, one, spot)
        self.offers.note(builder, one.tools, spot.down(one.tools_pointer))
        self._usage(one)
        self.doubts.note(builder, (*one.prompt, *one.answer), spot)
        for doubt in one.doubts:
            builder.gap(doubt.code, doubt.says, spot.down(doubt.pointer))
        taint(builder, tainted, spot, before)
        return len(one.prompt) + len(one.answer)

    def _untold(self, one: Conversation, spot: Spot) -> None:
        """A record without one message: whose run it belongs to is not known."""
        for doubt in one.doubts:
            self.build.gap(doubt.code, doubt.says, spot.down(doubt.pointer))

    def _respond(self, builder: TraceBuilder, lane: Lane, one: Conversation, spot: Spot) -> None:
        for message in one.answer:
            if message.says_model:
                builder.respond(lane, message, spot, model=one.model)
            else:
                tell(builder, lane, (message,), spot)
        if one.error is not None:
            builder.step(StepKind.ERROR, spot, agent=lane.agent, payload=one.error)

    def _trace_of(self, one: Conversation) -> tuple[TraceBuilder, Lane, bool]:
        """The trace that this conversation goes on with, or a new one; a longer prompt that starts with all that an
        earlier one held is the same conversation, one request later.
        """
        keys = [m.key for m in one.prompt]
        begun = self.begun.setdefault(keys[0] if keys else b"", [])
        told = gone_on(begun, keys, asked_in(one.prompt))
        if told is not None and keys:
            told.take(keys, one.answer)
            builder = self.build.trace(told.name)
            return builder, builder.lane(), True
        trace_id = one.trace_id if one.trace_id not in self.ids else ""
        trace_id = trace_id or f"trace-{len(self.ids) - 1}"
        self.ids.add(trace_id)
        begun.append(Begun(trace_id).take(keys, one.answer))
        builder = self.build.trace(trace_id)
        return builder, builder.lane(), False

    def _usage(self, one: Conversation) -> None:
        usage = fields_of(one.usage) if one.usage is not None else {}
        counts = self.build.counts
        counts.input_tokens += whole_number(usage, *_INPUT_TOKENS)
        counts.output_tokens += whole_number(usage, *_OUTPUT_TOKENS)


_INPUT_TOKENS = ("prompt_tokens", "input_tokens", "promptTokenCount", "inputTokens", "total_input_tokens")
_OUTPUT_TOKENS = (
    "completion_tokens", "output_tokens", "candidatesTokenCount", "outputTokens", "total_output_tokens",
)  # fmt: skip


def _are_conversations(items: list[Payload]) -> bool:
    """Whether an array holds conversations, and not the messages of one."""
    if any(not opens_with(item, b"[") and is_message(fields_of(item)) for item in items):
        return False
    return any(is_conversation(item) for item in items)


_STRANGE = "a record that is neither a message nor a list of messages"
