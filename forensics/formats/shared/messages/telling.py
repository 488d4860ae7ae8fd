"""How are messages told to a builder? Where each stands, what it may hide, which run a prompt goes on with, and what a
request says of the tools that it offers: the parts that every reader of messages needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.core.build import Spot
from forensics.core.classes import ToolFacts
from forensics.core.findings import finding
from forensics.core.jsonvalue import value_of
from forensics.core.messages import Doubt, Message
from forensics.core.sanitise import one_line
from forensics.core.trace import NOWHERE
from forensics.formats.shared.fields import items_of
from forensics.formats.shared.wholeness import cut_short

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from forensics.core.build import Lane, TraceBuilder
    from forensics.core.trace import Payload, Places
    from forensics.formats.shared.source import Source


_MISSES = 16  # each goes through the rest of the file; records that were spelled anew stand nowhere in it


def tell(builder: TraceBuilder, lane: Lane, messages: tuple[Message, ...], spot: Spot) -> None:
    """A list that is itself the record: nothing in it is a repetition, every message is told in its place."""
    held = lane.history
    lane.history = []
    builder.feed(lane, messages, spot, original=True)
    held.extend(lane.history)
    lane.history = held


class Finder:
    """The places of messages inside a document: each stands after the one before, so one search goes through the file
    once.
    """

    def __init__(self, source: Source, places: Places, start: int) -> None:
        self._source, self._places, self._at = source, places, start
        self._misses = 0

    def place(self, message: Payload) -> int:
        """The place of the next record that is spelled so; -1 where it does not stand there in these bytes."""
        if self._misses >= _MISSES:
            return NOWHERE
        data = bytes(message)
        offset = self._source.find(data, self._at)
        if offset < 0:
            self._misses += 1
            return NOWHERE
        self._at = offset + len(data)
        return self._places.add(offset=offset, length=len(data))


class Begun(msgspec.Struct):
    """A conversation that was told: the trace or lane that holds it, the keys of its messages so far, and the ids of
    the calls that a recorded answer asked for.
    """

    name: str
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

    def take(self, keys: list[bytes], answer: Iterable[Message]) -> Begun:
        """Note a prompt that was told, and the answer to it."""
        answer = tuple(answer)
        self.keys = keys + [m.key for m in answer]
        self.asked |= asked_in(answer)
        return self


def asked_in(messages: Iterable[Message]) -> set[str]:
    """The ids of the calls that these messages ask for."""
    return {part.recorded_id for m in messages for part in m.calls if part.recorded_id}


def gone_on(begun: Sequence[Begun], keys: list[bytes], asked: set[str]) -> Begun | None:
    """The conversation that a prompt goes on with, or None for a new one."""
    told = next((t for t in begun if t.goes_on_with(keys)), None)
    return told or next((t for t in begun if t.is_retold_by(keys, asked)), None)


# what may hide something ---------------------------------------------------------------------------------------------


def doubts_of(message: Message) -> tuple[Doubt, ...]:
    """What a message may hide: what was not understood in it, and an end that leaves it in part."""
    why = cut_short(message.finish.split(), calls=bool(message.calls)) if message.says_model else ""
    return (*message.doubts, Doubt(why)) if why else message.doubts


class Doubts:
    """Says what messages may hide, once for a message that later prompts repeat."""

    def __init__(self) -> None:
        self._told: set[tuple[str, bytes, str]] = set()

    def note(self, builder: TraceBuilder, messages: Iterable[Message], spot: Spot) -> None:
        """The doubts of these messages as gaps of their trace."""
        for message in messages:
            for doubt in doubts_of(message):
                known = (builder.trace.id, message.key, doubt.says)
                if known not in self._told:
                    self._told.add(known)
                    where = Spot(message.place if message.place >= 0 else spot.place, spot.pointer + message.pointer)
                    builder.gap(doubt.code, doubt.says, where.down(doubt.pointer))


_TWO_WAYS = "a key stands twice in it"


def taint(builder: TraceBuilder, tainted: str | None, spot: Spot, start: int = 0) -> None:
    """A record that can be read in two ways: none of its calls, which begin at row `start`, may be injected, and
    another reading may hold more.
    """
    if tainted is None:
        return
    builder.gap(tainted, f"a record can be read in two ways: {_TWO_WAYS}", spot)
    for call in builder.trace.calls[start:]:
        call.block(tainted, f"the record of this call can be read in two ways: {_TWO_WAYS}")


# the tools that were offered -----------------------------------------------------------------------------------------


class Offers:
    """Notes what the offered tools say of themselves: the first description of a tool counts, another one is said."""

    def __init__(self) -> None:
        self._changed: set[tuple[str, str]] = set()
        self._seen: set[tuple[str, bytes]] = set()

    def note(self, builder: TraceBuilder, tools: Payload | None, spot: Spot) -> None:
        """The tools of one request, `tools` as JSON; each distinct list is read once."""
        if tools is None or (builder.trace.id, bytes(tools)) in self._seen:
            return
        self._seen.add((builder.trace.id, bytes(tools)))
        locator = builder.trace.places.locator(spot.place, spot.pointer)
        for facts in (facts for item in items_of(tools) for facts in tool_facts(item)):
            self._note_one(builder, msgspec.structs.replace(facts, locator=locator))

    def _note_one(self, builder: TraceBuilder, facts: ToolFacts) -> None:
        trace = builder.trace
        first = trace.facts.setdefault(facts.name, facts)
        changed = msgspec.structs.replace(facts, locator=first.locator) != first
        if changed and (trace.id, facts.name) not in self._changed:
            self._changed.add((trace.id, facts.name))
            name = one_line(facts.name, 60)
            message = f"{name} is described in another way by a later request: the first description counts"
            locators = () if facts.locator is None else (facts.locator,)
            builder.note(finding("dialect", message, locators=locators))


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


_SCHEMAS = ("parameters", "input_schema", "inputSchema", "parametersJsonSchema", "params_json_schema")


def _facts(tool: dict[str, object]) -> ToolFacts | None:
    name = tool.get("name") or tool.get("type")
    if not isinstance(name, str):
        return None
    description = tool.get("description")
    schema = next((tool[k] for k in _SCHEMAS if k in tool), None)
    output = next((tool[k] for k in ("output_schema", "outputSchema") if k in tool), None)
    hints = tool.get("annotations")
    return ToolFacts(
        name=name,
        description=description if isinstance(description, str) else None,
        input_schema=schema if isinstance(schema, dict) else None,
        output_schema=output if isinstance(output, dict) else None,
        hints=hints if isinstance(hints, dict) else {},
    )
