"""How does an agent run without a cell? In this process, for tests of the gate and for measuring: nothing is kept from
it. The same frames go over a wire that is a function call.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from forensics.replay import frames
from forensics.replay.cell import Isolation, Level
from forensics.replay.child_ports import agent_of, run_function
from forensics.replay.running import Ended, Talk

if TYPE_CHECKING:
    from forensics.replay.plan import Plan
    from forensics.replay.ports import Agent
    from forensics.replay.running import Runner
    from forensics.replay.session import Session


class DirectWire:
    """A wire whose other end answers at once."""

    def __init__(self, talk: Talk) -> None:
        self._talk = talk
        self._replies: deque[bytes] = deque()

    def send(self, message: bytes) -> None:
        """Hand a message over; its reply waits."""
        reply = self._talk.take(message)
        if reply is not None:
            self._replies.append(reply)

    def receive(self, timeout: float | None = None) -> bytes | None:  # noqa: ARG002 - as a wire has it
        """The next reply."""
        return self._replies.popleft() if self._replies else None


def here(agent: Agent | None = None) -> Runner:
    """A runner that calls this function in this process; None: the blueprint, which is no foreign code."""

    def run(session: Session, start: frames.Start, _plan: Plan) -> Ended:
        talk = Talk(session)
        sent = frames.decode_start(frames.encode(start))
        run_function(DirectWire(talk), agent or agent_of(sent), sent)
        why = ("the agent ran in the process that holds the record",)
        none = Isolation(level=Level.NONE, missing=why)
        return Ended(output=talk.output, broke=talk.broke, broke_at=talk.broke_at, isolation=none)

    return run
