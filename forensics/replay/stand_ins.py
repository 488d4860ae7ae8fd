"""What stands in for a tool in this rerun? Values and functions that the user gave, call by call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from forensics.replay.plan import Plan


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
