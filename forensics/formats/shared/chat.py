"""How is a list of messages walked, whoever's API wrote it? The shared walk of the four message formats.

Containers: a bare list, `{"messages": …}` (or `contents`, `input`, `items`), a whole request with its response, and
any of these one JSON a line, where a line that repeats an earlier conversation goes on with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.core.build import Spot
from forensics.core.classes import ToolFacts
from forensics.core.findings import finding
from forensics.core.jsonvalue import decode, value_of
from forensics.core.messages import Doubt, Message
from forensics.core.sanitise import one_line
from forensics.core.trace import NOWHERE, StepKind
from forensics.errors import CorruptEvidenceError
from forensics.formats.shared.conversation import (
    Conversation,
    Locate,
    is_conversation,
    is_message,
    nowhere,
    parse_conversation,
)
from forensics.formats.shared.fields import Fields, call_marks, fields_of, items_of, opens_with, present
from forensics.formats.shared.lines import BOM, lines
from forensics.formats.shared.vocabulary import parse_message
from forensics.formats.shared.wholeness import REDACTED, cut_short, holds_redaction

if TYPE_CHECKING:
    from forensics.core.build import Lane, TraceBuilder
    from forensics.core.jsonvalue import Fault
    from forensics.core.reading import EvidenceBuilder
    from forensics.core.trace import Payload, Places
    from forensics.formats.shared.lines import Line
    from forensics.formats.shared.source import Source


def read_chat(source: Source, build: EvidenceBuilder) -> None:
    """Walk a message-list evidence. Raises CorruptEvidenceError where nothing of it is JSON."""
    walk = _Walk(build)
    start = len(BOM) if bytes(source.data[:3]) == BOM else 0
    whole = decode(source.data[start:])
    if whole.error is None:
        walk.document(source, start, whole.faults)
        return
    for line in lines(source):
        build.counts.lines += 1
        place = build.places.add(line=line.number, offset=line.offset, length=len(line.data))
        decoded = decode(line.data)
        if decoded.error is not None:
            bad_line(build, line, place, f"line {line.number} is no JSON: {decoded.error}")
            continue
        build.counts.records += 1
        walk.line(msgspec.Raw(line.data), place, build.faults(decoded.faults, Spot(place)))
    walk.close()
    if not build.counts.records:
        message = f"the file is no JSON: {whole.error}"
        raise CorruptEvidenceError(message, hint="check that the file is whole; a JSON document must end where it says")


def bad_line(build: EvidenceBuilder, line: Line, place: int, message: str) -> None:
    """A line that can't be read: by NUL bytes, by a redaction that broke it, or otherwise."""
    data = bytes(line.data)
    build.bad_line(line.number, "nul_padding" if b"\x00" in data else "malformed_line", message, Spot(place))
    if holds_redaction(data):
        build.once(REDACTED, f"line {line.number} was broken by what replaced a value in it", Spot(place))


class _Finder:
    """The places of messages inside a document: each stands after the one before, so one search goes through the file
    once.
    """

    def __init__(self, source: Source, places: Places, start: int) -> None:
        self._source, self._places, self._at = source, places, start

    def place(self, message: Payload) -> int:
        data = bytes(message)
        offset = self._source.find(data, self._at)
        if offset < 0:
            return NOWHERE
        self._at = offset + len(data)
        return self._places.add(offset=offset, length=len(data))


class _Begun(msgspec.Struct):
    """A conversation that was told: its trace, the keys of its messages so far, and the ids of the calls that a
    recorded answer asked for.
    """

    trace_id: str
    keys: list[bytes] = []
    asked: set[str] = set()

    def goes_on_with(self, keys: list[bytes]) -> bool:
        """Whether a prompt starts with all that was told."""
        return keys[: len(self.keys)] == self.keys

    def is_retold_by(self, keys: list[bytes], asked: set[str]) -> bool:
        """Whether a longer prompt repeats calls that an answer of this conversation asked for, in other words than the
        answer's own: the same conversation, told differently.
        """
        return len(keys) >= len(self.keys) and bool(self.asked & asked)

    def take(self, keys: list[bytes], one: Conversation) -> _Begun:
        self.keys = keys + [m.key for m in one.answer]
        self.asked |= {part.recorded_id for m in one.answer for part in m.calls if part.recorded_id}
        return self


class _Walk:
    """The conversations of one evidence, told to the builder."""

    def __init__(self, build: EvidenceBuilder) -> None:
        self.build = build
        self.loose: list[tuple[Message, Spot]] = []
        self.loose_taint: str | None = None
        self.locate: Locate = nowhere
        self.begun: dict[bytes, list[_Begun]] = {}
        self.ids: set[str] = {""}
        self.doubted: set[tuple[str, bytes, str]] = set()
        self.changed: set[tuple[str, str]] = set()

    def document(self, source: Source, start: int, faults: tuple[Fault, ...]) -> None:
        """The whole file is one JSON value: a conversation, or an array of conversations."""
        body = msgspec.Raw(source.data[start:])
        place = self.build.places.add(offset=start, length=len(source.data) - start)
        tainted = self.build.faults(faults, Spot(place))
        self.locate = _Finder(source, self.build.places, start).place
        items = items_of(body) if opens_with(body, b"[") else []
        if _are_conversations(items):
            for index, item in enumerate(items):
                self._one_of_many(item, Spot(place, f"/{index}"), tainted)
            self.build.counts.records = len(items)
            return
        self.build.counts.records = self._conversation(body, Spot(place), tainted)

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
        self.loose.append((parse_message(one, ""), Spot(place)))
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
            self._doubt_messages(builder, (message,), spot)
        _taint(builder, self.loose_taint, self.loose[0][1])

    def _conversation(self, raw: Payload, spot: Spot, tainted: str | None) -> int:
        """Tell one conversation; returns how many messages it has."""
        one = parse_conversation(raw, self.locate)
        if not one.prompt and not one.answer:
            self._untold(one, spot)
            return 0
        builder, lane, goes_on = self._trace_of(one)
        before = len(builder.trace.calls)
        if goes_on:
            builder.feed(lane, one.prompt, spot)
        else:
            tell(builder, lane, one.prompt, spot)
        self._respond(builder, lane, one, spot)
        self._note_facts(builder, one, spot)
        self._usage(one)
        self._doubt_messages(builder, (*one.prompt, *one.answer), spot)
        for doubt in one.doubts:
            builder.gap(doubt.code, doubt.says, spot.down(doubt.pointer))
        _taint(builder, tainted, spot, before)
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

    def _doubt_messages(self, builder: TraceBuilder, messages: tuple[Message, ...], spot: Spot) -> None:
        """Say what the messages may hide, once for a message that later prompts repeat."""
        for message in messages:
            for doubt in doubts_of(message):
                known = (builder.trace.id, message.key, doubt.says)
                if known not in self.doubted:
                    self.doubted.add(known)
                    where = Spot(message.place if message.place >= 0 else spot.place, spot.pointer + message.pointer)
                    builder.gap(doubt.code, doubt.says, where.down(doubt.pointer))

    def _trace_of(self, one: Conversation) -> tuple[TraceBuilder, Lane, bool]:
        """The trace that this conversation goes on with, or a new one; a longer prompt that starts with all that an
        earlier one held is the same conversation, one request later.
        """
        keys = [m.key for m in one.prompt]
        begun = self.begun.setdefault(keys[0] if keys else b"", [])
        asked = {part.recorded_id for m in one.prompt for part in m.calls if part.recorded_id}
        told = next((t for t in begun if t.goes_on_with(keys)), None) or next(
            (t for t in begun if t.is_retold_by(keys, asked)), None
        )
        if told is not None and keys:
            told.take(keys, one)
            builder = self.build.trace(told.trace_id)
            return builder, builder.lane(), True
        trace_id = one.trace_id if one.trace_id not in self.ids else ""
        trace_id = trace_id or f"trace-{len(self.ids) - 1}"
        self.ids.add(trace_id)
        begun.append(_Begun(trace_id).take(keys, one))
        builder = self.build.trace(trace_id)
        return builder, builder.lane(), False

    def _note_facts(self, builder: TraceBuilder, one: Conversation, spot: Spot) -> None:
        """What the offered tools say of themselves; the first description of a tool counts, another one is noted."""
        if one.tools is None:
            return
        trace = builder.trace
        locator = trace.places.locator(spot.place, f"{spot.pointer}/tools")
        for facts in (facts for item in items_of(one.tools) for facts in tool_facts(item)):
            first = trace.facts.setdefault(facts.name, msgspec.structs.replace(facts, locator=locator))
            changed = msgspec.structs.replace(facts, locator=first.locator) != first
            if changed and (trace.id, facts.name) not in self.changed:
                self.changed.add((trace.id, facts.name))
                name = one_line(facts.name, 60)
                message = f"{name} is described in another way by a later request: the first description counts"
                builder.note(finding("dialect", message, locators=(locator,)))

    def _usage(self, one: Conversation) -> None:
        usage = fields_of(one.usage) if one.usage is not None else {}
        counts = self.build.counts
        counts.input_tokens += _number(usage, "prompt_tokens", "input_tokens", "promptTokenCount")
        counts.output_tokens += _number(usage, "completion_tokens", "output_tokens", "candidatesTokenCount")


def _number(fields: Fields, *names: str) -> int:
    raw = present(fields, *names)
    return int(bytes(raw)) if raw is not None and bytes(raw).isdigit() else 0


def _are_conversations(items: list[Payload]) -> bool:
    """Whether an array holds conversations, and not the messages of one."""
    if any(not opens_with(item, b"[") and is_message(fields_of(item)) for item in items):
        return False
    return any(is_conversation(item) for item in items)


_STRANGE = "a record that is neither a message nor a list of messages"


def doubts_of(message: Message) -> tuple[Doubt, ...]:
    """What a message may hide: what was not understood in it, and an end that leaves it in part."""
    why = cut_short(message.finish.split(), calls=bool(message.calls)) if message.says_model else ""
    return (*message.doubts, Doubt(why)) if why else message.doubts


def tell(builder: TraceBuilder, lane: Lane, messages: tuple[Message, ...], spot: Spot) -> None:
    """A list that is itself the record: nothing in it is a repetition, every message is told in its place."""
    held = lane.history
    lane.history = []
    builder.feed(lane, messages, spot, original=True)
    lane.history = held + lane.history


def _taint(builder: TraceBuilder, tainted: str | None, spot: Spot, start: int = 0) -> None:
    """A record that can be read in two ways: none of its calls may be injected, and another reading may hold more."""
    if tainted is None:
        return
    builder.gap(tainted, "a record can be read in two ways: a key stands twice in it", spot)
    for call in builder.trace.calls[start:]:
        builder.block(call, tainted, "the record of this call can be read in two ways: a key stands twice in it")


def tool_facts(raw: Payload) -> list[ToolFacts]:
    """The facts in one offered tool: OpenAI (nested or flat), Anthropic, MCP, or Gemini's function declarations."""
    value = value_of(raw)
    if not isinstance(value, dict):
        return []
    declared = value.get("functionDeclarations") or value.get("function_declarations")
    if isinstance(declared, list):
        return [facts for one in declared if isinstance(one, dict) and (facts := _facts(one))]
    inner = value.get("function")
    facts = _facts(inner if isinstance(inner, dict) else value)
    return [facts] if facts else []


def _facts(tool: dict[str, object]) -> ToolFacts | None:
    name = tool.get("name") or tool.get("type")
    if not isinstance(name, str):
        return None
    description = tool.get("description")
    schema = next(
        (tool[k] for k in ("parameters", "input_schema", "inputSchema", "parametersJsonSchema") if k in tool), None
    )
    output = next((tool[k] for k in ("output_schema", "outputSchema") if k in tool), None)
    hints = tool.get("annotations")
    return ToolFacts(
        name=name,
        description=description if isinstance(description, str) else None,
        input_schema=schema if isinstance(schema, dict) else None,
        output_schema=output if isinstance(output, dict) else None,
        hints=hints if isinstance(hints, dict) else {},
    )
