"""Which agents of a drawing share a lane, and from which row to which does each have it?

A sub-agent works for a while and is gone: the next one takes its lane, so that a run with many of them stays as narrow
as the most that worked at once. (The greedy colouring of an interval graph, in order of the left ends, is optimal.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

LANES = 8  # agents beyond it share the last lane, whoever else is in it
_FREE = 1  # rows between two agents of one lane: room for the second one's name

Rows = tuple[int, int]  # the first and the last


class Stretch(NamedTuple):
    """A part of a lane that belongs to one agent, or to more that no other lane had room for."""

    lane: int
    agent: str
    others: int
    first: int
    last: int


def lanes_of(rows: Mapping[str, Rows]) -> dict[str, int]:
    """The lane of each agent, given in the order in which they begin. The first agent shares its lane with none."""
    taken: dict[str, int] = {}
    ends: list[int] = []  # by lane, the last row that is taken
    for agent, (first, last) in rows.items():
        lane = next((n for n, end in enumerate(ends) if n and end + _FREE < first), min(len(ends), LANES - 1))
        ends[lane : lane + 1] = [max([last, *ends[lane : lane + 1]])]
        taken[agent] = lane
    return taken


def stretches(rows: Mapping[str, Rows], lanes: Mapping[str, int]) -> list[Stretch]:
    """The stretches of all lanes, in the order in which they begin."""
    latest: dict[int, int] = {}
    found: list[Stretch] = []
    for agent, (first, last) in rows.items():
        at = latest.get(lanes[agent])
        if at is not None and first <= found[at].last + _FREE:
            found[at] = found[at]._replace(others=found[at].others + 1, last=max(last, found[at].last))
        else:
            latest[lanes[agent]] = len(found)
            found.append(Stretch(lanes[agent], agent, 0, first, last))
    return found
