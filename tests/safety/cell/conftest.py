"""How is an attempt made in a cell? `tried` runs one function of agents/escapes.py and gathers what it said."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from forensics.replay.cell import CellPlan, Ending, Isolation, Limits, open_cell

if TYPE_CHECKING:
    from collections.abc import Callable

AGENTS = Path(__file__).parent / "agents"


class Tried(NamedTuple):
    """What the child said before it ended, how it ended, and how it was kept."""

    said: list[bytes]
    ending: Ending
    isolation: Isolation

    @property
    def went_on(self) -> bool:
        """Whether the agent had its way after the attempt."""
        return b"went on" in self.said

    @property
    def outcome(self) -> str:
        """What the attempt itself gave."""
        return self.said[1].decode() if len(self.said) > 1 else ""


def try_in_a_cell(
    function: str,
    argument: bytes | str = b"",
    *,
    wall: bool = False,
    tripwire: bool = True,
    limits: Limits | None = None,
    patience: float = 20.0,
) -> Tried:
    """Run one function of the escapes in a cell."""
    plan = CellPlan(
        target=function if ":" in function else f"escapes:{function}",
        paths=(str(AGENTS),),
        argument=argument.encode() if isinstance(argument, str) else argument,
        wall=wall,
        executes=wall,
        tripwire=tripwire,
        limits=limits or Limits(seconds=60.0, cpu_seconds=30),
    )
    said = []
    with open_cell(plan) as cell:
        while (message := cell.channel.receive(patience)) is not None:
            said.append(message)
    return Tried(said, cell.end(), cell.isolation())


@pytest.fixture(scope="session")
def tried() -> Callable[..., Tried]:
    return try_in_a_cell
