"""Which conversation does this model request go on with? The requests of one trace, told as lanes of its builder, for
formats that record each request with its whole prompt and the executions apart from it.

A prompt that starts with all that a conversation held goes on with it, whichever agent asks: that is a hand-off. One
that shares something with what the same agent was shown before is its conversation, compacted. Any other begins a lane.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.formats.shared.messages.telling import Begun, Doubts, asked_in, gone_on, tell

if TYPE_CHECKING:
    from forensics.core.build import Lane, Spot, TraceBuilder
    from forensics.core.messages import Message

_INSTRUCTIONS = frozenset({"system", "developer"})


class Exchanges:
    """The conversations of one trace."""

    def __init__(self, builder: TraceBuilder) -> None:
        self.builder = builder
        self.doubts = Doubts()
        self._begun: dict[bytes, list[Begun]] = {}
        self._latest: dict[str, Begun] = {}
        self._names: set[str] = set()
        self._lane_of_call: dict[str, Lane] = {}

    def request(self, prompt: tuple[Message, ...], spot: Spot, *, asker: str = "", agent: str = "") -> Lane:
        """A model was asked with this prompt, by the agent that `asker` identifies; returns the lane of the answer."""
        keys = [m.key for m in prompt if m.role not in _INSTRUCTIONS]
        begun = self._gone_on(prompt, keys, asker)
        if begun is None:
            begun = self._begin(keys, asker)
            lane = self.builder.lane(begun.name, agent)
            tell(self.builder, lane, prompt, spot)
        else:
            lane = self.builder.lane(begun.name)
            self.builder.feed(lane, prompt, spot)
        begun.take(keys, ())
        self._latest[asker] = begun
        self.doubts.note(self.builder, prompt, spot)
        self._remember(lane, prompt)
        return lane

    def answer(self, lane: Lane, message: Message, spot: Spot, *, asker: str = "", model: str = "") -> int:
        """What the model answered to the latest request of that agent; returns the turn's number."""
        turn = self.builder.respond(lane, message, spot, model=model)
        begun = self._latest[asker]
        begun.take(begun.keys, (message,))
        self.doubts.note(self.builder, (message,), spot)
        self._remember(lane, (message,))
        return turn

    def lane_of(self, recorded_id: str, asker: str = "", agent: str = "") -> Lane:
        """The lane that asked for the call of that id; else that of the agent's latest request, or a new one."""
        lane = self._lane_of_call.get(recorded_id) if recorded_id else None
        if lane is not None:
            return lane
        begun = self._latest.get(asker)
        return self.builder.lane(asker if begun is None else begun.name, agent)

    def _gone_on(self, prompt: tuple[Message, ...], keys: list[bytes], asker: str) -> Begun | None:
        if not keys:
            return None
        asked = asked_in(prompt)
        told = gone_on(self._begun.get(keys[0], []), keys, asked)
        own = self._latest.get(asker)
        if told is not None or own is None:
            return told
        return own if asked & own.asked or not set(own.keys[1:]).isdisjoint(keys) else None

    def _begin(self, keys: list[bytes], asker: str) -> Begun:
        name, number = asker, 1
        while name in self._names:
            number += 1
            name = f"{asker}#{number}"
        self._names.add(name)
        begun = Begun(name)
        self._begun.setdefault(keys[0] if keys else b"", []).append(begun)
        return begun

    def _remember(self, lane: Lane, messages: tuple[Message, ...]) -> None:
        for message in messages:
            for part in message.calls:
                if part.recorded_id:
                    self._lane_of_call[part.recorded_id] = lane
