"""How does an agent run without a cell? In this process, for tests and for measuring: nothing is kept from it.

The same frames go over a wire that is a function call.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from forensics.replay import frames

if TYPE_CHECKING:
    from collections.abc import Callable

    Answer = Callable[[frames.FromChild], frames.FromParent | None]


class DirectWire:
    """A wire whose other end answers at once."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._replies: deque[bytes] = deque()
        self.said: frames.FromChild | None = None

    def send(self, message: bytes) -> None:
        """Hand a message over; its reply waits."""
        self.said = frames.decode_from_child(message)
        reply = self._answer(self.said)
        if reply is not None:
            self._replies.append(frames.encode(reply))

    def receive(self, timeout: float | None = None) -> bytes | None:  # noqa: ARG002 - as a wire has it
        """The next reply."""
        return self._replies.popleft() if self._replies else None
