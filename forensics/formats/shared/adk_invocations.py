"""What happens in an invocation as ADK's evaluations keep it? What a person said, the calls with what they gave, what
agents said on the way, the answer.

Of calls in a list only the order is told, not what was asked for together: each has a turn of its own.
"""

from __future__ import annotations

from collections import defaultdict, deque
from typing import TYPE_CHECKING

import msgspec

from forensics.core.build import Spot
from forensics.core.jsonvalue import canonical
from forensics.core.late import late
from forensics.core.sanitise import one_line
from forensics.core.times import nanoseconds
from forensics.core.trace import StepKind
from forensics.formats.shared.adk_confirmations import USER
from forensics.formats.shared.adk_events import Conversation
from forensics.formats.shared.fields import as_object, fields_of, is_like_calls, is_text, items_of, text
from forensics.formats.shared.messages.draft import Draft, part_of
from forensics.formats.shared.messages.telling import Offers
from forensics.formats.shared.messages.vocabulary import in_place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from forensics.core.build import TraceBuilder
    from forensics.core.trace import Payload
    from forensics.formats.shared.either_case import EitherCase

_READ = frozenset(
    {"app_details", "creation_timestamp", "duration", "final_response", "intermediate_data", "invocation_id"}
    | {"model_duration", "rubrics", "tool_duration", "user_content"}
    | {"expected_intermediate_agent_responses", "expected_tool_use", "query", "reference"}
)
_OF_CALLS = late(rb'"(?:tool_?[uU]ses|expected_?[tT]ool_?[uU]se)"')
"""The members that list calls, wherever they stand."""
_READ_BETWEEN = frozenset({"intermediate_responses", "invocation_events", "tool_responses", "tool_uses"})


class Invocations:
    """The invocations of one conversation on their way to the builder."""

    def __init__(self, builder: TraceBuilder) -> None:
        self.builder = builder
        self.conversation = Conversation(builder)
        self.offers = Offers()
        self.instructed: set[bytes] = set()

    def gap(self, spot: Spot, message: str) -> None:
        """Something that may hide a call."""
        self.builder.gap("evidence_gap", message, spot)

    # the current shape -------------------------------------------------------------------------------------------

    def tell(self, one: EitherCase) -> None:
        """Tell one invocation."""
        one.spot = Spot(one.spot.place, one.spot.pointer, nanoseconds(one.held("creation_timestamp")))
        self._agents(one)
        asked = one.held("user_content")
        if asked is not None:
            self.conversation.said(USER, asked, one.spot_of("user_content"))
        between, author = one.inner("intermediate_data"), ""
        if between is not None:
            author = self._between(between)
        answer = one.held("final_response")
        if answer is not None:
            self.conversation.said(author, _by_the_model(answer), one.spot_of("final_response"))
        self.look_through(one, _READ)

    def _agents(self, one: EitherCase) -> None:
        """What the agents of the app were given: instructions, tools."""
        details = one.inner("app_details")
        agents = None if details is None else details.inner("agent_details")
        for agent in [] if agents is None else map(agents.inner, agents.fields):
            if agent is None or bytes(agent.raw) in self.instructed:
                continue
            self.instructed.add(bytes(agent.raw))
            name, told = agent.text("name"), agent.held("instructions")
            if told is not None:
                self.builder.step(StepKind.SYSTEM, agent.spot_of("instructions"), agent=name, payload=told)
            self.offers.note(self.builder, agent.held("tool_declarations"), agent.spot_of("tool_declarations"))

    def _between(self, between: EitherCase) -> str:
        """What happened before the answer; returns who spoke last."""
        author = ""
        for event in between.objects("invocation_events"):
            author = event.text("author")
            self.conversation.event(event.fields, event.spot, None)
        self._uses(between.objects("tool_uses"), list(between.objects("tool_responses")))
        for item, spot in between.items("intermediate_responses"):
            said = items_of(item)
            author = text({"author": said[0]}, "author") if said else ""
            self.conversation.said(author, as_object({"role": _MODEL, "parts": (said + [_NONE] * 2)[1]}), spot)
            if any(map(is_like_calls, said[2:])):
                self.gap(spot, "what is not read of an answer on the way holds what looks like a call")
        self.look_through(between, _READ_BETWEEN)
        return author

    # the first shape ---------------------------------------------------------------------------------------------

    def tell_first(self, one: EitherCase) -> None:
        """Tell one turn of an eval set in its first shape."""
        asked = one.held("query")
        if asked is not None:
            self.builder.step(StepKind.USER, one.spot_of("query"), payload=asked)
        self._uses(one.objects("expected_tool_use"), [])
        for said in one.objects("expected_intermediate_agent_responses"):
            self.builder.turn(self.conversation.lane(said.text("author")), said.spot_of("text"), text=said.held("text"))
        answer = one.held("reference")
        if answer is not None:
            self.builder.turn(self.conversation.lane(""), one.spot_of("reference"), text=answer)
        self.look_through(one, _READ)

    # calls -------------------------------------------------------------------------------------------------------

    def _uses(self, uses: Iterable[EitherCase], responses: list[EitherCase]) -> None:
        """Calls in their order, each with its result: the one that has its id, else the next one of its name."""
        waiting: dict[str, deque[EitherCase]] = defaultdict(deque)
        for one in responses:
            waiting[_key(one.text("id"), one.text("name"))].append(one)
        for use in uses:
            name, recorded_id = use.text("name", "tool_name"), use.text("id")
            self._asks(use, name, recorded_id)
            answers = waiting[_key(recorded_id, name)] or waiting[_key("", name)]
            if answers:
                self._shows(answers.popleft(), recorded_id)
        for one in (one for left in waiting.values() for one in left):
            self._shows(one, one.text("id"))

    def _asks(self, use: EitherCase, name: str, recorded_id: str) -> None:
        held = "args" if use.held("args") is not None else "tool_input"
        draft = Draft(in_place)
        draft.call(part_of(name, recorded_id, use.held(held), ""), use.fields)
        lane, (part,) = self.conversation.lane(""), draft.calls
        turn = self.builder.turn(lane, use.spot)
        at = use.spot_of(held)
        self.builder.request(lane, turn, name, part.recorded_id, part.payload, at, tainted=part.tainted)

    def _shows(self, response: EitherCase, recorded_id: str) -> None:
        draft = Draft(in_place)
        draft.result(part_of(response.text("name"), recorded_id, response.held("response"), ""), response.fields)
        (part,) = draft.results
        at = response.spot_of("response")
        lane = self.conversation.lane("")
        self.builder.show(lane, part.recorded_id, part.tool, part.payload, at, failed=part.failed, tainted=part.tainted)

    def look_through(self, one: EitherCase, read: frozenset[str]) -> None:
        """A gap for each member that is not read and holds what looks like a call."""
        for spot, message in calls_beside(one, read):
            self.gap(spot, message)


def calls_beside(one: EitherCase, read: frozenset[str]) -> Iterator[tuple[Spot, str]]:
    """The members of an object that are not read and hold what looks like a call: where, and what to say of it."""
    for name, held in one.fields.items():
        if name not in read and (is_like_calls(held) or (not is_text(held) and _OF_CALLS.search(bytes(held)))):
            yield one.spot_of(name), f"what looks like a call in a member that is not read ({one_line(name, 40)})"


def _key(recorded_id: str, name: str) -> str:
    return f"#{recorded_id}" if recorded_id else name


_MODEL, _NONE = msgspec.Raw(canonical("model")), msgspec.Raw(b"null")


def _by_the_model(answer: Payload) -> Payload:
    """An answer that may not say whose it is."""
    return as_object({**fields_of(answer), "role": _MODEL})
