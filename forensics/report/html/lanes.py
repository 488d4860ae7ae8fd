"""Which lanes does a timeline draw? People first, then agents and models, then tools; the least used share one."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from forensics.report.incident.documents import Lane

_ORDER = ("people", "agent", "model", "tool")
_AGENTS, _TOOLS = 5, 8  # lanes of their own


class DrawnLane(NamedTuple):
    """One lane of the drawing."""

    kind: str
    name: str


def drawn_lanes(lanes: Iterable[Lane]) -> tuple[list[DrawnLane], dict[int, int]]:
    """The lanes as drawn, people first and tools last, and which of them each lane is; the least used share one."""
    rows = sorted(lanes, key=lambda lane: (_ORDER.index(lane.kind), lane.index))
    busiest = sorted(rows, key=lambda lane: (-lane.steps, lane.index))
    own = {
        lane.index
        for kinds, most in ((("people",), 1), (("agent", "model"), _AGENTS), (("tool",), _TOOLS))
        for lane in [lane for lane in busiest if lane.kind in kinds][:most]
    }
    drawn: dict[DrawnLane, int] = {}
    places = {}
    for lane in rows:
        shown = DrawnLane(lane.kind, lane.name) if lane.index in own else DrawnLane(lane.kind, f"other {lane.kind}s")
        places[lane.index] = drawn.setdefault(shown, len(drawn))
    return list(drawn), places
