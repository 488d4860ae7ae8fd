"""Which spans of a trace are told, and in which order? Who asked, then what ran, then who was shown the result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.formats.shared import span_names as names
from forensics.formats.shared.span_names import Role
from forensics.formats.shared.span_order import NO_PARENT, Events, order_events
from forensics.formats.shared.span_roles import AGENTS, OUTSIDE
from forensics.formats.shared.span_structure import check_asked_first
from forensics.formats.shared.spans import texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from forensics.core.build import TraceBuilder
    from forensics.formats.shared.span_messages import Said
    from forensics.formats.shared.span_roles import Cast


class Sequence:
    """The events of one trace: `events` in causal order, `two_events` the rows that are entered and left."""

    def __init__(self, cast: Cast, builder: TraceBuilder) -> None:
        self._cast = cast
        self._builder = builder
        kept = [row for row, role in enumerate(cast.roles) if role in _TOLD or self._is_told(row)]
        kept = [row for row in kept if row not in cast.twin] if cast.twin else kept
        self.two_events = frozenset(self._left(kept))
        tools = cast.rows(Role.TOOL)
        ids = texts([cast.spans[row] for row in tools], names.TOOL_CALL_ID)
        asked, ran = _unique(self._asked()), _unique(zip(ids, tools, strict=True))
        self._ranks = self._rank_calls(asked, ran)
        pairs = [*self._asked_before(asked, ran), *self._shown_after(ran)]
        self.events: Events = order_events(cast.tree, kept, self.two_events, pairs, lambda r: self._ranks.get(r, 0))

    def _is_told(self, row: int) -> bool:
        """Whether a span is told whose role is not always."""
        role = self._cast.roles[row]
        if role in OUTSIDE:
            around = self._cast.within[row]
            return around == NO_PARENT or self._cast.roles[around] is Role.AGENT
        return role is Role.OTHER and self._cast.spans[row].failed

    def _left(self, kept: list[int]) -> set[int]:
        """The rows that end after something was told inside them: agents, workflows, tools around other steps."""
        around: set[int] = set()
        for row in kept:
            above = self._cast.scope[row]
            while above != NO_PARENT and above not in around:
                around.add(above)
                above = self._cast.scope[above]
        roles, twin = self._cast.roles, self._cast.twin
        left = {row for row in around if roles[row] is Role.TOOL and row not in twin}
        return left.union(row for row in kept if roles[row] in AGENTS)

    def _asked(self) -> Iterator[tuple[str | None, int]]:
        for row, said in self._cast.answers.items():
            if row not in self._cast.twin:
                for part in said.messages[0].calls:
                    yield part.recorded_id, row

    def _rank_calls(self, asked: dict[str, int], ran: dict[str, int]) -> dict[int, int]:
        """For each tool span the place of its call in the request."""
        ranks: dict[int, int] = {}
        for row, said in self._cast.answers.items():
            for place, part in enumerate(said.messages[0].calls):
                if part.recorded_id and asked.get(part.recorded_id) == row:
                    ranks[ran.get(part.recorded_id, NO_PARENT)] = place
        return ranks

    def _asked_before(self, asked: dict[str, int], ran: dict[str, int]) -> Iterator[tuple[int, int]]:
        for recorded_id, row in ran.items():
            asker = asked.get(recorded_id, NO_PARENT)
            if NO_PARENT not in (asker, row):
                if self._cast.spans[row].start < self._cast.spans[asker].start:
                    check_asked_first(self._cast, asker, row, self._builder)
                yield asker, row

    def _shown_after(self, ran: dict[str, int]) -> Iterator[tuple[int, int]]:
        seen: set[int] = {NO_PARENT}
        for row, said in self._cast.prompts.items():
            for recorded_id in _shown_ids(said):
                tool = ran.get(recorded_id, NO_PARENT)
                if tool not in seen:
                    seen.add(tool)
                    yield tool, row


_TOLD = frozenset(Role) - OUTSIDE - {Role.OTHER, Role.FOREIGN}


def _shown_ids(said: Said) -> Iterator[str]:
    return (part.recorded_id for message in said.messages for part in message.results if part.recorded_id)


def _unique(pairs: Iterable[tuple[str | None, int]]) -> dict[str, int]:
    """The row of each id; -1 for one that stands more often and so orders nothing."""
    found: dict[str, int] = {}
    for recorded_id, row in pairs:
        if recorded_id:
            found[recorded_id] = NO_PARENT if recorded_id in found else row
    return found
