"""Has the user been told what leaves this machine? Said once, before the first request of a rerun is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.replay.live.answerer import LiveAnswerer, what_leaves
from forensics.replay.live.endpoint import endpoint

if TYPE_CHECKING:
    from collections.abc import Callable

    from forensics.replay.plan import Plan
    from forensics.replay.ports import ModelAnswer, ModelRequest

PROVIDER = "openai-chat"
"""The wire format that is spoken where the plan names none: most local servers know it."""


class SayingAnswerer:
    """A live answerer that says what leaves before it asks for the first time."""

    def __init__(self, plan: Plan, say: Callable[[str], None]) -> None:
        self._to = endpoint(plan.endpoint or "", plan.provider or PROVIDER)
        self._asks = LiveAnswerer(self._to, plan.mode, seed=plan.minted.seed)
        self._say: Callable[[str], None] | None = say

    def answer(self, request: ModelRequest) -> ModelAnswer:
        """The model's answer, marked as one that was asked for."""
        if self._say is not None:
            self._say(what_leaves(self._to, request))
            self._say = None
        return msgspec.structs.replace(self._asks.answer(request), live=True)

    def close(self) -> None:
        """End the connection."""
        self._asks.close()
