"""Which calls did an agent make later than the recorded one: after a turn of its model that had their results before it
in the record? Each such call is equal to a recorded one, and what it did came too late for that turn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.replay.log import Called, Turned

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from forensics.core.trace import Trace
    from forensics.replay.log import Entry


def late_calls(log: Sequence[Entry], recorded: Trace) -> Iterator[tuple[int, int]]:
    """The row of each late call, in the order in which they were made, and the step of the latest turn before it."""
    latest: dict[str, int] = {}
    for entry in log:
        if isinstance(entry, Turned) and entry.step is not None:
            latest[entry.agent] = max(latest.get(entry.agent, -1), entry.step)
        elif isinstance(entry, Called) and entry.row is not None:
            call = recorded.calls[entry.row]
            turn = latest.get(call.agent, -1)
            if 0 <= call.result_step < turn:
                yield entry.row, turn
