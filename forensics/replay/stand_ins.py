"""What stands in for a tool in this rerun? Values and functions that the user gave, call by call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from forensics.core.meant import FEW, meant
from forensics.core.sanitise import one_line
from forensics.errors import ConfigurationError
from forensics.replay.plan import Mode

if TYPE_CHECKING:
    from forensics.core.trace import Trace
    from forensics.replay.plan import Plan

_SHOWN = 60


class Order(msgspec.Struct, frozen=True):
    """A function of the user's that is to be run in the cell."""

    target: str


class Stood(msgspec.Struct, frozen=True):
    """A value that stands in for a result; `failed` says that it is a failure."""

    value: Any
    failed: bool = False


class UsedUp(msgspec.Struct, frozen=True):
    """The list of values for the calls of a tool has come to its end."""

    given: int


def check_stand_ins(plan: Plan, recorded: Trace) -> None:
    """Raise ConfigurationError for a stand-in that can't be asked for: a rebuilt agent that is given recorded words
    calls the recorded tools and no others. An agent of the user's, and a model that is asked, may call any.
    """
    if plan.agent is not None or plan.mode is not Mode.RECORDED:
        return
    called = {call.tool for call in recorded.calls}
    for name in (*(one.tool for one in plan.stubs), *(one.tool for one in plan.overrides)):
        if name not in called:
            message = f"{one_line(name, _SHOWN)} has a stand-in, and the recorded run never calls a tool of that name"
            raise ConfigurationError(message, hint=meant(name, sorted(called), listed=FEW))


class StandIns:
    """The stand-ins of a plan. A list of values is given call by call, and ends."""

    def __init__(self, plan: Plan) -> None:
        self._stubs = {stub.tool: stub for stub in plan.stubs}
        self._orders = {one.tool: Order(one.code.target) for one in plan.overrides}
        self._given: dict[str, int] = {}

    def of(self, tool: str) -> Order | Stood | UsedUp | None:
        """What stands in for the next call of a tool; None where nothing does."""
        stub = self._stubs.get(tool)
        if stub is None:
            return self._orders.get(tool)
        number = self._given.get(tool, 0)
        self._given[tool] = number + 1
        if not stub.each:
            return Stood(stub.values[0])
        return Stood(stub.values[number]) if number < len(stub.values) else UsedUp(len(stub.values))
