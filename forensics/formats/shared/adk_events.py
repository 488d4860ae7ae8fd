"""What does an event of Google ADK tell? Its content, by the agent that it names as its author; a hand-off; an error.

Stored calls mostly have no id: a result is joined with the open call of its author by name and order (FORMATS section
19; the model is ADK's `Event`).
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from forensics.core.build import Spot
from forensics.core.sanitise import one_line
from forensics.core.times import nanoseconds
from forensics.core.trace import StepKind
from forensics.formats.shared.adk_confirmations import USER, Confirmations
from forensics.formats.shared.fields import Fields, is_like_calls, is_true, object_in, present, text
from forensics.formats.shared.messages.telling import Doubts, taint, tell
from forensics.formats.shared.messages.vocabulary import parse_message

if TYPE_CHECKING:
    from forensics.core.build import Lane, TraceBuilder
    from forensics.core.messages import Message
    from forensics.core.trace import Payload

_READ = frozenset({"content", "actions"})


class Conversation:
    """The events of one session on their way to the builder: a lane for each agent."""

    def __init__(self, builder: TraceBuilder) -> None:
        self.builder = builder
        self.doubts = Doubts()
        self.pieces: dict[str, _Pieces] = {}
        self._confirmations = Confirmations(builder)
        self._asked_in: dict[str, Lane] = {}

    def lane(self, author: str) -> Lane:
        """The lane of an agent; of a person, the first one."""
        agent = "" if author == USER else author
        return self.builder.lane(agent, agent)

    def event(self, fields: Fields, spot: Spot, tainted: str | None) -> None:
        """Tell one event; a piece of a stream is repeated by the event that ends it."""
        author, before = text(fields, "author"), len(self.builder.trace.calls)
        content = present(fields, "content")
        message = None if content is None else parse_message(content, "")
        if is_true(fields, "partial"):
            self.pieces.setdefault(author, _Pieces(spot)).add(message)
            return
        self._whole(author, message)
        spot = Spot(spot.place, spot.pointer, nanoseconds(present(fields, "timestamp")))
        if message is not None:
            at = spot.down("/content")
            left = self._confirmations.without(message, object_in(fields, "actions"), at, author)
            if left == message or left.calls or left.results or left.text is not None:
                self._tell(author, left, at)
            else:
                self.doubts.note(self.builder, (left,), at)
        self._beside(fields, spot, author)
        for name, held in fields.items():
            if name not in _READ and is_like_calls(held):
                says = f"what looks like a call in a member that is not read ({one_line(name, 40)})"
                self.builder.gap("evidence_gap", says, spot.down(f"/{name}"))
        taint(self.builder, tainted, spot, before)

    def close(self) -> None:
        """Say of which streams only pieces are recorded."""
        for pieces in self.pieces.values():
            says = "pieces of a stream, and no event that ends it and says the whole"
            self.builder.gap("evidence_gap", says, pieces.spot)

    def said(self, author: str, content: Payload, spot: Spot) -> None:
        """What a person or an agent said, asked for or was given."""
        self._tell(author, parse_message(content, ""), spot)

    def _whole(self, author: str, message: Message | None) -> None:
        """The event that ends a stream: it says again what its pieces said."""
        pieces = self.pieces.pop(author, None)
        if pieces is None:
            return
        lost = pieces.calls - _calls_of(message)
        if lost:
            named = ", ".join(one_line(name, 40) for name in sorted(lost))
            says = f"pieces of a stream ask for a call that the event which ends it does not tell ({named})"
            self.builder.gap("evidence_gap", says, pieces.spot)

    def _tell(self, author: str, message: Message, spot: Spot) -> None:
        """Tell a message; a person's answer to a call goes to the agent that asked for it."""
        lane = self.lane(author)
        self._asked_in.update((part.recorded_id, lane) for part in message.calls if part.recorded_id)
        if author == USER and message.results:
            lane = self._asked_in.get(message.results[0].recorded_id or "", lane)
        tell(self.builder, lane, (message,), spot)
        self.doubts.note(self.builder, (message,), spot)

    def _beside(self, fields: Fields, spot: Spot, author: str) -> None:
        """What an event says besides its content: a hand-off, an error."""
        actions = object_in(fields, "actions")
        target = present(actions, "transfer_to_agent", "transferToAgent")
        if target is not None:
            self.builder.step(StepKind.HANDOFF, spot.down("/actions"), agent=author, payload=target)
        error = present(fields, "error_message", "errorMessage", "error_code", "errorCode")
        if error is not None:
            self.builder.step(StepKind.ERROR, spot, agent=author, payload=error)


class _Pieces:
    """The pieces of a stream: where they begin, and the calls in them, as many of a name as one piece has."""

    def __init__(self, spot: Spot) -> None:
        self.spot = spot
        self.calls: Counter[str] = Counter()

    def add(self, message: Message | None) -> None:
        """Take note of a piece. A call that is brought bit by bit names its tool in the first alone."""
        self.calls |= _calls_of(message)


def _calls_of(message: Message | None) -> Counter[str]:
    return Counter(part.tool for part in message.calls if part.tool) if message is not None else Counter()
