"""What does the log of AutoGen's runtime tell, event by event? Requests to models with their whole prompts, and tools
that ran and came back. Messages between agents repeat what their models said.

A tool that failed leaves no event: what its call came back with stands in the next prompt.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.core.build import Execution
from forensics.core.sanitise import one_line
from forensics.core.trace import StepKind
from forensics.formats.shared.autogen.words import read_created
from forensics.formats.shared.call_words import sounds_like_a_call
from forensics.formats.shared.fields import Fields, fields_of, items_in, present, text, whole_number
from forensics.formats.shared.messages.answers import Answer, read_answer
from forensics.formats.shared.messages.exchanges import Exchanges
from forensics.formats.shared.messages.telling import Offers, taint
from forensics.formats.shared.messages.vocabulary import parse_message

if TYPE_CHECKING:
    from collections.abc import Callable

    from forensics.core.build import Lane, Spot, TraceBuilder
    from forensics.core.reading import EvidenceBuilder
    from forensics.core.trace import Payload

_CODE = b"CodeExecutionEvent"
_UNANSWERED = "a request whose answer is not in the log"
_ONLY_MESSAGES = "messages between agents without any request to a model: what they asked for is not read"


def is_event(fields: Fields) -> bool:
    """Whether it is an event of this log."""
    needed = _NEEDS.get(text(fields, "type"))
    return needed is not None and needed <= fields.keys()


class EventLog:
    """The events of one log: a run."""

    def __init__(self, builder: TraceBuilder, build: EvidenceBuilder) -> None:
        self.builder = builder
        self.build = build
        self.exchanges = Exchanges(builder)
        self._offers = Offers()
        self._streaming: dict[str, tuple[Lane, Spot]] = {}
        self._messages: Spot | None = None
        self._ran_code = False

    def event(self, fields: Fields, spot: Spot, tainted: str | None) -> None:
        """Tell one event."""
        before = len(self.builder.trace.calls)
        _TELLS.get(text(fields, "type"), EventLog.strange)(self, fields, spot)
        self.build.counts.input_tokens += whole_number(fields, "prompt_tokens")
        self.build.counts.output_tokens += whole_number(fields, "completion_tokens")
        taint(self.builder, tainted, spot, before)

    def close(self) -> None:
        """Say what can be said only at the end."""
        for _, spot in self._streaming.values():
            self.builder.gap("evidence_gap", _UNANSWERED, spot)
        if self._messages is not None and not self.builder.trace.turns:
            self.builder.step(StepKind.OTHER, self._messages, name="message")
            self.builder.gap("evidence_gap", _ONLY_MESSAGES, self._messages)

    def asks(self, fields: Fields, spot: Spot) -> None:
        """A request to a model, and what it answered."""
        self._answer(fields, self._request(fields, spot), spot)

    def begins(self, fields: Fields, spot: Spot) -> None:
        """A request whose answer is streamed."""
        asker = text(fields, "agent_id")
        if asker in self._streaming:
            self.builder.gap("evidence_gap", _UNANSWERED, self._streaming.pop(asker)[1])
        self._streaming[asker] = self._request(fields, spot), spot

    def ends(self, fields: Fields, spot: Spot) -> None:
        """What was streamed, as a whole."""
        begun = self._streaming.pop(text(fields, "agent_id"), None)
        if begun is None:
            self.builder.gap("evidence_gap", "an answer whose request is not in the log", spot)
        self._answer(fields, self._request(fields, spot) if begun is None else begun[0], spot)

    def _request(self, fields: Fields, spot: Spot) -> Lane:
        asker = text(fields, "agent_id")
        listed = enumerate(items_in(fields, "messages"))
        prompt = tuple(parse_message(item, f"/messages/{at}") for at, item in listed)
        self._offers.note(self.builder, present(fields, "tools"), spot.down("/tools"))
        return self.exchanges.request(prompt, spot, asker=asker, agent=_named(asker))

    def _answer(self, fields: Fields, lane: Lane, spot: Spot) -> None:
        response = present(fields, "response")
        told = Answer() if response is None else _answer_in(response)
        for message in told.messages:
            self.exchanges.answer(lane, message, spot, asker=text(fields, "agent_id"), model=told.model)
        for doubt in told.doubts:
            self.builder.gap(doubt.code, doubt.says, spot.down(doubt.pointer))
        if not told.messages:
            self.builder.silent_turn(lane, spot)
            self.builder.gap("evidence_gap", _UNANSWERED, spot)

    def ran(self, fields: Fields, spot: Spot) -> None:
        """A tool that ran and came back; which call it is of follows from what it was given."""
        asker = text(fields, "agent_id")
        ran = Execution(
            text(fields, "tool_name"),
            spot.down("/arguments"),
            arguments=present(fields, "arguments"),
            result=present(fields, "result"),
            answer=spot.down("/result"),
        )
        self.builder.execute(self.exchanges.lane_of("", asker, _named(asker)), ran)

    def passes(self, fields: Fields, spot: Spot) -> None:
        """A message on its way from one agent to others; code that ran has no event of its own."""
        self._messages = self._messages or spot
        told = present(fields, "payload")
        if told is not None and not self._ran_code and bytes(told).find(_CODE) >= 0:
            self._ran_code = True
            message = "code ran, which only messages between agents tell"
            self.builder.gap("evidence_gap", message, spot.down("/payload"))

    def failed(self, fields: Fields, spot: Spot) -> None:
        """An exception in an agent."""
        agent = _named(text(fields, "handling_agent", "agent_id"))
        error = present(fields, "exception")
        self.builder.step(StepKind.ERROR, spot.down("/exception"), agent=agent, payload=error)

    def strange(self, fields: Fields, spot: Spot) -> None:
        """An event of a type that is not known."""
        kind = text(fields, "type")
        if not kind or "tool_name" in fields or sounds_like_a_call(kind, named=False):
            message = f"an event of the type {one_line(kind or '(none)', 40)}, which may be a call"
            self.builder.gap("evidence_gap", message, spot)


def _named(agent: str) -> str:
    """The name of an agent by its id, without the key of its team (`name_key/key`)."""
    name, _, key = agent.partition("/")
    return name.removesuffix(f"_{key}")


def _answer_in(response: Payload) -> Answer:
    """The answer in a response of a provider, or as AutoGen puts it together from a stream."""
    fields = fields_of(response)
    if "finish_reason" in fields and "content" in fields and "choices" not in fields:
        return Answer((read_created(response, "/response"),))
    return read_answer(response, "/response")


_TELLS: dict[str, Callable[[EventLog, Fields, Spot], None]] = {
    "LLMCall": EventLog.asks,
    "LLMStreamStart": EventLog.begins,
    "LLMStreamEnd": EventLog.ends,
    "ToolCall": EventLog.ran,
    "Message": EventLog.passes,
    "MessageDropped": EventLog.passes,
    "MessageHandlerException": EventLog.failed,
    "AgentConstructionException": EventLog.failed,
}
_NEEDS: dict[str, frozenset[str]] = {
    "LLMCall": frozenset({"messages", "response", "agent_id"}),
    "LLMStreamStart": frozenset({"messages", "agent_id"}),
    "LLMStreamEnd": frozenset({"response", "agent_id"}),
    "ToolCall": frozenset({"tool_name", "arguments", "agent_id"}),
    "Message": frozenset({"payload", "sender", "receiver"}),
    "MessageDropped": frozenset({"payload", "sender", "receiver"}),
    "MessageHandlerException": frozenset({"payload", "handling_agent"}),
    "AgentConstructionException": frozenset({"agent_id", "exception"}),
}
"""What only these events have, beside their type."""
