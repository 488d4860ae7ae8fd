"""In which order did the checkpoints of a thread come about, and which lies on the way to which?

A checkpoint names the one that it went on from; a second one that goes on from the same is a fork, and begins a branch.
Times order what the parents leave open; a parent always stands before what went on from it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.core.trace import NOWHERE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forensics.formats.shared.checkpoints.record import Checkpoint

_ROOT_SOURCES = frozenset({"fork", "update"})


class CheckpointTree:
    """The checkpoints of one thread, in order (`rows`), with their parents, children and branches by row.

    `parent` is -1 at a root, `orphans` are the rows whose parent is not in the evidence, `ring` those of a ring of
    parents. `branch` numbers the branches of each namespace from 0; the first child of a checkpoint goes on with its
    branch. `copied` leads from a fork to the row whose state it copied.
    """

    def __init__(self, checkpoints: Sequence[Checkpoint]) -> None:
        self.rows = _ordered(checkpoints)
        named = {(c.namespace, c.id): row for row, c in reversed(list(enumerate(self.rows)))}
        told = [named.get((c.namespace, c.parent), NOWHERE) if c.parent else NOWHERE for c in self.rows]
        self.ring = [row for row, parent in enumerate(told) if parent >= row]
        self.parent = [parent if parent < row else NOWHERE for row, parent in enumerate(told)]
        self.orphans = [row for row, c in enumerate(self.rows) if c.parent and told[row] < 0]
        self.children: list[list[int]] = [[] for _ in self.rows]
        for row, parent in enumerate(self.parent):
            if parent >= 0:
                self.children[parent].append(row)
        self._enter, self._leave = self._numbered()
        self.branch = self._branches()
        self.copied = self._copied()

    def is_above(self, upper: int, lower: int) -> bool:
        """Whether the way to `lower` leads over `upper` (or is it)."""
        return self._enter[upper] <= self._enter[lower] < self._leave[upper]

    def leaves(self) -> list[int]:
        """The rows from which nothing went on."""
        return [row for row, below in enumerate(self.children) if not below]

    def led_to(self, row: int) -> int:
        """The checkpoint to which the tasks that ran on this one led: the first that no person made; -1 for none."""
        return next((c for c in self.children[row] if self.rows[c].source not in _ROOT_SOURCES), NOWHERE)

    def _numbered(self) -> tuple[list[int], list[int]]:
        """When a walk down the tree enters and leaves each row (Tarjan, 1972), without recursion."""
        enter, leave = [0] * len(self.rows), [0] * len(self.rows)
        clock = 0
        for root, parent in enumerate(self.parent):
            todo = [(root, False)] if parent < 0 else []
            while todo:
                row, left = todo.pop()
                if left:
                    leave[row] = clock
                    continue
                enter[row] = clock
                clock += 1
                todo.append((row, True))
                todo.extend((child, False) for child in reversed(self.children[row]))
        return enter, leave

    def _copied(self) -> list[int]:
        """For each row, the one whose state a fork copied (itself, where it is no fork)."""
        found: list[int] = []
        for row, checkpoint in enumerate(self.rows):
            parent = self.parent[row]
            found.append(found[parent] if checkpoint.source == "fork" and parent >= 0 else row)
        return found

    def _branches(self) -> list[int]:
        found: list[int] = []
        begun: dict[str, int] = {}
        for row, checkpoint in enumerate(self.rows):
            parent = self.parent[row]
            if parent >= 0 and self.children[parent][0] == row:
                found.append(found[parent])
            else:
                found.append(begun.get(checkpoint.namespace, 0))
                begun[checkpoint.namespace] = found[-1] + 1
        return found


def _ordered(checkpoints: Sequence[Checkpoint]) -> list[Checkpoint]:
    """By time where every one has it, else as they stand (a history may stand from the newest to the oldest), with each
    parent before what went on from it.
    """
    timed = all(c.at >= 0 for c in checkpoints)
    listed = list(reversed(checkpoints)) if _is_newest_first(checkpoints) else list(checkpoints)
    if timed:
        listed.sort(key=lambda c: c.at)
    named: dict[tuple[str, str], int] = {}
    for row, checkpoint in enumerate(listed):
        named.setdefault((checkpoint.namespace, checkpoint.id), row)
    done = [False] * len(listed)
    order: list[Checkpoint] = []
    for row in range(len(listed)):
        way: list[int] = []
        at = row
        while at >= 0 and not done[at]:
            done[at] = True
            way.append(at)
            at = named.get((listed[at].namespace, listed[at].parent), NOWHERE) if listed[at].parent else NOWHERE
        order.extend(listed[at] for at in reversed(way))
    return order


def _is_newest_first(checkpoints: Sequence[Checkpoint]) -> bool:
    where = {(c.namespace, c.id): row for row, c in enumerate(checkpoints)}
    steps = [
        where[c.namespace, c.parent] - row
        for row, c in enumerate(checkpoints)
        if c.parent and (c.namespace, c.parent) in where
    ]
    return sum(1 if step > 0 else -1 for step in steps) > 0
