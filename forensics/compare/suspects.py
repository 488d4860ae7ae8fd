"""Is a renamed handle what made two runs part? What an agent does next may rest on a value that it was just shown.

A handle is suspected where what differs names it, or where it is the first thing that its agent does after it was shown
another value than in the other run. That is inferred: a model that is asked twice may also answer otherwise by itself.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import msgspec

from forensics.compare.divergence import Cause, Divergence
from forensics.core.sanitise import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from forensics.compare.events import Event
    from forensics.compare.script import Row
    from forensics.core.renaming import Renamed, Renaming
    from forensics.core.trace import Trace

_NAMED = 3
_ALIKE = "; the text is the same in both, so in one of them it names a value of the other run"
_DECIDED = frozenset({Cause.MODEL, Cause.AGENT})


class Suspects:
    """The handles that were renamed, by the lane in which they were shown last."""

    def __init__(self, traces: tuple[Trace, Trace], renaming: Renaming) -> None:
        self._traces = traces
        self._renaming = renaming
        self._known = 0
        self._fresh: dict[str, list[Renamed]] = {}

    def passed(self, row: Row) -> None:
        """A row was compared: what it renamed is what its agent was shown last."""
        renamed = self._renaming.renamed
        self._fresh[row.lane] = renamed[self._known :]
        self._known = len(renamed)

    def blamed(self, one: Divergence, row: Row) -> Divergence:
        """The same with a handle as its cause, where nothing earlier explains it and a handle may."""
        if one.explained_by is not None or one.cause not in _DECIDED:
            return one
        handles = list(islice(self._named_in(row), _NAMED)) or self._fresh.get(row.lane, [])[:_NAMED]
        if not handles:
            return one
        names = ", ".join(f"{_short(h.left)} is {_short(h.right)} in the right run" for h in handles)
        alike = one.left is not None and one.left == one.right
        return msgspec.structs.replace(one, cause=Cause.HANDLE, because=names + (_ALIKE if alike else ""))

    def _named_in(self, row: Row) -> Iterator[Renamed]:
        texts = [
            b"\n".join(_texts(trace, event)) for trace, event in zip(self._traces, (row.left, row.right), strict=True)
        ]
        for handle in self._renaming.renamed:
            if any(_names(text, value) for value in (handle.left, handle.right) for text in texts):
                yield handle


def _names(text: bytes, value: str) -> bool:
    """Whether a text holds a value on its own, as no part of a longer word."""
    name = value.encode("utf-8", "surrogatepass")
    at = text.find(name)
    while at >= 0:
        around = text[at - 1 : at] if at else b"", text[at + len(name) : at + len(name) + 1]
        if not any(one.isalnum() for one in around):
            return True
        at = text.find(name, at + 1)
    return False


def _texts(trace: Trace, event: Event | None) -> Sequence[bytes]:
    if event is None:
        return ()
    calls = (trace.calls[row].arguments for row in event.calls)
    return [bytes(payload) for payload in (event.payload, *calls) if payload is not None]


def _short(value: str) -> str:
    return one_line(value, 60)
