"""Which call of one turn is which of its twin, and did both turns' calls come in one order? No order is promised within
a batch, so calls are paired by what they ask for, wherever they stand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.compare.events import tool_name
from forensics.core.jsonvalue import canonical, value_of
from forensics.core.trace import Call

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence

    from forensics.core.renaming import Renaming


class Made(msgspec.Struct, frozen=True):
    """A call with its row."""

    row: int
    call: Call


class Batch(msgspec.Struct, frozen=True):
    """The calls of two turns: pairs, in the order of the left turn, and those that only one turn has."""

    pairs: tuple[tuple[Made, Made], ...]
    missing: tuple[Made, ...]
    extra: tuple[Made, ...]

    @property
    def reordered(self) -> bool:
        """Whether the paired calls were asked for, or answered, in another order."""
        asked = [right.row for _, right in self.pairs]
        answered = [(left.call.result_step, right.call.result_step) for left, right in self.pairs]
        ended = [right for _, right in sorted(pair for pair in answered if min(pair) >= 0)]
        return asked != sorted(asked) or ended != sorted(ended)


def batch(left: Sequence[Made], right: Sequence[Made], renaming: Renaming, *, loose: bool) -> Batch:
    """Pair equal requests, then calls of one tool, each time in the order of the turns."""
    tools = [[tool_name(made.call.tool, loose=loose) for made in side] for side in (left, right)]
    mine = [(tool, _asked(made.call, renaming.rightward)) for tool, made in zip(tools[0], left, strict=True)]
    theirs = [(tool, _asked(made.call, lambda value: value)) for tool, made in zip(tools[1], right, strict=True)]
    twins = _joined(range(len(left)), range(len(right)), mine, theirs)
    taken = set(twins.values())
    ones = [i for i in range(len(left)) if i not in twins]
    others = [j for j in range(len(right)) if j not in taken]
    twins |= _joined(ones, others, *tools)
    taken = set(twins.values())
    return Batch(
        pairs=tuple((left[i], right[twins[i]]) for i in sorted(twins)),
        missing=tuple(made for i, made in enumerate(left) if i not in twins),
        extra=tuple(made for j, made in enumerate(right) if j not in taken),
    )


def _asked(call: Call, renamed: Callable[[object], object]) -> bytes:
    return b"" if call.arguments is None else canonical(renamed(value_of(call.arguments)))


def _joined(
    ones: Iterable[int], others: Iterable[int], left: Sequence[Hashable], right: Sequence[Hashable]
) -> dict[int, int]:
    """The first free one of the right for each of the left that has the same key."""
    waiting: dict[Hashable, list[int]] = {}
    for j in others:
        waiting.setdefault(right[j], []).append(j)
    free = {key: iter(places) for key, places in waiting.items()}
    found = ((i, next(free.get(left[i], iter(())), None)) for i in ones)
    return {i: j for i, j in found if j is not None}
