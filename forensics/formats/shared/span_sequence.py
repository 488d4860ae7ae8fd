"""Which spans of a trace are told, and in which order? Who asked, then what ran, then who was shown the result."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from forensics.formats.shared.span_joins import SpanCalls
from forensics.formats.shared.span_names import Role
from forensics.formats.shared.span_order import NO_PARENT, Events, order_events
from forensics.formats.shared.span_roles import AGENTS, OUTSIDE
from forensics.formats.shared.span_structure import check_asked_first

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.core.build import TraceBuilder
    from forensics.formats.shared.span_cast import Cast
    from forensics.formats.shared.span_messages import Said


class Sequence:
    """The events of one trace: `events` in causal order, `two_events` the rows that are entered and left."""

    def __init__(self, cast: Cast, builder: TraceBuilder) -> None:
        self._cast = cast
        self._builder = builder
        kept = [row for row, role in enumerate(cast.roles) if role in _TOLD or self._is_told(row)]
        kept = [row for row in kept if row not in cast.twin] if cast.twin else kept
        self.two_events = frozenset(self._left(kept))
        calls = SpanCalls(cast)
        pairs = chain(self._asked_before(calls), self._shown_after(calls))
        ranks = calls.ranks
        self.events: Events = order_events(cast.tree, kept, self.two_events, pairs, lambda row: ranks.get(row, 0))

    def _is_told(self, row: int) -> bool:
        """Whether a span is told whose role is not always."""
        role = self._cast.roles[row]
        if role in OUTSIDE:
            around = self._cast.within[row]
            return around == NO_PARENT or self._cast.roles[around] is Role.AGENT
        return role is Role.OTHER and self._cast.spans.has_failed(row)

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

    def _asked_before(self, calls: SpanCalls) -> Iterator[tuple[int, int]]:
        starts = self._cast.spans.starts
        for asker, row in calls.pairs():
            if starts[row] < starts[asker]:
                check_asked_first(self._cast, asker, row, self._builder)
            yield asker, row

    def _shown_after(self, calls: SpanCalls) -> Iterator[tuple[int, int]]:
        seen: set[int] = {NO_PARENT}
        for row, said in self._cast.prompts.items():
            for recorded_id in _shown_ids(said):
                tool = calls.ran.get(recorded_id, NO_PARENT)
                if tool not in seen:
                    seen.add(tool)
                    yield tool, row


_TOLD = frozenset(Role) - OUTSIDE - {Role.OTHER, Role.FOREIGN}


def _shown_ids(said: Said) -> Iterator[str]:
    return (part.recorded_id for message in said.messages for part in message.results if part.recorded_id)
