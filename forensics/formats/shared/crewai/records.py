"""What is one thing that events of CrewAI tell, as a recorded span? Its members, laid over each other, in the names of
`span_names`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.core.jsonvalue import raw
from forensics.formats.shared.crewai.kinds import AGENT, KINDS, LLM, TOOL
from forensics.formats.shared.crewai.prompts import answer_of, is_of_a_tool, prompt_of
from forensics.formats.shared.crewai.values import exception_in, opened
from forensics.formats.shared.fields import Fields, is_true, object_in, present, text
from forensics.formats.shared.observed import INPUT, OUTPUT, Record, first_below, span_of
from forensics.formats.shared.spans import Item, Span, Spread

if TYPE_CHECKING:
    from collections.abc import Callable

    from forensics.formats.shared.crewai.pairing import Thing
    from forensics.formats.shared.halves import Halves

_PROMPT, _ANSWER = "gen_ai.input.messages", "gen_ai.output.messages"


def span_of_thing(trace: str, thing: Thing, halves: Halves) -> Span:
    """The span of a thing."""
    return _Telling(trace, thing, halves).span()


class _Telling:
    """One thing on its way to a span."""

    def __init__(self, trace: str, thing: Thing, halves: Halves) -> None:
        self.thing = thing
        self.halves = halves
        self.fields: Fields = halves.fields(thing.id)
        self.spread: dict[str, Spread] = {}
        cached = thing.family == TOOL and is_true(self.fields, "from_cache")
        self.record = Record(
            trace=trace,
            id=thing.id,
            parent=thing.inside,
            name=self._name(),
            kind="chain" if cached or thing.detail else _kind(thing.family),
            start=thing.start,
            end=thing.end if thing.ended else -1,
            spot=halves.spot(thing.id),
            tainted=halves.taint_of(thing.id),
        )
        self._fail()
        if not cached and not thing.detail and thing.family in _TELLS:
            _TELLS[thing.family](self)

    def span(self) -> Span:
        """The span that it is."""
        span = span_of(self.record)
        return msgspec.structs.replace(span, spread={**span.spread, **self.spread}) if self.spread else span

    def put(self, name: str, *members: str) -> None:
        """The first of these members that is there, as that attribute; an empty one is what was given or returned."""
        member = next((one for one in members if present(self.fields, one) is not None), None)
        if member is not None and name not in self.record.attributes:
            self.record.attributes[name] = opened(self.fields[member])
            self.record.slots.append(self.place(member))

    def place(self, member: str) -> str:
        """Where a member stands, below the span; where the first one does, if it is not there."""
        member = member if member in self.fields else next(iter(self.fields), "")
        return self.halves.place_of(self.thing.id, member) if member else "/type"

    def _name(self) -> str:
        named = text(self.fields, "tool_name", "method_name", "crew_name", "flow_name")
        return named or _NAMES.get(self.thing.family, self.thing.family)

    def _fail(self) -> None:
        """What went wrong: the words of an exception whose notation Python gave, and its type."""
        if not self.thing.failed:
            return
        error = present(self.fields, "error")
        if error is None and self.record.kind == "chain":
            return  # what is inside it says what went wrong
        kind, said = exception_in(error) if error is not None else ("", raw(self.thing.failed))
        self.record.error = said
        if kind:
            self.record.put("error.type", raw(kind), self.place("error"))


_NAMES = {"memory_query": "memory.search", "knowledge_retrieval": "knowledge.search"}


def _kind(family: str) -> str:
    return "tool" if family == "mcp_tool_execution" else KINDS.get(family, "chain")


def _llm(telling: _Telling) -> None:
    """A request to a model, with its prompt and what it answered."""
    record, fields = telling.record, telling.fields
    shown = present(fields, "messages")
    if shown is not None:
        messages, numbers = prompt_of(shown)
        place = telling.place("messages")
        record.put(_PROMPT, messages, place)
        if numbers and _PROMPT in record.attributes:
            telling.spread[_PROMPT] = Spread(tuple(Item(f"{place}/{number}") for number in numbers))
    said = present(fields, "response")
    answer = None if said is None else answer_of(said, of_a_tool=is_of_a_tool(fields))
    if answer is not None:
        record.put(_ANSWER, answer, telling.place("response"))
        telling.spread[_ANSWER] = Spread((Item(telling.place("response")),))
    telling.put("gen_ai.request.model", "model")
    telling.put("gen_ai.response.finish_reasons", "finish_reason")
    for name, paths in _USAGE.items():
        payload, pointer = first_below(fields, *paths)
        if payload is not None:
            record.put(name, payload, telling.place("usage") + pointer.removeprefix("/usage"))


_USAGE = {
    "gen_ai.usage.input_tokens": tuple(("usage", name) for name in ("prompt_tokens", "input_tokens")),
    "gen_ai.usage.output_tokens": tuple(("usage", name) for name in ("completion_tokens", "output_tokens")),
}


def _tool(telling: _Telling) -> None:
    """A tool that ran; one that came back may say that it did not do its work."""
    telling.put("gen_ai.tool.name", "tool_name")
    telling.put(INPUT, "tool_args")
    telling.put(OUTPUT, "output", "result")
    failure = object_in(telling.fields, "failure")
    if failure and not telling.thing.failed:
        place = telling.place("failure")
        telling.record.put("tool.status", raw("error"), place)
        telling.record.put("tool.error", present(failure, "message"), f"{place}/message")


def _agent(telling: _Telling) -> None:
    telling.put("gen_ai.agent.name", "agent_role")
    telling.record.put("gen_ai.agent.name", raw(telling.thing.role), telling.place("type"))
    telling.put("agent.input", "task_prompt")
    telling.put("agent.output", "output")


def _memory(telling: _Telling) -> None:
    telling.put("gen_ai.retrieval.query", "query", "task_prompt")
    telling.put("retrieval.documents", "results", "retrieved_knowledge")


def _remembers(telling: _Telling) -> None:
    telling.record.put("gen_ai.operation.name", raw("create_memory"), telling.place("type"))
    telling.record.put("memory.operation", raw("save"), telling.place("type"))
    telling.put("memory.query", "value")


_TELLS: dict[str, Callable[[_Telling], None]] = {
    LLM: _llm,
    TOOL: _tool,
    "mcp_tool_execution": _tool,
    AGENT: _agent,
    "memory_query": _memory,
    "knowledge_retrieval": _memory,
    "memory_save": _remembers,
}
