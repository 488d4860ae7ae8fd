"""What did AutoGen's agents do? What a team or an agent said (a result, a list, one message a line), a saved state, the
requests that a recorder of its model's client kept, or the log of its runtime.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

from forensics.core.build import Spot
from forensics.formats.shared.autogen import chat, words
from forensics.formats.shared.autogen.chat import Chat
from forensics.formats.shared.autogen.event_log import EventLog, is_event
from forensics.formats.shared.autogen.states import held_in, is_state
from forensics.formats.shared.autogen.words import read_created, read_words
from forensics.formats.shared.document_values import document_values
from forensics.formats.shared.fields import (
    Fields,
    fields_of,
    items_in,
    items_of,
    object_in,
    opens_with,
    present,
    text,
    unread_calls,
    whole_number,
)
from forensics.formats.shared.json_lines import json_values
from forensics.formats.shared.messages.exchanges import Exchanges
from forensics.formats.shared.messages.telling import Doubts, taint, tell
from forensics.formats.shared.walks import walk_evidence

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from forensics.core.messages import Message
    from forensics.core.reading import EvidenceBuilder
    from forensics.core.trace import Payload
    from forensics.formats.shared.autogen.states import Held, Listed
    from forensics.formats.shared.document import Document
    from forensics.formats.shared.reader import Look
    from forensics.formats.shared.source import Source

NAME = "autogen"
ABOUT = "AutoGen (0.4 and later): results and messages of teams, saved states, client recordings, event logs"
CARRIES = "calls, arguments, results, errors, thoughts, agents, code that ran, tokens; in logs prompts and schemas"
LACKS = "prompts and tool schemas but in logs, times and failures in these; what agents do that act without events"
RERUN = "the schemas, the prompts, and what agents did that act without events"
RECORDS_CALLS = False
SPANS_ARE_COMPLETE = False

_MODES = frozenset({"create", "create_stream"})
_Value = tuple["Payload", Spot, "str | None"]


def sniff(look: Look) -> int:
    """95 for what only AutoGen writes so."""
    shown = [look.document] if look.document is not None else [*look.lines, *look.items()]
    return 95 if any(map(_is_known, shown)) else 0


def _is_known(fields: Fields) -> bool:
    says = _is_message(fields) or _is_record(fields) or _is_result(fields) or _is_word(fields)
    return says or is_state(fields) or is_event(fields)


def _is_message(fields: Fields) -> bool:
    return "source" in fields and "content" in fields and text(fields, "type") in chat.TYPES


def _is_word(fields: Fields) -> bool:
    return "content" in fields and text(fields, "type") in words.TYPES


def _is_record(fields: Fields) -> bool:
    return text(fields, "mode") in _MODES and "messages" in fields


def _is_result(fields: Fields) -> bool:
    """Whether it is what came of a task: messages, and why it stopped."""
    held = present(fields, "messages")
    if held is None or not opens_with(held, b"["):
        return False
    return any(_is_message(fields_of(one)) for one in items_of(held)[:_LOOKED_AT])


_LOOKED_AT = 8


def read(source: Source, build: EvidenceBuilder) -> None:
    """Tell what was said. Raises CorruptEvidenceError where none of it can be read."""
    walk_evidence(source, build, _Log(build), json_values(source, build), "message of AutoGen")


class _Log:
    """What one evidence holds, value by value: each result, and each state, is a run; what stands loose is one."""

    def __init__(self, build: EvidenceBuilder) -> None:
        self.build = build
        self.doubts = Doubts()
        self._runs = 0
        self._chat: Chat | None = None
        self._told: list[bytes] = []
        self._exchanges: Exchanges | None = None
        self._events: EventLog | None = None

    def document(self, source: Source, document: Document) -> None:
        """A list of values, or one of them."""
        if opens_with(document.body, b"["):
            for one in document_values(source, self.build, document, items_of(document.body), ""):
                self.line(one)
            return
        fields = fields_of(document.body)
        if _is_result(fields):
            listed = document_values(source, self.build, document, items_in(fields, "messages"), "/messages")
            self.result(fields, document.spot, listed)
        else:
            self.line((document.body, document.spot, document.tainted))

    def line(self, one: _Value) -> None:
        """One value of the evidence."""
        value, spot, tainted = one
        fields = fields_of(value)
        if _is_record(fields):
            self._record(fields, spot, tainted)
        elif _is_result(fields):
            below = (
                (item, spot.down(f"/messages/{at}"), tainted) for at, item in enumerate(items_in(fields, "messages"))
            )
            self.result(fields, spot, below)
        elif is_state(fields):
            self._state(fields, spot, tainted)
        elif _is_word(fields):
            self._told.append(b"")
            self._words(self._running(), "", [read_words(value, "")], spot, tainted)
        elif is_event(fields) or (self._events is not None and text(fields, "type") and "source" not in fields):
            self._event(fields, spot, tainted)
        elif text(fields, "source") or text(fields, "type"):
            self._message(value, spot, tainted)
        else:
            self.build.unread("malformed_line", "a record that is no message of AutoGen", spot)

    def close(self) -> None:
        """What can be said only at the end."""
        if self._chat is not None:
            self._chat.close()
        if self._events is not None:
            self._events.close()

    def _running(self) -> Chat:
        """The run that goes on, or a new one."""
        if self._chat is None:
            self._chat = Chat(self.build.trace(f"run-{self._runs}"), self.build)
            self._runs += 1
        return self._chat

    def _end(self) -> None:
        if self._chat is not None:
            self._chat.close()
        self._chat, self._told = None, []

    def _event(self, fields: Fields, spot: Spot, tainted: str | None) -> None:
        self.build.counts.records += 1
        if self._events is None:
            self._events = EventLog(self.build.trace("log"), self.build)
        self._events.event(fields, spot, tainted)

    # messages of agents ------------------------------------------------------------------------------------------

    def _message(self, value: Payload, spot: Spot, tainted: str | None) -> None:
        self.build.counts.records += 1
        if text(fields_of(value), "type") != chat.PIECE:  # a result leaves the pieces out
            self._told.append(_digest(value))
        self._running().message(fields_of(value), spot, tainted)

    def result(self, fields: Fields, spot: Spot, messages: Iterable[_Value]) -> None:
        """What came of a task. What streamed the messages before says them all again."""
        listed = list(messages)
        if self._told and [_digest(value) for value, _, _ in listed][-len(self._told) :] == self._told:
            listed = listed[: -len(self._told)]
        else:
            self._end()
        for one in listed:
            self._message(*one)
        running = self._running()
        for name in unread_calls(fields, frozenset({"messages"})):
            message = "what looks like calls beside the messages"
            running.builder.gap("evidence_gap", message, spot.down(f"/{name}"))
        running.builder.trace.ended_normally = True if present(fields, "stop_reason") is not None else None
        self._end()

    # states ------------------------------------------------------------------------------------------------------

    def _state(self, fields: Fields, spot: Spot, tainted: str | None) -> None:
        """A saved state: what was said in it and, of what models were shown, what that does not tell."""
        self._end()
        held, running = held_in(fields), self._running()
        seen: set[bytes] = set()
        for thread in held.threads:
            for at, item in enumerate(thread.items):
                if _digest(item) not in seen:
                    seen.add(_digest(item))
                    self._message(item, spot.down(f"{thread.pointer}/{at}"), tainted)
        for context in held.contexts:
            running.tells_all.add(context.agent)  # it is of an agent that tells of its calls
            self._context(running, context, spot, tainted)
        self._say_strange(running, held, spot)
        self._end()

    def _context(self, running: Chat, context: Listed, spot: Spot, tainted: str | None) -> None:
        told = [read_words(item, f"{context.pointer}/{at}") for at, item in enumerate(context.items)]
        calls = [part.recorded_id or "" for message in told for part in message.calls]
        self.build.counts.records += len(told)
        if not running.asked or not running.asked.keys() >= set(calls):
            self._words(running, context.agent, told, spot, tainted)
            return
        for item, message in zip(context.items, told, strict=True):
            for at, result in enumerate(items_in(fields_of(item), "content") if message.results else ()):
                running.show(fields_of(result), spot.down(f"{message.pointer}/content/{at}"), context.agent)

    def _say_strange(self, running: Chat, held: Held, spot: Spot) -> None:
        for pointer in held.strange:
            message = "what looks like calls in a member of a state that is not read"
            running.builder.gap("evidence_gap", message, spot.down(pointer))

    # messages of models ------------------------------------------------------------------------------------------

    def _words(self, running: Chat, agent: str, told: list[Message], spot: Spot, tainted: str | None) -> None:
        """What a model was shown, as the record of what was said."""
        builder = running.builder
        before = len(builder.trace.calls)
        tell(builder, running.lane(agent), tuple(told), spot)
        self.doubts.note(builder, told, spot)
        taint(builder, tainted, spot, before)

    def _record(self, fields: Fields, spot: Spot, tainted: str | None) -> None:
        """A request that a recorder kept, and what came back. All requests of a session are one run."""
        self.build.counts.records += 1
        if self._exchanges is None:
            self._exchanges = Exchanges(self.build.trace("session"))
        builder = self._exchanges.builder
        before = len(builder.trace.calls)
        listed = enumerate(items_in(fields, "messages"))
        prompt = tuple(read_words(item, f"/messages/{at}") for at, item in listed)
        lane = self._exchanges.request(prompt, spot)
        created, pointer = _created_in(fields)
        if created is None:
            builder.silent_turn(lane, spot)
            message = "a request of which the answer is not recorded"
            builder.gap("evidence_gap", message, spot)
        else:
            self._exchanges.answer(lane, read_created(created, pointer), spot)
            usage = object_in(fields_of(created), "usage")
            self.build.counts.input_tokens += whole_number(usage, "prompt_tokens")
            self.build.counts.output_tokens += whole_number(usage, "completion_tokens")
        taint(builder, tainted, spot, before)


def _created_in(fields: Fields) -> tuple[Payload | None, str]:
    """What the model answered: the response or, where it was streamed, the whole that ends the stream."""
    response = present(fields, "response")
    if response is not None and "content" in fields_of(response):
        return response, "/response"
    return next(_whole_in(items_in(fields, "stream")), (None, ""))


def _whole_in(pieces: list[Payload]) -> Iterator[tuple[Payload, str]]:
    for at in range(len(pieces) - 1, -1, -1):
        if "finish_reason" in fields_of(pieces[at]):
            yield pieces[at], f"/stream/{at}"


def _digest(value: Payload) -> bytes:
    return blake2b(value, digest_size=16).digest()
