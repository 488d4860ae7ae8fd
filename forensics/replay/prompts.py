"""What was a model shown when it was asked, and is that what another one was shown? The prompts of a run, turn by turn.

No turn repeats its history, so that the prompts of a run are as large as the run: what came before is a digest.
"""

from __future__ import annotations

import hashlib
from typing import Any

from forensics.core.jsonvalue import canonical

_LATEST = 20  # of what was shown to all agents, in one request


class _History:
    """Something that grows: its items, and how many of them a digest stands for already."""

    def __init__(self) -> None:
        self.items: list[Any] = []
        self._digest = hashlib.sha256()
        self._digested = 0

    def before(self, count: int) -> str:
        """The digest of the first `count` items; the counts that are asked for never fall."""
        for item in self.items[self._digested : count]:
            self._digest.update(canonical(item))
        self._digested = max(self._digested, count)
        return self._digest.hexdigest()


class Prompts:
    """What each agent's model was shown: since its last turn in full, and by a digest before that. What no agent's name
    stands at was shown to all of them; of that an agent's request names the latest.
    """

    def __init__(self) -> None:
        self._of: dict[str, _History] = {}
        self._told: dict[str, tuple[int, int]] = {}
        self._of_all: list[Any] = []
        self._chain: list[str] = [""]

    def take(self, agent: str, item: Any) -> None:
        """Something is shown to an agent's model."""
        if agent:
            self._of.setdefault(agent, _History()).items.append(item)
        else:
            self._of_all.append(item)
            self._chain.append(hashlib.sha256(self._chain[-1].encode() + canonical(item)).hexdigest())

    def request(self, agent: str, model: str) -> dict[str, Any]:
        """What the agent's next turn is asked; `before` is None where that is all that it was ever shown."""
        own = self._of.setdefault(agent, _History())
        mine, common = self._told.get(agent, (0, 0))
        common = max(common, len(self._of_all) - _LATEST) if agent else common
        digest = hashlib.sha256(f"{own.before(mine)} {self._chain[common]}".encode())
        named = {"model": model} if model else {}
        return {
            **named,
            "shown": [*self._of_all[common:], *own.items[mine:]],
            "before": f"sha256:{digest.hexdigest()}" if mine or common else None,
        }

    def said(self, agent: str, answer: Any) -> None:
        """The model answered."""
        own = self._of[agent]
        own.items.append(answer)
        self._told[agent] = (len(own.items), len(self._of_all))
