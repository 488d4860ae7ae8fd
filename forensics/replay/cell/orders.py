"""What do the parent and the watcher of a cell tell each other? One start, one answer, one end."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from forensics.replay.cell.isolation import Captured, Ending, Level, Way
from forensics.replay.cell.plan import CellPlan
from forensics.replay.cell.wall.layout import Layout

LIMIT = 1 << 28


class Start(msgspec.Struct, frozen=True):
    """The parent's first message: the plan, an empty folder of the cell's own, how the wall is raised (None: no wall),
    what of the disk the child sees, and the parent's namespaces by kind.
    """

    plan: CellPlan
    scratch: str
    way: Way | None
    seen: Layout = Layout()
    spaces: dict[str, str] = {}


class Started(msgspec.Struct, frozen=True):
    """The watcher's answer: the level at which the child starts, or None and why it does not."""

    level: Level | None
    missing: tuple[str, ...] = ()


class Ended(msgspec.Struct, frozen=True):
    """The watcher's last message: how the child ended, and what it wrote."""

    ending: Ending
    captured: tuple[Captured, ...] = ()
    more: int = 0


Order = TypeVar("Order", Start, Started, Ended)


def packed(order: Start | Started | Ended) -> bytes:
    """An order as a message."""
    return msgspec.msgpack.encode(order)


def unpacked(message: bytes, kind: type[Order]) -> Order:
    """The order of that kind in a message. Raises msgspec.DecodeError if it is none."""
    return msgspec.msgpack.decode(message, type=kind)
