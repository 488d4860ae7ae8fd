"""What does an event of Google ADK tell? Its content, by the agent that it names as its author; a hand-off; an error.

Stored calls mostly have no id: a result is joined with the open call of its author by name and order (FORMATS section
19; the model is ADK's `Event`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.core.build import Spot
from forensics.core.sanitise import one_line
from forensics.core.times import nanoseconds
from forensics.core.trace import StepKind
from forensics.formats.shared.fields import Fields, is_like_calls, is_true, object_in, present, text
from forensics.formats.shared.messages.telling import Doubts, taint, tell
from forensics.formats.shared.messages.vocabulary import parse_message

if TYPE_CHECKING:
    from forensics.core.build import Lane, TraceBuilder
    from forensics.core.trace import Payload

USER = "user"
_READ = frozenset({"content", "actions"})


class Conversation:
    """The events of one session on their way to the builder: a lane for each agent."""

    def __init__(self, builder: TraceBuilder) -> None:
        self.builder = builder
        self.doubts = Doubts()
        self.pieces: dict[str, Spot] = {}

    def lane(self, author: str) -> Lane:
        """The lane of an agent; of a person, the first one."""
        agent = "" if author == USER else author
        return self.builder.lane(agent, agent)

    def event(self, fields: Fields, spot: Spot, tainted: str | None) -> None:
        """Tell one event; a piece of a stream is repeated by the event that ends it."""
        author, before = text(fields, "author"), len(self.builder.trace.calls)
        if is_true(fields, "partial"):
            self.pieces.setdefault(author, spot)
            return
        self.pieces.pop(author, None)
        spot = Spot(spot.place, spot.pointer, nanoseconds(present(fields, "timestamp")))
        content = present(fields, "content")
        if content is not None:
            self.said(author, content, spot.down("/content"))
        self._beside(fields, spot, author)
        for name, held in fields.items():
            if name not in _READ and is_like_calls(held):
                message = f"what looks like a call in a member that is not read ({one_line(name, 40)})"
                self.builder.gap("evidence_gap", message, spot.down(f"/{name}"))
        taint(self.builder, tainted, spot, before)

    def close(self) -> None:
        """Say of which streams only pieces are recorded."""
        for spot in self.pieces.values():
            self.builder.gap("evidence_gap", "pieces of a stream, and no event that ends it and says the whole", spot)

    def said(self, author: str, content: Payload, spot: Spot) -> None:
        """What a person or an agent said, asked for or was given."""
        message = parse_message(content, "")
        tell(self.builder, self.lane(author), (message,), spot)
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
