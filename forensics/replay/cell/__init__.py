"""Where does an agent's code run? In a child process with one channel to its parent and, where the machine allows it,
no world in reach.

`open_cell(CellPlan(…))` starts it. What each level promises and what not: docs/explanation/isolation.md.
"""

from __future__ import annotations

from forensics.replay.cell.cell import Cell, open_cell
from forensics.replay.cell.channel import Channel
from forensics.replay.cell.isolation import Captured, Denied, Ending, Isolation, Level
from forensics.replay.cell.plan import CellPlan, Limits

__all__ = ["Captured", "Cell", "CellPlan", "Channel", "Denied", "Ending", "Isolation", "Level", "Limits", "open_cell"]
