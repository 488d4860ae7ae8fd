"""Which walls can this machine raise? Each way is tried, with a child that does nothing."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import msgspec

from forensics.replay.cell.cell import WAYS, start_cell
from forensics.replay.cell.isolation import Level, Way
from forensics.replay.cell.plan import CellPlan, Limits

if TYPE_CHECKING:
    from forensics.replay.cell.channel import Channel

_PATIENCE = 10.0


class Tried(msgspec.Struct, frozen=True):
    """One way (None: without a wall) with the level that it reached, or why it reached none."""

    way: Way | None
    level: Level | None
    why: str | None = None


def nothing(_channel: Channel, _argument: bytes) -> None:
    """What the child does."""


def survey() -> tuple[Tried, ...]:
    """Every way that there is, the one that a cell would take first first, and the way without a wall last."""
    return tuple(_tried(way) for way in (*WAYS, None))


def _tried(way: Way | None) -> Tried:
    if why := _out_of_question(way):
        return Tried(way, None, why)
    plan = CellPlan(target=f"{__name__}:nothing", limits=Limits(seconds=_PATIENCE))
    try:
        cell = start_cell(plan, way)
    except OSError as error:
        return Tried(way, None, error.strerror or str(error))
    ending = cell.end(_PATIENCE)
    return Tried(way, cell.level) if ending.how == "returned" else Tried(way, None, f"the child {ending.how}")


def _out_of_question(way: Way | None) -> str | None:
    if not hasattr(os, "fork"):
        return "this system has no fork"
    if way and sys.platform != "linux":
        return "this system is not Linux"
    return "this process is not root" if way == "root" and os.geteuid() else None
