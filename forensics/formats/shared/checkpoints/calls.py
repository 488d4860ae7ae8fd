"""Which call does a message in a checkpoint ask for or answer, and was it executed before, on another branch?

A message that the state repeats is told once. A result is for the latest call with its id on the way to its checkpoint;
where that call has its result off that way, a branch went back to before it and executed it once more.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import msgspec

from forensics.core.build import Execution, Lane, Spot
from forensics.core.evidence import Basis
from forensics.core.findings import finding
from forensics.core.jsonvalue import text_of
from forensics.core.pairing import COMPARED
from forensics.core.trace import NOWHERE
from forensics.formats.shared.messages.telling import doubts_of, tell
from forensics.formats.shared.span_names import INDETERMINATE

if TYPE_CHECKING:
    from collections import Counter

    from forensics.core.build import TraceBuilder
    from forensics.core.messages import Message, Part
    from forensics.formats.shared.checkpoints.record import Found, Told, Write
    from forensics.formats.shared.checkpoints.tree import CheckpointTree

_BESIDE = -2
"""Where a call was answered of which no checkpoint tells: by a task that failed, or whose writes led to none."""


class _Asked(msgspec.Struct):
    """A call that a message asked for: its row, the checkpoint where it was asked, where it was first answered."""

    row: int
    where: int
    lane: Lane
    answered: int = NOWHERE


class Teller:
    """Tells the builder of one thread its messages, each once, in the lane of their graph and branch."""

    def __init__(self, tree: CheckpointTree, builder: TraceBuilder) -> None:
        self.tree = tree
        self.builder = builder
        self.asked: dict[str, list[_Asked]] = {}
        self.again: dict[tuple[str, str, int], _Asked] = {}
        self.known: dict[str, dict[bytes, Spot]] = {}
        self.unnamed: dict[bytes, set[str]] = {}
        self.doubted: set[tuple[bytes, str]] = set()

    def lane(self, row: int) -> Lane:
        """The lane of a checkpoint: one for each branch of each graph; the graph inside a node is its agent."""
        namespace, branch = self.tree.rows[row].namespace, self.tree.branch[row]
        agent = "|".join(part.partition(":")[0] for part in namespace.split("|")) if namespace else ""
        return self.builder.lane(f"{namespace}#{branch}", agent)

    def take(self, row: int, one: Found, spot: Spot, ran: Counter[bytes], *, after: int | None = None) -> None:
        """Tell a message, unless it was told: by its id, by what the tasks wrote (`ran`), by another graph's state."""
        told, place = one.told, Spot(spot.place, spot.pointer + one.pointer, spot.at)
        if ran[told.message.key] > 0:
            ran[told.message.key] -= 1
            self._remember(row, told, place)
            return
        if self._is_known(row, told, place):
            return
        self._remember(row, told, place)
        self._tell(row, told.message, place, row if after is None else after)

    def _is_known(self, row: int, told: Told, place: Spot) -> bool:
        if told.id:
            held = self.known.get(told.id, {})
            if held and told.message.key not in held:
                self._say_replaced(told, next(iter(held.values())), place)
            return told.message.key in held
        elsewhere = self.unnamed.get(told.message.key, set())
        return bool(elsewhere - {self.tree.rows[row].namespace}) or (bool(elsewhere) and self.tree.parent[row] < 0)

    def _remember(self, row: int, told: Told, place: Spot) -> None:
        if told.id:
            self.known.setdefault(told.id, {}).setdefault(told.message.key, place)
        self.unnamed.setdefault(told.message.key, set()).add(self.tree.rows[row].namespace)

    def _say_replaced(self, told: Told, before: Spot, place: Spot) -> None:
        """The state holds another message under the id of an earlier one: somebody changed what was asked for."""
        if told.message.calls:
            locators = tuple(self.builder.trace.places.locator(s.place, s.pointer) for s in (before, place))
            message = "a message that asks for calls was replaced in the state by another one with its id"
            self.builder.note(finding("args_replaced", message, locators=locators, basis=Basis.DERIVED))

    def _tell(self, row: int, message: Message, place: Spot, where: int) -> None:
        """Tell one message: calls are remembered by where they were asked, results find theirs on the way up."""
        lane = self.lane(row)
        for doubt in doubts_of(message):
            if (message.key, doubt.says) not in self.doubted:
                self.doubted.add((message.key, doubt.says))
                self.builder.gap(doubt.code, doubt.says, place.down(doubt.pointer))
        if not message.results:
            before = len(self.builder.trace.calls)
            tell(self.builder, lane, (message,), place)
            for number, call in enumerate(self.builder.trace.calls[before:], before):
                asked = _Asked(number, where if where >= 0 else row, lane)
                self.asked.setdefault(call.recorded_id or "", []).append(asked)
            return
        for part in message.results:
            self._answer(row, lane, part, place, where)
        if message.text is not None:
            rest = msgspec.structs.replace(message, results=())
            tell(self.builder, lane, (rest,), place)

    def failed(self, row: int, recorded_id: str, write: Write) -> bool:
        """The task that was queued for a call ended with an error; False where no open call is known by that id."""
        held = self._asked_before(recorded_id, row)
        if held is None or held.answered != NOWHERE:
            return False
        said = text_of(write.value).partition("(")[0].lower().replace("_", "")
        unsettled = any(part in said for part in INDETERMINATE)
        tool = self.builder.trace.calls[held.row].tool
        self.builder.show(held.lane, recorded_id, tool, write.value, write.spot, failed=True, unsettled=unsettled)
        held.answered = _BESIDE
        return True

    def _answer(self, row: int, lane: Lane, part: Part, place: Spot, where: int) -> None:
        held = self._asked_before(part.recorded_id or "", row) if part.recorded_id else None
        at = place.down(part.pointer)
        if held is not None and held.answered != NOWHERE and not self._on_the_way(held.answered, row):
            self._again(held, part, at, row if where < 0 else where, beside=where < 0)
            return
        lane = lane if held is None else held.lane
        shown = self.builder.show(
            lane, part.recorded_id, part.tool, part.payload, at,
            failed=part.failed, denied=part.denied, unsettled=part.unsettled, tainted=part.tainted,
        )  # fmt: skip
        if held is not None and shown == held.row and held.answered == NOWHERE:
            held.answered = where if where >= 0 else _BESIDE

    def _again(self, held: _Asked, part: Part, at: Spot, where: int, *, beside: bool) -> None:
        """The call has its result on another branch: the one of `where` executed it once more."""
        first, lane = self.builder.trace.calls[held.row], self.lane(where)
        status = "denied" if part.denied else "unsettled" if part.unsettled else "error" if part.failed else "ok"
        ran = Execution(
            first.tool, at, part.recorded_id, first.arguments, part.payload, None, status,
            boundary=first.boundary, server=first.server, tainted=part.tainted,
        )  # fmt: skip
        number = self.builder.execute_again(lane, held.row, ran)
        again = _Asked(number, where, lane, _BESIDE if beside else where)
        self.again[self._on_branch(part.recorded_id or "", where)] = again

    def _asked_before(self, recorded_id: str, row: int) -> _Asked | None:
        """The latest call with that id on the way to a checkpoint (a graph inside it counts as on the way)."""
        again = self.again.get(self._on_branch(recorded_id, row))
        if again is not None and self._on_the_way(again.where, row):
            return again
        latest = islice(reversed(self.asked.get(recorded_id, ())), COMPARED)
        return next((asked for asked in latest if self._on_the_way(asked.where, row)), None)

    def _on_branch(self, recorded_id: str, row: int) -> tuple[str, str, int]:
        return recorded_id, self.tree.rows[row].namespace, self.tree.branch[row]

    def _on_the_way(self, upper: int, lower: int) -> bool:
        if upper < 0:
            return False
        same = self.tree.rows[upper].namespace == self.tree.rows[lower].namespace
        return self.tree.is_above(upper, lower) if same else True
