"""How is a list of messages walked, whoever's API wrote it? The shared walk of the four message formats.

Containers: a bare list, `{"messages": …}` (or `contents`, `input`, `items`), a whole request with its response, and
any of these one JSON a line, where a line that repeats an earlier conversation goes on with it.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from typing import TYPE_CHECKING

import msgspec

from forensics.core.build import Spot
from forensics.core.classes import ToolFacts
from forensics.core.jsonvalue import decode, raw, text_of, value_of
from forensics.core.messages import Message, Part
from forensics.core.trace import NOWHERE, Payload
from forensics.errors import CorruptEvidenceError
from forensics.formats.shared.lines import BOM, lines
from forensics.formats.shared.vocabulary import Fields, fields_of, is_text, items_of, parse_message, present, text

if TYPE_CHECKING:
    from forensics.core.build import Lane, TraceBuilder
    from forensics.core.jsonvalue import Fault
    from forensics.core.reading import EvidenceBuilder
    from forensics.core.trace import Places
    from forensics.formats.shared.source import Source

_LISTS = ("messages", "contents", "input", "items", "history")
_REQUESTS = ("request", "body", "req")
_RESPONSES = ("response", "completion", "resp")
_BODIES = ("output", "choices", "candidates")
_TOOL_LISTS = ("tools", "functions")
_TURN_ENDS_IN_CALLS = frozenset({"tool_calls", "tool_use", "function_call", "tool_call"})


class Conversation(msgspec.Struct, frozen=True):
    """One prompt with, perhaps, the answer to it; pointers are those of its place in the record."""

    prompt: tuple[Message, ...]
    answer: tuple[Message, ...]
    tools: Payload | None
    model: str
    trace_id: str
    usage: Payload | None
    finish: str


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
            code = "nul_padding" if b"\x00" in bytes(line.data) else "malformed_line"
            build.bad_line(line.number, code, f"line {line.number} is no JSON: {decoded.error}", Spot(place))
            continue
        build.counts.records += 1
        walk.line(msgspec.Raw(line.data), place, build.faults(decoded.faults, Spot(place)))
    walk.close()
    if not build.counts.records:
        message = f"the file is no JSON: {whole.error}"
        raise CorruptEvidenceError(message, hint="check that the file is whole; a JSON document must end where it says")


Locate = Callable[[Payload], int]


def _nowhere(_raw: Payload) -> int:
    """The place of a message that has none of its own: it stands in its line."""
    return NOWHERE


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
        self.locate: Locate = _nowhere
        self.begun: dict[bytes, list[_Begun]] = {}
        self.ids: set[str] = {""}

    def document(self, source: Source, start: int, faults: tuple[Fault, ...]) -> None:
        """The whole file is one JSON value: a conversation, or an array of conversations."""
        body = msgspec.Raw(source.data[start:])
        place = self.build.places.add(offset=start, length=len(source.data) - start)
        tainted = self.build.faults(faults, Spot(place))
        self.locate = _Finder(source, self.build.places, start).place
        items = items_of(body) if bytes(source.data[start : start + 64]).lstrip()[:1] == b"[" else []
        if items and all(_is_conversation(item) for item in items):
            for index, item in enumerate(items):
                self._conversation(item, Spot(place, f"/{index}"), tainted)
            self.build.counts.records = len(items)
            return
        self.build.counts.records = self._conversation(body, Spot(place), tainted)

    def line(self, one: Payload, place: int, tainted: str | None) -> None:
        """A line is a conversation of its own, or one message of a list written a message a line."""
        if _is_conversation(one):
            self._conversation(one, Spot(place), tainted)
            return
        if not is_message(fields_of(one)):
            self.build.once("dialect", "a record that is neither a message nor a list of messages", Spot(place))
            return
        self.loose.append((parse_message(one, ""), Spot(place)))
        self.loose_taint = self.loose_taint or tainted

    def close(self) -> None:
        """Tell the messages that stood one a line: they are one list."""
        if not self.loose:
            return
        builder = self.build.trace(f"trace-{len(self.ids) - 1}")
        lane = builder.lane()
        for message, spot in self.loose:
            _tell(builder, lane, (message,), spot)
        _taint(builder, self.loose_taint)

    def _conversation(self, raw: Payload, spot: Spot, tainted: str | None) -> int:
        """Tell one conversation; returns how many messages it has."""
        one = parse_conversation(raw, self.locate)
        if not one.prompt and not one.answer:
            return 0
        builder, lane, goes_on = self._trace_of(one)
        before = len(builder.trace.calls)
        if goes_on:
            builder.feed(lane, one.prompt, spot)
        else:
            _tell(builder, lane, one.prompt, spot)
        for message in one.answer:
            builder.respond(lane, message, spot, model=one.model) if message.says_model else builder.feed(
                lane, (message,), spot, original=True
            )
        _note_facts(builder, one, spot)
        self._usage(one)
        if one.finish in _TURN_ENDS_IN_CALLS and not any(m.calls for m in one.answer):
            builder.gap("evidence_gap", "the turn ended to call tools and shows none", spot)
        _taint(builder, tainted, before)
        return len(one.prompt) + len(one.answer)

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

    def _usage(self, one: Conversation) -> None:
        usage = fields_of(one.usage) if one.usage is not None else {}
        counts = self.build.counts
        counts.input_tokens += _number(usage, "prompt_tokens", "input_tokens", "promptTokenCount")
        counts.output_tokens += _number(usage, "completion_tokens", "output_tokens", "candidatesTokenCount")


def _number(fields: Fields, *names: str) -> int:
    raw = present(fields, *names)
    return int(bytes(raw)) if raw is not None and bytes(raw).isdigit() else 0


def _tell(builder: TraceBuilder, lane: Lane, messages: tuple[Message, ...], spot: Spot) -> None:
    """A list that is itself the record: nothing in it is a repetition, every message is told in its place."""
    held = lane.history
    lane.history = []
    builder.feed(lane, messages, spot, original=True)
    lane.history = held + lane.history


def _taint(builder: TraceBuilder, tainted: str | None, start: int = 0) -> None:
    """A record that can be read in two ways: none of its calls may be injected."""
    if tainted is None:
        return
    for call in builder.trace.calls[start:]:
        builder.block(call, tainted, "the record of this call can be read in two ways: a key stands twice in it")


def _note_facts(builder: TraceBuilder, one: Conversation, spot: Spot) -> None:
    if one.tools is None:
        return
    locator = builder.trace.places.locator(spot.place, f"{spot.pointer}/tools")
    for item in items_of(one.tools):
        for facts in tool_facts(item):
            builder.trace.facts.setdefault(facts.name, msgspec.structs.replace(facts, locator=locator))


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


def is_message(fields: Fields) -> bool:
    """Whether an object has the keys of one message (or one Responses item) of any vocabulary."""
    kind = text(fields, "type")
    return "role" in fields or "parts" in fields or "lc" in fields or kind in _ITEM_TYPES or kind in ("human", "ai")


_ITEM_TYPES = frozenset(
    {
        "message",
        "reasoning",
        "function_call",
        "function_call_output",
        "custom_tool_call",
        "custom_tool_call_output",
    }
)


# one conversation ----------------------------------------------------------------------------------------------------


def _opens_array(raw: Payload) -> bool:
    return bytes(memoryview(raw)[:64]).lstrip()[:1] == b"["


def _is_conversation(raw: Payload) -> bool:
    if _opens_array(raw):
        return True
    fields = fields_of(raw)
    if is_message(fields):
        return False
    return any(k in fields for k in (*_LISTS, *_REQUESTS, *_RESPONSES, *_BODIES))


def parse_conversation(raw: Payload, locate: Locate = _nowhere) -> Conversation:
    """A list, a request, or a request with its response, as one conversation."""
    if _opens_array(raw):
        return Conversation(_messages(raw, "", locate), (), None, "", "", None, "")
    fields = fields_of(raw)
    request, base = _request(fields)
    response_name = next((k for k in _RESPONSES if k in fields and not is_text(fields[k])), None)
    response = fields_of(fields[response_name]) if response_name else {}
    answer, finish = _answer(response, f"/{response_name}") if response_name else _answer(request, base)
    return Conversation(
        prompt=_prompt(request, base, locate),
        answer=answer,
        tools=present(request, *_TOOL_LISTS),
        model=text(response, "model", "modelVersion") or text(request, "model"),
        trace_id=text(fields, "id", "trace_id", "session_id", "conversation_id", "run_id"),
        usage=present(response, "usage", "usageMetadata", "usage_metadata"),
        finish=finish,
    )


def _request(fields: Fields) -> tuple[Fields, str]:
    for name in _REQUESTS:
        raw = fields.get(name)
        if raw is not None and not is_text(raw):
            inner = fields_of(raw)
            if any(k in inner for k in _LISTS):
                return inner, f"/{name}"
    return fields, ""


def _prompt(request: Fields, base: str, locate: Locate) -> tuple[Message, ...]:
    system = present(request, "system", "instructions", "systemInstruction", "system_instruction")
    first = () if system is None else (_system_message(system, base),)
    name = next((k for k in _LISTS if k in request), None)
    if name is None:
        return first
    raw = request[name]
    if is_text(raw):
        return (*first, parse_message(_as_user(raw), f"{base}/{name}"))
    return first + _messages(raw, f"{base}/{name}", locate)


def _system_message(raw: Payload, base: str) -> Message:
    fields = fields_of(raw) if bytes(raw)[:1] == b"{" else {"content": raw}
    return parse_message(msgspec.Raw(msgspec.json.encode({**fields, "role": "system"})), f"{base}/system")


def _as_user(raw: Payload) -> Payload:
    return msgspec.Raw(msgspec.json.encode({"role": "user", "content": raw}))


def _messages(raw: Payload, base: str, locate: Locate) -> tuple[Message, ...]:
    found = []
    for index, item in enumerate(items_of(raw)):
        message = parse_message(_as_user(item) if is_text(item) else item, f"{base}/{index}")
        found.append(msgspec.structs.replace(message, place=locate(item)))
    return join_items(tuple(found), base)


def _answer(response: Fields, base: str) -> tuple[tuple[Message, ...], str]:
    """The answer in a response body: OpenAI `choices`, Responses `output`, Gemini `candidates`, Anthropic `content`."""
    for name, inner in (("choices", "message"), ("candidates", "content")):
        raw = present(response, name)
        if raw is not None and (items := items_of(raw)):
            choice = fields_of(items[0])
            said = present(choice, inner)
            finish = text(choice, "finish_reason", "finishReason").lower()
            messages = () if said is None else (parse_message(said, f"{base}/{name}/0/{inner}"),)
            return messages, finish
    output = present(response, "output")
    if output is not None and not is_text(output):
        return _output_items(output, f"{base}/output"), ""
    if "content" in response and text(response, "role") == "assistant":
        return (parse_message(msgspec.Raw(msgspec.json.encode(response)), base),), text(response, "stop_reason")
    return (), ""


def _output_items(raw: Payload, base: str) -> tuple[Message, ...]:
    return join_items(tuple(parse_message(item, f"{base}/{i}") for i, item in enumerate(items_of(raw))), base)


def join_items(items: tuple[Message, ...], base: str) -> tuple[Message, ...]:
    """Responses writes a turn as several items (reasoning, message, calls): neighbours of the model are one turn."""
    joined: list[Message] = []
    run: list[Message] = []
    for item in items:
        if item.item and item.says_model:
            run.append(item)
            continue
        joined.extend(_turn_of(run, base))
        run = []
        joined.append(item)
    joined.extend(_turn_of(run, base))
    return tuple(joined)


def _turn_of(run: list[Message], base: str) -> list[Message]:
    if not run[1:]:
        return run
    texts = [m.text for m in run if m.text is not None]
    said = texts[0] if len(texts) == 1 else raw("\n".join(text_of(t) for t in texts)) if texts else None
    return [
        Message(
            role="assistant",
            key=blake2b(b"".join(m.key for m in run), digest_size=16).digest(),
            pointer=base,
            text=said,
            calls=tuple(_below(m, part, base) for m in run for part in m.calls),
            results=tuple(_below(m, part, base) for m in run for part in m.results),
            place=run[0].place,
        )
    ]


def _below(message: Message, part: Part, base: str) -> Part:
    """The part of an item, its pointer seen from the list that the item stands in."""
    return msgspec.structs.replace(part, pointer=message.pointer.removeprefix(base) + part.pointer)
