"""By what are the events of two runs recognised before anything is compared? Four keys each, strict to loose.

The strictest holds what an event says, with every handle of its own run left out, so that two runs are aligned before
one renaming is learnt. Keys only align: whether two events say the same is decided afterwards, value by value.
"""

from __future__ import annotations

import re
from collections import Counter
from hashlib import blake2b
from typing import TYPE_CHECKING

from forensics.compare.events import tool_name
from forensics.compare.payloads import said
from forensics.core.jsonvalue import canonical, value_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from forensics.compare.events import Event
    from forensics.core.handles import Handle
    from forensics.core.trace import Call, Payload, Trace

_RUN = re.compile(rb"[A-Za-z0-9]+(?:[_-]+[A-Za-z0-9]+)*")
_DIGEST = 16  # bytes
_HANDLE = b"\x00"  # stands in no JSON text

Shape = tuple[str, ...]
EventKeys = tuple[bytes, Shape, Shape, str]


class Keys:
    """The keys of one run's events."""

    def __init__(self, trace: Trace, handles: Iterable[Handle], *, loose: bool) -> None:
        self._calls = trace.calls
        self._loose = loose
        self._handles = {handle.value.encode("utf-8", "surrogatepass") for handle in handles if handle.minted}

    def of_all(self, events: Sequence[Event]) -> list[EventKeys]:
        """Of each event what it says and does; what it says where no other one says that; what it does; its kind."""
        words = [self._plain(said(event.payload)) for event in events]
        often = Counter(words)
        return [self._of(event, word, once=often[word] == 1) for event, word in zip(events, words, strict=True)]

    def _of(self, event: Event, word: bytes, *, once: bool) -> EventKeys:
        calls = [self._calls[row] for row in event.calls]
        strict = _digest([event.kind.encode(), word, *sorted(self.of_call(call) for call in calls)])
        shape = (event.kind, *sorted(self._tool(call) for call in calls))
        return strict, (event.kind, "says", _digest([word]).hex()) if word and once else shape, shape, event.kind

    def of_call(self, call: Call) -> bytes:
        """What a call asks for."""
        return _digest([self._tool(call).encode("utf-8", "surrogatepass"), self._plain(call.arguments)])

    def _tool(self, call: Call) -> str:
        return tool_name(call.tool, loose=self._loose)

    def _plain(self, payload: Payload | None) -> bytes:
        """The canonical text of a payload without the handles in it."""
        text = b"" if payload is None else canonical(value_of(payload))
        if self._handles.isdisjoint(_RUN.findall(text)):
            return text
        return _RUN.sub(lambda run: _HANDLE if run.group() in self._handles else run.group(), text)


def _digest(parts: Iterable[bytes]) -> bytes:
    digest = blake2b(digest_size=_DIGEST)
    for part in parts:
        digest.update(len(part).to_bytes(8))
        digest.update(part)
    return digest.digest()
