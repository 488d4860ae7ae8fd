"""Was this told before, by the other of two who tell it? What a client sends may come back in what it is streamed."""

from __future__ import annotations

from collections import Counter


class Echoes:
    """What was sent and what came back, by its content: each is told once for as often as one side has it."""

    def __init__(self) -> None:
        self._sent: Counter[bytes] = Counter()
        self._came: Counter[bytes] = Counter()

    def is_told(self, key: bytes, *, sent: bool) -> bool:
        """Take note of it; returns whether the other side told it before."""
        mine, other = (self._sent, self._came) if sent else (self._came, self._sent)
        mine[key] += 1
        return mine[key] <= other[key]
